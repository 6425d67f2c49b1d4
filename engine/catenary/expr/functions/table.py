"""The functions that expressions may call. The table is open: a family adds to it with a decorator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.expr.files import file_exists
from catenary.expr.functions import escaping, hashing, lists, numbers, texts, times, values
from catenary.expr.functions.function import Function
from catenary.expr.functions.hosted import host_functions
from catenary.expr.includes import include as included

if TYPE_CHECKING:
    from catenary.expr.environment import Environment

FUNCTIONS: Final[dict[str, Function]] = {
    **values.TABLE,
    **numbers.TABLE,
    **texts.TABLE,
    **escaping.TABLE,
    **hashing.TABLE,
    **lists.TABLE,
    **times.TABLE,
}
"""All built-in functions by name, without those on files, which depend on the environment."""


def functions_of(environment: Environment) -> dict[str, Function]:
    """Give all functions of an environment: built-in ones, those on files, and the host's, which win.

    A method of an object of the host has the name `object.method`.
    """
    table = dict(FUNCTIONS)

    def include(path: object, is_evaluated: object = False) -> str:
        return included(path, environment, is_evaluated=is_evaluated)

    def exists(path: object) -> bool:
        return file_exists(path, environment)

    table["include"] = Function(
        "include",
        include,
        1,
        2,
        "The text of a file below the allowed folders; empty if missing; its `${...}` evaluated when `true` follows.",
        "Files",
        ("string", "bool"),
        (("include('no-such-file.txt')", ""),),
    )
    table["fileExists"] = Function(
        "fileExists",
        exists,
        1,
        1,
        "Tells whether there is such a file.",
        "Files",
        ("string",),
        (("fileExists('no-such-file.txt')", False),),
    )
    return table | host_functions(environment)
