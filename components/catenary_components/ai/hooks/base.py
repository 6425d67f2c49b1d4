"""`AgentHook`: the points of an agent's run, and what may be done at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.steps import ActingStep, AgentStep, ModelStep, PromptStep, Step, ToolStep
    from catenary_components.ai.models.types import Piece
    from catenary_components.ai.tools.execute import CallResult

Proceed: TypeAlias = "Callable[[], Awaitable[None]]"
"""Goes on to what lies further inside; its outcome is in the step afterwards."""

POINTS: Final = ("agent", "reasoning", "model_call", "acting", "tool", "summary", "system_prompt")
TIMES: Final = ("before", "around", "after", "chunk")


class AgentHook:
    """Looks at the points of an agent's run, and may change what passes. Override the methods that are needed.

    A method that is not overridden costs nothing. `before_...`, `after_...` and `chunk_...` may be `def` or
    `async def`; `around_...` is an `async def` and goes on with `await proceed()`: once, several times, or not at all
    if it sets the outcome itself. All of them change the step they are given. `chunk_...` gives the piece that goes on;
    `None` leaves it as it is.

    Hooks apply in ascending order: at each point first all `before`, then each `around`, a lower one further outside,
    then all `after`. Of the same order, the one that was given first comes first.

    What a hook raises fails the run of the agent. At the point `tool` it fails that call only, and the model is told;
    at `acting` all calls of the reply. What `after_agent`, `after_tool` and `completed` raise is logged and published
    as `hook.error`.

    Attributes:
        order: Where it stands among the others.
        nodes: Ids of agent nodes that it applies to, `*` stands for any characters; empty for all.
        chains: Ids of chains that it applies to, in the same way.
        tools: Functions that agents with this hook have as tools besides their own.
    """

    order: int = 100
    nodes: Sequence[str] = ()
    chains: Sequence[str] = ()
    tools: Sequence[Callable[..., Any]] = ()

    @property
    def name(self) -> str:
        """What it is called in listings and errors."""
        return type(self).__name__

    def new(self, ctx: Context) -> Self:  # noqa: ARG002 - for those that override it
        """Give the instance for one agent node; override it for state that agents must not share."""
        return self

    def applies(self, point: str, step: Step, /) -> bool:  # noqa: ARG002
        """Tell whether it applies here, for what only the moment decides; asked at each point that it fills."""
        return True

    # A whole run of the agent

    def before_agent(self, step: AgentStep, /) -> Any:
        """Look at the conversation before the first phase; what is changed holds for the run."""

    async def around_agent(self, step: AgentStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around the run; one that sets `step.answer` and does not proceed answers itself."""
        await proceed()

    def after_agent(self, step: AgentStep, /) -> Any:
        """Look at the answer of a run that went well."""

    def chunk_agent(self, step: AgentStep, message: Message, /) -> Any:
        """Look at a message that goes out by `Stream`; give the one that goes out in its place, or `None`."""

    def completed(self, step: AgentStep, /) -> Any:
        """Hear that the run is over, always and last; `step.error` tells what it failed with."""

    # One step of reasoning

    def before_reasoning(self, step: ModelStep, /) -> Any:
        """Look at what the model is to be asked in this step."""

    async def around_reasoning(self, step: ModelStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around the step."""
        await proceed()

    def after_reasoning(self, step: ModelStep, /) -> Any:
        """Look at `step.reply` before it is put into the conversation and acted on."""

    def chunk_reasoning(self, step: ModelStep, piece: Piece, /) -> Any:
        """Look at a piece of the reply; see `chunk_model_call`."""

    # Any call of the model: of a step, at a limit, to verify

    def before_model_call(self, step: ModelStep, /) -> Any:
        """Look at a request, with its system prompt as all others have left it."""

    async def around_model_call(self, step: ModelStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around the call."""
        await proceed()

    def after_model_call(self, step: ModelStep, /) -> Any:
        """Look at a reply."""

    def chunk_model_call(self, step: ModelStep, piece: Piece, /) -> Any:
        """Look at a piece of a reply, before anybody gets it, and give the one in its place, or `None`.

        The reply is made of the pieces as they go on. A reply that does not come in pieces is one piece.
        """

    # A batch of calls of tools

    def before_acting(self, step: ActingStep, /) -> Any:
        """Look at the calls of a reply, before any of them is checked and judged."""

    async def around_acting(self, step: ActingStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around the batch."""
        await proceed()

    def after_acting(self, step: ActingStep, /) -> Any:
        """Look at the results, before the model gets them."""

    def chunk_acting(self, step: ActingStep, result: CallResult, /) -> Any:
        """Look at each result as soon as it is there; give the one in its place, or `None`."""

    # One call of a tool

    def before_tool(self, step: ToolStep, /) -> Any:
        """Look at a call before it is checked and judged; what this raises refuses it."""

    async def around_tool(self, step: ToolStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around a call that is allowed to run."""
        await proceed()

    def after_tool(self, step: ToolStep, /) -> Any:
        """Look at the result of a call that was run."""

    def chunk_tool(self, step: ToolStep, piece: Json, /) -> Any:
        """Look at a piece that a tool shows on its way; give the one in its place, or `None`."""

    # A summary: the last answer at a limit, or a conversation that is made shorter

    def before_summary(self, step: ModelStep, /) -> Any:
        """Look at what is to be summed up; `step.purpose` tells which of the two it is."""

    async def around_summary(self, step: ModelStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around it."""
        await proceed()

    def after_summary(self, step: ModelStep, /) -> Any:
        """Look at the last answer (`step.reply`), or at the conversation that became shorter (`step.messages`)."""

    def chunk_summary(self, step: ModelStep, piece: Piece, /) -> Any:
        """Look at a piece of the last answer; see `chunk_model_call`."""

    # The system prompt, for each call of the model

    def before_system_prompt(self, step: PromptStep, /) -> Any:
        """Change `step.prompt`."""

    async def around_system_prompt(self, step: PromptStep, proceed: Proceed, /) -> None:  # noqa: ARG002
        """Stand around those who change it."""
        await proceed()

    def after_system_prompt(self, step: PromptStep, /) -> Any:
        """Change `step.prompt` when all others have."""

    def chunk_system_prompt(self, step: PromptStep, text: str, /) -> Any:
        """Look at the prompt, which is one piece; give the one in its place, or `None`."""


def fills(hook: AgentHook, method: str) -> bool:
    """Tell whether a hook overrides a method."""
    return method in getattr(hook, "__dict__", {}) or getattr(type(hook), method) is not getattr(AgentHook, method)
