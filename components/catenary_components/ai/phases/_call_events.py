"""The events of one call of a tool, from its first argument to its result, whichever phase tells them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from catenary_components.ai.messages import object_or_text
from catenary_components.ai.records import block_to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import MediaPart, ResultState, ToolCall
    from catenary_components.ai.models.assemble import OpenCall
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Toolbox

NOT_RUN = "the call was not run"


class CallEvents:
    """Tells `tool.start`, `tool.args`, `tool.run`, `tool.delta`, `tool.end` and `tool.result` of one call.

    An action has events of its own, named `action....`. The id in all of them is made here, for the model's own ids
    need not be unique within a run.

    Args:
        ctx: The context of the visit that tells.
        toolbox: The tools of the agent.
        name: The tool.
        id: The id of earlier events of the call; empty for none.
        number: The how manieth call of the run it is.
    """

    def __init__(
        self,
        ctx: Context,
        toolbox: Toolbox,
        name: str,
        id: str = "",  # noqa: A002 - the member's name
        *,
        number: int = 0,
    ) -> None:
        self._ctx = ctx
        self._name = name
        self.tool = toolbox.get(name)
        self.kind = self.tool.kind if self.tool else "unknown"
        self._family = "action" if self.kind == "action" else "tool"
        self.id = id or f"tool-{name}-{ctx.clock.time_ms()}-{number}-{uuid.uuid4().hex[:6]}"

    def start(self, call_id: str, arguments: str | None = None) -> None:
        """Tell that the call is begun; `arguments` are all of them, if they are known already."""
        members: dict[str, Json] = {"callId": call_id, f"{self._family}Name": self._name}
        if self._family == "tool":
            members["toolType"] = self.kind
            if arguments is not None:
                members["toolParams"] = object_or_text(arguments)
        self._notify("start", **members, description=self.tool.description if self.tool else "")
        if arguments:
            self.args(arguments, 0)

    def args(self, delta: str, index: int) -> None:
        """Tell a piece of the arguments, and the how manieth it is."""
        self._notify("args", delta=delta, chunkIndex=index)

    def run(self) -> None:
        """Tell that the tool is at work."""
        self._notify("run")

    def delta(self, text: str) -> None:
        """Tell a piece that the tool shows on the way."""
        self._notify("delta", delta=text)

    def end(self) -> None:
        """Tell that nothing more comes but, if there is one, the result."""
        self._notify("end")

    def over(self, text: str, *, is_error: bool, state: ResultState, parts: Sequence[MediaPart] = ()) -> None:
        """Tell that the call is over, and what came of it."""
        self.end()
        shown = object_or_text(text) if self._family == "action" else text
        blocks = {"parts": [block_to_json(part) for part in parts]} if parts else {}
        self._notify("result", result=shown, isError=is_error, state=state, **blocks)

    def _notify(self, what: str, **members: Json) -> None:
        self._ctx.notify(f"{self._family}.{what}", **{f"{self._family}Id": self.id, **members})


class ArgumentStream:
    """Tells of calls while a model still writes them: each piece of the arguments as it comes.

    What was begun is noted in the state, so that whoever runs the call goes on with it. A call of what is no tool of
    the agent is not told here.
    """

    def __init__(self, ctx: Context, setup: AgentSetup, state: AgentState) -> None:
        self._ctx = ctx
        self._toolbox = setup.toolbox
        self._expect = setup.expect
        self._state = state
        self._open: dict[str, tuple[CallEvents, int]] = {}

    def begins(self, call: OpenCall) -> bool:
        """Whether a call can be told of that was not told yet."""
        return bool(call.name) and call.id not in self._open and self._toolbox.get(self._known(call)) is not None

    def begin(self, call: OpenCall) -> None:
        """Tell that a call is begun, with what is known of its arguments."""
        number = self._state.tool_calls + len(self._open) + 1
        events = CallEvents(self._ctx, self._toolbox, self._known(call), number=number)
        self._state.announced[call.id] = (events.id, self._known(call))
        self._open[call.id] = (events, 0)
        if events.tool is not None and events.tool.is_external and self._expect is not None:
            self._expect()
        events.start(call.id)
        self.add(call, "".join(call.arguments))

    def add(self, call: OpenCall, delta: str) -> None:
        """Tell a piece of the arguments of a call that was begun; nothing of one that was not."""
        events, index = self._open.get(call.id, (None, 0))
        if events is not None and delta:
            self._open[call.id] = (events, index + 1)
            events.args(delta, index)

    def _known(self, call: OpenCall) -> str:
        return self._toolbox.real_name(call.name)


def close_announced(ctx: Context, toolbox: Toolbox, state: AgentState, keep: Collection[str] = ()) -> None:
    """End the events of calls that a model has begun and nobody runs; those that wait for somebody get no result.

    Args:
        ctx: The context of the visit that tells.
        toolbox: The tools of the agent.
        state: The record of the agent.
        keep: The ids of calls that are still to be run.
    """
    waiting = {call.id for call in state.pending if call.state != "pending"} if state.announced else ()
    for call_id in [call_id for call_id in state.announced if call_id not in keep]:
        id_, name = state.announced.pop(call_id)
        events = CallEvents(ctx, toolbox, name, id_)
        if call_id in waiting:
            events.end()
        else:
            events.over(NOT_RUN, is_error=True, state="interrupted")


def tell_settled(ctx: Context, toolbox: Toolbox, state: AgentState, asked: Sequence[ToolCall]) -> None:
    """Tell of those calls that were closed without being run, because their time is over."""
    left = {call.id for call in state.pending}
    results = {result.call_id: result for message in state.messages for result in message.results}
    for call in asked:
        if call.id in left:
            continue
        id_, name = state.announced.pop(call.id, ("", call.name))
        events = CallEvents(ctx, toolbox, name, id_)
        if not id_:
            events.start(call.id, call.arguments)
        result = results[call.id]
        events.over(result.text, is_error=result.state != "success", state=result.state)
