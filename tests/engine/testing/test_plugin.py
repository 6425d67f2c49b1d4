"""The fixtures of the pytest plugin."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.engine.testing.chains.kit import put

from catenary.testing import plugin
from catenary.testing.chains.collecting import ChainTestFile


def test_the_scripted_model_begins_without_a_script(scripted_model):
    scripted_model.add("Hi")
    assert scripted_model.left == 1


def test_the_recording_api_begins_without_requests(recording_api):
    assert recording_api.requests == []


def test_the_clock_stands_at_zero(fake_clock):
    assert fake_clock.monotonic() == 0


def test_the_free_port_is_free(free_port):
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", free_port)) != 0


def test_the_engine_is_open(engine):
    assert engine.properties == {}


def test_each_test_gets_an_engine_of_its_own(engine, request):
    engine.tool(len, name="own")
    assert list(engine.tools) == ["own"]


# Tests of chains in files

CASES = "properties: {site: n}\ncases:\n  - {name: cold, input: {data: {t: 1}}}\n  - {name: later, skip: not yet}\n"
FOLDERS = {
    "good": {"tests": CASES},
    "bad": {"tests": CASES.replace("name: cold,", "name: cold, expect: {visited: send},")},
    "wrong": {"tests": CASES.replace("skip:", "skpi:")},
    "invalid": {"tests": CASES, "chain": "metadata: {nodes: [{id: a, type: nothing}]}"},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints for good and bad files: one run, for it takes long to start."""
    top = tmp_path_factory.mktemp("collected")
    for name, files in FOLDERS.items():
        (top / name).mkdir()
        put(top / name, **files)
    command = [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    ran = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.timeout(120)
def test_cases_are_collected_and_run(report):
    assert "good/meter.test.yaml::cold PASSED" in report
    assert "good/meter.test.yaml::later SKIPPED (not yet)" in report
    assert "2 failed, 1 passed, 3 skipped, 1 error" in report


@pytest.mark.timeout(120)
def test_case_that_fails_is_shown_without_a_stack_trace(report):
    assert "meter.test.yaml:3: cold\n  visited: send was not visited\n  path taken: hot -> shape -> done\n" in report
    assert "Traceback" not in report
    assert ".py:" not in report


@pytest.mark.timeout(120)
def test_file_or_chain_that_is_wrong_is_told_with_its_place(report):
    told = "meter.test.yaml:4:19: test.unknown-key: the key 'skpi' is not known here\n  hint: did you mean 'skip'?"
    assert told in report
    assert re.search(r"meter.yaml:1:\d+: chain.unknown-type", report)


SETTINGS = """
[pytest]
catenary_components = acme/hot=given/hot.yaml
catenary_shared = given/connections.yaml
catenary_chains = given/chains
"""


@pytest.mark.timeout(120)
def test_settings_name_what_chains_need_seen_from_their_file(tmp_path):
    given = {
        "pytest.ini": SETTINGS,
        "given/hot.yaml": "metadata: {nodes: [{id: f, type: exprFilter, configuration: {expr: msg.t > 40}}]}",
        "given/connections.yaml": "metadata: {nodes: []}",
        "given/chains/sub.yaml": "ruleChain: {id: sub}\nmetadata: {nodes: [{id: z, type: comment}]}",
    }
    for name, text in given.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tests").mkdir()
    chain = """\
metadata:
  nodes: [{id: a, type: acme/hot}, {id: b, type: flow, configuration: {targetId: sub}}]
  connections: [{fromId: a, type: "True", toId: b}]
"""
    put(tmp_path / "tests", "cases: [{name: hot, input: {data: {t: 50}}, expect: {visited: 'sub:z'}}]", chain)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "meter.test.yaml::hot PASSED" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("plugin", "option"), [("pytest_randomly", "--randomly-seed=1"), ("xdist", "-n2")])
def test_cases_are_shuffled_and_shared_out_like_any_test(tmp_path, plugin, option):
    pytest.importorskip(plugin)
    cases = "".join(f"  - {{name: number {t}, input: {{data: {{t: {t}}}}}}}\n" for t in range(9))
    for name in ("one", "two"):
        put(tmp_path, f"properties: {{site: n}}\ncases:\n{cases}", name=name)
    (tmp_path / "test_more.py").write_text("def test_more(engine):\n    assert not engine.chains\n")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", option]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "19 passed" in ran.stdout, ran.stdout + ran.stderr
    found = re.findall(r"one.test.yaml::number (\d)", ran.stdout)
    assert (sorted(set(found)), found[:9] != sorted(found[:9])) == (list("012345678"), True)


@pytest.mark.parametrize(("name", "on", "is_taken"), [
    ("a.test.yaml", True, True), ("a.test.json", True, True), ("a.yaml", True, False), ("a.test.yaml", False, False),
])  # fmt: skip
def test_only_such_files_are_collected_and_none_where_it_is_turned_off(tmp_path, name, on, is_taken):
    parent = SimpleNamespace(config=SimpleNamespace(getini=lambda _: on))
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChainTestFile, "from_parent", lambda parent, path: taken.append(path))
        plugin.pytest_collect_file(tmp_path / name, parent)
    assert bool(taken) == is_taken
