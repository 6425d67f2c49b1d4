"""One message that came in by an endpoint, and what goes out for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from catenary.message import Message
    from catenary.outcome import Outcome


class Headers(Mapping[str, str]):
    """Header values by name, without regard to case; names are shown as `X-Abc-Def`.

    Of a name that is given several times the first value counts. Nothing is read before somebody looks.

    Args:
        pairs: Names and values, as text or as bytes in Latin-1, in the order in which they came.
    """

    __slots__ = ("_found", "_pairs")

    def __init__(self, pairs: Iterable[tuple[str | bytes, str | bytes]] = ()) -> None:
        self._pairs = pairs
        self._found: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        found = self._found
        if found is None:
            found = self._found = {}
            for name, value in self._pairs:
                found.setdefault(canonical(_text(name)), _text(value))
        return found

    def __getitem__(self, name: str) -> str:
        return self._read()[canonical(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"Headers({', '.join(self)})"  # values may be secrets


def canonical(name: str) -> str:
    """Give the name of a header as it is usually written: `x-abc-def` is `X-Abc-Def`."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else raw.decode("latin-1")


_NO_HEADERS = Headers()


class Answer:
    """What goes out for one end of a chain.

    Attributes:
        message: The message as it ended; `None` when no end is the answer.
        error: Why the branch failed, or why nothing could be run.
        reason: The text of the error, secrets masked; empty when there is none.
        relation: The relation of the end.
        node_id: The node at which it ended.
        status: An HTTP status or the like; `None` for the usual one.
        headers: What accompanies the body, by name.
        body: What is sent; `None` for nothing.
    """

    message: Message | None = None
    error: BaseException | None = None
    reason = ""
    relation = ""
    node_id = ""
    status: int | None = None
    body: bytes | str | None = None

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def set_default_header(self, name: str, value: str) -> None:
        """Set a header unless it is there, in whatever case."""
        lower = name.lower()
        if not self.headers or not any(known.lower() == lower for known in self.headers):
            self.headers[name] = value

    def set_header(self, name: str, value: str) -> None:
        """Set a header in the place of one of this name, in whatever case."""
        for known in [known for known in self.headers if known.lower() == name.lower()]:
            del self.headers[known]
        self.headers[name] = value


Deliver: TypeAlias = Callable[[Answer], Awaitable[None]]


class Exchange:
    """A message that came in, and its answer. One for each message; made by the endpoint.

    Attributes:
        message: What goes to the target; processors may put another one in its place.
        original: The message as the endpoint made it: all in its metadata comes from who has sent it.
        headers: What came with it.
        answer: What goes out. Headers that are set before the target is run are kept for all ends.
        stream: Gets each end by `Stream`, in order, awaited; `None` where the endpoint cannot send pieces.
        each: Gets each end, where every end is an answer of its own; the answer policy does not count then.
        request: What the endpoint made it of, such as a Starlette request; `None` when there is nothing.
        outcome: How the chain ended, once it has.
    """

    __slots__ = ("answer", "each", "headers", "message", "original", "outcome", "request", "stream")

    def __init__(
        self,
        message: Message,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        stream: Deliver | None = None,
        each: Deliver | None = None,
        request: Any = None,
    ) -> None:
        self.message = self.original = message
        self.headers = headers
        self.answer = Answer()
        self.stream = stream
        self.each = each
        self.request = request
        self.outcome: Outcome | None = None

    def view(self) -> Exchange:
        """Give the same exchange with an answer of its own, for one of several ends."""
        other = Exchange(self.message, self.headers, request=self.request)
        other.original = self.original
        other.answer.status = self.answer.status
        other.answer.headers = dict(self.answer.headers)
        other.outcome = self.outcome
        return other
