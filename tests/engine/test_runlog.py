"""Run logs: the snapshot of a run, and what decides whether it has visits."""

from __future__ import annotations

import json

import pytest
from tests.engine.runtime.kit import definition

from catenary import SUCCESS, Component, Engine, register
from catenary.defaults import ChainDefaults
from catenary.recording import MemoryRecorder, RunRecord
from catenary.runlog import run_log_mode, snapshot


@register("runlog/odd", category="test")
class Odd(Component):
    """Send and report what is no JSON."""

    def run(self, ctx, msg):
        ctx.notify("odd", value=float("nan"))
        return "Success", msg.with_data({"n": float("nan"), "of": "swordfish"}).put("n", float("inf"))


def looped():
    async def outer(ctx, msg):
        ctx.notify("round", n=1)
        await ctx.run_node("b", msg)
        return [SUCCESS, ("Other", msg.with_data("o"))]

    return definition({"a": outer, "b": None})


async def test_a_snapshot_has_the_fields_of_the_run_log_one_entry_a_visit_nested(engine):
    logs = []
    await engine.load(looped()).run("x", on_completed=lambda record: logs.append(snapshot(record)))
    (log,) = logs
    assert set(log) == {"ruleChain", "metadata", "id", "startTs", "endTs", "logs", "additionalInfo"}
    assert log["ruleChain"]["id"] == "c"
    assert [node["id"] for node in log["metadata"]["nodes"]] == ["a", "b"]
    (outer,) = log["logs"]
    assert {"nodeId", "inMsg", "outMsg", "relationType", "err", "logItems", "startTs", "endTs"} <= set(outer)
    assert (outer["nodeId"], outer["relationType"], outer["outMsg"]["data"]) == ("a", "Other", "o")
    assert [one["relationType"] for one in outer["sent"]] == ["Success", "Other"]
    assert outer["logItems"] == [{"name": "round", "data": {"n": 1}}]
    assert [inner["nodeId"] for inner in outer["logs"]] == ["b"]
    assert log["id"] == outer["inMsg"]["id"]


async def test_a_summary_counts_and_off_does_not(engine):
    records = []
    await engine.load(looped()).run("x", on_completed=records.append)
    summary = snapshot(records[0], "summary")
    assert summary["logs"] == []
    assert [(one["nodeId"], one["visits"], one["failed"]) for one in summary["additionalInfo"]["nodes"]] == [
        ("a", 1, 0),
        ("b", 1, 0),
    ]
    off = snapshot(records[0], "off")
    assert off["logs"] == []
    assert "nodes" not in off["additionalInfo"]
    assert off["additionalInfo"]["status"] == "completed"


@pytest.mark.parametrize(
    ("of_engine", "of_chain", "visits"),
    [("off", None, 0), ("detail", None, 2), ("detail", "off", 0), ("off", "detail", 2), ("off", "Detail ", 2)],
)
async def test_the_mode_of_the_chain_wins_over_that_of_the_engine(of_engine, of_chain, visits):
    records = []
    written = looped()
    if of_chain is not None:
        written["ruleChain"]["additionalInfo"] = {"runLogMode": of_chain}
    async with Engine(defaults=ChainDefaults(run_log_mode=of_engine)) as engine:
        engine.hooks.on_completed.append(records.append)
        await engine.load(written).run("x")
    assert [len(record.visits) for record in records] == [visits]
    assert records[0].status == "completed"


async def test_the_callback_of_a_run_and_that_of_the_engine_both_come(engine):
    told = []
    engine.hooks.on_completed.append(lambda record: told.append(("engine", len(record.visits))))
    await engine.load(looped()).run("x", on_completed=lambda record: told.append(("run", len(record.visits))))
    assert told == [("engine", 2), ("run", 2)]


def test_an_unknown_mode_is_off_with_a_warning(engine, caplog):
    written = looped()
    written["ruleChain"] |= {"id": "unknown-mode", "additionalInfo": {"runLogMode": "chatty"}}
    chain = engine.load(written)
    assert run_log_mode(chain.definition, "detail") == "off"
    assert "unknown run log mode" in caplog.text


def test_a_number_that_is_none_keeps_no_run_from_being_told_of(engine):
    written = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "a", "type": "runlog/odd"}]}}
    events, recorder = [], MemoryRecorder()
    engine.masker.add("swordfish")
    engine.load(written).run_sync("x", recorder=recorder, listener=lambda event: events.append(event.to_dict()))
    record = recorder.records[0]
    told = [json.dumps(one, allow_nan=False) for one in (record.to_dict(), snapshot(record), events)]
    assert RunRecord.from_dict(json.loads(told[0])) == record
    assert "nan" in told[0]
    assert [text for text in told if "****" not in text or "swordfish" in text] == []
