"""What those outside hear of one call of a tool that is run: events, and pieces by `Stream`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import STREAM
from catenary.jsontext import dumps
from catenary_components.ai.phases._call_events import CallEvents
from catenary_components.ai.tools.execute import ReadyCall

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.execute import CallResult


class ToldCall:
    """Tells of one call that is run, or refused. Whatever happens, what was started is ended.

    Events of a call that began while the model wrote it go on under their id.

    Attributes:
        call: The call.
        is_open: Whether it was begun and is not over.
    """

    def __init__(
        self,
        ctx: Context,
        msg: Message,
        setup: AgentSetup,
        state: AgentState,
        given: ReadyCall | CallResult,
        index: int,
    ) -> None:
        self.call = given.call
        self._ctx = ctx
        self._msg = msg
        self._setup = setup
        self._index = index
        self._is_run = isinstance(given, ReadyCall)
        announced = state.announced.pop(self.call.id, None)
        self.is_open = announced is not None
        known = announced[0] if announced else ""
        self._events = CallEvents(ctx, setup.toolbox, self.call.name, known, number=index)

    async def tell_start(self) -> None:
        """Tell that the call is begun, and with which arguments."""
        if self._ctx.watched:
            if not self.is_open:
                self._events.start(self.call.id, self.call.arguments)
            if self._is_run:
                self._events.run()
        self.is_open = True
        tool = self._events.tool
        target = tool.target_id if tool else ""
        await self._emit("TOOL_CALL_START", arguments=self.call.arguments, toolType=self._events.kind, targetId=target)

    async def tell_piece(self, piece: Json) -> None:
        """Tell of a piece that the tool shows on the way."""
        text = piece if isinstance(piece, str) else dumps(piece)
        self._events.delta(text)
        await self._emit("TOOL_CALL_DELTA", content=text)

    async def tell_result(self, result: CallResult) -> None:
        """Tell what came of the call."""
        self.is_open = False
        self._events.over(result.text, is_error=bool(result.error), state=result.state, parts=result.parts)
        if result.error:
            await self._emit("TOOL_CALL_RESULT", content=result.error, error=True)
        await self._emit("TOOL_CALL_RESULT", content=result.text)

    def close(self) -> None:
        """Tell that the call is over when nobody did: the run was cancelled, or broke down."""
        if self.is_open:
            self.is_open = False
            self._events.over("the call was interrupted", is_error=True, state="interrupted")

    async def _emit(self, type: str, **members: Json) -> None:  # noqa: A002 - the field's name in the event
        if not self._setup.streams:
            return
        event = {
            "type": type,
            "timestamp": self._ctx.clock.time_ms(),
            "toolCallId": self._events.id,
            "toolCallName": self.call.name,
            "index": self._index,
            **members,
        }
        marks = {"chunk": "true", "tool_call": "true", "model": self._setup.model.name, "phase": self._ctx.node_id}
        await self._ctx.emit(STREAM, self._msg.with_data(dumps(event), "TEXT").put_all(marks))
