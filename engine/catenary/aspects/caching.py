"""`Caching`: what a node sent out for a key is sent again, without visiting it."""

from __future__ import annotations

import asyncio
import base64
import copy
import logging
from concurrent.futures import Future
from contextvars import ContextVar
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast

from catenary.aspects.base import Aspect, Proceed
from catenary.aspects.keys import Key
from catenary.cache import CacheMiss, ChainCache, ttl_seconds
from catenary.errors import ResourceError
from catenary.expr.placeholders import resolve_placeholders
from catenary.jsontext import dumps
from catenary.relation import FAILURE
from catenary.remote_cache import awaited_of
from catenary.runtime.emission import is_pair, pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.aspects.base import Cut
    from catenary.aspects.keys import KeySource
    from catenary.cache import Cache
    from catenary.chain import Chain
    from catenary.component import Component, Context, Emission
    from catenary.definition import ChainDefinition, NodeDefinition
    from catenary.jsontext import Json
    from catenary.message import Message

_log = logging.getLogger(__name__)

_awaited: Final[ContextVar[tuple[Future[Json], ...]]] = ContextVar("awaited", default=())
"""What others may be waiting for while this goes on: the visits around it whose results are to be kept."""


class Caching(Aspect):
    """Keeps what nodes send out, by a key, in the cache of the engine, and sends it again for messages with that key.

    Kept are relation, data, types, and the metadata that the node changed; the rest of the metadata is that of the
    message at hand. Failures are not kept, nor is anything of a visit that sent something on the way. While one
    message with a key is at the node, others with the same key wait for what it brings, where nodes are awaited; but
    inside of a visit whose result is to be kept nobody waits, for that might be the one to wait for.

    The key says what the result depends on: two messages with one key get one result. A node whose settings have
    changed with a reload begins anew. Joins are left out. With a cache outside of the process all nodes are awaited; as
    long as it cannot be reached, nothing is kept.

    Args:
        key: An expression such as `msg.city`, or a function `(ctx, msg)`; by default type, data and metadata.
        ttl: How long a result holds, such as `10m`; empty is for ever.
        **cut: `types`, `nodes`, `chains` and `order`, as the attributes of `Aspect`.
    """

    order = 5

    def __init__(self, key: KeySource = None, *, ttl: str = "", **cut: Unpack[Cut]) -> None:
        self.place(cut)
        ttl_seconds(ttl)
        self.ttl = ttl
        self._key = Key(_all_of if key is None else key, "Caching")
        self._settings = ""
        self._flights: dict[str, Future[Json]] = {}
        self._lock = Lock()

    def new(self) -> Self:
        """Give one of its own for a chain: what is under way is under way there only."""
        one = copy.copy(self)
        one._flights = {}
        return one

    def reads(self, definition: ChainDefinition, /) -> Iterable[str]:
        """Have kept what the key reads."""
        return self._key.reads(node.id for node in definition.nodes)

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> Aspect | None:
        """Leave out joins, whose message is not all they get, and tell settings of the node apart."""
        if component.collects:
            return None
        one = copy.copy(self)
        settings = dumps([node.type, resolve_placeholders(dict(node.configuration), chain.environment)])
        one._settings = sha256(settings.encode()).hexdigest()[:16]
        if awaited_of(chain.engine.cache) is not None:
            cast("Any", one).around = one.around_awaited  # a node that is a plain function must not wait in place
        return one

    def around(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:
        """Send what is kept, or visit the node and keep what it sends."""
        cache, key = self._place_of(ctx, msg)
        try:
            return _revived(cache.get(key), msg)
        except CacheMiss:
            emission = proceed(msg)
            kept = self._worth_keeping(ctx, msg, emission)
            if kept is not None:
                cache.set(key, kept, self.ttl)
            return emission

    async def around_awaited(self, ctx: Context, msg: Message, proceed: Proceed, /) -> Emission:
        """Do the same at a node that is awaited; of several with one key, one goes on to the node."""
        key = self._place_of(ctx, msg)[1]
        around = tuple(flight for flight in _awaited.get() if not flight.done())
        while True:
            try:
                return _revived(await self._asked(ctx, "get", key), msg)
            except CacheMiss:
                mine: Future[Json] = Future()
                with self._lock:
                    flight = self._flights.setdefault(key, mine)
            if flight is mine or around:
                break
            await ctx.need_loop()
            kept = await asyncio.shield(asyncio.wrap_future(flight))
            if kept is not None:
                return _revived(kept, msg)
        kept = None
        if flight is mine:
            _awaited.set((*around, mine))
        try:
            emission = await proceed(msg)
            kept = self._worth_keeping(ctx, msg, emission)
            if kept is not None:
                await self._asked(ctx, "set", key, kept, self.ttl)
            return emission
        finally:
            _awaited.set(around)
            with self._lock:
                if flight is mine:
                    del self._flights[key]
            mine.set_result(kept)

    def _place_of(self, ctx: Context, msg: Message) -> tuple[Cache, str]:
        key = self._key.of(ctx, msg)
        return ChainCache(ctx.global_cache, ctx.chain_id), f"catenary.caching:{ctx.node_id}:{self._settings}:{key}"

    async def _asked(self, ctx: Context, operation: str, key: str, *args: Any) -> Json:
        """Ask the cache, wherever it is. One that cannot be reached has nothing, and keeps nothing."""
        cache = ChainCache(ctx.global_cache, ctx.chain_id)
        awaited = awaited_of(ctx.global_cache)
        if awaited is None:
            return getattr(cache, operation)(key, *args)
        await ctx.need_loop()
        try:
            return await getattr(awaited, operation)(cache.prefix + key, *args)
        except ResourceError as error:
            _log.warning("results are not kept", extra={"reason": str(error), "node_id": ctx.node_id})
            if operation == "get":
                raise CacheMiss from error
            return None

    def _worth_keeping(self, ctx: Context, msg: Message, emission: Any) -> Json:
        """Give what is to be kept of a visit; `None` for nothing."""
        pairs = pairs_of(emission, msg)
        is_malformed = emission is not None and not isinstance(emission, (str, list)) and not is_pair(emission)
        if ctx.has_emitted or is_malformed or any(relation == FAILURE for relation, _ in pairs):
            return None
        return [_written(str(relation), sent, msg) for relation, sent in pairs]


def _all_of(_ctx: Context, msg: Message) -> Json:
    data = msg.data
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return [msg.type, msg.data_type, text, dict(msg.metadata)]


def _written(relation: str, sent: Message, got: Message) -> dict[str, Json]:
    """Give what makes the message that was sent of the one that came."""
    data = sent.data
    written: dict[str, Json] = {"relation": relation, "type": sent.type, "dataType": sent.data_type}
    if isinstance(data, bytes):
        written["bytes"] = base64.b64encode(data).decode()
    else:
        written["data"] = data
    before = got.metadata
    written["put"] = {key: value for key, value in sent.metadata.items() if key not in before or before[key] != value}
    written["without"] = [key for key in before if key not in sent.metadata]
    return written


def _revived(kept: Json, msg: Message) -> Emission:
    return [_message_of(cast("dict[str, Any]", one), msg) for one in kept] or None


def _message_of(written: dict[str, Any], msg: Message) -> tuple[str, Message]:
    data = base64.b64decode(written["bytes"]) if "bytes" in written else written["data"]
    message = msg.with_data(data, written["dataType"]).with_type(written["type"]).put_all(written["put"])
    return written["relation"], message.without(*written["without"]) if written["without"] else message
