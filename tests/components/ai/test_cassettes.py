"""Models that are recorded with `run --record FILE` and played by `mock://FILE` and by tests of chains."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from catenary.cli import main
from catenary.testing import Reply, ScriptedModel, calls, serve, server_error, too_many_requests

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a chain and a cassette of one run of it."""
    with serve(ScriptedModel(["120 bolts"])) as server:
        config = {"url": f"{server.url}/v1", "key": "sk-1234567890abcdef", "model": "m"}
        node = {"id": "clerk", "type": "ai/agent", "configuration": config}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        done = call("run", tmp_path / "c.json", "-d", "bolts?", "--record", tmp_path / "tape.json")
    assert (done.exit_code, done.stdout) == (0, "120 bolts\n")
    assert "wrote 1 exchange with models to " in done.stderr
    return tmp_path


GONE = ("--config", "clerk.url=http://127.0.0.1:1/v1", "--config", "clerk.maxRetries=0")


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("change", [("clerk.url=mock://tape.json",), ("clerk.model=mock:tape.json", "clerk.url=")])
def test_a_cassette_answers_at_its_mock_address(folder: Path, change: tuple[str, ...]) -> None:
    config = [part for one in change for part in ("--config", one)]
    done = call("run", folder / "c.json", "-d", "bolts?", *config)
    assert (done.exit_code, done.stdout) == (0, "120 bolts\n")


def test_a_cassette_that_is_not_there_is_told(folder: Path) -> None:
    done = call("run", folder / "c.json", "-d", "bolts?", "--config", "clerk.url=mock://other.json")
    assert done.exit_code == 3
    assert "there is no cassette other.json" in done.stderr


def test_tests_of_a_chain_play_a_cassette(folder: Path) -> None:
    case = {"name": "bolts", "input": {"data": "bolts?"}, "expect": {"data": "120 bolts"}}
    (folder / "c.test.yaml").write_text(json.dumps({"cassette": "tape.json", "cases": [case]}))
    done = call("test", folder / "c.test.yaml")
    assert done.exit_code == 0, done.output


def test_the_cassette_has_no_key(folder: Path) -> None:
    assert "sk-1234567890abcdef" not in (folder / "tape.json").read_text()


@pytest.mark.parametrize("key", ["x", "none", "ollama"])
def test_a_key_that_anybody_says_is_left_in_what_is_said(tmp_path: Path, key: str) -> None:
    with serve(ScriptedModel([f"exactly {key} of them"])) as server:
        config = {"url": f"{server.url}/v1", "key": key, "model": "m"}
        node = {"id": "clerk", "type": "ai/agent", "configuration": config}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        call("run", tmp_path / "c.json", "-d", "bolts?", "--record", tmp_path / "tape.json")
    done = call("run", tmp_path / "c.json", "-d", "bolts?", "--config", "clerk.url=mock://tape.json")
    assert (done.exit_code, done.stdout) == (0, f"exactly {key} of them\n")


def test_a_file_that_is_no_cassette_is_not_written_over(folder: Path) -> None:
    before = (folder / "c.json").read_text()
    done = call("run", folder / "c.json", "-d", "bolts?", "--record", folder / "c.json")
    assert (done.exit_code, "this is something else than a cassette" in done.stderr) == (2, True)
    assert (folder / "c.json").read_text() == before
    (folder / "new.json").touch()
    for file in ("new.json", "tape.json"):
        assert "wrote 1 exchange" in call("run", folder / "c.json", "-d", "x", "--record", folder / file, *GONE).stderr


def test_a_folder_that_is_not_there_is_wrong_usage(folder: Path) -> None:
    done = call("run", folder / "c.json", "-d", "x", "--record", folder / "none" / "tape.json")
    assert (done.exit_code, "there is no folder" in done.stderr) == (2, True)


def test_record_without_a_file_keeps_the_run_in_the_history(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENARY_STORE", str(folder / "runs.db"))
    done = call("run", "--record", folder / "c.json", "-d", "x", "--config", "clerk.url=mock://tape.json")
    assert done.exit_code == 0, done.output
    assert "recorded as run" in done.stderr
    assert (folder / "runs.db").exists()


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("model", ["m", "openai:m", "anthropic:m", "ollama:m:8b"])
def test_a_run_plays_as_it_was_recorded_whoever_the_provider_is(tmp_path: Path, model: str, stream: str) -> None:
    script = [too_many_requests(retry_after=0), Reply(text="Grüße 😀 aus Hull", cut_bytes=3)]
    arguments = ("run", tmp_path / "c.json", "-d", "hi", "-m", f"stream={stream}")
    params = {"extraHeaders": {"X-Team": "team-secret"}, "extraQuery": {"key": "query-secret"}}
    with serve(ScriptedModel(script)) as server:
        config = {"url": server.url, "key": "sk-1234567890abcdef", "model": model, "params": params}
        node = {"id": "clerk", "type": "ai/agent", "configuration": config}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        recorded = call(*arguments, "--record", tmp_path / "tape.json")
    assert recorded.exit_code == 0, recorded.output
    played = call(*arguments, "--config", "clerk.url=mock://tape.json")
    assert (played.exit_code, played.stdout) == (0, recorded.stdout)
    assert "Grüße 😀 aus Hull" in played.stdout
    tape = (tmp_path / "tape.json").read_text()
    assert not any(secret in tape for secret in ("sk-1234567890abcdef", "team-secret", "query-secret"))


def test_a_request_that_was_not_recorded_is_told_with_what_differs(folder: Path) -> None:
    config = ("--config", "clerk.url=mock://tape.json", "--config", "clerk.systemPrompt=Be short.")
    done = call("run", folder / "c.json", "-d", "x", *config)
    assert done.exit_code == 1
    assert "has no answer to request 1: it is chat/completions, messages of system, user" in done.stderr
    assert "recorded is chat/completions, messages of user" in done.stderr


@pytest.mark.parametrize("recorded", ["true", "false"])
@pytest.mark.parametrize("model", ["m", "anthropic:m"])
def test_what_was_recorded_as_a_stream_or_at_once_plays_as_the_other(tmp_path: Path, model: str, recorded: str) -> None:
    played = "false" if recorded == "true" else "true"
    script = [calls("calculator", expression="6*7"), Reply(text="It is 42 – Grüße.", reasoning="Hm.")]
    with serve(ScriptedModel(script)) as server:
        config = {
            "url": server.url,
            "key": "none",
            "model": model,
            "tools": [{"type": "builtin", "name": "calculator"}],
        }
        node = {"id": "clerk", "type": "ai/agent", "configuration": config}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        run = ("run", tmp_path / "c.json", "-d", "6*7?", "--format", "jsonl", "-m")
        first = call(*run, f"stream={recorded}", "--record", tmp_path / "tape.json")
    again = call(*run, f"stream={played}", "--config", "clerk.url=mock://tape.json")
    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert "It is 42 – Grüße." in again.stdout
    told = [_last_message(done.stdout)["metadata"] for done in (first, again)]
    counts = ("tool_calls", "steps", "total_tokens", "reasoning_content")
    assert [told[0].get(name) for name in counts] == [told[1].get(name) for name in counts]


def _last_message(out: str) -> Any:
    return json.loads(out)["ends"][-1]["message"]


def test_what_a_run_recorded_plays_in_a_talk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENARY_DATA_DIR", str(folder / "data"))
    done = CliRunner().invoke(main, ["chat", str(folder / "c.json"), "--model", "mock:tape.json"], input="bolts?\n")
    assert (done.exit_code, done.stdout) == (0, "120 bolts\n"), done.output


def test_a_stream_that_broke_off_breaks_off_when_it_is_played(tmp_path: Path) -> None:
    arguments = ("run", tmp_path / "c.json", "-d", "hi", "-m", "stream=true")
    with serve(ScriptedModel([Reply(text="a b c d e f", drop_after=5)])) as server:
        config = {"url": server.url, "model": "m"}
        node = {"id": "clerk", "type": "ai/agent", "configuration": config}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        recorded = call(*arguments, "--record", tmp_path / "tape.json")
    played = call(*arguments, "--config", "clerk.url=mock://tape.json")
    assert (recorded.exit_code, played.exit_code) == (1, 1)
    assert "broke off" in recorded.stderr
    assert "broke off" in played.stderr


@pytest.mark.parametrize("question", ["go", "another question"])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_services_that_were_recorded_together_go_on_in_one_cassette(tmp_path: Path, question: str, stream: str) -> None:
    """Also in words that were not recorded: the failures of the first are not those of the second."""
    busy, spare = ScriptedModel(default=server_error()), ScriptedModel(["B done"])
    node = {"model": "big", "maxRetries": 0, "failover": [{"url": "${global.b}", "model": "mid"}], "url": "${global.a}"}
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "n", "type": "ai/agent", "configuration": node}]}}
    (tmp_path / "c.json").write_text(json.dumps(chain))
    tape = tmp_path / "tape.json"
    with serve(busy) as first, serve(spare) as second:
        places = ("--set", f"global.a={first.url}/v1", "--set", f"global.b={second.url}/v1")
        assert call("run", tmp_path / "c.json", "-d", "go", "--record", tape, *places).stdout == "B done\n"
    places = ("--set", "global.a=mock://tape.json", "--set", "global.b=mock://tape.json")
    done = call("run", tmp_path / "c.json", "-d", question, "-m", f"stream={stream}", "--format", "jsonl", *places)
    message = json.loads(done.stdout)["ends"][-1]["message"]
    assert (message["data"], message["metadata"]["model"]) == ("B done", "mid")


def test_a_stream_at_the_terminal_is_the_answer_once_and_no_events_of_tools(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("def ping() -> str:\n    return 'pong'\n")
    script = ScriptedModel([Reply(text="I look. ", tool_calls=calls("ping").tool_calls), "It is there."])
    with serve(script) as server:
        node = {"id": "n", "type": "ai/agent", "configuration": {"url": f"{server.url}/v1", "tools": ["ping"]}}
        (tmp_path / "c.json").write_text(json.dumps({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}))
        done = call("run", tmp_path / "c.json", "-d", "go", "-m", "stream=true", "--tools", tmp_path / "t.py")
    assert done.stdout == "I look. It is there.\n"
