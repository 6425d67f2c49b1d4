"""What one call of an `Agent` is made of: its options, what lies in its scope, and its place among those that run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import EngineError
from catenary.message import metadata_text
from catenary_components.ai.calling import AgentCall
from catenary_components.ai.runtime_context import RuntimeContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.status import AgentStatus


def call_options(options: dict[str, Any]) -> dict[str, Any]:
    """Give the options of a call. Raises: TypeError: when there is one that calls do not have."""
    unknown = options.keys() - {"user", "attributes", "model"}
    if unknown:
        raise TypeError(
            f"a call of an agent has no {min(unknown)!r}; there are session, user, attributes, scope, model"
        )
    return options


def context_of(scope: object, session: str, user: str, attributes: Mapping[str, Json] | None) -> list[Any]:
    """Give the values of a call, with a `RuntimeContext` of them unless there is one.

    Raises:
        TypeError: When the values are no list, or the attributes no mapping.
    """
    if isinstance(scope, str) or not isinstance(scope, Iterable):
        raise TypeError(f"scope is a list of values that are found by their types: scope=[{type(scope).__name__}(...)]")
    values = list(cast("Iterable[Any]", scope))
    if not any(isinstance(value, RuntimeContext) for value in values):
        context = RuntimeContext(*values, session_id=session, user_id=user)
        for name, value in (attributes or {}).items():
            context[name] = metadata_text(value)
        values.append(context)
    return values


def refuse_loop() -> None:
    """Raise an error where an event loop runs already. Raises: EngineError."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise EngineError("call_sync() was called inside a running event loop", hint="write await agent.call(...) there")


def at_work(calls: Iterable[tuple[AgentCall, str]], session: str) -> list[AgentCall]:
    """Give the calls that do not wait for another one in their session.

    Args:
        calls: Those that were made and are not over, in their order, each with its session.
        session: Only this one; all if empty.
    """
    found: list[AgentCall] = []
    busy: set[str] = set()
    for call, key in calls:
        if (not session or key == session) and not (call.state is None and key in busy):
            found.append(call)
            busy.add(key)
    return found


class Running:
    """A call of an agent, from its begin to its end.

    Args:
        calls: The calls that run, each with its session.
        note: Gets the status of the agent when the call is over.
    """

    def __init__(self, calls: dict[AgentCall, str], note: Callable[[AgentStatus], None], session: str) -> None:
        self._calls = calls
        self._note = note
        self._session = session
        self._call = AgentCall()

    def __enter__(self) -> AgentCall:
        self._calls[self._call] = self._session
        return self._call

    def __exit__(self, *error: object) -> None:
        del self._calls[self._call]
        if self._call.state is not None:
            self._note(self._call.state.status)
