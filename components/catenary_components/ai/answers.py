"""Answers to the questions of an agent: read as JSON, checked all together, and only then put into its record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from catenary.errors import AnswerInvalid, CatenaryError
from catenary.jsontext import dumps
from catenary_components.ai.models.wire import as_list
from catenary_components.ai.permission.gate import accept
from catenary_components.ai.permission.journal import note_result, noted_result
from catenary_components.ai.permission.rules import Rule, RuleError, read_rule
from catenary_components.ai.said_json import MOST_LEVELS, is_too_deep
from catenary_components.ai.tools.execute import CallResult
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Toolbox

DENIED: Final = "Permission denied by user"
EXPIRED: Final = "[ERROR] Nobody answered in time whether this may be run. Tool: {name}"
RECOVERED: Final = "[ERROR] Previous tool execution failed or was interrupted. Tool: {name}"

_CONFIRM: Final = frozenset({"toolCallId", "decision", "input", "acceptRules", "note"})
_AROUND: Final = frozenset({"answers", "text", "cancel"})
_EXTERNAL: Final = frozenset({"toolCallId", "output", "isError"})


class AnswerMissing(CatenaryError):  # noqa: N818 - says what is missing
    """A message came to an agent that waits for answers to its questions, and has none of them.

    Usual cause: Somebody goes on with a conversation in which a call of a tool has to be approved first.

    Cure: Answer the calls that the text names, or cancel the question.
    """

    code = "agent.answer-missing"


class ApprovalExpired(CatenaryError):  # noqa: N818 - says what became of it
    """An answer came after the time for it was over. The calls that were asked about are not run.

    Usual cause: Nobody answered within `approvalTimeout`.

    Cure: Ask the agent again, or give more time.
    """

    code = "agent.approval-expired"


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What was said about one call.

    Attributes:
        call: The call.
        decision: `approve`, `deny`, or `result` of a call that is done outside.
        input: Arguments in place of those of the model; `None` for these.
        rules: Rules that were accepted along with it.
        note: A remark, for the model when the call is denied.
        output: The result from outside.
        is_error: Whether that says that it failed.
    """

    call: ToolCall
    decision: str
    input: Mapping[str, Json] | None = None
    rules: tuple[Rule, ...] = ()
    note: str = ""
    output: str = ""
    is_error: bool = False

    @property
    def denial(self) -> str:
        """What the model is told of a call that was denied."""
        return f"{DENIED}: {self.note}" if self.note else DENIED

    def shown(self) -> dict[str, Json]:
        """Give the answer as events tell it; `output` is what the model gets of a call that is not run."""
        shown: dict[str, Json] = {
            "id": self.call.id,
            "name": self.call.name,
            "decision": self.decision,
            "note": self.note,
        }
        if self.input is not None:
            shown["input"] = dict(self.input)
        if self.rules:
            shown["acceptRules"] = [rule.to_json() for rule in self.rules]
        if self.decision == "deny":
            shown["output"] = self.denial
        if self.decision == "result":
            shown |= {"output": self.output, "isError": self.is_error}
        return shown


@dataclass(frozen=True, slots=True)
class Answers:
    """All that was said at once.

    Attributes:
        calls: About calls; what is not among them stays open.
        text: What the user says besides; it enters the conversation after the results.
        is_cancelled: Whether the question is taken back: none of the calls is run, and the agent ends.
    """

    calls: tuple[CallAnswer, ...] = ()
    text: str = ""
    is_cancelled: bool = False


@dataclass(slots=True)
class _Problems:
    found: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        self.found.append(text)


def read_answers(value: Json, state: AgentState, toolbox: Toolbox) -> Answers:
    """Read answers: a list of them, an object with `answers` and perhaps `text` or `cancel`, or a single one.

    Raises:
        AnswerInvalid: When anything is wrong with any of them; the text says all of it, and nothing was changed.
    """
    members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    problems = _Problems()
    text = _said_besides(members, problems)
    if members.get("cancel") is True:
        if problems.found:
            raise _invalid(problems.found, state)
        return Answers(text=text, is_cancelled=True)
    entries = as_list(members.get("answers") if "answers" in members else value) or as_list([value] if members else [])
    if not entries or ("answers" in members and not as_list(members.get("answers"))):
        raise _invalid(["there is no answer in it"], state)
    seen: set[str] = set()
    found: list[CallAnswer] = []
    for entry in entries:
        answer = _read(entry, state, toolbox, seen, problems)
        if answer is not None:
            found.append(answer)
    if problems.found:
        raise _invalid(problems.found, state)
    return Answers(tuple(found), text)


def _said_besides(members: Mapping[str, Json], problems: _Problems) -> str:
    """Give what is said besides the answers, in an object that has them or takes the question back."""
    if "answers" not in members and "cancel" not in members:
        return ""
    for name in sorted(set(members) - _AROUND):
        problems.add(f"answers have no {name!r} beside them")
    if not isinstance(members.get("cancel", False), bool):
        problems.add("cancel must be true or false")
    text = members.get("text")
    if text is not None and not isinstance(text, str):
        problems.add("text must be text")
    return text if isinstance(text, str) else ""


def decide_all(state: AgentState, decision: str, note: str = "") -> Answers:
    """Give the answers that say the same about all calls that are asked about."""
    return Answers(tuple(CallAnswer(call, decision, note=note) for call in open_calls(state, "asking")))


def open_calls(state: AgentState, *states: str) -> list[ToolCall]:
    """Give the calls that wait for an answer."""
    return [call for call in state.pending if call.state in (states or ("asking", "submitted"))]


def _invalid(problems: Sequence[str], state: AgentState) -> AnswerInvalid:
    waiting = ", ".join(f"{call.id} ({call.name})" for call in open_calls(state)) or "nothing"
    return AnswerInvalid("; ".join(problems), hint=f"the question stays open; waiting: {waiting}")


def _read(entry: Json, state: AgentState, toolbox: Toolbox, seen: set[str], problems: _Problems) -> CallAnswer | None:
    members = cast("dict[str, Json]", entry) if isinstance(entry, dict) else {}
    call_id = members.get("toolCallId")
    if not isinstance(call_id, str) or not call_id:
        return problems.add("an answer names no call (toolCallId)")
    if call_id in seen:
        return problems.add(f"the call {call_id} is answered twice")
    seen.add(call_id)
    if is_too_deep(members):
        return problems.add(f"{call_id}: the answer is nested more than {MOST_LEVELS} levels deep")
    call = next((call for call in open_calls(state) if call.id == call_id), None)
    if call is None:
        return problems.add(fate_of(call_id, state))
    if call.state == "submitted":
        return _external(call, members, problems)
    return _confirm(call, members, toolbox, problems)


def fate_of(call_id: str, state: AgentState) -> str:
    """Say why a call takes no answer."""
    for message in reversed(state.messages):
        for result in message.results:
            if result.call_id == call_id:
                return f"the call {call_id} was answered already; its state is {result.state}"
    waiting = next((call for call in state.pending if call.id == call_id), None)
    if waiting is not None:
        return f"the call {call_id} was answered already; its state is {waiting.state}"
    return f"there is no call {call_id} that waits for an answer"


def _confirm(call: ToolCall, members: Mapping[str, Json], toolbox: Toolbox, problems: _Problems) -> CallAnswer | None:
    for name in sorted(set(members) - _CONFIRM):
        problems.add(f"{call.id}: it waits for an approval, and {name!r} is no member of one")
    decision = members.get("decision")
    if decision not in ("approve", "deny"):
        wrong = "and it is missing" if decision is None else f"not {decision!r}"
        return problems.add(f"{call.id}: the decision is approve or deny, {wrong}")
    given = members.get("input")
    arguments = cast("dict[str, Json]", given) if isinstance(given, dict) else None
    if given is not None and arguments is None:
        problems.add(f"{call.id}: input must be an object")
    tool = toolbox.get(call.name)
    if arguments is not None and tool is not None:
        try:
            tool.work.check(arguments)
        except ToolInputError as error:
            problems.add(f"{call.id}: input: {error}")
    rules = tuple(_rules(call, members.get("acceptRules"), str(decision), problems))
    note = members.get("note")
    if note is not None and not isinstance(note, str):
        problems.add(f"{call.id}: note must be text")
    return CallAnswer(call, str(decision), arguments, rules, note if isinstance(note, str) else "")


def _rules(call: ToolCall, value: Json, decision: str, problems: _Problems) -> Iterator[Rule]:
    """Read the rules that come with an answer; those with a denial say deny if they say nothing else."""
    if value is None:
        return
    for entry in cast("list[Json]", value) if isinstance(value, list) else [value]:
        try:
            yield read_rule(entry, behavior="deny" if decision == "deny" else "allow", source="accepted")
        except RuleError as error:
            problems.add(f"{call.id}: acceptRules: {error}")


def _external(call: ToolCall, members: Mapping[str, Json], problems: _Problems) -> CallAnswer | None:
    for name in sorted(set(members) - _EXTERNAL):
        problems.add(f"{call.id}: the result of a call has no {name!r}")
    if "output" not in members:
        return problems.add(f"{call.id}: the result of a call needs an output")
    is_error = members.get("isError", False)
    if not isinstance(is_error, bool):
        problems.add(f"{call.id}: isError must be true or false")
    output = members["output"]
    text = output if isinstance(output, str) else dumps(output)
    return CallAnswer(call, "result", output=text, is_error=is_error is True)


# Into the record


def apply_answers(state: AgentState, answers: Answers, *, by: str, time_ms: int) -> None:
    """Put answers that were checked into the record of an agent. Results are noted, and told once the loop goes on."""
    for answer in answers.calls:
        accept(state, answer.rules, by=by, time_ms=time_ms)
        if answer.decision == "approve":
            _approve(state, answer)
        elif answer.decision == "deny":
            note_result(state, CallResult(answer.call, answer.denial, answer.denial, state="denied"))
        else:
            failed = "it failed outside" if answer.is_error else ""
            found = CallResult(answer.call, answer.output, failed, state="error" if failed else "success")
            note_result(state, found)
    if answers.text:
        state.later.append(answers.text)


def log_entries(answers: Answers, *, by: str) -> Iterator[dict[str, Json]]:
    """Give what the log of decisions says of answers."""
    for answer in answers.calls:
        if answer.decision != "result":
            yield {
                "toolCallId": answer.call.id,
                "toolName": answer.call.name,
                "decision": "allow" if answer.decision == "approve" else "deny",
                "reason": answer.note or "somebody was asked",
                "by": "person",
                "answerer": by,
            }


def _approve(state: AgentState, answer: CallAnswer) -> None:
    call = replace(answer.call, state="allowed")
    if answer.input is not None:
        edited = cast("dict[str, Json]", state.question.setdefault("edited", {}))
        edited[call.id] = answer.call.arguments
        call = replace(call, arguments=dumps(dict(answer.input)))
    state.replace_call(call)


def close_all(state: AgentState, text: str) -> None:
    """Give every call that is open a result that says why it is not run; one of which the result is known, that."""
    for call in state.pending:
        known = noted_result(state, call)
        if known is not None:
            state.close_call(call, known.parts or known.text, known.state)
        else:
            state.close_call(call, text.format(name=call.name), "interrupted")
    state.question = {}
    state.say_later()
