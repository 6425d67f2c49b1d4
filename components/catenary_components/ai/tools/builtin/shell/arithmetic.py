"""Arithmetic of the shell, which runs commands that stand in the value of a variable: `x='a[$(id)]'; echo $((x))`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_ARITHMETIC: Final = re.compile(r"[A-Za-z0-9_$ \t+\-*/%()<>=!&|^~?:,;#]*")
_VARIABLE: Final = re.compile(r"(?<![A-Za-z0-9_#])(\$?)([A-Za-z_][A-Za-z0-9_]*)")
_ODD: Final = re.compile(r"\$(?![A-Za-z_#?])")
_SET: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def names_in_arithmetic(text: str, refuse: Callable[[str], Exception]) -> tuple[set[str], set[str]]:
    """Give the variables that arithmetic reads, and those of them that it sets.

    Args:
        text: The arithmetic, without what encloses it.
        refuse: Makes the error.

    Raises:
        Exception: What `refuse` makes, when there is more in it than numbers, operators and plain variables.
    """
    if not _ARITHMETIC.fullmatch(text) or _ODD.search(text):
        raise refuse("only numbers, operators and plain variables are understood in arithmetic")
    read = {found[2] for found in _VARIABLE.finditer(text)}
    return read, {found[1] for found in _SET.finditer(text)} & read


COUNTERS: Final = frozenset(["RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS", "SHLVL"])
"""Variables of the shell that are always numbers."""
