"""`catenary test`: what it runs, what it prints, and its exit codes."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from tests.engine.testing.chains.kit import put

from catenary import Engine
from catenary.cli import main
from catenary.recording import MemoryRecorder

TESTS = """\
properties: {site: north}
mocks: {send: {data: {t: 1}}}
cases:
  - name: a cold reading
    input: {data: {t: 20}}
    expect: {notVisited: send}
  - name: a hot reading
    input: {data: {t: 50}}
    expect: {visited: send, contains: {t: 1}}
  - {name: later, skip: not yet}
"""
WRONG = TESTS.replace("notVisited", "visited")


def run(*args):
    return CliRunner().invoke(main, ["test", *map(str, args)])


def test_cases_that_pass(tmp_path):
    put(tmp_path, TESTS)
    result = run(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "2 passed, 1 skipped; 100 % of nodes and relations reached\n")
    assert "passed  a cold reading" in result.stdout
    assert "skipped  later  (not yet)" in result.stdout


def test_case_that_fails_is_told_with_its_place(tmp_path):
    path = put(tmp_path, WRONG)
    result = run(path)
    assert result.exit_code == 4
    assert f"{path}:4\n    visited: send was not visited\n    path taken: hot -> shape -> done\n" in result.stdout
    assert result.stderr.startswith("1 passed, 1 failed, 1 skipped")


def test_folder_of_the_shell_is_searched_when_no_path_is_given(tmp_path, monkeypatch):
    put(tmp_path, TESTS)
    monkeypatch.chdir(tmp_path)
    assert run().exit_code == 0
    assert run("-k", "cold").stderr.startswith("1 passed;")


@pytest.mark.parametrize(
    ("words", "text"), [(["hot"], "1 passed"), (["METER", "cold"], "1 passed"), (["e"], "2 passed")]
)
def test_cases_are_chosen_by_name_and_file(tmp_path, words, text):
    put(tmp_path, TESTS)
    assert run(tmp_path, *(part for word in words for part in ("-k", word))).stderr.startswith(text)


def test_nothing_to_run_is_wrong_usage(tmp_path):
    assert run(tmp_path).exit_code == 2
    put(tmp_path, TESTS)
    assert run(tmp_path, "-k", "none").exit_code == 2
    assert run(tmp_path / "gone.test.yaml").exit_code == 2


def test_first_failure_may_end_it(tmp_path):
    put(tmp_path, WRONG)
    result = run(tmp_path, "--fail-fast")
    assert (result.exit_code, "hot reading" in result.stdout) == (4, False)


def test_invalid_files_and_chains_have_a_code_of_their_own(tmp_path):
    put(tmp_path, "cases: []")
    assert run(tmp_path).exit_code == 3
    put(tmp_path, "cases: [{name: a}]", chain="metadata: {nodes: [{id: a, type: nothing}]}")
    result = run(tmp_path)
    assert (result.exit_code, "chain.unknown-type" in result.stderr) == (3, True)
    assert "Traceback" not in result.output


def test_nodes_that_are_not_there_are_told_before_any_case_is_run(tmp_path):
    put(tmp_path, TESTS + "  - {name: last, expect: {visited: [shap]}}\n")
    result = run(tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "there is no node 'shap'" in result.stderr
    assert "did you mean 'shape'?" in result.stderr


def test_tests_are_found_from_a_folder_inside(tmp_path, monkeypatch):
    put(tmp_path, TESTS)
    (tmp_path / ".hidden").mkdir()
    put(tmp_path / ".hidden", "cases: [")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    assert "2 passed" in run("..").stderr


def test_coverage_names_what_no_case_reached(tmp_path):
    put(tmp_path, TESTS)
    result = run(tmp_path, "-k", "cold", "--coverage")
    assert "62.5 %" in result.stdout
    assert "3 of 4 nodes, 2 of 4 relations" in result.stdout
    assert "nodes not reached: send\n" in result.stdout
    assert "relations not reached: hot True, send Success\n" in result.stdout


@pytest.mark.parametrize(("least", "code"), [("62", 0), ("63", 4)])
def test_coverage_may_be_asked_for(tmp_path, least, code):
    put(tmp_path, TESTS)
    result = run(tmp_path, "-k", "cold", "--min-coverage", least)
    assert (result.exit_code, "less than the 63 %" in result.stderr) == (code, code == 4)


def test_only_may_be_forbidden(tmp_path):
    put(tmp_path, TESTS.replace("name: a cold reading", "name: a cold reading\n    only: true"))
    assert run(tmp_path).exit_code == 0
    result = run(tmp_path, "--forbid-only")
    assert (result.exit_code, "says `only`" in result.stderr) == (4, True)


def test_report_as_json(tmp_path):
    path = put(tmp_path, WRONG)
    result = run(tmp_path, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 4
    assert {key: report[key] for key in ("passed", "failed", "skipped")} == {"passed": 1, "failed": 1, "skipped": 1}
    assert report["cases"][0]["file"] == str(path)
    assert report["cases"][0]["problems"] == ["visited: send was not visited"]
    assert report["coverage"]["percent"] == 100


def test_report_for_build_servers(tmp_path):
    put(tmp_path, WRONG.replace("name: a cold reading", 'name: "\\x01 a cold reading"'))
    report = tmp_path / "report.xml"
    assert run(tmp_path, "--junit", report).exit_code == 4
    root = ET.parse(report).getroot()
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "3", "failures": "1", "skipped": "1",
    }  # fmt: skip
    assert [[part.tag for part in case] for case in suite] == [["failure"], [], ["skipped"]]
    assert suite[0][0].get("message") == "visited: send was not visited"


# New cases


def record(tmp_path):
    recorder = MemoryRecorder()
    with Engine({"site": "north"}) as engine:
        engine.load(tmp_path / "meter.yaml").run_sync({"t": 20}, recorder=recorder)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(recorder.records[0].to_dict()))
    return path


def test_new_case_is_added_beside_the_chain(tmp_path):
    put(tmp_path, TESTS)
    result = run("new", tmp_path / "meter.yaml", "--from", record(tmp_path), "--name", "as it was")
    assert result.exit_code == 0, result.output
    assert run(tmp_path).stderr.startswith("3 passed, 1 skipped")


def test_new_case_makes_a_file_that_names_its_chain(tmp_path):
    put(tmp_path, TESTS).unlink()
    (tmp_path / "tests").mkdir()
    target = tmp_path / "tests" / "other.test.yaml"
    assert run("new", tmp_path / "meter.yaml", "--from", record(tmp_path), "-o", target).exit_code == 0
    assert target.read_text().startswith("chain: ../meter.yaml\n")


def test_record_of_another_chain_and_what_is_no_record_are_refused(tmp_path):
    put(tmp_path, TESTS)
    written = record(tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text("ruleChain: {id: other}\nmetadata: {nodes: []}\n")
    result = run("new", other, "--from", written)
    assert (result.exit_code, "is one of the chain 'meter'" in result.stderr) == (2, True)
    written.write_text("{}")
    result = run("new", tmp_path / "meter.yaml", "--from", written)
    assert (result.exit_code, "is no record of a run" in result.stderr) == (2, True)


def test_schema_of_the_files_is_printed():
    result = CliRunner().invoke(main, ["schema", "--tests"])
    assert json.loads(result.stdout)["title"] == "Tests of a chain"
    assert CliRunner().invoke(main, ["schema", "--tests", "join"]).exit_code == 2


HOST = """\
ruleChain: {id: meter}
metadata:
  nodes: [{id: a, type: acme/warm}, {id: f, type: flow, configuration: {targetId: sub, extend: true}}]
  connections: [{fromId: a, type: "True", toId: f}]
"""
WARM = "ruleChain: {id: acme/warm}\nmetadata: {nodes: [{id: f, type: exprFilter, configuration: {expr: msg > 40}}]}\n"


def test_component_types_and_other_chains_may_be_given(tmp_path, monkeypatch):
    path = put(tmp_path, "cases: [{name: one, input: {data: 50}, expect: {data: 51, visited: ['sub:z']}}]\n", HOST)
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "warm.yaml").write_text(WARM)
    sub = "ruleChain: {id: sub}\nmetadata: {nodes: [{id: z, type: exprTransform, configuration: {expr: msg + 1}}]}\n"
    (tmp_path / "given" / "sub.yaml").write_text(sub)
    monkeypatch.chdir(tmp_path / "given")
    assert run(path).exit_code == 3
    result = run(path, "--component", "warm.yaml", "--chains", ".")
    assert result.exit_code == 0, result.output
    assert run("run", path, "--component", "acme/warm=warm.yaml", "--chains", "sub.yaml").exit_code == 0


@pytest.mark.parametrize("options", [
    ["--component", "none.yaml"], ["--shared", "none.yaml"], ["--chains", "none"], ["--chains", "empty"],
    ["--component", "warm.yaml", "--component", "acme/warm=warm.yaml"],
])  # fmt: skip
def test_parts_that_are_not_there_are_wrong_usage(tmp_path, monkeypatch, options):
    put(tmp_path, TESTS)
    (tmp_path / "warm.yaml").write_text(WARM)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    result = run(*options)
    assert (result.exit_code, options[-2] in result.stderr) == (2, True)
