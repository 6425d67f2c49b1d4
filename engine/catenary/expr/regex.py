"""Regular expressions of chain authors: linear time with google-re2, else only such as cannot run away.

With google-re2 (extra `regex`) a search takes time in proportion to the text, whatever the pattern is. Without it
Python's own engine is used, which may try every way a pattern can fit; so patterns for which that could take long are
refused with an error that names the extra, when they are literal already at load. `BEYOND` says what neither can do.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from catenary.jsontext import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_PATTERN: Final = 1_000
"""Characters a pattern may have."""

BEYOND: Final = (
    ("`(?=a)` `(?!a)` `(?<=a)` `(?<!a)`", "Look-around: test twice instead, `x matches 'a' and x not matches 'b'`."),
    (r"`(a)\1` `(?P=name)`", "References to what a group found: compare the parts with `split` and `==`."),
    ("`(?>a)` `a*+`", "Atomic groups and possessive repeats: they only save time, which is linear anyway."),
    ("`(?(1)a|b)`", "Conditions on groups: write two patterns and `or`."),
    ("`a{1001}`", "More than 1,000 repeats by number: check the length with `len`."),
)
"""What no pattern may have, and what to do instead."""

_MAX_COST: Final = 50_000_000  # steps of a backtracking search: well below a second
_MAX_CHOICES: Final = 5_000
_MAX_REPEATS: Final = 1_000  # as google-re2 has it
_UNBOUNDED: Final = import_module("re._constants").MAXREPEAT
_LONG_REPEAT: Final = 20  # a repeat that may end at so many places counts as one without a bound

try:
    re2: Any = import_module("re2")
except ImportError:
    re2 = None


class PatternError(ValueError):
    """A regular expression is wrong, or not allowed; the text says why."""


@lru_cache(maxsize=512)
def pattern_of(pattern: str) -> Callable[[str], bool]:
    """Give a function that tells whether the pattern is found anywhere in a text.

    Without google-re2 (extra `regex`) patterns that can take very long are refused: repeats within repeats, back
    references, look-around; and a text that is too long for a pattern with several repeats.

    Raises:
        PatternError: When the pattern is wrong or refused.
    """
    return _compiled(pattern)[0]


@lru_cache(maxsize=512)
def finder_of(pattern: str) -> Callable[[str], str]:
    """Give a function that gives what the pattern finds first in a text: its first group, or all of it without groups.

    It gives empty text when nothing is found. Raises: PatternError: as for `pattern_of`.
    """
    search = _compiled(pattern)[1]

    def find(text: str) -> str:
        match = search(text)
        return "" if match is None else match[1 if match.re.groups else 0] or ""

    return find


def _compiled(pattern: str) -> tuple[Callable[[str], bool], Callable[[str], Any]]:
    """Give two functions: whether the pattern is found in a text, and what is found."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern is longer than {MAX_PATTERN} characters")
    if pattern != encodable(pattern):
        raise PatternError("the pattern has half of a surrogate pair, which is no character")
    return _linear(pattern) if re2 is not None else _guarded(pattern)


def _linear(pattern: str) -> tuple[Callable[[str], bool], Callable[[str], Any]]:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise PatternError(f"not a regular expression: {reason}") from None

    def found(text: str) -> bool:
        return compiled.search(encodable(text)) is not None

    return found, lambda text: compiled.search(encodable(text))


def _guarded(pattern: str) -> tuple[Callable[[str], bool], Callable[[str], Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, re.ASCII)  # `\d` and `\w` are ASCII with google-re2
            tree = import_module("re._parser").parse(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"not a regular expression: {error}") from None
    cost = _Cost()
    cost.add(tree, is_inside=False)
    if cost.choices > _MAX_CHOICES:
        raise PatternError("too many optional parts and alternatives; simplify the pattern, or install catenary[regex]")
    # one more power: the search may start anywhere
    longest = int((_MAX_COST / cost.choices) ** (1 / (cost.repeats + 1)))

    def search(text: str) -> re.Match[str] | None:
        if len(text) > longest and (cost.repeats or cost.choices > 1):
            raise PatternError(
                f"the text is too long for this pattern: {len(text)} characters, at most {longest};"
                " install catenary[regex] to lift this"
            )
        return compiled.search(text)

    return lambda text: search(text) is not None, search


class _Cost:
    """What a backtracking search for a parsed pattern takes at worst: `choices * length ** (repeats + 1)` steps."""

    def __init__(self) -> None:
        self.repeats = 0
        self.choices = 1

    def add(self, tree: Iterable[Any], *, is_inside: bool) -> None:
        """Add a part. Raises: PatternError: when it has no such bound."""
        for operation, argument in tree:
            name = str(operation)
            if name in {"GROUPREF", "ASSERT", "ASSERT_NOT", "GROUPREF_EXISTS"}:
                raise PatternError("back references and look-around are not supported")
            if name in {"ATOMIC_GROUP", "POSSESSIVE_REPEAT"}:
                raise PatternError("atomic groups and possessive repeats are not supported")
            if name in {"MAX_REPEAT", "MIN_REPEAT"}:
                self._repeat(*argument, is_inside=is_inside)
            elif name == "SUBPATTERN":
                self.add(argument[3], is_inside=is_inside)
            elif name == "BRANCH":
                self._branches(argument[1], is_inside=is_inside)

    def _repeat(self, least: int, most: int, body: Iterable[Any], *, is_inside: bool) -> None:
        if least > _MAX_REPEATS or (most != _UNBOUNDED and most > _MAX_REPEATS):
            raise PatternError(f"a part is repeated more than {_MAX_REPEATS} times")
        if is_inside and least != most:
            raise PatternError(
                "a repeat within a repeat can take for ever; rewrite the pattern, or install catenary[regex]"
            )
        if int(most) - least > _LONG_REPEAT:
            self.repeats += 1
        else:
            self.choices *= int(most) - least + 1
        self.add(body, is_inside=is_inside or int(most) > 1)

    def _branches(self, branches: list[Iterable[Any]], *, is_inside: bool) -> None:
        if is_inside:
            raise PatternError(
                "alternatives within a repeat can take for ever; rewrite the pattern, or install catenary[regex]"
            )
        self.choices *= len(branches)
        for branch in branches:
            self.add(branch, is_inside=is_inside)
