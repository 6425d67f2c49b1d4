"""What is said to an agent that asks: found in a message or with the engine's pauses, and checked before it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from catenary.errors import AnswerInvalid
from catenary.message import JSON, metadata_text
from catenary.pauses import Ask
from catenary.pauses.answers import NO_DATA
from catenary.pauses.parking import Resumed
from catenary_components.ai import answers as given
from catenary_components.ai.messages import ToolCall, assistant_message, object_or_text
from catenary_components.ai.models.wire import as_list, as_object
from catenary_components.ai.records import state_from_json
from catenary_components.ai.state import AgentState, FinishReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary.pauses.answers import Answer, Pause
    from catenary_components.ai.tools.tool import Toolbox

APPROVE: Final = "Approve"
DENY: Final = "Deny"
ANSWERS: Final = "Answers"
_SAID: Final = {APPROVE: "approve", DENY: "deny"}


class Reply(NamedTuple):
    """What came to a paused agent.

    Attributes:
        data: The answers as JSON; `NO_DATA` when `relation` says the same about all calls.
        relation: `Approve` or `Deny`.
        by: Who answers.
        note: A remark.
        resumed: What the engine's pauses kept; `None` when the answers came in a message.
    """

    data: Any
    relation: str = ""
    by: str = ""
    note: str = ""
    resumed: Resumed | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether it is a list of no answers."""
        return self.resumed is None and as_object(self.data) == {"answers": []}


def reply_in(ctx: Context, msg: Message) -> Reply | None:
    """Give the answers with which the agent is run: by the engine's pauses, or in the data of a message."""
    resumed = ctx.scope.get(Resumed)
    if resumed is not None and resumed.read(ctx):
        return _of_answer(resumed.answer)._replace(resumed=resumed)
    value = as_object(msg.value) if msg.data_type == JSON else {}
    if isinstance(value.get("answers"), list) or value.get("cancel") is True:
        return Reply(value, by=metadata_text(msg.metadata.get("answerer")))
    return None


def _of_answer(answer: Answer) -> Reply:
    return Reply(answer.data, answer.relation, answer.answerer, answer.note)


def read_reply(reply: Reply, state: AgentState, toolbox: Toolbox) -> given.Answers:
    """Read what came. Raises: AnswerInvalid: when anything is wrong with it; the text says all of it."""
    if reply.data is not NO_DATA and reply.data is not None:
        return given.read_answers(reply.data, state, toolbox)
    if reply.relation not in _SAID or not given.open_calls(state, "asking"):
        raise AnswerInvalid(
            "the answer says nothing",
            hint=f"give answers as data, or the relation {APPROVE} or {DENY} for all calls that are asked about",
        )
    return given.decide_all(state, _SAID[reply.relation], reply.note)


def check_answer(pause: Pause, answer: Answer, toolbox: Toolbox) -> None:
    """Look at an answer before a run goes on with it. Raises: AnswerInvalid: when it is none."""
    kept = as_object(pause.kept)
    record = kept.get("record") if "session" in kept else kept
    state = AgentState() if record is None else state_from_json(record)
    if not state.messages:
        calls = [as_object(one) for one in as_list(as_object(pause.ask.details).get("toolCalls"))]
        state.messages = [assistant_message("", [_call_of(one) for one in calls])]
    read_reply(_of_answer(answer), state, toolbox)


def check_held(state: AgentState, answer: Answer, toolbox: Toolbox) -> None:
    """Look at an answer to an agent that waits in memory. Raises: AnswerInvalid: when it is none."""
    read_reply(_of_answer(answer), state, toolbox)


def why_nothing(reply: Reply, state: AgentState) -> str:
    """Say why answers to an agent that asks nothing come to nothing."""
    entries = as_list(reply.data) or as_list(as_object(reply.data).get("answers"))
    for entry in entries:
        call_id = as_object(entry).get("toolCallId")
        if isinstance(call_id, str):
            return given.fate_of(call_id, state)
    return "the agent asks nothing"


# What is shown of a question


def shown_question(state: AgentState) -> dict[str, Json]:
    """Give what an agent asks, as JSON: the question, and the calls that wait."""
    question, told = state.question, as_object(state.question.get("calls"))
    calls: list[Json] = [
        {
            "id": call.id,
            "name": call.name,
            "input": object_or_text(call.arguments),
            "state": call.state,
            **as_object(told.get(call.id)),
        }
        for call in given.open_calls(state)
    ]
    return {
        "id": question.get("id"),
        "kind": question.get("kind"),
        "expires": question.get("expires"),
        "sessionId": state.session_id,
        "toolCalls": calls,
    }


def ask_of(state: AgentState, approvers: Sequence[str], now_ms: int, *, waits: bool) -> Ask:
    """Give what an agent asks, as the engine's pauses have it.

    Args:
        state: The record of the agent.
        approvers: Who may answer.
        now_ms: The time of day.
        waits: Whether the agent waits in memory.
    """
    calls = given.open_calls(state)
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    is_confirm = state.finish_reason is FinishReason.AWAIT_CONFIRM
    expires = cast("int", state.question.get("expires", 0))
    return Ask(
        title=f"Run {names}?" if is_confirm else f"Result of {names}",
        prompt="\n".join(f"{call.id}: {call.name} {call.arguments}" for call in calls),
        answerers=tuple(approvers),
        relations=(ANSWERS,) * (waits or not is_confirm) + (APPROVE, DENY) * is_confirm,
        schema=None if is_confirm else {"type": ["array", "object"]},
        use="metadata",
        key="_answers",
        timeout_s=max((expires - now_ms) / 1000, 0.0),
        details=shown_question(state),
    )


def _call_of(shown: dict[str, Json]) -> ToolCall:
    state = "submitted" if shown.get("state") == "submitted" else "asking"
    return ToolCall(str(shown.get("id")), str(shown.get("name")), "{}", state=state)
