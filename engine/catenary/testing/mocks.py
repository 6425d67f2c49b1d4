"""`mock://name` addresses for the length of a block."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary.http.inprocess import AsgiApp


@contextmanager
def mock(name: str, app: AsgiApp) -> Generator[str]:
    """Let an application answer `mock://name` in this process, and give that address.

    Args:
        name: Letters, digits, `-` and `.`.
        app: A `ScriptedModel`, a `RecordingApi`, or any ASGI application.
    """
    from catenary.http.inprocess import register_mock, unregister_mock

    register_mock(name, app)
    try:
        yield f"mock://{name}"
    finally:
        unregister_mock(name)
