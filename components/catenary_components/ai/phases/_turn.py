"""One model call of a phase: asks, passes the pieces on, and writes down what came."""

from __future__ import annotations

import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING

from catenary import STREAM
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.types import ChatMessage, ChatRequest, Piece

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.models.types import Reply
    from catenary_components.ai.state import AgentSetup, AgentState


async def ask(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, *, with_tools: bool) -> Reply:
    """Call the model with the conversation and put its reply into the state.

    When the run streams, every piece goes out by `Stream` as it comes, and the next one is read when it has been
    dealt with.

    Raises:
        ModelError: When the model does not answer.
    """
    request = ChatRequest(tuple(state.messages), setup.toolbox.specs() if with_tools else ())
    state.steps += 1
    reply = await (_stream(ctx, msg, setup, state, request) if setup.streams else _generate(ctx, setup, request))
    _note(ctx, setup, state, reply)
    return reply


async def _generate(ctx: Context, setup: AgentSetup, request: ChatRequest) -> Reply:
    reply = await setup.model.generate(request)
    _Teller(ctx).tell(Piece(reply.content, reply.reasoning))
    return reply


async def _stream(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, request: ChatRequest) -> Reply:
    builder = ReplyBuilder()
    teller = _Teller(ctx)
    marks = {"chunk": "true", "model": setup.model.name, "phase": ctx.node_id, "step": str(state.steps)}
    async with aclosing(setup.model.stream(request)) as pieces:
        async for piece in pieces:
            builder.add(piece)
            teller.tell(piece)
            if piece.content or piece.reasoning:
                shown = {**marks, "reasoning_content": piece.reasoning} if piece.reasoning else marks
                await ctx.emit(STREAM, msg.with_data(piece.content, "TEXT").put_all(shown))
    return builder.reply()


def _note(ctx: Context, setup: AgentSetup, state: AgentState, reply: Reply) -> None:
    state.usage += reply.usage
    state.last_usage = reply.usage
    state.answer = reply.content
    state.reasoning = reply.reasoning
    state.finish_reason = reply.finish_reason
    state.pending = reply.tool_calls
    state.messages.append(ChatMessage("assistant", reply.content, reply.tool_calls))
    if reply.usage.total:
        ctx.notify(
            "usage",
            model=setup.model.name,
            promptTokens=reply.usage.prompt,
            completionTokens=reply.usage.completion,
            totalTokens=reply.usage.total,
            cachedTokens=reply.usage.cached,
        )


class _Teller:
    """Publishes the text and the reasoning of one reply as events, each under an id of its own."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._id = uuid.uuid4().hex[:12] if ctx.watched else ""

    def tell(self, piece: Piece) -> None:
        if piece.reasoning:
            self._ctx.notify("reasoning.delta", reasoningId=f"r_{self._id}", delta=piece.reasoning)
        if piece.content:
            self._ctx.notify("content.delta", contentId=f"c_{self._id}", delta=piece.content)
