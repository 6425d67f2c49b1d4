"""Commands in which xargs and find put words that stand nowhere in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.shell.script import Word

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_REPLACING: Final = re.compile(r"-[^-]*?[Ii](.*)|--replace=?(.*)")
_COUNTING: Final = re.compile(r"-[^-]*[nLl]|--max-(args|lines)")


def with_input(words: list[Word], options: Sequence[str]) -> list[Word]:
    """Give the command of xargs with words in it that come from its input: at its end, or in place of a mark.

    Args:
        words: The command.
        options: The options of xargs.
    """
    marks = {""}
    for at, text in enumerate(options):
        if found := _REPLACING.match(text):
            marks |= {"{}", found[1] or found[2] or "", *options[at + 1 : at + 2]}
    if marks == {""}:
        return [*words, _unknown("(input)")]
    replaced = filled(words, marks - {""})
    is_undone = any(_COUNTING.match(text) for text in options)
    return [*replaced, _unknown("(input)")] if is_undone else replaced


def filled(words: Sequence[Word], marks: Collection[str], *, may_begin: bool = True) -> list[Word]:
    """Give a command in which words that have a mark in them are not known: another program puts something there.

    Args:
        words: The command.
        marks: What is replaced.
        may_begin: Whether what is put there may begin with `-`; the paths of find do not.
    """
    return [
        _unknown(word.text, may_begin=may_begin) if any(mark in word.text for mark in marks) else word for word in words
    ]


def _unknown(text: str, *, may_begin: bool = True) -> Word:
    return Word(text, text, is_literal=False, has_pattern=may_begin)
