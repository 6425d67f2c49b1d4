"""Applications that answer `mock://name` addresses inside this process, without a socket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from catenary.errors import ConnectFailed

AsgiEvent: TypeAlias = MutableMapping[str, Any]
AsgiReceive: TypeAlias = Callable[[], Awaitable[AsgiEvent]]
AsgiSend: TypeAlias = Callable[[AsgiEvent], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[AsgiEvent, AsgiReceive, AsgiSend], Awaitable[Any]]
"""A plain ASGI application, `async def app(scope, receive, send)`."""

_mocks: dict[str, AsgiApp] = {}


def register_mock(name: str, app: AsgiApp) -> None:
    """Let `app` answer all requests to `mock://name/...` of this process, in place of another of that name.

    Args:
        name: Letters, digits, `-` and `.`; upper and lower case are the same.
        app: The application; it is called once a request, on the event loop of the caller.
    """
    _mocks[name.lower()] = app


def unregister_mock(name: str) -> None:
    """Forget the application of this name; nothing happens when there is none."""
    _mocks.pop(name.lower(), None)


def mock_of(name: str) -> AsgiApp:
    """Give the application that answers `mock://name`.

    Raises:
        ConnectFailed: When there is none.
    """
    app = _mocks.get(name.lower())
    if app is None:
        known = ", ".join(f"mock://{other}" for other in sorted(_mocks)) or "none"
        raise ConnectFailed(
            f"no script is registered for mock://{name}; registered: {known}",
            hint="register one with catenary.testing.mock(name, app)",
        )
    return app
