"""The run log: a record as the `RuleChainRunSnapshot` that tools around rule chains read."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from catenary.jsontext import writable
from catenary.message import metadata_text

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition
    from catenary.jsontext import Json
    from catenary.recording import Nested, RunRecord, Visit

logger = logging.getLogger(__name__)

RunLogMode: TypeAlias = Literal["off", "summary", "detail"]

RUN_LOG_MODES: Final[tuple[RunLogMode, ...]] = get_args(RunLogMode)


def run_log_mode(definition: ChainDefinition, default: str = "off") -> RunLogMode:
    """Give what is logged of the runs of a chain: `ruleChain.additionalInfo.runLogMode`, else the engine's default.

    Text that is none of the modes counts as `off`, with a warning in the log.
    """
    own = definition.additional_info.get("runLogMode")
    return _known(definition.id, default if own in (None, "") else metadata_text(own))


def mode_named(text: str) -> RunLogMode | None:
    """Give the mode that a text names, without regard to case; `None` when it names none."""
    name = text.strip().lower()
    return next((mode for mode in RUN_LOG_MODES if mode == name), None)


@lru_cache(1000)  # one warning for a chain is enough
def _known(chain_id: str, text: str) -> RunLogMode:
    mode = mode_named(text)
    if mode is None:
        logger.warning(
            "unknown run log mode, taken as off; use off, summary or detail",
            extra={"chain_id": chain_id, "mode": text},
        )
    return mode or "off"


def snapshot(record: RunRecord, mode: RunLogMode = "detail") -> dict[str, Json]:
    """Give the run log of a run.

    Args:
        record: The run.
        mode: `detail` has one log for each visit; `summary` has none, and tells how often nodes were visited and how
            long that took; `off` has neither.

    Returns:
        `{"ruleChain", "metadata", "id", "startTs", "endTs", "logs", "additionalInfo"}`. Times are milliseconds since
        1970; `id` is that of the message. `logs` come in the order in which the visits began, those of sub-runs under
        `logs` of the visit they belong to.
    """
    definition = record.definition
    told: dict[str, Json] = {"runId": record.run_id, "status": record.status, "chainVersion": record.chain_version}
    if record.error:
        told["error"] = record.error
    if mode != "off":
        told["nodes"] = _counts(record)
    logs = [_nested(one) for one in record.nested()] if mode == "detail" else []
    return {
        "ruleChain": definition.get("ruleChain", {}),
        "metadata": definition.get("metadata", {}),
        "id": record.message.id,
        "startTs": record.started_ms,
        "endTs": record.ended_ms,
        "logs": cast("Json", logs),
        "additionalInfo": told,
    }


def node_log(visit: Visit) -> dict[str, Json]:
    """Give the run log of one visit.

    Returns:
        `{"nodeId", "inMsg", "outMsg", "relationType", "err", "logItems", "startTs", "endTs"}`, and `number`, `parent`,
        `chainId`, `nodeType`, `durationMs`, `bytesIn`, `bytesOut`. When more than one message left, `outMsg` and
        `relationType` are those of the last one, and `sent` has all of them.
    """
    sent: list[dict[str, Json]] = [
        {"relationType": relation, "outMsg": cast("Json", message.writable().to_dict())}
        for relation, message in visit.sent
    ]
    last = sent[-1] if sent else {"relationType": "", "outMsg": None}
    took = visit.duration_s
    log: dict[str, Json] = {
        "nodeId": visit.node_id,
        "inMsg": cast("Json", visit.message.writable().to_dict()),
        "outMsg": last["outMsg"],
        "relationType": last["relationType"],
        "err": visit.error,
        "logItems": [{"name": name, "data": writable(dict(data))} for name, data in visit.items],
        "startTs": visit.started_ms,
        "endTs": None if took is None else visit.started_ms + round(took * 1000),
        "number": visit.number,
        "parent": visit.parent,
        "chainId": visit.chain_id,
        "nodeType": visit.node_type,
        "durationMs": None if took is None else round(took * 1000, 3),
        "bytesIn": visit.bytes_in,
        "bytesOut": visit.bytes_out,
    }
    if len(sent) > 1:
        log["sent"] = cast("Json", sent)
    return log


def _nested(one: Nested) -> dict[str, Json]:
    log = node_log(one.visit)
    if one.inside:
        log["logs"] = [_nested(inner) for inner in one.inside]
    return log


def _counts(record: RunRecord) -> Json:
    """Give how often each node was visited, how often it failed, and how long that took, in milliseconds."""
    counts: dict[tuple[str, str], dict[str, Any]] = {}
    for visit in record.visits:
        empty = {"chainId": visit.chain_id, "nodeId": visit.node_id, "visits": 0, "failed": 0, "durationMs": 0.0}
        count = counts.setdefault((visit.chain_id, visit.node_id), empty)
        count["visits"] += 1
        count["failed"] += bool(visit.error)
        count["durationMs"] = round(count["durationMs"] + (visit.duration_s or 0.0) * 1000, 3)
    return cast("Json", list(counts.values()))
