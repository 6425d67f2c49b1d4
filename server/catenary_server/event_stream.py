"""The events of a run as a stream of server-sent events: resumable, with a heart-beat, and one terminal event."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from catenary import jsontext
from catenary_server.outcomes import live_dict

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from catenary.events import Event
    from catenary_server.live import LiveRun
    from catenary_server.service import Service

EVENT_STREAM: Final = "text/event-stream"

_STUCK_S: Final = 60.0
_HEADERS: Final = {
    "content-type": f"{EVENT_STREAM}; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class EventStream(Response):
    """Answers with the events of a run behind a number.

    Args:
        service: What the run belongs to.
        live: The run.
        after: The number of the last event that the client has.
        cancels: True to cancel the run when the client goes away.
    """

    def __init__(self, service: Service, live: LiveRun, *, after: int = 0, cancels: bool = False) -> None:
        super().__init__(None, 200, _HEADERS)
        del self.headers["content-length"]
        self._service = service
        self._live = live
        self._after = after
        self._cancels = cancels

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the last one, or until the client goes away."""
        del scope
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait({sending, leaving})
            if self._cancels and not self._live.is_over:
                self._live.cancel()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        live, number = self._live, self._after
        follower = live.follow()
        try:
            while True:
                follower.clear()
                for position, event in live.events_after(number):
                    await _push(send, _written(position, event.name, event.to_dict()))
                    number = position
                if live.is_over and number >= live.last:
                    await _push(send, self._last(number + 1), more=False)
                    if self._cancels:
                        self._service.runs.delivered(live)
                    return
                await self._heartbeat(follower, send)
        finally:
            live.leave(follower)

    async def _heartbeat(self, follower: asyncio.Event, send: Send) -> None:
        """Wait for news; send a comment when there are none for long."""
        while not follower.is_set():
            try:
                async with asyncio.timeout(self._service.settings.heartbeat_s):
                    await follower.wait()
            except TimeoutError:
                await _push(send, b": nothing new\n\n")

    def _last(self, number: int) -> bytes:
        """Give the terminal event, with what the run came to."""
        live = self._live
        outcome = live_dict(self._service.engine, live)
        event: Event | None = live.terminal
        name = "run.cancel" if outcome["status"] == "cancelled" else "run.error"
        told: dict[str, Any] = {"seq": number, "type": name, "runId": live.run_id} if event is None else event.to_dict()
        return _written(number, told["type"], {**told, "outcome": outcome})


def _written(number: int, name: str, event: dict[str, Any]) -> bytes:
    data = jsontext.dumps_in_order(jsontext.writable({**event, "seq": number}))
    return f"id: {number}\nevent: {_line(name)}\ndata: {data}\n\n".encode("utf-8", "replace")


def _line(text: str) -> str:
    """Give a name in one line: components choose the names of their events."""
    return " ".join(text.splitlines())


async def _push(send: Send, chunk: bytes, *, more: bool = True) -> None:
    """Send a piece. Raises: TimeoutError: when the client has taken nothing for long."""
    async with asyncio.timeout(_STUCK_S):
        await send({"type": "http.response.body", "body": chunk, "more_body": more})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
