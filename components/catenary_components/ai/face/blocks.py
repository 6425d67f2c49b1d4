"""The events of an agent's run as blocks: each with a start and an end, one after the other, all of one reply."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.events import NodeEvent, NodeFinished, RunCompleted, RunPaused, RunStarted, RunWasCancelled
from catenary_components.ai.face.level import Level
from catenary_components.ai.face.reply import answer_in
from catenary_components.ai.face.told import TERMINAL
from catenary_components.ai.records import message_to_json
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping

    from catenary.events import Event
    from catenary.jsontext import Json
    from catenary_components.ai.calling import AgentCall
    from catenary_components.ai.face.level import Made

_SILENT: Final = ("agent.status", "usage", "tool.end", "action.end", "permission.decided")
"""Events of agents that are in no block."""

_REASONS: Final = {
    FinishReason.MAX_ITERATIONS: "MAX_ITERATIONS",
    FinishReason.REPEATED: "MAX_ITERATIONS",
    FinishReason.BUDGET_EXCEEDED: "MAX_ITERATIONS",
    FinishReason.STOPPED: "INTERRUPTED",
    FinishReason.STRUCTURED_OUTPUT: "STRUCTURED_OUTPUT",
    FinishReason.ALL_TOOLS_DENIED: "ALL_TOOLS_DENIED",
    FinishReason.AWAIT_CONFIRM: "PERMISSION_ASKING",
    FinishReason.AWAIT_EXTERNAL: "TOOL_SUSPENDED",
}
"""The words of this vocabulary for why an agent ended; all others are `MODEL_STOP`."""


@dataclass(frozen=True, slots=True)
class BlockEvent:
    """One event.

    Attributes:
        type: What happened, such as `TEXT_BLOCK_DELTA`.
        seq: Its number, from 1 without gaps.
        reply_id: The reply that it belongs to; the same for all events of a call.
        source: Empty for the agent itself; for an agent that it called, the way to it: `main/helper`.
        data: What else there is, by the names of the wire: `blockId`, `delta`, `toolCallId` and others.
        id: Unique.
        created_at: When, as ISO time.
    """

    type: str
    seq: int
    reply_id: str
    source: str = ""
    data: Mapping[str, Json] = field(default_factory=dict[str, "Json"])
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created_at: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Give the event as JSON."""
        head: dict[str, Json] = {"id": self.id, "type": self.type, "seq": self.seq, "createdAt": self.created_at}
        if self.source:
            head["source"] = self.source
        return {**head, "replyId": self.reply_id, **self.data}


class Blocks:
    """Makes blocks of the events of one call.

    Order: `AGENT_START`; when it goes on after a pause `USER_CONFIRM_RESULT` or `EXTERNAL_EXECUTION_RESULT`; for each
    model call `MODEL_CALL_START`, the blocks of thinking, text and tool calls, and `MODEL_CALL_END`; the results of the
    tools, begun in the order of their calls and ended as they come; when it pauses `REQUIRE_USER_CONFIRM` or
    `REQUIRE_EXTERNAL_EXECUTION`, and `REQUEST_STOP`; last `AGENT_RESULT`, unless the call failed, and `AGENT_END`. What
    else an agent or a hook tells is `CUSTOM`.
    """

    def __init__(self, name: str, session: str, call: AgentCall) -> None:
        self._name = name
        self._session = session
        self._call = call
        self._reply_id = uuid.uuid4().hex
        self._seq = 0
        self._top = 0
        self._agents: dict[int, str] = {}
        self._levels: dict[int, Level] = {}
        self._was_stopped = False
        self._time = ""

    async def of(self, events: AsyncIterable[Event]) -> AsyncGenerator[BlockEvent]:
        """Give the blocks."""
        async for event in events:
            self._time = datetime.fromtimestamp(event.timestamp / 1000, UTC).isoformat(timespec="milliseconds")
            for type_, source, data in self._made(event):
                self._seq += 1
                yield BlockEvent(type_, self._seq, self._reply_id, source, data, created_at=self._time)

    def _made(self, event: Event) -> Iterator[tuple[str, str, dict[str, Json]]]:
        if isinstance(event, RunStarted):
            yield "AGENT_START", "", {"sessionId": self._session, "name": self._name, "role": "assistant"}
        elif isinstance(event, TERMINAL):
            yield from self._ended(event)
        elif isinstance(event, NodeFinished):
            level = self._levels.get(event.parent)
            if level is not None:
                yield from _placed(level, level.left(event))
        elif isinstance(event, NodeEvent):
            yield from self._told(event)

    def _told(self, event: NodeEvent) -> Iterator[tuple[str, str, dict[str, Json]]]:
        if event.name == "agent.status" and event.visit not in self._agents:
            self._top = self._top or event.visit
            self._agents[event.visit] = event.chain_id
        agent = event.parent if event.parent in self._agents else event.visit
        if agent not in self._agents or event.name in _SILENT:
            return
        self._was_stopped |= event.name == "hook.stop" and agent == self._top
        level = self._level(agent)
        made = level.told(event.name, event.data)
        custom: Made = iter([("CUSTOM", {"name": event.name, "value": dict(event.data)})])
        yield from _placed(level, custom if made is None else made)

    def _level(self, agent: int) -> Level:
        level = self._levels.get(agent)
        if level is None:
            level = self._levels[agent] = Level("" if agent == self._top else f"main/{self._agents[agent]}")
        return level

    # The end

    def _ended(self, event: Event) -> Iterator[tuple[str, str, dict[str, Json]]]:
        for level in self._levels.values():
            yield from _placed(level, level.close())
        error = getattr(event, "error", "")
        if isinstance(event, RunCompleted | RunPaused):
            yield "AGENT_RESULT", "", {"result": self._result()}
        status = "cancelled" if isinstance(event, RunWasCancelled) else "failed"
        status = {RunCompleted: "completed", RunPaused: "paused"}.get(cast("Any", type(event)), status)
        yield "AGENT_END", "", {"status": status, **({"error": error} if error else {})}

    def _result(self) -> Json:
        state = self._call.state
        if state is None:
            return None
        message = message_to_json(answer_in(state, state.answer))
        reason = _REASONS.get(state.finish_reason, "MODEL_STOP")
        reason = "MIDDLEWARE_STOP_REQUESTED" if reason == "INTERRUPTED" and self._was_stopped else reason
        return {**message, "finishReason": str(state.finish_reason), "generateReason": reason}


def _placed(level: Level, made: Made) -> Iterator[tuple[str, str, dict[str, Json]]]:
    for type_, data in made:
        yield type_, level.source, data
