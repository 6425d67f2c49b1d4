"""What a node asks of the outside, what may be answered, and what an answer makes of the message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, cast

from catenary.errors import AnswererRefused, AnswerInvalid
from catenary.json_schema import problems
from catenary.jsontext import Json
from catenary.message import JSON, TEXT, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Use: TypeAlias = Literal["replace", "merge", "field", "metadata", "ignore"]

NO_DATA: Final[Any] = object()
"""Stands for the data of an answer that has none."""

ANSWERER: Final = "_answerer"
NOTE: Final = "_answerNote"
"""The metadata keys of who answered, and of what was noted."""


class AnswerParts(TypedDict, total=False):
    """An answer, as `engine.answer` takes it. All may be absent.

    Keys:
        data: The data of the answer, a JSON value.
        relation: The way on, one of those that the node allows; the first of them if absent.
        visit: Which visit of the node is meant, from 1; needed only when several of them wait.
        metadata: Entries for the message's metadata.
        answerer: Who answers.
        roles: What the answerer is besides; the node may name people and roles.
        note: A remark.
    """

    data: Json
    relation: str
    visit: int | None
    metadata: Mapping[str, Json]
    answerer: str
    roles: Iterable[str]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer from outside.

    Args:
        relation: The way on; the first one of the pause when empty.
        data: The data; `NO_DATA` for none.
        metadata: Entries for the message's metadata.
        answerer: Who answers.
        roles: What the answerer is besides; one of them may be among those who may answer.
        note: A remark, kept in the metadata.
    """

    relation: str = ""
    data: Json = NO_DATA
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    answerer: str = ""
    roles: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Json]:
        """Give the answer as JSON; what is absent is left out."""
        parts: dict[str, Json] = {
            "relation": self.relation,
            "data": self.data,
            "metadata": dict(self.metadata),
            "answerer": self.answerer,
            "roles": list(self.roles),
            "note": self.note,
        }
        has_data = self.data is not NO_DATA
        return {name: part for name, part in parts.items() if (has_data if name == "data" else part)}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Answer:
        """Read the JSON form."""
        return cls(
            relation=written.get("relation") or "",
            data=written.get("data", NO_DATA),
            metadata=written.get("metadata") or {},
            answerer=written.get("answerer") or "",
            roles=tuple(written.get("roles") or ()),
            note=written.get("note") or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a node asks, and the rules for answers.

    Args:
        title: A short name of the question.
        prompt: The question.
        answerers: The people and roles who may answer; everybody when empty.
        relations: The ways on that an answer may choose; the first one is taken when it chooses none.
        schema: The JSON Schema that the data must fit; `None` lets everything pass. An answer without data counts as
            `null`.
        use: Where the data of an answer goes: in place of the message's data, into it key by key, under `key` in it,
            under `key` in the metadata, or nowhere.
        key: That key.
        editable: The keys of the message's data that an answer may change; all when empty.
        timeout_s: Seconds after which nobody may answer any more.
        late: The way on when nobody answered in time.
        details: What is asked about, as JSON for programs that show the question; `None` when the prompt says it all.
    """

    title: str = ""
    prompt: str = ""
    answerers: tuple[str, ...] = ()
    relations: tuple[str, ...] = ("Success",)
    schema: Json = None
    use: Use = "replace"
    key: str = "answer"
    editable: tuple[str, ...] = ()
    timeout_s: float | None = None
    late: str = "Timeout"
    details: Json = None

    @property
    def needs_data(self) -> bool:
        """True when the schema does not let an answer without data pass."""
        return self.schema is not None and any(True for _ in problems(None, self.schema))

    def check(self, answer: Answer, message: Message) -> None:
        """Look whether an answer is one.

        Raises:
            AnswererRefused: When somebody answers who is not named.
            AnswerInvalid: When something else is wrong; the text lists all of it.
        """
        if self.answerers and not {answer.answerer, *answer.roles} & set(self.answerers):
            who = repr(answer.answerer) if answer.answerer else "somebody without a name"
            raise AnswererRefused(
                f"{who} may not answer here; these may: {', '.join(self.answerers)}",
                hint="give the name of one who may as the answerer (--as NAME on the command line)",
            )
        found = list(self._problems(answer, message))
        if found:
            raise AnswerInvalid("; ".join(found), hint="the question stays open; answer it again")

    def apply(self, answer: Answer, message: Message) -> tuple[str, Message]:
        """Give the way on, and the message with an answer that was checked."""
        who: dict[str, Json] = {ANSWERER: answer.answerer, NOTE: answer.note}
        message = message.put_all({**answer.metadata, **{key: text for key, text in who.items() if text}})
        return answer.relation or self.relations[0], self._with_data(answer.data, message)

    def _with_data(self, data: Json, message: Message) -> Message:
        if data is NO_DATA or self.use == "ignore":
            return message
        if self.use == "metadata":
            return message.put(self.key, data)
        if self.use == "replace":
            return message.with_data(data, TEXT if isinstance(data, str) else JSON)
        return message.with_data({**_object(message), **self._changes(data)}, JSON)

    def _changes(self, data: Json) -> dict[str, Json]:
        return {self.key: data} if self.use == "field" else cast("dict[str, Json]", data)

    def _problems(self, answer: Answer, message: Message) -> Iterator[str]:
        if answer.relation and answer.relation not in self.relations:
            yield f"relation {answer.relation!r} is none of {', '.join(map(repr, self.relations))}"
        if self.schema is not None:
            is_there = answer.data is not NO_DATA
            place = "data" if is_there else "there is no data, and it"
            yield from problems(answer.data if is_there else None, self.schema, place)
        if answer.data is not NO_DATA:
            yield from self._fit(answer.data, message)

    def _fit(self, data: Json, message: Message) -> Iterator[str]:
        """Tell what keeps data from being put where it goes."""
        if self.use in {"merge", "field"} and not isinstance(message.value, dict):
            yield "the data of the message is no JSON object, so nothing can be put into it"
        elif self.use == "merge" and not isinstance(data, dict):
            yield "the data must be a JSON object, whose keys go into the data of the message"
        elif self.editable and self.use in {"merge", "replace"}:
            yield from self._edits(data, message)

    def _edits(self, data: Json, message: Message) -> Iterator[str]:
        if not isinstance(data, dict):
            yield "the data must be a JSON object: only some keys of it may be changed"
            return
        before, after = _object(message), cast("dict[str, Json]", data)
        names = after if self.use == "merge" else {**before, **after}
        changed = [name for name in names if not _same(before, after, name)]
        wrong = [name for name in changed if name not in self.editable]
        if wrong:
            yield f"{', '.join(map(repr, wrong))} may not be changed; only {', '.join(map(repr, self.editable))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A question that waits for its answer; its key is run, node and visit.

    Attributes:
        run_id: The run; for sub-runs the run at the top.
        chain_id: The chain of the node.
        chain_version: The version of that chain.
        node_id: The node that asks.
        visit: Which visit of the node in the run it is, from 1.
        ask: What is asked.
        message: The message that waits.
        since_ms: Since when it waits, in milliseconds since 1970.
        expires_ms: When its time is over; `None` for never.
        inside: In what the node was run, in words, when a later process could not go on from there; else empty.
        kept: What the node keeps; a node that keeps something is run again with the answer, in a new run. Else `None`.
    """

    run_id: str
    chain_id: str
    chain_version: int
    node_id: str
    visit: int
    ask: Ask
    message: Message
    since_ms: int
    expires_ms: int | None = None
    inside: str = ""
    kept: Json = None

    @property
    def title(self) -> str:
        """A short name of the question."""
        return self.ask.title

    @property
    def prompt(self) -> str:
        """The question."""
        return self.ask.prompt

    @property
    def answerers(self) -> tuple[str, ...]:
        """The people and roles who may answer; everybody when empty."""
        return self.ask.answerers

    @property
    def relations(self) -> tuple[str, ...]:
        """The ways on that an answer may choose."""
        return self.ask.relations

    @property
    def key(self) -> tuple[str, str, int]:
        """Run, node and visit."""
        return self.run_id, self.node_id, self.visit

    def to_dict(self) -> dict[str, Json]:
        """Give the pause as JSON with camelCase keys, the message in its wire form."""
        ask = self.ask
        return {
            "runId": self.run_id,
            "chainId": self.chain_id,
            "chainVersion": self.chain_version,
            "nodeId": self.node_id,
            "visit": self.visit,
            "title": ask.title,
            "prompt": ask.prompt,
            "answerers": list(ask.answerers),
            "relations": list(ask.relations),
            "schema": ask.schema,
            "use": ask.use,
            "late": ask.late,
            "key": ask.key,
            "editable": list(ask.editable),
            "since": self.since_ms,
            "expires": self.expires_ms,
            "inside": self.inside,
            "message": self.message.to_dict(),
            **({} if ask.details is None else {"details": ask.details}),
        }

    def to_record(self) -> dict[str, Json]:
        """Give the pause as `to_dict` does, and what the node keeps."""
        return self.to_dict() if self.kept is None else {**self.to_dict(), "kept": self.kept}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Pause:
        """Read the JSON form."""
        ask = Ask(
            title=written["title"],
            prompt=written["prompt"],
            answerers=tuple(written["answerers"]),
            relations=tuple(written["relations"]),
            schema=written["schema"],
            use=written["use"],
            late=written["late"],
            key=written["key"],
            editable=tuple(written["editable"]),
            details=written.get("details"),
        )
        return cls(
            run_id=written["runId"],
            chain_id=written["chainId"],
            chain_version=written["chainVersion"],
            node_id=written["nodeId"],
            visit=written["visit"],
            ask=ask,
            message=Message.from_dict(written["message"]),
            since_ms=written["since"],
            expires_ms=written["expires"],
            inside=written["inside"],
            kept=written.get("kept"),
        )


def _object(message: Message) -> dict[str, Json]:
    value = message.value
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _same(before: Mapping[str, Json], after: Mapping[str, Json], name: str) -> bool:
    if name not in before or name not in after:
        return False
    one, other = before[name], after[name]
    return one == other and isinstance(one, bool) == isinstance(other, bool)
