"""One model call of a phase: asks, passes the pieces on, and writes down what came."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.folding import folded
from catenary_components.ai.messages import ChatMessage, ThinkingPart, assistant_message, system_message, user_message
from catenary_components.ai.models.assemble import ReplyBuilder
from catenary_components.ai.models.pairing import paired
from catenary_components.ai.models.types import ChatRequest, ModelError, Piece, Reply
from catenary_components.ai.phases._call_events import close_announced
from catenary_components.ai.phases._calls import ModelCall, stopped_by
from catenary_components.ai.phases._runaway import runaway_of
from catenary_components.ai.phases._telling import Teller

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.running import HookRun, PieceFilter
    from catenary_components.ai.phases._final_text import FinalTextReader
    from catenary_components.ai.phases._runaway import Runaway
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one model call has of its own.

    Attributes:
        tools: Whether the tools are offered.
        tool_choice: See `ChatRequest`; empty for the agent's own policy.
        prompt: Said as the user after the conversation, in this call only.
        is_hidden: True keeps the reply from those who listen: something else will be the answer.
        is_candidate: True keeps the text from them when no call comes with it: it is still to be verified.
        reader: Reads the text out of a reply that is a JSON object.
        is_kept: Whether the reply goes into the conversation.
        purpose: What the call is for, as hooks are told: `reasoning`, `limit`, `verify`, `compaction`, `memory`.
        change: Changes the pieces before anybody gets them.
    """

    tools: bool = True
    tool_choice: str = ""
    prompt: str = ""
    is_hidden: bool = False
    is_candidate: bool = False
    reader: FinalTextReader | None = None
    is_kept: bool = True
    purpose: str = "reasoning"
    change: PieceFilter | None = None


async def ask(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, turn: Turn) -> Reply:
    """Call the model with the conversation and put its reply into the state.

    When the run streams, every piece goes out by `Stream` as it comes, and the next one is read when it has been
    dealt with. When the agent is asked to stop meanwhile, what came so far is the reply, without its calls; a wait
    for the service, or until it is tried again, ends at once.

    Raises:
        ModelError: When the model does not answer.
    """
    request = request_of(setup, state, turn)
    reply = Reply()
    if state.announced:
        close_announced(ctx, setup.toolbox, state)
    try:
        if setup.hooks is None:
            reply = await _call(ctx, msg, setup, state, turn, request)
        else:
            reply = await _hooked(ctx, msg, setup, state, turn, request, setup.hooks)
    finally:
        if state.announced:
            close_announced(ctx, setup.toolbox, state, {call.id for call in reply.tool_calls})
    state.answer = reply.content
    state.reasoning = reply.reasoning
    state.service_reason = reply.finish_reason
    state.is_unshown = turn.is_candidate and not reply.tool_calls
    if turn.is_kept and (reply.content or reply.tool_calls):
        state.messages.append(_said(reply))
    return reply


async def _call(
    ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, turn: Turn, request: ChatRequest
) -> Reply:
    state.steps += 1
    teller = Teller(ctx, msg, setup, state, is_candidate=turn.is_candidate)
    with ModelCall(ctx, setup, state) as call:
        try:
            reply = await _reply(setup, state, replace(request, tell=call.tell), turn, teller)
            usable = _usable(setup, turn, request, reply)
            if not turn.is_hidden:
                await teller.finish(usable)
        except ModelError as error:
            error.was_shown = teller.has_told
            raise
        finally:
            teller.close()
        _count(ctx, setup, state, reply)
        call.end(reply)
    return usable


def _usable(setup: AgentSetup, turn: Turn, request: ChatRequest, reply: Reply) -> Reply:
    """Give a reply as the loop goes on with it, before anything looks at a call.

    Names of tools that the model spelled otherwise are put right. In a call of the model that offers no tools, calls
    are left out: nothing would run them, and a conversation with an open call could not go on.
    """
    if not reply.tool_calls:
        return reply
    calls = tuple(setup.toolbox.repaired(call) for call in reply.tool_calls)
    if not turn.tools:
        offered = {spec.name for spec in request.tools}
        calls = tuple(call for call in calls if call.name in offered)
        if len(calls) < len(reply.tool_calls):
            _logger.warning("the model asked for a tool that was not offered", extra={"purpose": turn.purpose})
    return reply if calls == reply.tool_calls else replace(reply, tool_calls=calls)


async def _hooked(
    ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, turn: Turn, request: ChatRequest, hooks: HookRun
) -> Reply:
    """Call the model by way of the hooks, which may call it several times, or answer in its place."""
    is_told = turn.is_hidden

    async def call(request: ChatRequest, change: PieceFilter | None) -> Reply:
        nonlocal is_told
        is_told = True
        reader = type(turn.reader)() if turn.reader else None
        return await _call(ctx, msg, setup, state, replace(turn, change=change, reader=reader), request)

    reply = _usable(setup, turn, request, await hooks.ask(ctx, setup, request, turn.purpose, call))
    if not is_told:
        teller = Teller(ctx, msg, setup, state, is_candidate=turn.is_candidate)
        await teller.tell(Piece(reply.content, reply.reasoning))
        await teller.finish(reply)
    return reply


async def _reply(setup: AgentSetup, state: AgentState, request: ChatRequest, turn: Turn, teller: Teller) -> Reply:
    runaway, unseen = runaway_of(setup.loop), Piece()
    if setup.streams:
        reply = await _stream(setup, state, request, turn, teller, runaway)
    else:
        reply = await _generate(setup, state, request)
        if turn.change is not None:
            piece = await turn.change(Piece(reply.content, reply.reasoning))
            reply = replace(reply, content=piece.content, reasoning=piece.reasoning)
    if turn.reader is not None:
        reply, unseen = turn.reader.finish(reply)
    if runaway is not None:
        reply = runaway.settled(reply)
        unseen = Piece(reply.content) if unseen.content else unseen
    if not turn.is_hidden:
        await teller.tell(unseen if setup.streams else Piece(reply.content, reply.reasoning))
        if runaway is not None and runaway.reason:
            teller.tell_cut(runaway)
    return reply


async def _generate(setup: AgentSetup, state: AgentState, request: ChatRequest) -> Reply:
    async with stopped_by(state.stop) as waiting:
        with waiting:
            return await setup.model.generate(request)
    return Reply()


def request_of(setup: AgentSetup, state: AgentState, turn: Turn) -> ChatRequest:
    """Give the request of a model call."""
    messages = [system_message(state.system_prompt)] if state.system_prompt else []
    messages += folded(state.messages) if setup.tools.fold_repeats else state.messages
    if turn.prompt:
        messages.append(user_message(turn.prompt))
    request = ChatRequest(
        tuple(paired(messages)),
        setup.toolbox.specs(state) if turn.tools else (),
        tool_choice=turn.tool_choice or setup.loop.tool_policy,
    )
    if setup.structured is None or not turn.is_kept:
        return request
    return setup.structured.shaped(request)


async def _stream(
    setup: AgentSetup, state: AgentState, request: ChatRequest, turn: Turn, teller: Teller, runaway: Runaway | None
) -> Reply:
    builder = ReplyBuilder()
    async with stopped_by(state.stop) as waiting, aclosing(setup.model.stream(request)) as pieces:
        while not state.stop:
            try:
                with waiting:
                    piece = await pieces.__anext__()  # `anext` would put a frame of its own between
            except StopAsyncIteration:
                return builder.reply()
            if turn.change is not None:
                piece = await turn.change(piece)
            calls = builder.add(piece)
            if not turn.is_hidden:
                await teller.tell(turn.reader.feed(piece) if turn.reader else piece)
                if calls:
                    await teller.tell_calls(calls, piece.tool_calls)
            if runaway is not None and runaway.cuts(piece):
                break
    return builder.reply_without_calls()


def _said(reply: Reply) -> ChatMessage:
    thoughts = reply.thoughts or ((ThinkingPart(reply.reasoning),) if reply.reasoning else ())
    message = assistant_message(reply.content, reply.tool_calls)
    usage = reply.usage if reply.usage.total else None
    metadata: dict[str, Json] = {"responseId": reply.id} if reply.id else {}
    return replace(message, blocks=(*thoughts, *message.blocks), usage=usage, metadata=metadata)


def _count(ctx: Context, setup: AgentSetup, state: AgentState, reply: Reply) -> None:
    model = state.answered_by = reply.model or setup.model.name
    state.add_usage(model, reply.usage, reply.cost)
    if reply.usage.total:
        ctx.notify(
            "usage",
            model=model,
            promptTokens=reply.usage.prompt,
            completionTokens=reply.usage.completion,
            totalTokens=reply.usage.total,
            cachedTokens=reply.usage.cached,
        )
