"""What an agent run works with. It lies in the scope of the run beside the agent's state, and does not change in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.budget import Budget
    from catenary_components.ai.hooks.running import HookRun
    from catenary_components.ai.models.types import ChatModel, ModelError
    from catenary_components.ai.options.loop import LoopOptions
    from catenary_components.ai.options.tools import ToolOptions
    from catenary_components.ai.permission.gate import Gate
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.structured import StructuredOutput
    from catenary_components.ai.tools.tool import Toolbox

OnLimit = Literal["fail", "answer"]
CallsPerTurn = Literal["all", "first"]
ToolPolicy = Literal["auto", "none", "required"]


class Compaction(Protocol):
    """Makes a conversation shorter that has become too long to be sent."""

    def is_due(self, state: AgentState) -> bool:
        """Whether the conversation is to be made shorter before the model is asked again; False when it cannot be."""
        ...

    async def shorten(self, ctx: Context, msg: Message, setup: AgentSetup, state: AgentState) -> None:
        """Replace messages of the conversation; each call in it keeps its result."""
        ...

    def rescues(self, state: AgentState, error: ModelError) -> bool:
        """Whether a model call that failed is to be made again once the conversation is shorter."""
        ...


def _loop_options() -> LoopOptions:
    from catenary_components.ai.options.loop import LoopOptions

    return LoopOptions()


def _tool_options() -> ToolOptions:
    from catenary_components.ai.options.tools import ToolOptions

    return ToolOptions()


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What an agent run works with.

    Attributes:
        model: The model that is asked.
        provider: Whose it is, such as `openai`; empty when only an address is known.
        toolbox: The tools it may ask for.
        loop: The settings of the loop.
        tools: The settings of how tools are run.
        compaction: Makes the conversation shorter; `None` for never.
        budget: What the run may use up; `None` for as much as it needs.
        hooks: Those of this run; `None` for none.
        structured: What the answer has to be; `None` for text.
        gate: Decides which calls may be run; `None` runs them all.
        approval_timeout_s: Seconds for which a question can be answered.
        keep: Writes the state down as it is, so that another process could go on from there; `None` when nothing can.
        expect: Has answers wait that come before the agent does; `None` for an agent that nobody can answer.
        streams: Whether pieces are sent on by `Stream` as they come.
        metadata: That of the message that is answered; chains and components as tools get what they list of it.
    """

    model: ChatModel
    toolbox: Toolbox
    loop: LoopOptions = field(default_factory=_loop_options)
    tools: ToolOptions = field(default_factory=_tool_options)
    compaction: Compaction | None = None
    budget: Budget | None = None
    hooks: HookRun | None = None
    structured: StructuredOutput | None = None
    gate: Gate | None = None
    keep: Callable[[], Awaitable[None]] | None = None
    expect: Callable[[], None] | None = None
    approval_timeout_s: float = 1800.0
    streams: bool = False
    provider: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])

    @property
    def max_decisions(self) -> int:
        """How often the phases may decide what comes next: twice a round and five more.

        Where rounds have no limit of their own, model calls stand for them; 0 is no limit.
        """
        rounds = self.loop.max_rounds or self.loop.max_step
        return 2 * rounds + 5 if rounds else 0

    def is_used_up(self, state: AgentState) -> bool:
        """Whether no round of tools or no model call is left; five model calls a round are too many."""
        rounds, steps = self.loop.max_rounds, self.loop.max_step
        if rounds and (state.rounds >= rounds or state.steps >= 5 * rounds):
            return True
        return bool(steps and state.steps >= steps)
