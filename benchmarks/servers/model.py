"""A model that answers by a script, as quickly as plain asyncio can; tells its port.

What it does stands in the name of the model: `reply` answers with a sentence, `tool` asks for the tool `ping` once and
then answers, `deltas-N` streams N pieces at once, `paced-N-R` N pieces, R a second. Each piece of a paced stream is the
time at which it was sent, in nanoseconds of the monotonic clock, which is the same for all processes.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
CALL = {"id": "call_1", "type": "function", "function": {"name": "ping", "arguments": '{"text": "pong"}'}}
TEXT = "Forty bolts are left in the box."


def whole(message: dict[str, Any], reason: str) -> bytes:
    """Give a whole reply."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    text = json.dumps(body).encode()
    return PLAIN % (len(text), text)


def event(delta: dict[str, Any], reason: str | None = None, **members: Any) -> bytes:
    """Give one event of a stream, as a chunk."""
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    body = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **members}
    text = b"data: " + json.dumps(body).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(text), text)


END = event({}, "stop") + event({}, None, usage=USAGE).replace(b"[{", b"[{", 1)
DONE = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
REPLY = whole({"content": TEXT}, "stop")
ASKS = whole({"content": None, "tool_calls": [CALL]}, "tool_calls")


class Model(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._unread = b""
        self._pacing: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the name is the protocol's
        if self._pacing is not None:
            self._pacing.cancel()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (end := self._unread.find(b"\r\n\r\n")) >= 0:
            _, _, rest = self._unread[:end].lower().partition(b"content-length:")
            length = end + 4 + int(rest.split(b"\r\n", 1)[0] or 0)
            if len(self._unread) < length:
                return
            body, self._unread = self._unread[end + 4 : length], self._unread[length:]
            self._answer(json.loads(body))

    def _answer(self, request: dict[str, Any]) -> None:
        kind, *numbers = request["model"].split("-")
        is_answered = request["messages"][-1]["role"] == "tool"
        if kind == "paced":
            self._pacing = asyncio.get_running_loop().create_task(self._paced(int(numbers[0]), float(numbers[1])))
        elif kind == "deltas":
            first = event({"role": "assistant", "content": ""})
            self._transport.write(STREAM + first + event({"content": "bolt "}) * int(numbers[0]) + END + DONE)
        elif request.get("stream"):
            delta = {"role": "assistant", "content": TEXT}
            if kind == "tool" and not is_answered:
                delta = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **CALL}]}
            self._transport.write(STREAM + event(delta) + END + DONE)
        else:
            self._transport.write(ASKS if kind == "tool" and not is_answered else REPLY)

    async def _paced(self, count: int, rate: float) -> None:
        clock = asyncio.get_running_loop().time
        self._transport.write(STREAM + event({"role": "assistant", "content": ""}))
        began = clock()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - clock()))
            self._transport.write(event({"content": f"{time.monotonic_ns()} "}))
        self._transport.write(END + DONE)


async def main() -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Model, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
