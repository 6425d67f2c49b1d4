"""Records of runs as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, get_args

from catenary.jsontext import writable
from catenary.message import Message
from catenary.recording import RecordStatus, RunRecord, Visit
from catenary.relation import LATE, NodeFailure
from catenary.runtime.ends import NOTHING, End

if TYPE_CHECKING:
    from catenary.jsontext import Json

_STATUSES = get_args(RecordStatus)


def visit_to_dict(visit: Visit) -> dict[str, Json]:
    """Give a visit as JSON; the sizes are there for readers."""
    return {
        "number": visit.number,
        "parent": visit.parent,
        "chainId": visit.chain_id,
        "chainVersion": visit.chain_version,
        "nodeId": visit.node_id,
        "nodeType": visit.node_type,
        "relation": visit.relation,
        "sender": visit.sender,
        "message": visit.message.writable().to_dict(),
        "startedMs": visit.started_ms,
        "durationS": visit.duration_s,
        "sent": [{"relation": relation, "message": message.writable().to_dict()} for relation, message in visit.sent],
        "error": visit.error,
        "items": [{"name": name, "data": writable(dict(data))} for name, data in visit.items],
        "bytesIn": visit.bytes_in,
        "bytesOut": visit.bytes_out,
    }


def visit_from_dict(written: Mapping[str, Json]) -> Visit:
    """Read a visit. Raises: ValueError: when it is none."""
    read = _Reader(written, "a visit")
    took = written.get("durationS")
    if took is not None and (isinstance(took, bool) or not isinstance(took, (int, float))):
        raise ValueError(f"'durationS' of a visit must be a number of seconds or null, not {took!r:.60}")
    return Visit(
        number=read.whole("number"),
        parent=read.whole("parent"),
        chain_id=read.text("chainId"),
        chain_version=read.whole("chainVersion"),
        node_id=read.text("nodeId"),
        node_type=read.text("nodeType"),
        relation=read.text("relation"),
        sender=read.text("sender"),
        message=read.message("message"),
        started_ms=read.whole("startedMs"),
        duration_s=took,
        sent=[(one.text("relation"), one.message("message")) for one in read.parts("sent")],
        error=read.text("error"),
        items=[(one.text("name"), one.mapping("data")) for one in read.parts("items")],
    )


def record_to_dict(record: RunRecord) -> dict[str, Json]:
    """Give a record as JSON."""
    return {
        "runId": record.run_id,
        "chainId": record.chain_id,
        "chainVersion": record.chain_version,
        "definition": dict(record.definition),
        "message": record.message.writable().to_dict(),
        "startedMs": record.started_ms,
        "endedMs": record.ended_ms,
        "status": record.status,
        "resumedAs": record.resumed_as,
        "error": record.error,
        "visits": [visit_to_dict(visit) for visit in record.visits],
        "ends": [_end_to_dict(end) for end in record.ends],
    }


def record_from_dict(written: Mapping[str, Json]) -> RunRecord:
    """Read a record. Raises: ValueError: when it is none."""
    read = _Reader(written, "a record of a run")
    status = read.text("status")
    if status not in _STATUSES:
        raise ValueError(f"'status' of a record of a run must be one of {', '.join(_STATUSES)}, not {status!r:.60}")
    return RunRecord(
        run_id=read.text("runId"),
        chain_id=read.text("chainId"),
        chain_version=read.whole("chainVersion"),
        definition=read.mapping("definition"),
        message=read.message("message"),
        started_ms=read.whole("startedMs"),
        ended_ms=None if written.get("endedMs") is None else read.whole("endedMs"),
        status=cast("Any", status),
        resumed_as=read.text("resumedAs") if "resumedAs" in written else "",
        error=read.text("error"),
        visits=[visit_from_dict(one.written) for one in read.parts("visits")],
        ends=[_end_from_dict(one) for one in read.parts("ends")],
    )


def _end_to_dict(end: End) -> dict[str, Json]:
    return {
        "nodeId": end.node_id,
        "relation": None if end.is_silent else str(end.relation),
        "message": end.message.writable().to_dict(),
        "error": None if end.error is None else str(end.error),
        "gated": end.gated,
        **({"late": True} if end.is_late else {}),
    }


def _end_from_dict(read: _Reader) -> End:
    error = read.written.get("error")
    silent = read.written.get("relation") is None
    return End(
        read.text("nodeId"),
        NOTHING if silent else LATE if read.written.get("late") is True else read.text("relation"),
        read.message("message"),
        None if error is None else NodeFailure(read.text("error")),
        read.written.get("gated") is True,
    )


class _Reader:
    """Reads the parts of a JSON object, and says which one is wrong."""

    def __init__(self, written: Any, name: str) -> None:
        if not isinstance(written, Mapping):
            raise ValueError(f"{name} must be a JSON object, not {written!r:.60}")  # noqa: TRY004 - wrong data
        self.written = cast("Mapping[str, Any]", written)
        self._name = name

    def _part(self, key: str, kind: type[Any], words: str) -> Any:
        part = self.written.get(key)
        if not isinstance(part, kind) or isinstance(part, bool):
            raise ValueError(f"{key!r} of {self._name} must be {words}, not {part!r:.60}")  # noqa: TRY004 - wrong data
        return part

    def text(self, key: str) -> str:
        return self._part(key, str, "a text")

    def whole(self, key: str) -> int:
        return self._part(key, int, "a whole number")

    def mapping(self, key: str) -> dict[str, Json]:
        return dict(self._part(key, Mapping, "a JSON object"))

    def message(self, key: str) -> Message:
        return Message.from_dict(self._part(key, Mapping, "a message"))

    def parts(self, key: str) -> list[_Reader]:
        return [_Reader(part, f"an entry of {key!r}") for part in self._part(key, list, "a list")]
