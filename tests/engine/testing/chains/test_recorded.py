"""Cases written from recorded runs."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.testing.chains.kit import CHAIN, put, results

from catenary import Engine
from catenary.errors import ChainError
from catenary.load.yaml_text import parse_yaml
from catenary.recording import MemoryRecorder
from catenary.registry import Registry
from catenary.testing import Answer, RecordingApi, serve
from catenary.testing.chains import read_suite, run_case
from catenary.testing.chains.recorded import case_of, suite_text, with_case


def patient(chain):
    """Have the calls of a chain wait as long as it takes."""
    start = "type: restApiCall, configuration: {"
    assert start in chain
    return chain.replace(start, f"{start}readTimeoutMs: 15000, ")


def recorded(data, answer, **metadata):
    """Run the chain against an API. Returns: the record of the run."""
    recorder = MemoryRecorder()
    with serve(RecordingApi(default=answer)) as server, Engine({"site": "north"}) as engine:
        chain = engine.load(patient(CHAIN.replace("http://127.0.0.1:9", server.url)))
        chain.run_sync(data, recorder=recorder, **metadata)
    return recorder.records[0]


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ({"t": 50}, {"t": 1, "text": "a ${b} c"}),
        ({"t": 20}, {}),
        ({"t": 50}, Answer(status=503, body="closed")),
        ("no json", {}),
    ],
)
def test_case_repeats_the_run_without_the_outside(tmp_path, data, answer):
    record = recorded(data, answer)
    path = put(tmp_path, suite_text(case_of(record, Registry(), "again"), {"properties": {"site": "north"}}))
    (result,) = results(path)
    assert (result.problems, result.name) == ([], "again")


def test_only_nodes_that_called_the_outside_get_a_mock():
    case = case_of(recorded({"t": 50}, {"t": 1}), Registry())
    assert list(case["mocks"]) == ["send"]
    assert case["mocks"]["send"]["data"] == {"t": 1}
    assert "mocks" not in case_of(recorded({"t": 1}, {}), Registry())


STOPPING = """\
ruleChain: {id: first}
metadata:
  nodes:
    - {id: both, type: fork}
    - {id: a, type: restApiCall, configuration: {url: "URL/a"}}
    - {id: b, type: restApiCall, configuration: {url: "URL/b"}}
    - {id: one, type: join, configuration: {quorum: 1, stopRest: true, mergeToMap: true}}
  connections:
    - {fromId: both, type: Success, toId: a}
    - {fromId: both, type: Success, toId: b}
    - {fromId: a, type: Success, toId: one}
    - {fromId: b, type: Success, toId: one}
"""


async def test_what_a_join_has_stopped_comes_to_no_end_in_the_case_either(tmp_path):
    recorder = MemoryRecorder()
    api = RecordingApi({"/a": {"from": "a"}, "/b": Answer(body={"from": "b"}, delay_s=60)})
    with serve(api) as server:
        async with Engine() as engine:
            await engine.load(patient(STOPPING.replace("URL", server.url))).run({}, recorder=recorder)
    case = case_of(recorder.records[0], Registry())
    assert case["mocks"]["b"] == {"silent": True, "delay": "1h"}
    suite = read_suite(put(tmp_path, suite_text(case, {}), STOPPING))
    assert (await run_case(suite, suite.cases[0])).problems == []


def test_nodes_of_chains_inside_are_named_with_their_chain():
    recorder = MemoryRecorder()
    outer = {
        "ruleChain": {"id": "outer"},
        "metadata": {"nodes": [{"id": "f", "type": "flow", "configuration": {"targetId": "meter", "extend": True}}]},
    }

    async def run():
        with serve(RecordingApi(default={"t": 1})) as server:
            async with Engine({"site": "n"}) as engine:
                engine.load(patient(CHAIN.replace("http://127.0.0.1:9", server.url)))
                await engine.load(outer).run({"t": 50}, recorder=recorder)

    asyncio.run(run())
    case = case_of(recorder.records[0], Registry())
    assert list(case["mocks"]) == ["meter:send"]
    assert case["expect"]["path"] == ["f"]


@pytest.mark.parametrize("indent", ["", "  ", "    "])
def test_case_is_added_at_the_end_and_the_rest_stays(indent):
    text = f"# mine\nproperties: {{a: 1}}\ncases:\n{indent}- name: a  # first\n{indent}  skip: no\n"
    case = {"name": "b", "input": {"data": ["yes", "0o17", 1.5, None]}}
    added = with_case(text, case)
    assert added.startswith(text)
    assert parse_yaml(added).value["cases"] == [{"name": "a", "skip": "no"}, case]


def test_file_in_which_the_cases_are_not_last_is_refused():
    with pytest.raises(ChainError, match="cannot be added"):
        with_case("cases:\n  - name: a\nproperties: {a: 1}\n", {"name": "b"})


def test_texts_stay_texts():
    value = {
        "name": "x",
        "input": {"data": {"a": "0o17", "b": "1e5", "c": "on", "d": "~", "e": "2026-01-01", "f": "=a"}},
    }
    assert parse_yaml(suite_text(value, {})).value["cases"] == [value]


ASKING = """\
ruleChain: {id: meter}
metadata:
  nodes:
    - {id: ask, type: wait}
    - {id: shape, type: exprTransform, configuration: {mapping: {t: msg.t}}}
  connections: [{fromId: ask, type: Success, toId: shape}]
"""


@pytest.mark.parametrize("is_answered", [True, False])
async def test_answers_become_mocks_and_runs_that_wait_are_paused_again(tmp_path, is_answered):
    recorder = MemoryRecorder()
    async with Engine() as engine:
        asked = asyncio.Event()
        engine.pauses.on_open(lambda pause: asked.set())
        run = asyncio.create_task(engine.load(ASKING).run({"t": 1}, recorder=recorder))
        await asked.wait()
        if is_answered:
            await engine.answer(next(iter(engine.pauses)).run_id, "ask", data={"t": 5})
        else:
            await engine.pauses.put_off()
        outcome = await run
    case = case_of(recorder.records[0], Registry())
    assert ("mocks" in case, outcome.status) == (is_answered, "completed" if is_answered else "paused")
    suite = read_suite(put(tmp_path, suite_text(case, {}), ASKING))
    assert (await run_case(suite, suite.cases[0])).problems == []
