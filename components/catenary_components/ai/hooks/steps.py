"""What passes a point of an agent's run, for hooks to look at and to change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from catenary.errors import EngineError
from catenary_components.ai.messages import ChatMessage, system_message, user_message
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.running import HookRun
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.models.types import ChatRequest, Reply, ToolSpec
    from catenary_components.ai.runtime_context import RuntimeContext
    from catenary_components.ai.sessions.slot import Slot
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.execute import CallResult
    from catenary_components.ai.tools.tool import Tool


@dataclass(slots=True, kw_only=True)
class Step:
    """What all points have in common.

    Attributes:
        ctx: The node that is visited.
        state: The record of the agent.
        setup: What the agent works with.
        run: The hooks of this run.
    """

    can_go_back: ClassVar[bool] = False

    ctx: Context
    state: AgentState
    setup: AgentSetup
    run: HookRun

    @property
    def context(self) -> RuntimeContext:
        """What the caller gave along; the same object for all hooks and tools of a run."""
        return self.run.context

    @property
    def session(self) -> Slot | None:
        """The session of the run: its key, its whole conversation, and `save()`; `None` without one."""
        return self.run.session

    @property
    def time_ms(self) -> int:
        """The time, in milliseconds since 1970."""
        return self.ctx.clock.time_ms()

    def publish(self, type: str, **data: Json) -> None:  # noqa: A002 - the field's name in the event
        """Publish an event of your own, `type` being a dotted name; whoever follows the run gets it."""
        self.ctx.notify(type, **data)

    def stop(self, message: str = "", reason: FinishReason = FinishReason.STOPPED) -> None:
        """Ask the agent to stop: what is there is kept, and no model call and no tool begins any more.

        Tools that run already run to their end when it is asked at the points `acting` and `tool`. Calls that the model
        has asked for and nobody has run stay open: in a session, the next call of the agent that brings nothing new
        runs them. An agent that has called this one goes on.

        Args:
            message: Said to whoever reads the events.
            reason: The finish reason of the run.
        """
        self.run.stop_reason = reason
        if isinstance(self, ActingStep | ToolStep):
            self.run.stops_after = message
        else:
            self.state.stop.set(leaves_calls=True)
        self.ctx.notify("hook.stop", message=message, reason=str(reason))

    def goto(self, *messages: ChatMessage | str) -> None:
        """Have the agent reason again, with these messages at the end of its conversation; a text is said as the user.

        It is one more model call, and counts as such. Calls that are open get a result that says they were not run.

        Raises:
            EngineError: When the agent is at a point from which it cannot go back.
        """
        if not self.can_go_back:
            raise EngineError(
                f"goto() from a {type(self).__name__}: an agent goes back to reasoning from reasoning and from tools",
                hint="call it at the points reasoning, model_call, acting or tool",
            )
        made = [user_message(one, name="system") if isinstance(one, str) else one for one in messages]
        self.run.gone_back = [replace(one, metadata={"synthetic": True, **one.metadata}) for one in made]


@dataclass(slots=True, kw_only=True)
class AgentStep(Step):
    """A whole run of the agent.

    Attributes:
        message: The message that came in; its metadata may be replaced before the run.
        answer: The message that goes out; `None` before there is one.
        error: What the run failed with.
    """

    message: Message
    answer: Message | None = None
    error: BaseException | None = None

    @property
    def messages(self) -> list[ChatMessage]:
        """The conversation; change the list, or set another."""
        return self.state.messages

    @messages.setter
    def messages(self, messages: Iterable[ChatMessage]) -> None:
        self.state.messages = list(messages)

    @property
    def system_prompt(self) -> str:
        """What the model is told first in the whole run."""
        return self.state.system_prompt

    @system_prompt.setter
    def system_prompt(self, text: str) -> None:
        self.state.system_prompt = text


@dataclass(slots=True, kw_only=True)
class ModelStep(Step):
    """A call of the model. What is changed here holds for this call; the conversation stays as it is.

    Attributes:
        purpose: `reasoning`, `limit` (the last answer at a limit), `verify`, `compaction` (the conversation is made
            shorter; at the point `summary` the `messages` are the conversation, and there is no reply), or `memory`
            (the hook of that name asks what is worth keeping).
        system_prompt: What the model is told first.
        messages: The conversation that is sent.
        tools: What the model may ask for.
        tool_choice: See `ChatRequest`.
        options: Members of the request's body, laid over those of the model; dotted keys make nested objects.
        response_schema: See `ChatRequest`.
        reply: What came back; set before the call is made, it stands for the call.
    """

    can_go_back: ClassVar[bool] = True

    purpose: str = "reasoning"
    system_prompt: str = ""
    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    tools: list[ToolSpec] = field(default_factory=list["ToolSpec"])
    tool_choice: str = "auto"
    options: dict[str, Json] = field(default_factory=dict[str, "Json"])
    response_schema: Mapping[str, Json] | None = None
    reply: Reply | None = None

    def read(self, request: ChatRequest) -> Self:
        """Take over a request."""
        first = request.messages[0] if request.messages else None
        if first is not None and first.role == "system":
            self.system_prompt = first.text
        self.messages = list(request.messages[1:] if self.system_prompt else request.messages)
        self.tools = list(request.tools)
        self.tool_choice = request.tool_choice
        self.options = dict(request.options)
        self.response_schema = request.response_schema
        return self

    def inner(self) -> ModelStep:
        """Give a step of its own for what lies within, so that a second try begins from the same request."""
        return replace(
            self, messages=list(self.messages), tools=list(self.tools), options=dict(self.options), reply=None
        )

    def request(self, before: ChatRequest) -> ChatRequest:
        """Give the request as it is now; what hooks do not see is that of `before`."""
        system = (system_message(self.system_prompt),) if self.system_prompt else ()
        return replace(
            before,
            messages=(*system, *self.messages),
            tools=tuple(self.tools),
            tool_choice=self.tool_choice,
            options=self.options,
            response_schema=self.response_schema,
        )


@dataclass(slots=True, kw_only=True)
class PromptStep(Step):
    """The system prompt of one model call.

    Attributes:
        prompt: The prompt so far.
    """

    prompt: str


@dataclass(slots=True, kw_only=True)
class ActingStep(Step):
    """A batch of calls.

    Attributes:
        calls: The calls; a changed one is changed in the conversation too, so that the model sees what was run.
        results: What came of them, in the order of the calls.
    """

    can_go_back: ClassVar[bool] = True

    calls: list[ToolCall]
    results: list[CallResult] = field(default_factory=list["CallResult"])


@dataclass(slots=True, kw_only=True)
class ToolStep(Step):
    """One call of a tool.

    Attributes:
        call: The call.
        tool: The tool; `None` when there is none of that name.
        arguments: The arguments; `None` when they are no JSON object. Those changed before the call are checked and
            judged like the model's own, and stand in the conversation; later changes have no effect.
        result: What came of it; set before the call is run, it stands for the call.
    """

    can_go_back: ClassVar[bool] = True

    call: ToolCall
    tool: Tool | None = None
    arguments: dict[str, Json] | None = None
    result: CallResult | None = None
