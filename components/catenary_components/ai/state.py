"""What the phases of one agent run share: its record, and what it works with. Both lie in the scope of the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from catenary.errors import CatenaryError
from catenary_components.ai.models.types import ChatMessage, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatModel
    from catenary_components.ai.tools.execute import CallResult
    from catenary_components.ai.tools.tool import Toolbox

OnLimit = Literal["fail", "answer"]


@dataclass(slots=True)
class AgentState:
    """The record of one agent run; the phases change it.

    Attributes:
        messages: The conversation, as the next model call sees it. A message that calls tools is in it already when
            the calls are pending; their results follow in `observe`.
        pending: Calls of the last reply that have no result in the conversation yet.
        results: Results of the pending calls, in the order of the calls.
        steps: Model calls made.
        tool_calls: Tool calls begun.
        usage: Tokens of all model calls.
        last_usage: Tokens of the last one.
        answer: The text of the last reply, or of a tool whose result is the answer.
        reasoning: The reasoning of the last reply.
        finish_reason: Why the service says the last reply ended.
    """

    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    pending: tuple[ToolCall, ...] = ()
    results: tuple[CallResult, ...] = ()
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    last_usage: Usage = field(default_factory=Usage)
    answer: str = ""
    reasoning: str = ""
    finish_reason: str = ""

    def answer_calls(self, texts: list[str]) -> None:
        """Put a result for each pending call into the conversation, so that none is left open."""
        for call, text in zip(self.pending, texts, strict=True):
            self.messages.append(ChatMessage("tool", text, tool_call_id=call.id))
        self.pending = ()
        self.results = ()


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What an agent run works with; it does not change during the run.

    Attributes:
        model: The model that is asked.
        toolbox: The tools it may ask for.
        max_step: Most model calls.
        max_tool_output_length: Longest tool result given to the model, in characters.
        on_limit: What happens at `max_step` when the model still asks for tools.
        streams: Whether pieces are sent on by `Stream` as they come.
    """

    model: ChatModel
    toolbox: Toolbox
    max_step: int
    max_tool_output_length: int
    on_limit: OnLimit = "fail"
    streams: bool = False


@dataclass(frozen=True, slots=True)
class SessionModel:
    """The model chosen for a run by its metadata; agents called as tools use the same.

    Attributes:
        name: The model's name; empty for the one of the node.
        extra_fields: Laid over the node's `extraFields`.
    """

    name: str = ""
    extra_fields: Mapping[str, Json] = field(default_factory=dict[str, "Json"])


class MaxStepsReached(CatenaryError):  # noqa: N818 - a limit, named like those of runs
    """The model still asked for tools when the agent had made as many model calls as `maxStep` allows."""

    code = "agent.max-steps"

    def __init__(self, state: AgentState, max_step: int) -> None:
        wanted = ", ".join(call.name for call in state.pending)
        self.steps = state.steps
        super().__init__(
            f"the agent exceeds max steps: {state.steps} of {max_step} model calls are made, and the model still "
            f"asks for {wanted or 'more'}",
            hint="raise maxStep, or set onLimit to 'answer' for one more call without tools",
        )
