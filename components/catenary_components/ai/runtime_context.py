"""What a caller gives to one run of an agent, for its tools and hooks to see; nothing of it is ever stored."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.runtime.scope import Scope

T = TypeVar("T")


class RuntimeContext:
    """The context of one run: whose it is, texts by name, and values by type. Safe to use from several threads.

    Lay one into the scope of a run to give something along; an agent makes an empty one otherwise. Tools, hooks and the
    agents below see the same object. Texts and typed values do not see each other.

    Attributes:
        session_id: The session; empty without one.
        user_id: The user; empty if nobody in particular.
    """

    def __init__(self, *typed: Any, session_id: str = "", user_id: str = "", **attributes: str) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self._lock = threading.Lock()
        self._texts: dict[str, str] = dict(attributes)
        self._typed: dict[tuple[str, type], Any] = {("", type(value)): value for value in typed}

    # Texts

    def __getitem__(self, name: str) -> str:
        """Give the text of that name. Raises: KeyError: when there is none."""
        return self._texts[name]

    def __setitem__(self, name: str, text: str | None) -> None:
        """Set a text; `None` takes it away."""
        with self._lock:
            if text is None:
                self._texts.pop(name, None)
            else:
                self._texts[name] = text

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(list(self._texts))

    def text(self, name: str, default: str = "") -> str:
        """Give the text of that name, or `default`."""
        return self._texts.get(name, default)

    # Values by type

    def put(self, value: Any, *, kind: type | None = None, key: str = "") -> None:
        """Set a value of a type.

        Args:
            value: The value; `None` takes away what is there under `kind`.
            kind: The type under which it is found; its own if absent.
            key: Tells several of one type apart.

        Raises:
            TypeError: When `None` comes without `kind`.
        """
        if value is None and kind is None:
            raise TypeError("put(None) takes something away: say what, with kind=")
        place = (key, kind or cast("type", type(value)))
        with self._lock:
            if value is None:
                self._typed.pop(place, None)
            else:
                self._typed[place] = value

    def get(self, kind: type[T], key: str = "") -> T | None:
        """Give the value of a type: of exactly this one, else of the most derived type below it; `None` without one."""
        with self._lock:
            exact = self._typed.get((key, kind))
            if exact is not None:
                return cast("T", exact)
            below = [found for (name, found) in self._typed if name == key and issubclass(found, kind)]
            return self._typed[key, max(below, key=lambda one: len(one.__mro__))] if below else None


def runtime_context(scope: Scope, session_id: str = "", user_id: str = "") -> RuntimeContext:
    """Give the context of a run: the caller's, with what it leaves open filled in, else an empty one."""
    found = scope.get(RuntimeContext)
    if found is None:
        return RuntimeContext(session_id=session_id, user_id=user_id)
    found.session_id = found.session_id or session_id
    found.user_id = found.user_id or user_id
    return found
