"""What is open of one agent while its events become blocks: the model call, the block in it, and calls of tools."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from catenary.jsontext import dumps
from catenary_components.ai.face.fields import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from catenary import Message
    from catenary.events import NodeFinished
    from catenary.jsontext import Json

Made: TypeAlias = "Iterator[tuple[str, dict[str, Json]]]"

_BLOCKS: Final = {"content": "TEXT_BLOCK", "reasoning": "THINKING_BLOCK"}
_USAGE: Final = {
    "promptTokens": "inputTokens",
    "completionTokens": "outputTokens",
    "totalTokens": "totalTokens",
    "cachedTokens": "cachedTokens",
    "cost": "cost",
}
AWAITED: Final = "[Awaiting external execution]"


@dataclass(slots=True)
class _Running:
    """A call of a tool that was begun.

    Attributes:
        named: Its id and its name, by the names of the wire.
        last: The last piece that it showed.
    """

    named: dict[str, Json]
    last: str = ""


@dataclass(slots=True)
class Level:
    """One agent: the one that was called, or one below it.

    Attributes:
        source: Empty for the one that was called, else the way to the agent.
        is_writing: Whether its model is at work.
        written: Calls that the model has written and that are not run yet, by the id of their events.
    """

    source: str
    block: str = ""
    block_id: str = ""
    is_asking: bool = False
    usage: dict[str, Json] | None = None
    is_writing: bool = False
    written: dict[str, dict[str, Json]] = field(default_factory=dict[str, "dict[str, Json]"])
    running: dict[str, _Running] = field(default_factory=dict[str, _Running])
    outcomes: list[tuple[dict[str, Json], str]] = field(default_factory=list[tuple[dict[str, "Json"], str]])

    def told(self, name: str, data: Mapping[str, Json]) -> Made | None:
        """Give the blocks of an event that the agent has told; `None` when it is about none."""
        make = _MADE.get(name)
        if make is None or not is_whole(name, data):
            return None
        return make(self, data, name.partition(".")[2])

    def left(self, event: NodeFinished) -> Made:
        """Give what is told when a phase is over: the calls that the model asked for, and the end of its call."""
        for relation, message in zip(event.relations, event.messages, strict=False):
            if relation == "ToolCalls" and self.is_asking:
                yield from self._untold_calls(message)
        if self.usage is not None:
            yield from self.close_call()
        if self.outcomes and all(state == "denied" for _, state in self.outcomes) and not self._asks(event.relations):
            denied: list[Json] = [named for named, _ in self.outcomes]
            yield "ALL_TOOLS_DENIED", {"deniedToolCalls": denied}
        self.outcomes = []

    @staticmethod
    def _asks(relations: Iterable[object]) -> bool:
        return "AwaitConfirm" in relations

    # Model calls

    def _model_start(self, _: Mapping[str, Json], __: str) -> Made:
        yield from self.close_call()
        self.is_asking = self.is_writing = True
        yield "MODEL_CALL_START", {}

    def _block(self, data: Mapping[str, Json], what: str) -> Made:
        kind = "content" if "contentId" in data else "reasoning"
        block_id = str(data[f"{kind}Id"])
        if what == "start":
            yield from self._close_block()
            self.block, self.block_id = _BLOCKS[kind], block_id
            yield f"{self.block}_START", {"blockId": block_id}
        elif what == "delta":
            yield f"{_BLOCKS[kind]}_DELTA", {"blockId": block_id, "delta": data["delta"]}
        else:
            yield from self._close_block()

    def _model_end(self, data: Mapping[str, Json], _: str) -> Made:
        """Take note of it: it is told when the node is left, for the calls of tools come before."""
        self.usage = {_USAGE[name]: data[name] for name in _USAGE if name in data}
        ms = data.get("ms")
        if isinstance(ms, (int, float)):
            self.usage["time"] = ms / 1000
        yield from self._close_block()
        self.is_writing = False
        for named in self.written.values():
            yield "TOOL_CALL_END", named

    def _untold_calls(self, message: Message) -> Made:
        """Tell of the calls that the model asked for, but for those that were told as it wrote them."""
        told = {named["toolCallId"] for named in self.written.values()}
        for call in cast("list[dict[str, Any]]", message.metadata.get("calls") or []):
            if call["id"] not in told:
                yield from self._tool_call(call)

    def _tool_call(self, call: Mapping[str, Any]) -> Made:
        named = _named(call["id"], call["name"])
        arguments = call["arguments"]
        yield "TOOL_CALL_START", named
        yield "TOOL_CALL_DELTA", {**named, "delta": arguments if isinstance(arguments, str) else dumps(arguments)}
        yield "TOOL_CALL_END", named

    # Tools

    def _tool_start(self, data: Mapping[str, Json], _: str) -> Made:
        name = data.get("toolName") or data.get("actionName")
        named = _named(data.get("callId") or _id_of(data), name)
        if self.is_writing:
            yield from self._close_block()
            self.written[_id_of(data)] = named
            yield "TOOL_CALL_START", named
        else:
            yield from self._begun(_id_of(data), named)

    def _tool_args(self, data: Mapping[str, Json], _: str) -> Made:
        named = self.written.get(_id_of(data)) if self.is_writing else None
        if named is not None:
            yield "TOOL_CALL_DELTA", {**named, "delta": data["delta"]}

    def _tool_run(self, data: Mapping[str, Json], _: str) -> Made:
        """Begin the result of a call that the model has written."""
        named = self.written.pop(_id_of(data), None)
        if named is not None:
            yield from self._begun(_id_of(data), named)

    def _begun(self, event_id: str, named: dict[str, Json]) -> Made:
        yield from self.close_call()
        self.running[event_id] = _Running(named)
        yield "TOOL_RESULT_START", named

    def _tool_text(self, data: Mapping[str, Json], _: str) -> Made:
        call = self.running.get(_id_of(data))
        if call is not None:
            call.last = str(data.get("delta", ""))
            yield "TOOL_RESULT_TEXT_DELTA", {**call.named, "delta": call.last}

    def _tool_result(self, data: Mapping[str, Json], what: str) -> Made:
        if self.is_writing:  # of a call that breaks off
            named = self.written.pop(_id_of(data), None)
            if named is not None:
                yield "TOOL_CALL_END", named
            return
        yield from self._tool_run(data, what)
        call = self.running.pop(_id_of(data), None)
        if call is None:
            return
        result = data["result"]
        text = result if isinstance(result, str) else dumps(result)
        if text != call.last:  # of a tool that shows pieces the last one is the result
            yield "TOOL_RESULT_TEXT_DELTA", {**call.named, "delta": text}
        for part in cast("list[dict[str, Json]]", data.get("parts") or []):
            if part.get("type") != "text":
                yield "TOOL_RESULT_DATA_DELTA", {**call.named, "data": part}
        state = str(data.get("state") or ("error" if data.get("isError") else "success"))
        self.outcomes.append((call.named, state))
        yield "TOOL_RESULT_END", {**call.named, "state": state}

    # Questions

    def _limit(self, data: Mapping[str, Json], _: str) -> Made:
        yield from self.close_call()
        yield "EXCEED_MAX_ITERS", {"maxIters": data["limit"], "currentIter": data["rounds"]}

    def _request(self, data: Mapping[str, Json], _: str) -> Made:
        yield from self.close_call()
        calls = cast("list[dict[str, Json]]", data.get("toolCalls") or [])
        head: dict[str, Json] = {"requestId": data["id"], "expires": data["expires"], "toolCalls": cast("Json", calls)}
        if data["kind"] == "confirm":
            yield "REQUIRE_USER_CONFIRM", head
        else:
            for call in calls:
                yield from _whole_result(_named(call["id"], call["name"]), AWAITED, "running")
            yield "REQUIRE_EXTERNAL_EXECUTION", head
        if not self.source:
            reason = "permission asking" if data["kind"] == "confirm" else "external execution"
            generate = "PERMISSION_ASKING" if data["kind"] == "confirm" else "TOOL_SUSPENDED"
            yield "REQUEST_STOP", {"reason": reason, "generateReason": generate}

    def _answered(self, data: Mapping[str, Json], _: str) -> Made:
        calls = cast("list[dict[str, Json]]", data.get("calls") or [])
        results = [_shown(call) for call in calls if call["decision"] == "result"]
        confirms = [_shown(call) for call in calls if call["decision"] != "result"]
        if results:
            yield "EXTERNAL_EXECUTION_RESULT", {"requestId": data["id"], "toolResults": cast("Json", results)}
        if confirms or data.get("cancelled"):
            yield "USER_CONFIRM_RESULT", {"requestId": data["id"], "confirmResults": cast("Json", confirms)}

    def _stop(self, data: Mapping[str, Json], _: str) -> Made:
        yield from self.close_call()
        yield "REQUEST_STOP", {"reason": data.get("message"), "generateReason": "MIDDLEWARE_STOP_REQUESTED"}

    def _reminder(self, data: Mapping[str, Json], _: str) -> Made:
        yield "HINT_BLOCK", _hint(data["kind"], data["text"])

    def _goto(self, data: Mapping[str, Json], _: str) -> Made:
        for text in cast("list[Json]", data["messages"]):
            yield "HINT_BLOCK", _hint("hook", text)

    # What is open

    def _close_block(self) -> Made:
        if self.block:
            yield f"{self.block}_END", {"blockId": self.block_id}
            self.block = ""

    def close_call(self) -> Made:
        """End the block and the model call that are open."""
        yield from self._close_block()
        if self.is_asking:
            self.is_asking = False
            yield "MODEL_CALL_END", {"usage": self.usage or {}}
            self.usage = None

    def close(self) -> Made:
        """End all that is open."""
        yield from self.close_call()
        for call in self.running.values():
            yield "TOOL_RESULT_END", {**call.named, "state": "interrupted"}
        self.running.clear()


_MADE: Final[Mapping[str, Callable[[Level, Mapping[str, Json], str], Made]]] = {
    **{f"{kind}.{what}": Level._block for kind in _BLOCKS for what in ("start", "delta", "end")},
    "model.start": Level._model_start,
    "model.end": Level._model_end,
    "tool.start": Level._tool_start,
    "tool.args": Level._tool_args,
    "tool.run": Level._tool_run,
    "tool.delta": Level._tool_text,
    "tool.result": Level._tool_result,
    "action.start": Level._tool_start,
    "action.args": Level._tool_args,
    "action.run": Level._tool_run,
    "action.delta": Level._tool_text,
    "action.result": Level._tool_result,
    "agent.limit": Level._limit,
    "approval.request": Level._request,
    "approval.resolved": Level._answered,
    "hook.stop": Level._stop,
    "hook.goto": Level._goto,
    "agent.reminder": Level._reminder,
}


def _whole_result(named: dict[str, Json], text: str, state: str) -> Made:
    yield "TOOL_RESULT_START", named
    yield "TOOL_RESULT_TEXT_DELTA", {**named, "delta": text}
    yield "TOOL_RESULT_END", {**named, "state": state}


def _hint(source: Json, text: Json) -> dict[str, Json]:
    return {"blockId": uuid.uuid4().hex, "hintSource": source, "hint": text}


def _id_of(data: Mapping[str, Json]) -> str:
    return str(data.get("toolId") or data.get("actionId"))


def _named(call_id: object, name: object) -> dict[str, Json]:
    return {"toolCallId": str(call_id), "toolCallName": str(name)}


def _shown(call: Mapping[str, Json]) -> dict[str, Json]:
    """Give an answer by the names in which answers are given."""
    return {"toolCallId": call["id"], **{name: value for name, value in call.items() if name not in ("id", "name")}}
