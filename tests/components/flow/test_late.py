"""What comes too late at a join is no answer, to whatever runs the chain with the join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import catenary_components
from catenary import Chain, Engine
from catenary.cli import main
from catenary.recording.wire import record_from_dict, record_to_dict
from catenary.registry import Registry
from catenary.store import History
from catenary.testing.chains.recorded import case_of

assert catenary_components.__doc__

NODES: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("fork", {}),
    "pause": ("delay", {"delayMs": 20}),
    "slow": ("exprTransform", {"expr": "'slow'"}),
    "quick": ("exprTransform", {"expr": "'quick'"}),
    "first": ("join", {"quorum": 1, "mergeToMap": True}),
}
WAYS = "ask pause,pause slow,ask quick,slow first,quick first"


def chain_of(nodes: dict[str, tuple[str, dict[str, Any]]], ways: str = "", chain_id: str = "c") -> dict[str, Any]:
    pairs = [way.split() for way in ways.split(",") if way]
    return {
        "ruleChain": {"id": chain_id},
        "metadata": {
            "nodes": [{"id": name, "type": kind, "configuration": given} for name, (kind, given) in nodes.items()],
            "connections": [{"fromId": source, "type": "Success", "toId": target} for source, target in pairs],
        },
    }


QUICKER = chain_of(NODES, WAYS, "quicker")
QUICK = '{"quick":"quick"}'


def around(engine: Engine, kind: str, **settings: Any) -> Chain:
    engine.load(QUICKER)
    return engine.load(chain_of({"n": (kind, settings)}))


async def test_a_sub_chain_passes_on_its_answers_only(engine: Engine) -> None:
    outcome = await around(engine, "flow", targetId="quicker", extend=True).run({})
    assert [(str(end.relation), end.message.text) for end in outcome.ends] == [("Success", QUICK)]


async def test_a_sub_chain_lists_its_answers_only(engine: Engine) -> None:
    outcome = await around(engine, "flow", targetId="quicker").run({})
    assert [one["msg"]["data"] for one in outcome.message.value] == [QUICK]


async def test_a_reference_passes_on_answers_only(engine: Engine) -> None:
    outcome = await around(engine, "ref", targetId="quicker:ask", tellChain=True).run({})
    assert [(str(end.relation), end.message.text) for end in outcome.ends] == [("Success", QUICK)]


@pytest.mark.parametrize(
    ("kind", "settings"), [("for", {"range": "1..1"}), ("while", {"condition": "int(metadata._loopIndex) < 1"})]
)
@pytest.mark.parametrize(("mode", "result"), [(1, f"[{QUICK}]"), (2, QUICK)])
async def test_a_loop_has_answers_as_results_only(
    engine: Engine, kind: str, settings: dict[str, Any], mode: int, result: str
) -> None:
    outcome = await around(engine, kind, do="chain:quicker", mode=mode, **settings).run({})
    assert outcome.message.text == result


async def test_a_chain_as_a_component_passes_on_its_answers_only(engine: Engine) -> None:
    engine.register_component("late/quicker", QUICKER)
    outcome = await engine.load(chain_of({"n": ("late/quicker", {})})).run({})
    assert [(str(end.relation), end.message.text) for end in outcome.ends] == [("Success", QUICK)]


def test_the_command_prints_answers_only(tmp_path: Path) -> None:
    (tmp_path / "quicker.json").write_text(json.dumps(QUICKER))
    assert CliRunner().invoke(main, ["run", str(tmp_path / "quicker.json")]).stdout == f"{QUICK}\n"


def test_a_way_that_a_chain_names_late_is_one_like_any_other(engine: Engine) -> None:
    cases = {"cases": [{"case": "msg.days > 3", "then": "Late"}]}
    engine.load(chain_of({"s": ("switch", cases)}, chain_id="parcel"))
    chain = engine.load(chain_of({"n": ("flow", {"targetId": "parcel", "extend": True})}))
    (end,) = chain.run_sync({"days": 4}).ends
    assert (str(end.relation), end.is_late, end.is_answer) == ("Late", False, True)


async def test_a_record_keeps_what_was_late(tmp_path: Path) -> None:
    with History(tmp_path / "runs.db") as history:
        async with Engine(history=history) as engine:
            await engine.load(QUICKER).run({})
        history.flush()
        record = history.get("last")
    for kept in (record, record_from_dict(record_to_dict(record))):
        assert [(end.node_id, str(end.relation), end.is_late) for end in kept.ends] == [
            ("first", "Success", False),
            ("first", "Late", True),
        ]
        assert [end["node"] for end in case_of(kept, Registry())["expect"]["ends"]] == ["first"]
    shown = CliRunner().invoke(main, ["trace", "last", "--store", str(tmp_path / "runs.db")])
    assert "= first ends by Late" in shown.stdout
