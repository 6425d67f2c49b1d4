"""Runs of an engine that has a history."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from tests.engine.store.records import parts_of

from catenary import Engine
from catenary.recording import MemoryRecorder
from catenary.replay import replay
from catenary.store import History

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "hot"},
    "metadata": {
        "nodes": [
            {"id": "is_hot", "type": "exprFilter", "configuration": {"expr": "msg.t > 40"}},
            {"id": "each", "type": "for", "configuration": {"range": "1..3", "do": "note"}},
            {"id": "note", "type": "exprTransform", "configuration": {"expr": "msg"}},
        ],
        "connections": [{"fromId": "is_hot", "type": "True", "toId": "each"}],
    },
}


async def test_what_an_engine_records_is_what_a_recorder_in_memory_has(tmp_path: Path):
    memory = MemoryRecorder()
    async with Engine(history=tmp_path / "history.db") as engine:
        engine.record(memory)
        engine.load(CHAIN)
        for message in ({"t": 50}, {"t": 30}, "no JSON"):
            await engine.run("hot", message)
    with History(tmp_path / "history.db") as history:
        kept = [history.get(run.run_id) for run in history.runs()][::-1]
        assert sorted(map(str, map(parts_of, kept))) == sorted(map(str, map(parts_of, memory.records)))
        assert [record.status for record in kept] == ["completed", "completed", "failed"]
        assert any(visit.parent for visit in kept[0].visits)


def test_a_history_of_the_host_stays_open_and_has_all_runs(tmp_path: Path):
    with History(tmp_path / "history.db") as history:
        for _ in range(2):
            with Engine(history=history) as engine:
                engine.load(CHAIN)
                engine.run_sync("hot", {"t": 50})
            assert engine.history is history
        assert len(history.runs()) == 2


def test_nothing_is_recorded_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATENARY_DATA_DIR", str(tmp_path))
    with Engine() as engine:
        engine.load(CHAIN)
        engine.run_sync("hot", {"t": 50})
        assert engine.history is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({"CATENARY_STORE": "a/b.db", "CATENARY_DATA_DIR": "c"}, "a/b.db"),
        ({"CATENARY_DATA_DIR": "c", "XDG_DATA_HOME": "d"}, "c/catenary.db"),
        ({"XDG_DATA_HOME": "d"}, "d/catenary/catenary.db"),
    ],
)
def test_the_place_is_the_one_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], file: str
):
    for name in ("CATENARY_STORE", "CATENARY_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    with Engine(history=True) as engine:
        engine.load(CHAIN)
        engine.run_sync("hot", {"t": 50})
    with History(tmp_path / file, must_exist=True) as history:
        assert len(history.runs()) == 1


def test_a_chain_is_written_out_once_for_all_its_runs(tmp_path: Path):
    memory = MemoryRecorder()
    with Engine() as engine:
        engine.record(memory)
        engine.load(CHAIN)
        for _ in range(2):
            engine.run_sync("hot", {"t": 50})
        assert memory.records[0].definition is memory.records[1].definition


def test_no_secret_is_in_the_file(tmp_path: Path):
    chain = copy.deepcopy(CHAIN)
    chain["metadata"]["nodes"][0]["name"] = "the key is hunter2-hunter2"
    with Engine(history=tmp_path / "history.db") as engine:
        engine.masker.add("hunter2-hunter2")
        engine.load(chain)
        engine.run_sync("hot", {"t": 50, "key": "hunter2-hunter2"})
    with History(tmp_path / "history.db") as history:
        record = history.get("last")
        assert record.message.value == {"t": 50, "key": "****"}
    assert not any(b"hunter2" in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    with Engine() as engine:
        again = replay(engine, record, version="recorded")
        assert again.has_masked_secrets
        again.close_sync()
