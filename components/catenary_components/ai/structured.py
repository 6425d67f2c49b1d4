"""Answers that are JSON: how the model is told the form, how its answer is checked, and repaired."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from catenary import json_schema
from catenary.errors import CatenaryError
from catenary.jsontext import dumps_in_order
from catenary_components.ai.messages import (
    TextPart,
    ThinkingPart,
    ToolCall,
    assistant_message,
    tool_message,
    user_message,
)
from catenary_components.ai.models.types import ToolSpec
from catenary_components.ai.references import hoisted, inlined
from catenary_components.ai.said_json import said_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage
    from catenary_components.ai.models.registry import Profile
    from catenary_components.ai.models.types import ChatRequest, ModelError, Reply
    from catenary_components.ai.options.structured import StructuredOptions
    from catenary_components.ai.params import ModelParams
    from catenary_components.ai.state import AgentState

TOOL: Final = "generate_response"
KIND: Final = "structured_output"
"""The member of the metadata of messages: the value of an answer, or what belongs to the way there."""

_ATTEMPT: Final = "attempt"
_THINK: Final = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_FENCE: Final = re.compile(r"\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_MOST_PROBLEMS: Final = 20
_LONGEST_SHOWN: Final = 500
_DESCRIPTION: Final = "Give the final answer. Call it alone, once everything that is needed for the answer is known."
_ALONE: Final = f"[ERROR] Call {TOOL} alone, when the results of the other tools are there."
_OBJECT_ONLY: Final = "Answer with one JSON object and nothing else."
_NOT_BY_NATIVE: Final = ("client_error", "server_error", "unknown")


class StructuredOutputError(CatenaryError):
    """The answer of a model is not the JSON that was asked for, and it was asked often enough.

    Usual cause: The schema asks for more than the model can do, or does not say what is meant.

    Cure: Describe the members in the schema, make it simpler, raise `repairRounds`, or take another model.

    Attributes:
        answer: The text that the model gave last.
    """

    code = "agent.structured-output"

    def __init__(self, found: Sequence[str], answer: str, repairs: int) -> None:
        shown = answer if len(answer) <= _LONGEST_SHOWN else f"{answer[:_LONGEST_SHOWN]}..."
        times = f" after {repairs} repair round{'' if repairs == 1 else 's'}" if repairs else ""
        super().__init__(
            f"the answer does not fit what was asked for{times}: {'; '.join(found)}. It was: {shown or '(nothing)'}",
            hint="make the schema simpler, or raise repairRounds",
        )
        self.answer = answer


@dataclass(slots=True)
class StructuredOutput:
    """What the answer of one run has to be.

    Attributes:
        schema: Its JSON Schema.
        has_schema: False when any JSON object will do.
        by_tool: Whether the model gives it by a call of the tool `generate_response`.
        may_fall_back: Whether that is tried when the service does not take the schema.
        rounds: How often the model may be asked again.
        is_forced: Whether the next call of the model has to be one of the tool.
    """

    schema: Mapping[str, Json]
    has_schema: bool
    by_tool: bool
    may_fall_back: bool
    rounds: int
    is_forced: bool = False

    # The request

    def shaped(self, request: ChatRequest) -> ChatRequest:
        """Give the request with what tells the model the form of its answer."""
        if self.by_tool:
            is_forced = self.is_forced or not request.tools
            choice = TOOL if is_forced else "auto" if request.tool_choice == "none" else request.tool_choice
            spec = ToolSpec(TOOL, _DESCRIPTION, hoisted("response", self.schema))
            return replace(request, tools=(*request.tools, spec), tool_choice=choice)
        if self.has_schema:
            return replace(request, response_schema=self.schema)
        options = {**request.options, "response_format.type": "json_object"}
        note = replace(user_message(_OBJECT_ONLY, name="system"), metadata={"synthetic": True})
        return replace(request, options=options, messages=(*request.messages, note))

    def falls_back(self, error: ModelError) -> bool:
        """Go over to the tool when the service refuses such a request; False when that makes no sense."""
        if self.by_tool or not self.may_fall_back or not error.status or error.kind not in _NOT_BY_NATIVE:
            return False
        self.by_tool = True
        return True

    # The answer

    def settled(self, state: AgentState, reply: Reply, *, is_last: bool) -> bool | None:
        """Look at a reply: an answer is put into the state, one that does not fit is told to the model.

        Args:
            state: The record of the agent.
            reply: What the model said; it stands at the end of the conversation.
            is_last: Whether the model cannot be asked again.

        Returns: True when it is the answer, False when the model is to be asked again, `None` when it is neither: it
            asks for tools, or says nothing.

        Raises:
            StructuredOutputError: When it does not fit, and the model was asked often enough.
        """
        own = [call for call in reply.tool_calls if self.by_tool and call.name == TOOL]
        if own and len(own) < len(reply.tool_calls):
            state.messages += [tool_message(call.id, _ALONE, name=TOOL, state="error") for call in own]
            return None
        if not own and (reply.tool_calls or not reply.content.strip()):
            return None
        value, found = self._called(own[0]) if own else self.read(reply.content)
        text = own[0].arguments if own else reply.content
        if found:
            self._repair(state, own, found, text, is_last=is_last)
            return False
        state.answer = dumps_in_order(value)
        state.messages = tidied(_marked(state.messages), state.answer, value, state)
        return True

    def final(self, state: AgentState) -> str:
        """Give the answer as the agent sends it. Raises: StructuredOutputError: when it does not fit."""
        value, found = self.read(state.answer)
        if found:
            raise StructuredOutputError(found, state.answer, state.repairs)
        return dumps_in_order(value)

    def read(self, text: str) -> tuple[Json, list[str]]:
        """Read an answer. Returns: its value, and what is wrong with it."""
        bare = _THINK.sub("", text, count=1) if text.lstrip().startswith("<think>") else text
        fenced = _FENCE.fullmatch(bare)
        try:
            value = said_json(fenced[1] if fenced else bare.strip())
        except ValueError as error:
            return None, [f"it is not JSON ({error})"]
        return value, self._problems(value)

    def _called(self, call: ToolCall) -> tuple[Json, list[str]]:
        try:
            arguments: Any = said_json(call.arguments)
        except ValueError as error:
            return None, [f"the arguments are not valid JSON ({error})"]
        if isinstance(arguments, dict) and "response" in arguments:
            value = cast("dict[str, Json]", arguments)["response"]
            if isinstance(value, str) and self._problems(value):
                value = _unquoted(value)
            return value, self._problems(value)
        if not self._problems(arguments):
            return cast("Json", arguments), []  # without the wrapping, as small models write it
        return None, ["response is required"]

    def _problems(self, value: Json) -> list[str]:
        found = json_schema.problems(value, inlined(self.schema, value), unknown="is not allowed here")
        return [problem for problem, _ in zip(found, range(_MOST_PROBLEMS), strict=False)]

    def _repair(
        self, state: AgentState, own: Sequence[ToolCall], found: Sequence[str], text: str, *, is_last: bool
    ) -> None:
        if is_last or state.repairs >= self.rounds:
            raise StructuredOutputError(found, text, state.repairs)
        state.repairs += 1
        self.is_forced = self.by_tool
        wrong = "; ".join(found)
        if own:
            told = f"[ERROR] Parameter validation failed for tool '{TOOL}': {wrong}"
            state.messages += [tool_message(call.id, told, name=TOOL, state="error") for call in own]
            return
        how = f"by calling the tool {TOOL}" if self.by_tool else "as JSON and nothing else"
        schema = f" It has to fit this JSON Schema: {dumps_in_order(dict(self.schema))}" if self.has_schema else ""
        told = f"Your answer cannot be used: {wrong}. Give the whole answer again, {how}.{schema}"
        state.messages[:] = _marked(state.messages)
        note = replace(user_message(told, name="system"), metadata={"synthetic": True, "reminder": KIND})
        state.messages.append(note)


def structured_output(params: ModelParams, options: StructuredOptions, profile: Profile) -> StructuredOutput | None:
    """Give what the answers of an agent have to be in one run; `None` when they are text."""
    if params.response_format == "text":
        return None
    has_schema = bool(params.json_schema)
    wanted = options.structured_output
    by_tool = wanted == "tool" or (wanted == "auto" and not profile.has_schemas)
    return StructuredOutput(
        schema=params.json_schema or {"type": "object"},
        has_schema=has_schema,
        by_tool=by_tool,
        may_fall_back=wanted == "auto",
        rounds=options.repair_rounds,
    )


def tidied(messages: Iterable[ChatMessage], answer: str, value: Json, state: AgentState) -> list[ChatMessage]:
    """Give a conversation without the way to an answer: attempts, reminders and calls of the tool are left out.

    Args:
        messages: The conversation.
        answer: The answer as text, which stands at its end.
        value: The answer.
        state: The record of the agent.
    """
    kept: list[ChatMessage] = []
    thoughts: tuple[ThinkingPart, ...] = ()
    for message in messages:
        if message.role == "assistant":
            thoughts = tuple(block for block in message.blocks if isinstance(block, ThinkingPart))
        if message.metadata.get("reminder") == KIND or message.metadata.get(KIND) == _ATTEMPT:
            continue
        bare = _without_tool(message)
        if bare is message or not bare.is_blank:
            kept.append(bare)
    said = assistant_message()
    blocks = (*thoughts, TextPart(answer))
    usage = state.usage if state.usage.total else None
    return [*kept, replace(said, blocks=blocks, metadata={KIND: value}, usage=usage)]


def _without_tool(message: ChatMessage) -> ChatMessage:
    if message.role == "tool":
        rest = tuple(result for result in message.results if result.name != TOOL)
        return message if len(rest) == len(message.results) else replace(message, blocks=rest)
    if any(call.name == TOOL for call in message.tool_calls):
        rest = tuple(block for block in message.blocks if not (isinstance(block, ToolCall) and block.name == TOOL))
        return replace(message, blocks=rest)
    return message


def _marked(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Give a conversation with its last reply marked as an attempt, unless it asks for other tools."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or any(call.name != TOOL for call in last.tool_calls):
        return messages
    return [*messages[:-1], replace(last, metadata={**last.metadata, KIND: _ATTEMPT})]


def _unquoted(text: str) -> Json:
    """Read a value that was written as a text; the text itself when it is no JSON."""
    try:
        return said_json(text)
    except ValueError:
        return text
