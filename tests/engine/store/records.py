"""Records of runs for tests: made by hand, and by hypothesis."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from catenary import Message
from catenary.recording import RunRecord, Visit
from catenary.relation import NodeFailure
from catenary.runtime.ends import NOTHING, End

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_numbers = count(1)

DEFINITION = {"ruleChain": {"id": "c", "name": "c"}, "metadata": {"nodes": [], "connections": []}}


def visit(number: int = 1, **parts: Any) -> Visit:
    """Give a visit of a node `a` that passed its message on."""
    message = parts.pop("message", Message("in", id="m", ts=1))
    whole: dict[str, Any] = {
        "parent": 0,
        "chain_id": "c",
        "chain_version": 1,
        "node_id": "a",
        "node_type": "log",
        "relation": "",
        "sender": "",
        "sent": [("Success", message)],
        "started_ms": 1_700_000_000_000 + number,
        "duration_s": 0.25,
    }
    return Visit(number=number, message=message, **{**whole, **parts})


def record(run_id: str = "", **parts: Any) -> RunRecord:
    """Give the record of a run that completed at its only node, each a second after the one before."""
    number = next(_numbers)
    message = parts.pop("message", Message("in", id="m", ts=1))
    started_ms = parts.pop("started_ms", 1_700_000_000_000 + number * 1000)
    whole: dict[str, Any] = {
        "chain_id": "c",
        "chain_version": 1,
        "definition": DEFINITION,
        "ended_ms": started_ms + 250,
        "status": "completed",
        "visits": [visit(message=message)],
        "ends": [End("a", "Success", message)],
    }
    return RunRecord(run_id=run_id or f"run-{number:04}", message=message, started_ms=started_ms, **{**whole, **parts})


def parts_of(record: RunRecord) -> dict[str, Any]:
    """Give all of a record that can be compared; an error by its text."""
    return {
        "header": (
            record.run_id,
            record.chain_id,
            record.chain_version,
            record.started_ms,
            record.ended_ms,
            record.status,
            record.error,
        ),
        "definition": record.definition,
        "message": (record.message, record.message.ts),
        "visits": record.visits,
        "ends": [
            (end.node_id, str(end.relation), end.message, end.error and str(end.error), end.gated, end.is_silent)
            for end in record.ends
        ],
    }


_json: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)

messages: SearchStrategy[Message] = st.builds(
    Message,
    data=st.text() | st.binary() | _json,
    type=st.text(),
    data_type=st.sampled_from(["JSON", "TEXT", "BINARY", "other"]),
    metadata=st.dictionaries(st.text(), _json, max_size=3),
    id=st.none() | st.text(min_size=1),
    ts=st.none() | st.integers(1, 2**53),
)


@st.composite
def records(draw: st.DrawFn) -> RunRecord:
    """Give any record of a run that is over."""
    shared = draw(st.lists(messages, min_size=1, max_size=4))
    message = st.sampled_from(shared)
    names = st.text(max_size=6)
    visits = [
        Visit(
            number=number,
            parent=draw(st.integers(0, number - 1)),
            chain_id=draw(names),
            chain_version=draw(st.integers(1, 5)),
            node_id=draw(names),
            node_type=draw(names),
            relation=draw(names),
            sender=draw(names),
            message=draw(message),
            sent=draw(st.lists(st.tuples(names, message), max_size=3)),
            error=draw(names),
            started_ms=draw(st.integers(0, 2**50)),
            duration_s=draw(st.none() | st.floats(0, 1e6)),
            items=draw(st.lists(st.tuples(names, st.dictionaries(names, _json, max_size=2)), max_size=2)),
        )
        for number in range(1, draw(st.integers(0, 5)) + 1)
    ]
    errors = st.none() | st.builds(NodeFailure, st.text(min_size=1))
    ends = draw(st.lists(st.builds(End, names, names, message, errors, st.booleans()), max_size=3))
    if draw(st.booleans()):
        ends.append(End("silent", NOTHING, draw(message)))
    started_ms = draw(st.integers(0, 2**50))
    return RunRecord(
        run_id=draw(st.text(min_size=1)),
        chain_id=draw(names),
        chain_version=draw(st.integers(1, 5)),
        definition=draw(st.dictionaries(names, _json, max_size=3)),
        message=draw(message),
        started_ms=started_ms,
        ended_ms=started_ms + draw(st.integers(0, 10**6)),
        status=draw(st.sampled_from(["completed", "failed", "paused", "cancelled"])),
        error=draw(names),
        visits=visits,
        ends=ends,
    )
