"""One client of a `ws` endpoint: from its handshake to the goodbye."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from catenary import Message
from catenary.endpoints import Exchange, Headers
from catenary.message import BINARY, JSON
from catenary_components.endpoint import plain
from catenary_components.endpoint.bodies import BodyRefused
from catenary_components.endpoint.guarding import KeyCheck
from catenary_components.endpoint.query import metadata_of, read_query
from catenary_components.endpoint.serving.limits import SETTINGS
from catenary_components.endpoint.session_key import find_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.endpoints import Answer, Router
    from catenary.http.inprocess import AsgiEvent, AsgiReceive, AsgiSend
    from catenary_components.endpoint.ws import WsEndpoint

GOING_AWAY: Final = 1001
TOO_LONG: Final = 1009
TRY_LATER: Final = 1013
_KEY_PROTOCOL: Final = "catenary.key."
_OWN_PROTOCOL: Final = "catenary"
_GOODBYE_S: Final = 1.0
_LAST_LOOK_S: Final = 0.02  # what came in time may not have been read yet, when the event loop was late


class Door:
    """Lets clients of one router in, or not."""

    def __init__(self, endpoint: WsEndpoint, router: Router) -> None:
        self._endpoint = endpoint
        self._router = router
        config = endpoint.config
        self._keys = KeyCheck(config.api_keys) if config.api_keys else None
        self._origins = frozenset(config.allowed_origins)

    async def take(self, scope: AsgiEvent, receive: AsgiReceive, send: AsgiSend, variables: dict[str, str]) -> None:
        """Talk to one client until it goes, or is to go."""
        await receive()  # websocket.connect
        try:
            query = metadata_of(read_query(scope["query_string"]))
        except BodyRefused as refusal:
            await plain.deny(scope, send, refusal.status, str(refusal))
            return
        offered: list[str] = scope.get("subprotocols") or []
        headers = _visible(scope["headers"], offered)
        if self._endpoint.is_stopping:
            await plain.deny(scope, send, 503, "the endpoint is being stopped")
        elif self._keys is not None and not self._keys.allows([*scope["headers"], *_key_headers(offered)]):
            await plain.deny(scope, send, 401, "a key is needed", self._keys.challenge)
        elif not self._lets_in(scope):
            await plain.deny(scope, send, 403, "pages of this origin may not connect")
        else:
            session = WsSession(self._endpoint, self._router, scope, headers, {**query, **variables})
            await session.talk(receive, send, self._chosen(offered))

    def _lets_in(self, scope: AsgiEvent) -> bool:
        """Tell whether the page that connects may; programs send no origin, and always may."""
        origin = _value(scope["headers"], b"origin")
        if not origin:
            return True
        if self._endpoint.config.allow_cors and (not self._origins or "*" in self._origins):
            return True
        host = _value(scope["headers"], b"host")
        return origin in self._origins or urlsplit(origin).netloc.lower() == host.lower()

    def _chosen(self, offered: list[str]) -> str | None:
        known = [*self._endpoint.config.subprotocols, _OWN_PROTOCOL]
        return next((name for name in offered if name in known), None)


class WsSession:
    """One connection: reads messages, has them run, and sends what comes of it.

    Attributes:
        router_id: Where its messages go.
    """

    def __init__(
        self,
        endpoint: WsEndpoint,
        router: Router,
        scope: AsgiEvent,
        headers: list[tuple[bytes, bytes]],
        metadata: dict[str, Any],
    ) -> None:
        self.router_id = router.id
        self._router = router
        self._endpoint = endpoint
        self._config = endpoint.config
        self._scope = scope
        self._headers = Headers(headers)
        self._metadata = {**metadata, "_triggerSource": endpoint.trigger_source}
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        query: bytes = scope["query_string"]
        self._address = (raw_path + b"?" + query if query else raw_path).decode("latin-1")
        self._room = asyncio.Semaphore(self._config.queue_size)
        self._frames: deque[str | bytes] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._worker: asyncio.Task[None] | None = None
        self._reading: asyncio.Timeout | None = None
        self._write_s = self._config.write_timeout or None
        self._last = monotonic()
        self._is_over = False
        self._is_gone = False
        self._is_draining = False
        self._goodbye = (1000, "")
        self._has_ended = asyncio.Event()

    async def talk(self, receive: AsgiReceive, send: AsgiSend, subprotocol: str | None) -> None:
        """Accept the connection, and come back when all is said and done."""
        self._receive, self._send = receive, send
        accept: dict[str, Any] = {"type": "websocket.accept"}
        if subprotocol:
            accept["subprotocol"] = subprotocol
        if SETTINGS in (self._scope.get("extensions") or {}):
            accept["settings"] = {
                "message_bytes": self._config.max_message_bytes,
                "ping_s": self._config.heartbeat,
                "write_s": self._config.write_timeout,
            }
            self._write_s = None
            connection: Any = send.__self__  # type: ignore[attr-defined]
            connection.on_alive, connection.on_gone = self._note_life, self._note_end
        sessions = self._endpoint.sessions
        sessions.join(self, self._first_key())
        try:
            await send(accept)
            await self._read()
        finally:
            self._is_over = True
            sessions.leave(self)
            try:
                await self._end()
            finally:
                self._has_ended.set()

    async def push(self, data: str | bytes) -> None:
        """Send a text or bytes. Raises: OSError: when the client is gone, or takes too long."""
        if self._is_over:
            raise ConnectionResetError("the client is gone")
        event: dict[str, Any] = {"type": "websocket.send"}
        event["text" if isinstance(data, str) else "bytes"] = data
        try:
            async with asyncio.timeout(self._write_s):
                await self._send(event)
        except TimeoutError:
            self._leave(TRY_LATER, "the client takes too long")
            raise
        except UnicodeEncodeError:  # half of a pair of surrogates, which some servers do not replace
            await self.push(str(data).encode("utf-8", "replace").decode())
        except RuntimeError as error:  # some servers say so that they are not open yet, or no longer
            raise ConnectionResetError("the client is gone") from error
        self._last = monotonic()

    def is_of(self, endpoint: WsEndpoint) -> bool:
        """Tell whether an endpoint runs its messages."""
        return self._endpoint is endpoint

    async def drain(self) -> None:
        """Finish what is in hand, with some of what comes meanwhile, and say goodbye."""
        self._is_draining = True
        await self._settled()
        self._leave(GOING_AWAY, "the endpoint is being stopped")
        await self._has_ended.wait()

    def abort(self) -> None:
        """Break off what is in hand, and say goodbye."""
        self._is_draining = True
        for task in self._tasks:
            task.cancel()
        self._leave(GOING_AWAY, "the endpoint is being stopped")

    # Private: reading

    async def _read(self) -> None:
        left = self._config.queue_size  # a client that says ever more must not keep the endpoint from its end
        while (data := await self._next()) is not None:
            self._last = monotonic()
            self._note_life()
            if self._is_draining and (left := left - 1) < 0:
                continue
            if 0 < self._config.max_message_bytes < len(data):
                self._goodbye = (TOO_LONG, "the message is too long")
                return
            await self._take_room()
            self._begin(data)

    async def _next(self) -> str | bytes | None:
        """Give what the client sends next; `None` when it is gone, or is to go."""
        is_last_look = False
        while not self._is_over:
            limit_s = _LAST_LOOK_S if is_last_look else self._silence_left_s()
            try:
                async with asyncio.timeout(limit_s) as self._reading:
                    event = await self._receive()
            except TimeoutError:
                is_silent = not self._is_over and self._silence_left_s() == 0 and not self._tasks
                if is_silent and is_last_look:
                    self._goodbye = (1000, "nothing was said for too long")
                    return None
                is_last_look = is_silent
                continue
            finally:
                self._reading = None
            if event["type"] != "websocket.receive":
                self._is_gone = True
                return None
            if self._is_over:  # its answer could not be sent any more
                return None
            text: str | None = event.get("text")
            return event["bytes"] if text is None else text
        return None

    async def _take_room(self) -> None:
        """Wait until another message may be begun; one that is to go waits no longer, and what it said is still run."""
        try:
            async with asyncio.timeout(None) as self._reading:
                await self._room.acquire()
        except TimeoutError:
            pass
        finally:
            self._reading = None

    def _silence_left_s(self) -> float | None:
        if not self._config.idle_timeout:
            return None
        if self._tasks:
            return self._config.idle_timeout
        return max(self._last + self._config.idle_timeout - monotonic(), 0)

    def _leave(self, code: int, reason: str) -> None:
        """Stop reading."""
        if not self._is_over:
            self._is_over = True
            self._goodbye = (code, reason)
            if self._reading is not None:
                self._reading.reschedule(asyncio.get_running_loop().time())

    async def _end(self) -> None:
        """Close, and wait for what is in hand."""
        if not self._is_gone:
            code, reason = self._goodbye
            with suppress(OSError, RuntimeError):
                async with asyncio.timeout(_GOODBYE_S):
                    await self._send({"type": "websocket.close", "code": code, "reason": reason})
        if self._config.on_disconnect == "cancel":
            for task in self._tasks:
                task.cancel()
        await self._settled()

    async def _settled(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _note_life(self) -> None:
        self._endpoint.sessions.alive(self)

    def _note_end(self) -> None:
        """Give up at once on a client that is gone, if that ends its runs; else what it has sent is still run."""
        if self._config.on_disconnect == "cancel":
            self._is_gone = True
            self._leave(GOING_AWAY, "")

    # Private: running

    def _begin(self, data: str | bytes) -> None:
        """Have a message run: after those before it, or at once."""
        if not self._config.ordered:
            self._start(self._run(data))
            return
        self._frames.append(data)
        if self._worker is None or self._worker.done():
            self._worker = self._start(self._run_all())

    def _start(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_all(self) -> None:
        while self._frames:
            await self._run(self._frames.popleft())

    async def _run(self, data: str | bytes) -> None:
        try:
            # What was taken in before its router was removed goes the way that it had.
            self._router = self._endpoint.routers.get(self.router_id, self._router)
            await self._answer(self._router, self._message(data))
        finally:
            self._room.release()

    async def _answer(self, router: Router, message: Message) -> None:
        is_told = False

        async def tell(answer: Answer) -> None:
            nonlocal is_told
            is_told = is_told or answer is exchange.answer
            await self._reply(answer)

        exchange = Exchange(message, self._headers, each=tell, request=self._scope)
        await self._endpoint.handle(router, exchange)
        # Who refused the message, or stopped it on its way in, may have said something.
        if not is_told and exchange.outcome is None and exchange.answer.error is None:
            await self._reply(exchange.answer)

    async def _reply(self, answer: Answer) -> None:
        body = answer.body
        if body is None:
            return
        if isinstance(body, str) and answer.message is not None and answer.message.data_type == BINARY:
            body = body.encode("utf-8", "surrogatepass")
        with suppress(OSError):
            await self.push(body)

    def _message(self, data: str | bytes) -> Message:
        is_text = isinstance(data, str)
        metadata = {**self._metadata, "messageType": "1" if is_text else "2"}
        message = Message(data, self._address, JSON if is_text else BINARY, metadata)
        sessions = self._endpoint.sessions
        if self._config.session_key and not sessions.key_of(self) and not self._is_over:
            key = find_key(self._config.session_key, message)
            if key:
                sessions.name(self, key)
        return message

    def _first_key(self) -> str:
        """Give the key that is known before anything is sent."""
        templates = self._config.session_key
        if templates:
            return find_key(templates, Message("", self._address, JSON, self._metadata), is_first=True)
        client = self._scope.get("client")
        if not client:
            return ""
        host, port = client[0], client[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _value(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")


def _key_headers(offered: list[str]) -> list[tuple[bytes, bytes]]:
    """Give the keys among the subprotocols as headers."""
    keys = [name.removeprefix(_KEY_PROTOCOL) for name in offered if name.startswith(_KEY_PROTOCOL)]
    return [(b"x-api-key", key.encode("latin-1", "replace")) for key in keys]


def _visible(headers: list[tuple[bytes, bytes]], offered: list[str]) -> list[tuple[bytes, bytes]]:
    """Give the headers without keys among the subprotocols."""
    if not any(name.startswith(_KEY_PROTOCOL) for name in offered):
        return headers
    left = ", ".join(name for name in offered if not name.startswith(_KEY_PROTOCOL)).encode("latin-1", "replace")
    others = [pair for pair in headers if pair[0] != b"sec-websocket-protocol"]
    return [*others, (b"sec-websocket-protocol", left)] if left else others
