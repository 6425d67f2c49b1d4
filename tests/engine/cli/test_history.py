"""`catenary runs`, `trace`, `diff`, and `run` with `--record` and `--of`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.engine.store.records import record

from catenary.cli._history import moment_of, short_ids
from catenary.store import History, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Call = Callable[..., Result]
    Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The history of these tests."""
    file = tmp_path / "history.db"
    monkeypatch.setenv("CATENARY_STORE", str(file))
    return file


@pytest.fixture
def chain(chain_file: Write) -> Path:
    """Double, check, and add one twice in a loop when the number is large."""
    return chain_file(
        [
            ("double", "exprTransform", {"expr": "msg.n * 2"}),
            ("check", "exprFilter", {"expr": "msg < 10"}),
            ("each", "for", {"range": "1..2", "do": "add"}),
            ("add", "exprTransform", {"expr": "msg + 1"}),
        ],
        [("double", "Success", "check"), ("check", "False", "each")],
    )


def put(file: Path, *records: Any) -> None:
    with History(file, limits=Limits(max_age_s=None)) as history:
        for one in records:
            history.ended(one)


def ids(call: Call) -> list[str]:
    return [one["runId"] for one in json.loads(call("runs", "--json", "-n", "0").stdout)]


def changed(chain: Path, before: str, after: str) -> None:
    chain.write_text(chain.read_text().replace(before, after))


# Recording and listing


def test_a_run_is_recorded_when_asked_and_listed(call: Call, chain: Path):
    told = call("run", chain, "-d", '{"n": 8}', "--record")
    assert told.stdout == "16\n"
    listed = call("runs")
    assert listed.exit_code == 0
    head, row = listed.stdout.splitlines()
    assert head.split() == ["RUN", "STARTED", "CHAIN", "STATUS", "TOOK", "VISITS"]
    assert row.split()[0] in told.stderr
    assert (row.split()[3:5], row.split()[-1]) == (["test", "completed"], "5")


def test_a_variable_asks_for_recording(call: Call, chain: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CATENARY_RECORD", "1")
    call("run", chain, "-d", '{"n": 1}')
    assert len(ids(call)) == 1


def test_nothing_is_recorded_unless_asked(call: Call, chain: Path, file: Path):
    assert call("run", chain, "-d", '{"n": 1}').exit_code == 0
    assert call("runs").stdout == ""


def test_each_line_is_recorded(call: Call, chain: Path, tmp_path: Path):
    (tmp_path / "lines").write_text('{"n": 1}\n{"n": 2}\nno JSON\n')
    assert call("run", chain, "--lines", "-f", tmp_path / "lines", "--record").exit_code == 1
    statuses = [one["status"] for one in json.loads(call("runs", "--json").stdout)]
    assert sorted(statuses) == ["completed", "completed", "failed"]


def test_a_failed_run_is_listed_with_its_error(call: Call, chain: Path):
    assert call("run", chain, "-d", "text", "--record").exit_code == 1
    row = call("runs", "--status", "failed").stdout.splitlines()[1]
    assert "node 'double'" in row


def test_runs_are_filtered(call: Call, file: Path):
    put(file, record("old-1", started_ms=1_000), record("new-1", chain_id="other"), record("new-2", chain_id="other"))

    def listed(*options: str) -> list[str]:
        return [one["runId"] for one in json.loads(call("runs", "--json", *options).stdout)]

    assert listed() == ["new-2", "new-1", "old-1"]
    assert listed("--chain", "other", "-n", "1") == ["new-2"]
    assert listed("--since", "2000-01-01") == ["new-2", "new-1"]
    assert listed("--before", "2000-01-01T10:00") == ["old-1"]
    assert listed("--since", "1m") == []


def test_runs_are_deleted(call: Call, file: Path):
    put(file, record("a-1"), record("b-1"), record("c-1"))
    assert call("runs", "--delete", "a", "--delete", "b-1").stderr == "2 runs deleted\n"
    assert ids(call) == ["c-1"]


def test_what_is_too_old_is_pruned(call: Call, file: Path):
    put(file, record("old", started_ms=1000))
    assert call("runs", "--prune").stderr == "1 run deleted\n"


def test_another_file_may_be_named(call: Call, chain: Path, tmp_path: Path):
    other = tmp_path / "other" / "mine.db"
    call("run", chain, "-d", '{"n": 1}', "--record", "--store", other)
    assert len(json.loads(call("runs", "--store", other, "--json").stdout)) == 1
    assert call("trace", "last", "--store", other).exit_code == 0


# What one run did


def test_a_trace_shows_each_visit_nested(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    lines = call("trace", "last").stdout.splitlines()
    assert lines[2] == 'began with: {"n": 8}'
    shown = [line for line in lines if "#" in line or line.startswith("=")]
    assert shown == [
        '#1 double (exprTransform): {"n": 8}',
        "#2 check (exprFilter) from double by Success: 16",
        "#3 each (for) from check by False: 16",
        "  #4 add (exprTransform): 16",
        "  #5 add (exprTransform): 16",
        "= each ends by Success: 16",
    ]
    assert lines[4].startswith("   Success 16, in ")
    assert lines[6].startswith("   False, in ")


def test_a_trace_shows_errors(call: Call, chain: Path):
    call("run", chain, "-d", "text", "--record")
    text = call("trace", "last").stdout
    assert "error: node 'double'" in text
    assert "failed in" in text


def test_a_trace_of_some_nodes_as_a_whole_and_as_json(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "-m", "k=v", "--record")
    text = call("trace", "last", "--node", "double", "--full").stdout
    assert '#1 double (exprTransform): {"n": 8} {"k": "v"}' in text
    assert "check" not in text.replace("#2", "")
    written = json.loads(call("trace", "last", "--json", "--node", "add").stdout)
    assert [visit["parent"] for visit in written["visits"]] == [3, 3]


# Running again


def test_a_run_is_run_again_without_its_file(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    chain.unlink()
    again = call("run", "--of", "last")
    assert (again.exit_code, again.stdout) == (0, "16\n")
    assert "version 1, as recorded" in again.stderr


def test_a_run_begins_at_a_node_with_what_it_got_or_with_data(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    assert call("run", chain, "--of", "last", "--from", "add").stdout == "17\n"
    assert call("run", chain, "--of", "last", "--from", "add", "-d", "41").stdout == "42\n"
    assert call("run", "--of", "last", "--from", "add", "-", stdin="1").stdout == "2\n"


def test_metadata_of_the_recorded_message_stays(call: Call, shown: Callable[[str], Path]):
    chain = shown("metadata.a + metadata.b + type")
    call("run", chain, "-d", "1", "-m", "a=1", "-m", "b=2", "--type", "T", "--record")
    assert call("run", chain, "--of", "last", "-d", "2", "-m", "b=3").stdout == "13T\n"


def test_a_visit_is_chosen_and_said(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    told = call("run", chain, "--of", "last", "--from", "add").stderr
    assert "visit 5 of 'add'; its visits are 4, 5, --visit chooses" in told
    assert "visit 4 of" in call("run", chain, "--of", "last", "--from", "add", "--visit", "4").stderr


def test_the_version_is_the_one_of_the_file_unless_asked(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    changed(chain, "msg.n * 2", "msg.n * 3")
    present = call("run", chain, "--of", "last")
    assert present.stdout == "24\n"
    assert "the chain has changed since the run was recorded" in present.stderr
    recorded = call("run", chain, "--of", "last", "--version", "recorded")
    assert recorded.stdout == "16\n"
    assert "changed" not in recorded.stderr


def test_a_pinned_node_is_not_run(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    changed(chain, "msg.n * 2", "nothing.at.all")
    assert call("run", chain, "--of", "last").exit_code == 1
    assert call("run", chain, "--of", "last", "--pin", "double").stdout == "16\n"


def test_a_run_of_another_chain_is_warned_of(call: Call, chain: Path, file: Path):
    put(file, record("other", chain_id="other"))
    told = call("run", chain, "--of", "other", "-d", '{"n": 1}')
    assert "the run was of chain 'other', and this is 'test'" in told.stderr


# Comparing


def test_runs_that_do_not_differ(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    call("run", chain, "--of", "last", "--record")
    one, other = ids(call)
    told = call("diff", one, other, "--durations")
    assert told.exit_code == 0
    assert "do not differ" in told.stdout
    assert "  #1 double: " in told.stdout


def test_what_differs_is_told_where_it_came_about(call: Call, chain: Path):
    call("run", chain, "-d", '{"n": 8}', "--record")
    call("run", chain, "-d", '{"n": 2}', "--record")
    second, first = ids(call)
    told = call("diff", first, second)
    assert told.exit_code == 1
    assert told.stdout.splitlines()[2:] == [
        "~ began with data.n: 8 -> 2",
        "~ #1 double sent data: 16 -> 4",
        "~ #2 check relations: False -> True",
        "- #3 each is visited",
        "- #4 add is visited",
        "- #5 add is visited",
        "- each ends by Success",
        "+ check ends by True",
    ]
    written = json.loads(call("diff", first, second, "--json").stdout)
    assert written[0] == {"kind": "message", "nodeId": "", "path": "data.n", "visits": [0, 0], "left": 8, "right": 2}


# What is wrong


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["runs"], 1, "there is no store at"),
        (["trace", "last"], 1, "there is no store at"),
        (["diff", "a", "b"], 2, "there is no store at"),
        (["run", "--of", "last"], 1, "there is no store at"),
    ],
)
def test_a_history_that_is_not_there_is_told(call: Call, file: Path, arguments: list[str], code: int, text: str):
    told = call(*arguments)
    assert (told.exit_code, text in told.stderr, file.exists()) == (code, True, False)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["trace", "zzz"], 1, "no recorded run has the id 'zzz'"),
        (["trace", "ab"], 1, "several recorded runs begin with 'ab': ab-2, ab-1"),
        (["trace", "ab-1", "--node", "b"], 2, "the run did not visit a node 'b'"),
        (["runs", "--since", "yesterday"], 2, "'yesterday' is no moment"),
        (["runs", "--delete", "zzz"], 1, "no recorded run"),
        (["diff", "ab-1", "zzz"], 2, "no recorded run has the id 'zzz'"),
        (["run"], 2, "name the FILE of a chain, or a recorded run with --of RUN"),
        (["run", "--of", "ab-1", "--version", "present"], 2, "--version present needs the FILE"),
        (["run", "--of", "ab-1", "--lines", "-d", "x"], 2, "--lines runs many messages"),
        (["run", "--of", "ab-1", "--visit", "1"], 2, "name the node with --from NODE"),
        (["run", "CHAIN", "--from", "a"], 2, "--from needs a recorded run"),
        (["run", "CHAIN", "--pin", "a"], 2, "--pin needs a recorded run"),
        (["run", "CHAIN", "--version", "recorded"], 2, "--version needs a recorded run"),
        (["run", "CHAIN", "--of", "ab-1", "--from", "b"], 1, "node 'b' was not visited in run ab-1"),
        (["run", "CHAIN", "--of", "ab-1", "--from", "a"], 1, "node id=a not found"),
        (["run", "CHAIN", "--of", "ab-1", "--pin", "b"], 1, "node 'b' was not visited in run ab-1"),
    ],
)
def test_wrong_input_is_told(call: Call, file: Path, chain: Path, arguments: list[str], code: int, text: str):
    put(file, record("ab-1"), record("ab-2"))
    told = call(*(str(chain) if one == "CHAIN" else one for one in arguments))
    assert (told.exit_code, text in told.stderr) == (code, True), told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("command", [("runs",), ("trace", "last"), ("run", "CHAIN", "--record")])
def test_a_file_that_is_no_history_is_told(call: Call, file: Path, chain: Path, command: tuple[str, ...]):
    file.write_text("no database\n" * 100)
    told = call(*(chain if one == "CHAIN" else one for one in command))
    assert (told.exit_code, "is damaged or no SQLite file" in told.stderr) == (1, True)


def test_a_history_of_a_later_version_is_told(call: Call, file: Path):
    put(file, record())
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE owners SET version = 99")
    told = call("runs")
    assert (told.exit_code, "written by a later version of catenary" in told.stderr) == (1, True)


def test_ids_are_shortened_as_far_as_they_differ():
    assert short_ids(["aaaaaaaaaa1", "aaaaaaaaaa2", "b"]) == ["aaaaaaaaaa1", "aaaaaaaaaa2", "b"]
    assert short_ids(["0123456789", "0123456789", "x123456789"]) == ["01234567", "01234567", "x1234567"]


def test_moments_are_lengths_of_time_and_dates():
    assert moment_of("2026-01-31T14:00:00Z", "--since").timestamp() == 1769868000
    assert 86390 < moment_of("1d", "--since").timestamp() - moment_of("2d", "--since").timestamp() < 86410
