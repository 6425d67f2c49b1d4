"""From a recorded run to a case: its message, its calls to the outside as mocks, its path and ends as expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary.component import info_of
from catenary.errors import ChainError
from catenary.load.yaml_text import core_scalar, parse_yaml
from catenary.relation import PAUSED
from catenary.runtime.cancelling import CANCELLED
from catenary.testing.chains.standins import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.recording import RunRecord, Visit
    from catenary.registry import Registry

_SILENT: Final[dict[str, Json]] = {"silent": True}


def case_of(record: RunRecord, registry: Registry, name: str = "") -> dict[str, Json]:
    """Give a case that repeats a run and expects what came of it.

    Args:
        record: The run.
        registry: Tells which of its nodes called the outside; each of these gets a mock.
        name: The name of the case.
    """
    mocks: dict[str, list[Json]] = {}
    for visit in record.visits:
        if _is_outside(visit, registry):
            mocks.setdefault(_name(record, visit), []).append(_mock(visit))
    origin: dict[str, Json] = {"id": record.message.id, "ts": record.message.ts}  # answers may have them in them
    case: dict[str, Json] = {"name": name or f"run {record.run_id}", "input": {**_payload(record.message), **origin}}
    if mocks:
        case["mocks"] = {node: results[0] if len(results) == 1 else results for node, results in mocks.items()}
    case["expect"] = _expected(record)
    return case


def _is_outside(visit: Visit, registry: Registry) -> bool:
    """Tell whether what a visit sent came from the outside; one that goes on waiting sent nothing yet."""
    component = registry.find(visit.node_type)
    if component is None:
        return False
    return info_of(component).category in OUTSIDE or (
        component.asks and not any(relation == PAUSED for relation, _ in visit.sent)
    )


def _name(record: RunRecord, visit: Visit) -> str:
    return visit.node_id if visit.chain_id == record.chain_id else f"{visit.chain_id}:{visit.node_id}"


def _expected(record: RunRecord) -> dict[str, Json]:
    own = [visit.node_id for visit in record.visits if visit.chain_id == record.chain_id]
    expected: dict[str, Json] = {"status": record.status, "path": own}
    ends: list[Json] = []
    for end in record.ends:
        if end.gated or end.is_late:
            continue
        one: dict[str, Json] = {"node": end.node_id}
        if not end.is_silent:
            one["relation"] = str(end.relation)
        if end.reason:
            one["error"] = end.reason
        ends.append({**one, "data": _payload(end.message)["data"]})
    return {**expected, "ends": ends}


def _payload(message: Message) -> dict[str, Json]:
    """Give a message as the input of a case; what is as usual is left out."""
    wire = message.to_dict()
    is_value = message.data_type == "JSON" and not isinstance(message.value, str)
    given: dict[str, Json] = {"data": message.value if is_value and message.data else wire["data"]}
    if message.type:
        given["type"] = message.type
    if message.data_type != "JSON":
        given["dataType"] = message.data_type
    if message.metadata:
        given["metadata"] = dict(message.metadata)
    return given


def _mock(visit: Visit) -> dict[str, Json]:
    """Give what a visit did. The delay lets branches go on in the order in which they went."""
    if visit.error == CANCELLED and not visit.sent:  # it was stopped: by a join that went on early, for one
        return {**_SILENT, "delay": "1h"}
    return {**_result(visit), "delay": f"{max(round((visit.duration_s or 0) * 1000), 1)}ms"}


def _result(visit: Visit) -> dict[str, Json]:
    if visit.error:
        return {"error": visit.error}
    sent = [_sent(relation, message, visit.message) for relation, message in visit.sent]
    if not sent:
        return dict(_SILENT)
    return sent[0] if len(sent) == 1 else {"sends": cast("Json", sent)}


def _sent(relation: str, message: Message, came: Message) -> dict[str, Json]:
    given: dict[str, Json] = {}
    if message.data != came.data:
        given["data"] = _escaped(_payload(message)["data"])
    if message.data_type != came.data_type:
        given["dataType"] = message.data_type
    if message.type != came.type:
        given["type"] = message.type
    added = {key: value for key, value in message.metadata.items() if came.metadata.get(key) != value}
    if added:
        given["metadata"] = _escaped(added)
    if relation != "Success":
        given["relation"] = relation
    return given


def _escaped(value: Json) -> Json:
    """Write texts so that nothing in them is taken for a template."""
    if isinstance(value, str) and "${" in value:
        return value.replace("${", "${'$'}{")
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in cast("dict[str, Json]", value).items()}
    return [_escaped(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


# Writing


def suite_text(case: Mapping[str, Json], head: Mapping[str, Json]) -> str:
    """Give the text of a new file with one case."""
    return _yaml({**head, "cases": [case]})


def with_case(text: str, case: Mapping[str, Json]) -> str:
    """Add a case at the end of a file of chain tests, the rest of which stays as it is.

    Raises:
        ChainError: When the cases are not the last thing in the file, or are not written as a list of lines.
    """
    value: Json = parse_yaml(text).value
    before = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    cases: Sequence[Json] = before.get("cases") or []
    for indent in ("  ", "", "    "):
        added = "".join(f"{indent}{line}\n" for line in _yaml([case]).splitlines())
        whole = f"{text.rstrip()}\n\n{added}"
        try:
            after: Any = parse_yaml(whole).value
        except ChainError:
            continue
        if after == {**before, "cases": [*cases, dict(case)]}:
            return whole
    raise ChainError("the case cannot be added to the file", hint="put `cases` last in the file, or name another one")


def _yaml(value: Any) -> str:
    """Write YAML; a text that the reader would take for something else gets quotes."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts by the rules of the reader."""

    def write_text(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text else None if _reads_as_text(text) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, write_text)
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)


def _reads_as_text(text: str) -> bool:
    try:
        return isinstance(core_scalar(text), str)
    except ValueError:
        return False
