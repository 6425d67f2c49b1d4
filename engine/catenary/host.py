"""What the host program lends to chains: functions for nodes, agents, expressions and scripts, and scripts."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AnyT = TypeVar("AnyT")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

SCRIPTS: Final = "js"
EXPRESSIONS: Final = "expr"
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
_TAKEN: Final = frozenset({"vars", "global", "$ctx"})


@dataclass(frozen=True, slots=True)
class GivenHook:
    """A hook of agents as it was given to the engine.

    Attributes:
        hook: The hook, or the function.
        name: By which agents name it; an empty one holds for all agents.
        at: The point that a function fills; empty for a hook.
        order: Where it stands among the others; `None` for what the hook says itself.
    """

    hook: Any
    name: str = ""
    at: str = ""
    order: int | None = None


class FunctionHost:
    """The part of an engine that is about the functions of the host program.

    Attributes:
        functions: Those for `functions` nodes, by name.
        tools: Those for agents, by name.
        agent_hooks: The hooks of agents, in the order in which they were given.
        sql_validator: Is asked about every statement of a database node when its chain is loaded: `(operation, sql)`,
            with `?` for each value. What it raises refuses the chain.
    """

    functions: dict[str, Callable[..., Any]]
    tools: dict[str, Callable[..., Any]]
    agent_hooks: tuple[GivenHook, ...] = ()
    sql_validator: Callable[[str, str], object] | None = None
    _host: HostLibrary

    def host_function(self, name: str, language: str = "") -> Callable[[AnyT], AnyT]:
        """Register a function that expressions, templates and scripts may call: `@engine.host_function("double")`.

        It takes and gives JSON values. An object may be registered too: its public methods are called
        `name.method(args)`. Chains see what was registered before they were loaded.

        Args:
            name: The name by which it is called.
            language: `""` for all, `"Js"` for scripts only, `"Expr"` for expressions and templates only. A name may be
                there once for each; the one of the language wins.

        Raises:
            EngineError: When the name cannot be used, or the function is async.
        """
        if not isinstance(name, str):  # type: ignore[redundant-expr] # written without brackets, the function is the name
            raise EngineError(f"{name!r} has no name", hint="write @engine.host_function('name') above it")

        def register(function: AnyT) -> AnyT:
            self._host.add(name, function, language)
            return function

        return register

    def host_script(self, name: str, source: str, language: str = "Js") -> None:
        """Register a script that is run once in every script context; all scripts see the globals that it defines.

        What it defines with `var` or `function` is frozen afterwards. Registered again, a name has the other source.

        Raises:
            EngineError: When the language is not `Js`.
        """
        self._host.add_script(name, source, language)

    def function(self, name: str) -> Callable[[FunctionT], FunctionT]:
        """Register a function for `functions` nodes: `@engine.function("double")` above `def double(ctx, msg)`.

        The function gets the context and the message, and returns what a component's `run` may return.

        Raises:
            EngineError: When the name is missing, or what is registered cannot be called.
        """
        if callable(name):  # written without brackets, the function itself arrives as the name
            raise EngineError(f"{name!r} has no name for chains", hint="write @engine.function('name') above it")

        def register(function: FunctionT) -> FunctionT:
            if not callable(function):
                raise EngineError(f"{function!r} cannot be called, so it cannot be the function {name!r}")
            self.functions[name] = function
            return function

        return register

    def tool(self, function: FunctionT, *, name: str | None = None) -> FunctionT:
        """Register a Python function as a tool for agents; its schema comes from type hints and docstring.

        Raises:
            EngineError: When the function has no name and none is given.
        """
        known_as = name or getattr(function, "__name__", "")
        if not known_as:
            raise EngineError(
                f"{function!r} has no name by which an agent could call it",
                hint="give one: engine.tool(fn, name='...')",
            )
        self.tools[known_as] = function
        return function

    def agent_hook(self, hook: Any = None, *, at: str = "", name: str = "", order: int | None = None) -> Any:
        """Give agents a hook: `engine.agent_hook(MyHook())`, or `@engine.agent_hook(at="before_tool")` at a function.

        Agents see it that are loaded, or reloaded, afterwards.

        Args:
            hook: An `AgentHook`, or with `at` a function.
            at: The point that the function fills, such as `before_tool`.
            name: Agents that list this name under `hooks` have it; without a name all agents have it.
            order: Where it stands among the others, the lowest outermost; what the hook says itself if absent, or 100.

        Returns: the hook; without one, what takes the function.

        Raises:
            EngineError: When the name is taken.
        """
        if hook is None:
            return partial(self.agent_hook, at=at, name=name, order=order)
        if name and any(given.name == name for given in self.agent_hooks):
            raise EngineError(f"there is a hook {name!r} already", hint="give this one another name")
        self.agent_hooks = (*self.agent_hooks, GivenHook(hook, name, at, order))
        return hook


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
