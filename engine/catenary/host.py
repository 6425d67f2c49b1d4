"""What the host program lends to expressions and scripts: functions, objects, and scripts of its own."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPTS: Final = "js"
EXPRESSIONS: Final = "expr"
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
_TAKEN: Final = frozenset({"vars", "global", "$ctx"})


class HostLibrary:
    """Functions and scripts by name and language; a name may be there once for each language.

    Args:
        functions: Those for all languages.
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions: dict[tuple[str, str], Any] = {}
        self._scripts: dict[str, str] = {}
        for name, function in functions.items():
            self.add(name, function)

    def add(self, name: str, function: object, language: str = "") -> None:
        """Add a function, or an object whose public methods may be called.

        Raises:
            EngineError: When the name cannot be written in an expression, or the function is async.
        """
        _check(name)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise EngineError(
                f"the host function {name!r} is async, and neither expressions nor scripts can wait for it",
                hint="register a plain `def`; what has to wait belongs into a node",
            )
        self._functions[language.lower(), name] = function

    def add_script(self, name: str, source: str, language: str = "Js") -> None:
        """Add a script that is run once in every script context and defines globals.

        Raises:
            EngineError: When the language is not `Js`.
        """
        if language.lower() != SCRIPTS:
            raise EngineError(f"host script {name!r}: there is no language {language!r}", hint="write it in 'Js'")
        self._scripts[name] = source

    def functions_for(self, language: str) -> dict[str, Any]:
        """Give what a language sees: what is for all, and its own, which wins."""
        common = {name: function for (own, name), function in self._functions.items() if not own}
        return common | {name: function for (own, name), function in self._functions.items() if own == language}

    @property
    def scripts(self) -> dict[str, str]:
        """The scripts by name, in the order in which they were added."""
        return dict(self._scripts)


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise EngineError(
            f"{name!r} is no name for a host function", hint="use letters, digits and `_`, with no digit in front"
        )
    if name in _TAKEN:
        raise EngineError(f"a host function cannot be called {name!r}", hint="expressions and scripts have it already")
