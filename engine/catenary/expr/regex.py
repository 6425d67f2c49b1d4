"""Regular expressions of chain authors: linear time with google-re2, else only such as cannot run away."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_PATTERN: Final = 1_000
_MAX_COST: Final = 50_000_000  # steps of a backtracking search: well below a second

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
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern is longer than {MAX_PATTERN} characters")
    return _linear(pattern) if re2 is not None else _guarded(pattern)


def _linear(pattern: str) -> Callable[[str], bool]:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode() if isinstance(reason, bytes) else reason
        raise PatternError(f"not a regular expression: {reason}") from None

    def found(text: str) -> bool:
        return compiled.search(text) is not None

    return found


def _guarded(pattern: str) -> Callable[[str], bool]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
            tree = import_module("re._parser").parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"not a regular expression: {error}") from None
    repeats = _unbounded(tree, inside=False)
    # one more power: the search may start anywhere
    longest = int(_MAX_COST ** (1 / (repeats + 1)))

    def found(text: str) -> bool:
        if repeats and len(text) > longest:
            raise PatternError(
                f"the text is too long for a pattern with {repeats} repeats: {len(text)} characters, at most {longest};"
                " install catenary[regex] to lift this"
            )
        return compiled.search(text) is not None

    return found


_LONG_REPEAT: Final = 20  # a repeat of at most so many times counts as bounded


def _unbounded(tree: Iterable[Any], *, inside: bool) -> int:
    """Count the repeats of a parsed pattern that have no near bound. Raises: PatternError: when some are nested."""
    count = 0
    for operation, argument in tree:
        name = str(operation)
        if name in {"GROUPREF", "ASSERT", "ASSERT_NOT", "GROUPREF_EXISTS"}:
            raise PatternError("back references and look-around are not supported")
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            _, most, body = argument
            repeats = int(most) > 1
            if repeats and inside:
                raise PatternError(
                    "a repeat within a repeat can take for ever; rewrite the pattern, or install catenary[regex]"
                )
            count += (int(most) > _LONG_REPEAT) + _unbounded(body, inside=inside or repeats)
        elif name == "SUBPATTERN":
            count += _unbounded(argument[3], inside=inside)
        elif name == "ATOMIC_GROUP":
            count += _unbounded(argument, inside=inside)
        elif name == "BRANCH":
            if inside:
                raise PatternError(
                    "alternatives within a repeat can take for ever; rewrite the pattern, or install catenary[regex]"
                )
            count += sum(_unbounded(branch, inside=inside) for branch in argument[1])
    return count
