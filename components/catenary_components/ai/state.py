"""The record of an agent, in the scope of the run: its conversation and what it has done. The phases change it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from catenary.errors import CatenaryError
from catenary_components.ai.messages import (
    ChatMessage,
    TextPart,
    ToolCall,
    Usage,
    pending_calls,
    tool_message,
    user_message,
)
from catenary_components.ai.status import AgentStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import MediaPart, ResultState
    from catenary_components.ai.tools.execute import CallResult


class FinishReason(StrEnum):
    """Why a run of an agent ended."""

    NORMAL = "normal"
    SUMMARIZED = "summarized"
    MAX_ITERATIONS = "max_iterations_reached"
    ERROR_FALLBACK = "error_fallback"
    REPEATED = "repeated_observation"
    INCOMPLETE = "incomplete"
    STOPPED = "stopped"
    RETURN_DIRECT = "return_direct"
    EVIDENCE_INSUFFICIENT = "evidence_insufficient"
    STRUCTURED_OUTPUT = "structured_output"
    ALL_TOOLS_DENIED = "all_tools_denied"
    AWAIT_CONFIRM = "await_confirm"
    AWAIT_EXTERNAL = "await_external"
    BUDGET_EXCEEDED = "budget_exceeded"

    @property
    def is_pause(self) -> bool:
        """Whether the agent waits for somebody, who answers it."""
        return self in (FinishReason.AWAIT_CONFIRM, FinishReason.AWAIT_EXTERNAL)


class StopFlag:
    """Asks an agent to stop; it is looked at before each phase, at each piece of a stream and between tools.

    May be set from any thread.

    Args:
        outer: Asks this agent as well when it is set; what is asked of this one alone does not reach it.
    """

    __slots__ = ("_callbacks", "_event", "_leaves_calls", "_message", "_outer")

    def __init__(self, outer: StopFlag | None = None) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], object]] = []
        self._message = ""
        self._leaves_calls = False
        self._outer = outer

    @property
    def message(self) -> str:
        """What is put into the conversation."""
        return self._message or (self._outer.message if self._outer is not None else "")

    @property
    def leaves_calls(self) -> bool:
        """Whether calls that are open stay open, for a later run to run them."""
        return self._leaves_calls and not self._outer

    def set(self, message: str = "", *, leaves_calls: bool = False) -> None:
        """Ask.

        Args:
            message: Is put into the conversation.
            leaves_calls: See the attribute.
        """
        self._message, self._leaves_calls = message, leaves_calls
        self._event.set()
        for callback in list(self._callbacks):
            callback()

    def on_set(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have a function called, in the thread of whoever asks; at once when it was asked. It may be called twice.

        Returns: what takes it off again.
        """
        self._callbacks.append(callback)
        if self._event.is_set():
            callback()
        forget = self._outer.on_set(callback) if self._outer is not None else None

        def forget_both() -> None:
            self._callbacks.remove(callback)
            if forget is not None:
                forget()

        return forget_both

    def __bool__(self) -> bool:
        return self._event.is_set() or bool(self._outer)


@dataclass(slots=True)
class AgentState:
    """The record of one agent in one session.

    The first group of attributes is kept from call to call when the agent has a session, the second only until a run
    is over (a pause does not end it), the third is never kept.

    Attributes:
        messages: The conversation, as the next model call sees it, without the agent's own system prompt.
        system_prompt: What the model is told first.
        session_id: The session; empty without one.
        user_id: The user; empty if nobody in particular.
        permissions: The mode and the rules that were accepted on the way; JSON, see `permission`.
        groups: The groups of tools that are switched on; `None` for those that the agent begins with.
        todos: The list that the tool `todo` keeps.
        model: The model that the session has chosen, with further members of requests; JSON, see `choosing`.
        title: What the session is called; empty if nobody has said.

        steps: Model calls of this run.
        rounds: Rounds of tools that were run and read.
        reminders: How often a model that said nothing was reminded that an answer is wanted.
        repairs: How often the model was told what is wrong with an answer that is to be JSON.
        recent_calls: What the last calls of tools were, to see repeats.
        recent_rounds: What the last rounds called and what came of it, to see repeats.
        failures: Calls of tools that failed in a row.
        decisions: How often a phase decided what comes next.
        tool_calls: Tool calls begun.
        usage: Tokens of all model calls.
        usage_by_model: The same, by the name of the model that answered.
        cost: What they cost, in US dollars; `None` when no price is known.
        cost_by_model: The same, by the name of the model.
        shown: Names of files and classes that results of tools have shown, for an agent that looks for evidence.
        observed: Characters of the results of each round since the conversation was last made shorter.
        compactions: How often older messages were replaced by a summary.
        spent: What is used up of the agent's own budget, by kind.
        question: What is asked of people and of outside systems while the agent is paused; JSON, see `pausing`.
        journal: What is known of approved calls by their ids: how often they were begun, and their result; JSON.
        later: What the user said along with answers; it follows the results.

        last_usage: Tokens of the last model call.
        results: Results of the last batch of calls, in the order of the calls.
        answer: The text of the last reply, or of a tool whose result is the answer.
        reasoning: The reasoning of the last reply.
        answered_by: The model that gave the last reply; empty before the first one.
        service_reason: Why the service says the last reply ended.
        finish_reason: Why the run ends.
        is_unshown: Whether the text of the last reply was kept from those who listen, and nobody has shown it since.
        unverified: Why the answer could not be checked, though it was to be; empty otherwise.
        stop: Set by whoever wants the agent to stop.
        status: Where the agent is in its life.
        announced: Calls heard of while the model wrote them: the id of their events and the tool, by the call's id.
    """

    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    system_prompt: str = ""
    session_id: str = ""
    user_id: str = ""
    permissions: dict[str, Json] = field(default_factory=dict[str, "Json"])
    groups: list[str] | None = None
    todos: list[Json] = field(default_factory=list["Json"])
    model: dict[str, Json] = field(default_factory=dict[str, "Json"])
    title: str = ""

    steps: int = 0
    rounds: int = 0
    reminders: int = 0
    repairs: int = 0
    recent_calls: list[str] = field(default_factory=list[str])
    recent_rounds: list[str] = field(default_factory=list[str])
    failures: int = 0
    decisions: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    usage_by_model: dict[str, Usage] = field(default_factory=dict[str, Usage])
    cost: float | None = None
    cost_by_model: dict[str, float] = field(default_factory=dict[str, float])
    shown: list[str] = field(default_factory=list[str])
    observed: list[int] = field(default_factory=list[int])
    compactions: int = 0
    spent: dict[str, Json] = field(default_factory=dict[str, "Json"])
    question: dict[str, Json] = field(default_factory=dict[str, "Json"])
    journal: dict[str, Json] = field(default_factory=dict[str, "Json"])
    later: list[str] = field(default_factory=list[str])

    last_usage: Usage = field(default_factory=Usage)
    results: tuple[CallResult, ...] = ()
    answer: str = ""
    reasoning: str = ""
    answered_by: str = ""
    service_reason: str = ""
    finish_reason: FinishReason = FinishReason.NORMAL
    is_unshown: bool = False
    unverified: str = ""
    stop: StopFlag = field(default_factory=StopFlag)
    status: AgentStatus = AgentStatus.IDLE
    announced: dict[str, tuple[str, str]] = field(default_factory=dict[str, "tuple[str, str]"])

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of the last reply that have no result in the conversation yet."""
        return pending_calls(self.messages)

    def answer_calls(self, texts: Sequence[str]) -> None:
        """Put a result for each pending call into the conversation, so that none is left open."""
        for call, text in zip(self.pending, texts, strict=True):
            self.close_call(call, text, "interrupted")
        self.results = ()
        self.say_later()

    def take_results(self, results: Sequence[CallResult], texts: Sequence[str]) -> None:
        """Put results of calls into the conversation, each paired with its call.

        Args:
            results: The results.
            texts: What the model gets of each.
        """
        for result, text in zip(results, texts, strict=True):
            self.close_call(result.call, _said(result, text), result.state, result.metadata)
        self.results = ()
        self.say_later()

    def close_call(
        self,
        call: ToolCall,
        said: str | Sequence[MediaPart],
        state: ResultState,
        metadata: Mapping[str, Json] | None = None,
    ) -> None:
        """Put the result of a call into the conversation; one that was asked about is marked as finished."""
        told = tool_message(call.id, said, name=call.name, state=state)
        if metadata:
            told = replace(told, blocks=tuple(replace(result, metadata=metadata) for result in told.results))
        self.messages.append(told)
        self.journal.pop(call.id, None)
        if call.state != "pending":
            self.replace_call(replace(call, state="finished"))

    def replace_call(self, call: ToolCall) -> None:
        """Put a call in the place of the pending one with its id, or of the last one that was."""
        for place in range(len(self.messages) - 1, -1, -1):
            if any(old.id == call.id for old in self.messages[place].tool_calls):
                self.messages[place] = self.messages[place].with_call(call)
                return

    def say_later(self) -> None:
        """Put what the user said along with answers into the conversation, once all calls have their results."""
        if self.later and not self.pending:
            self.messages.extend(user_message(text) for text in self.later)
            self.later = []

    def add_usage(self, model: str, usage: Usage, cost: float | None = None) -> None:
        """Count the tokens of a model call, and what they cost if that is known."""
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
            self.cost_by_model[model] = self.cost_by_model.get(model, 0.0) + cost
        self.usage += usage
        self.usage_by_model[model] = self.usage_by_model.get(model, Usage()) + usage
        self.last_usage = usage

    def to_json(self) -> str:
        """Give the record as JSON text, as sessions keep it; `from_json` reads it, in another process, too."""
        from catenary_components.ai.records import state_to_text

        return state_to_text(self)

    @classmethod
    def from_json(cls, text: str) -> AgentState:
        """Read a record. Raises: RecordError: when it is none, or one of a later version of this program."""
        from catenary_components.ai.records import state_from_text

        return state_from_text(text)

    def begin(self) -> None:
        """Make ready for a run that does not go on after a pause: its counters begin anew."""
        self.steps = self.rounds = self.reminders = self.repairs = self.decisions = self.tool_calls = 0
        self.failures = 0
        self.recent_calls = []
        self.recent_rounds = []
        self.usage = Usage()
        self.usage_by_model = {}
        self.cost = None
        self.cost_by_model = {}
        self.shown = []
        self.observed = []
        self.compactions = 0
        self.spent = {}
        self.question = {}
        self.journal = {}
        self.later = []
        rules = self.permissions.get("rules")
        if isinstance(rules, list):
            self.permissions["rules"] = [rule for rule in cast("list[Json]", rules) if not _is_for_a_run(rule)]


def _is_for_a_run(rule: Json) -> bool:
    return isinstance(rule, dict) and cast("dict[str, Json]", rule).get("scope") == "run"


def _said(result: CallResult, text: str) -> str | Sequence[MediaPart]:
    """Give what the model gets of a result; where its text was changed, pictures and the like stand behind it."""
    if not result.parts or text == result.text:
        return result.parts or text
    return (TextPart(text), *(part for part in result.parts if not isinstance(part, TextPart)))


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
    """An agent has no answer yet, and no model call or round of tools is left: `maxStep` or `maxRounds` is used up.

    Usual cause: The work needs more steps, or the model goes on and on.

    Cure: Raise the option that the hint names, or set `onLimit` to `answer` for one more call without tools.
    """

    code = "agent.max-steps"

    def __init__(self, state: AgentState, option: str, used_up: str) -> None:
        wanted = ", ".join(call.name for call in state.pending)
        self.steps = state.steps
        missing = f"the model still asks for {wanted}" if wanted else "there is no answer yet"
        super().__init__(
            f"the agent exceeds max steps: {used_up}, and {missing}",
            hint=f"raise {option}, or set onLimit to 'answer' for one more call without tools",
        )


class SameRounds(CatenaryError):  # noqa: N818 - a limit, named like those of runs
    """An agent asked for the same calls again and again, and the same came of them."""

    code = "agent.same-rounds"

    def __init__(self, rounds: int) -> None:
        super().__init__(
            f"the agent made {rounds} rounds with the same calls and the same results",
            hint="raise sameRounds, or set onLimit to 'answer' for one more call without tools",
        )


class TooManyDecisions(CatenaryError):  # noqa: N818 - a limit, named like those of runs
    """An agent's loop decided more often what comes next than its limits can need: its chain goes in circles."""

    code = "agent.decisions"

    def __init__(self, decisions: int, rounds: int) -> None:
        super().__init__(
            f"the loop of the agent has decided {decisions} times what comes next, which {rounds} rounds never need",
            hint="look for a circle in the agent's chain that neither asks the model nor runs a tool",
        )
