"""What those outside hear of one reply: pieces by `Stream`, and blocks of text and reasoning as events."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from catenary import STREAM
from catenary_components.ai.models.types import Piece
from catenary_components.ai.phases._call_events import ArgumentStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.models.assemble import OpenCall
    from catenary_components.ai.models.types import CallPiece, Reply
    from catenary_components.ai.phases._runaway import Runaway
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_ID_NAMES: Final = {"content": "contentId", "reasoning": "reasoningId"}


class Teller:
    """Tells of one reply while it comes.

    Text is a block of events `content.start`, `content.delta` ..., `content.end`, reasoning one of `reasoning....`;
    one of them is open at a time, and each has an id of its own.

    Args:
        is_candidate: Whether the text is held back until it is known that it comes with calls: if it does not, it may
            become the answer, which something else decides.

    Attributes:
        has_told: Whether a piece of text was told.
    """

    def __init__(
        self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, *, is_candidate: bool = False
    ) -> None:
        self._ctx = ctx
        self._streams = setup.streams
        self._shows_reasoning = setup.loop.expose_reasoning
        marks = {"chunk": "true", "model": setup.model.name, "phase": ctx.node_id, "step": str(state.steps)}
        self._empty = (
            msg.with_data("", "TEXT").put_all(marks) if setup.streams else msg
        )  # what all pieces are made from
        self._calls = ArgumentStream(ctx, setup, state)
        self._is_candidate = is_candidate
        self._held: list[str] = []
        self._open = ""
        self._id = ""
        self.has_told = False

    async def tell(self, piece: Piece) -> None:
        """Tell of a piece; comes back when it has been dealt with."""
        if piece.reasoning and not self._shows_reasoning:
            piece = Piece(piece.content)
        if self._is_candidate and piece.content:
            self._held.append(piece.content)
            piece = Piece(reasoning=piece.reasoning)
        if piece.reasoning:
            self._publish("reasoning", piece.reasoning)
        if piece.content:
            self.has_told = True
            self._publish("content", piece.content)
        if self._streams and (piece.content or piece.reasoning):
            message = self._empty.with_data(piece.content)
            if piece.reasoning:
                message = message.put("reasoning_content", piece.reasoning)
            await self._ctx.emit(STREAM, message)

    async def tell_calls(self, calls: Sequence[OpenCall], fragments: Sequence[CallPiece]) -> None:
        """Tell of fragments of calls, each with the call that it belongs to. Text that was held back comes before."""
        if not self._ctx.watched:
            return
        for call, fragment in zip(calls, fragments, strict=True):
            if not self._calls.begins(call):
                self._calls.add(call, fragment.arguments)
                continue
            await self._release()
            self.close()
            self._calls.begin(call)

    async def finish(self, reply: Reply) -> None:
        """Tell that the reply is over."""
        if reply.tool_calls:
            await self._release()
        self.close()

    def tell_cut(self, runaway: Runaway) -> None:
        """Tell that the reply was cut."""
        self.close()
        self._ctx.notify("content.truncated", reason=runaway.reason, truncatedChars=runaway.left_out)

    async def _release(self) -> None:
        """Tell the text that was held back: it comes with calls, so it is not the answer."""
        self._is_candidate = False
        held, self._held = self._held, []
        if held:
            await self.tell(Piece("".join(held)))

    def close(self) -> None:
        """Close the open block, if there is one."""
        if self._open:
            self._ctx.notify(f"{self._open}.end", **{_ID_NAMES[self._open]: self._id})
            self._open = ""

    def _publish(self, block: str, delta: str) -> None:
        if not self._ctx.watched:
            return
        if block != self._open:
            self.close()
            self._open = block
            self._id = f"{block[0]}_{uuid.uuid4().hex[:12]}"
            self._ctx.notify(f"{block}.start", **{_ID_NAMES[block]: self._id})
        self._ctx.notify(f"{block}.delta", **{_ID_NAMES[block]: self._id}, delta=delta)


async def show(ctx: Context, msg: Message, setup: AgentSetup, state: AgentState, text: str) -> None:
    """Show a text to those who listen."""
    teller = Teller(ctx, msg, setup, state)
    await teller.tell(Piece(text))
    teller.close()
    state.is_unshown = False
