"""The sessions of one `ai/agent` node: whose session a message belongs to, and a call that is kept in it."""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from catenary.cache import ttl_seconds
from catenary.errors import CatenaryError, ConfigError, EngineError
from catenary.message import metadata_text
from catenary_components.ai.sessions.hold import SessionPolicy, Sessions
from catenary_components.ai.sessions.keys import SESSION_KEY, scoped_key, user_of
from catenary_components.ai.sessions.places import open_store
from catenary_components.ai.sessions.slot import Fresh, Slot
from catenary_components.ai.sessions.store import NotSaved
from catenary_components.ai.sessions.trimming import Trimming
from catenary_components.ai.sessions.window import Window, messages_for
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.options.session import SessionOptions


class NodeSessions:
    """The sessions of a node. Safe to use from many tasks.

    Args:
        options: Its settings.
        ctx: The node's context.
        context_window: How many tokens its model can read; 0 when nobody knows.

    Attributes:
        sessions: The sessions, for those who look at them from outside.

    Raises:
        ConfigError: When the store cannot be used.
    """

    def __init__(self, options: SessionOptions, ctx: Context, context_window: int = 0) -> None:
        self._options = options
        try:
            store = open_store(options.store, ctx.chain)
        except (ConfigError, EngineError) as error:
            raise _at_node(ctx, error) from error
        messages = options.window_messages if options.window_messages >= 0 else messages_for(context_window)
        policy = SessionPolicy(
            when_busy=options.when_busy,
            on_corrupt=options.on_corrupt,
            on_conflict=options.on_conflict,
            window=Window(options.window, messages, options.max_messages),
            ttl_s=ttl_seconds(options.ttl),
            trimming=Trimming(options.window_tool_rounds, options.window_media),
            saves_first=options.save_first,
        )
        self.sessions = Sessions(store, ctx.clock, policy)

    def key(self, ctx: Context, msg: Message) -> str:
        """Give the key of the session that a message belongs to."""
        options = self._options
        key = options.key.render(msg, ctx).strip() or metadata_text(msg.metadata.get(SESSION_KEY)).strip()
        if key:
            return key
        agent = options.agent or f"{ctx.chain_id}/{ctx.node_id}"
        return scoped_key(agent, options.scope, msg.metadata, user_id=_user(ctx, msg), chain_id=ctx.chain_id)

    @asynccontextmanager
    async def call(self, ctx: Context, msg: Message) -> AsyncGenerator[Slot]:
        """Have the session of a message for one call, which is saved once, whatever becomes of the call.

        Raises:
            NotSaved: When the call went well and cannot be saved.
        """
        async with self.sessions.hold(self.key(ctx, msg), sees_history=self._sees_history(msg)) as slot:
            slot.state.user_id = _user(ctx, msg) or slot.state.user_id
            try:
                yield slot
            except BaseException as error:
                await slot.save(error)
                raise
            try:
                await slot.save()
            except CatenaryError as error:
                raise NotSaved(slot.state.answer, error) from error

    def _sees_history(self, msg: Message) -> bool:
        told = metadata_text(msg.metadata.get("loadHistory")).strip().lower()
        return told == "true" if told else self._options.load_history

    async def close(self) -> None:
        """Close the store."""
        await self.sessions.close()


def call_in(sessions: NodeSessions | None, ctx: Context, msg: Message) -> AbstractAsyncContextManager[Slot | Fresh]:
    """Give what accompanies one call of an agent: its session, or nothing that outlives it."""
    return nullcontext(Fresh(AgentState())) if sessions is None else sessions.call(ctx, msg)


def _user(ctx: Context, msg: Message) -> str:
    """Give the user: an agent called as a tool has its caller's, for it gets no metadata."""
    caller = ctx.scope.get(AgentState)
    return user_of(msg.metadata) or (caller.user_id if caller else "")


def _at_node(ctx: Context, error: CatenaryError) -> ConfigError:
    text = str(error)
    return ConfigError(text, node_id=ctx.node_id, node_type=ctx.node_type, field="session", hint=error.hint)
