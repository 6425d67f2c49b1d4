"""The intent router, as it stands, against a scripted model and an HTTP API on real sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine, Message
from catenary.testing import Answer, FakeClock, RecordingApi, ScriptedModel, serve, server_error, too_many_requests

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary import Outcome

ROOT = Path(__file__).parents[2]
FILE = ROOT / "chains" / "intent-router.json"
PACKAGED = ROOT / "components" / "catenary_components" / "chains" / "intent-router.json"
CATENARY = [sys.executable, "-c", "from catenary.cli import main; main()"]

COMMAND = '{"action": "turn_on", "target": "lamp", "value": null}'
TALK = '{"reply": "Good morning."}'

pytestmark = pytest.mark.timeout(60)  # some start a program


@dataclass
class House:
    """The two services of the chain, and where they are."""

    model: ScriptedModel
    model_url: str
    api: RecordingApi
    api_port: int

    @property
    def properties(self) -> dict[str, Any]:
        """What the chain needs to know."""
        default = {"base_url": f"{self.model_url}/v1", "api_key": "sk-test-0123456789", "model": "small"}
        return {"models": {"providers": {"default": default}}}

    @property
    def chain(self) -> dict[str, Any]:
        """The chain with the port of the API, which may take its time, and nothing else changed."""
        text = FILE.read_text(encoding="utf-8")
        chain = json.loads(text.replace("http://127.0.0.1/api", f"http://127.0.0.1:{self.api_port}/api"))
        (api,) = [node for node in chain["metadata"]["nodes"] if node["id"] == "node_api"]
        api["configuration"]["readTimeoutMs"] = 15_000
        return chain

    async def run(self, prompt: str = "hello", **metadata: str) -> tuple[Outcome, FakeClock]:
        clock = FakeClock(auto=True)
        async with Engine(self.properties, clock=clock) as engine:
            engine.load(self.chain)
            return await engine.run("intent-router", Message(prompt, data_type="TEXT", metadata=metadata)), clock

    def command_line(self, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        arguments = [
            "run",
            str(FILE),
            "--config",
            f"node_api.url=http://127.0.0.1:{self.api_port}/api/v1/cmd",
            "--config",
            "node_api.readTimeoutMs=15000",
            *args,
        ]
        variables = {
            f"CATENARY_GLOBAL__MODELS__PROVIDERS__DEFAULT__{name.upper()}": value
            for name, value in self.properties["models"]["providers"]["default"].items()
        }
        return subprocess.run(
            [*CATENARY, *arguments], input=stdin, env=variables, capture_output=True, text=True, check=False, timeout=40
        )


@pytest.fixture
def house() -> Generator[House]:
    model, api = ScriptedModel(), RecordingApi(default={"done": True})
    with serve(model) as model_server, serve(api) as api_server:
        yield House(model, model_server.url, api, api_server.port)


def test_the_packaged_copy_is_the_same_chain() -> None:
    assert PACKAGED.read_bytes() == FILE.read_bytes()


def test_the_chain_is_wired_as_its_author_wired_it() -> None:
    chain = json.loads(FILE.read_text())
    nodes = {node["id"]: node for node in chain["metadata"]["nodes"]}
    assert {name: node["type"] for name, node in nodes.items()} == {
        "node_agent": "ai/agent", "node_filter": "jsFilter", "node_api": "restApiCall", "node_end": "end",
    }  # fmt: skip
    agent = nodes["node_agent"]["configuration"]
    assert agent["url"] == "${global.models.providers.default.base_url}"
    assert agent["key"] == "${global.models.providers.default.api_key}"
    assert agent["model"] == "${global.models.providers.default.model}"
    assert agent["maxStep"] == 1
    assert agent["params"] == {"temperature": 0.3, "maxTokens": 1024}
    script = "var data = JSON.parse(msg.data); return data.action !== undefined;"
    assert nodes["node_filter"]["configuration"] == {"jsScript": script}
    assert nodes["node_api"]["configuration"] == {
        "url": "http://127.0.0.1/api/v1/cmd", "requestMethod": "POST", "body": "${msg.data}",
    }  # fmt: skip
    ways = {(one["fromId"], one["type"], one["toId"]) for one in chain["metadata"]["connections"]}
    assert ways == {
        ("node_agent", "Success", "node_filter"), ("node_agent", "Stream", "node_end"),
        ("node_filter", "True", "node_api"), ("node_filter", "False", "node_end"), ("node_api", "Success", "node_end"),
    }  # fmt: skip


async def test_a_command_is_posted_to_the_api(house: House) -> None:
    house.model.add(COMMAND)
    outcome, _ = await house.run("turn on the lamp")
    assert outcome.ok
    (request,) = house.api.requests
    assert (request.method, request.path, request.text) == ("POST", "/api/v1/cmd", COMMAND)
    assert request.headers["content-type"] == "application/json"
    (end,) = outcome.ends
    assert (end.node_id, end.relation, end.message.text) == ("node_end", "Success", '{"done":true}')
    assert end.message.metadata["statusCode"] == "200"


async def test_the_model_is_asked_as_the_chain_says(house: House) -> None:
    house.model.add(TALK)
    await house.run("good morning")
    (request,) = house.model.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-test-0123456789"
    assert request.user_text == "good morning"
    assert request.system_text.startswith("You are the intent router")
    body: Any = request.body
    assert (body["model"], body["temperature"]) == ("small", 0.3)
    assert 1024 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert "tools" not in body


async def test_talk_ends_at_once(house: House) -> None:
    house.model.add(TALK)
    outcome, _ = await house.run()
    assert [(end.node_id, end.relation, end.message.text) for end in outcome.ends] == [("node_end", "False", TALK)]
    assert house.api.requests == []


@pytest.mark.parametrize(("answer", "last"), [(TALK, "False"), (COMMAND, "Success")])
async def test_a_stream_gives_pieces_and_then_the_whole(house: House, answer: str, last: str) -> None:
    house.model.add({"pieces": [answer[:7], answer[7:20], answer[20:]], "cut_bytes": 5})
    outcome, _ = await house.run("say it", stream="true")
    *pieces, whole = outcome.ends
    assert [end.relation for end in pieces] == ["Stream"] * 4
    assert "".join(end.message.text for end in pieces) == answer
    assert pieces[-1].message.metadata["stream_completed"] == "true"
    assert (whole.node_id, whole.relation) == ("node_end", last)
    assert whole.message.metadata["full_content"] == "true"
    assert whole.message.text == (answer if last == "False" else '{"done":true}')
    assert outcome.ok


async def test_a_busy_model_is_asked_again_after_the_time_it_names(house: House) -> None:
    house.model.add(too_many_requests(retry_after=7), TALK)
    outcome, clock = await house.run()
    assert outcome.ok
    assert outcome.message.text == TALK
    assert len(house.model.requests) == 2
    assert clock.monotonic() >= 7


def test_a_busy_model_is_really_waited_for(house: House) -> None:
    import time

    house.model.add(too_many_requests(retry_after=1), TALK)
    began = time.monotonic()
    with Engine(house.properties) as engine:
        outcome = engine.load(house.chain).run_sync("hello")
    assert outcome.message.text == TALK
    assert time.monotonic() - began >= 1


async def test_a_model_that_fails_ends_the_run_as_failure_with_the_error_as_data(house: House) -> None:
    house.model.add(*[server_error(500, "out of order")] * 4)
    outcome, _ = await house.run()
    assert outcome.status == "failed"
    (end,) = outcome.ends
    assert (end.node_id, end.relation) == ("node_agent", "Failure")
    assert "out of order" in end.message.text
    assert end.message.text == end.message.metadata["errorMsg"]
    assert end.message.metadata["status"] == "500"
    assert end.message.metadata["attempts"] == "4"
    assert "sk-test" not in str(outcome.to_dict())


async def test_an_answer_that_is_no_json_fails_at_the_filter(house: House) -> None:
    house.model.add("I would rather chat.")
    outcome, _ = await house.run()
    assert outcome.status == "failed"
    assert outcome.ends[0].node_id == "node_filter"


async def test_an_api_that_refuses_fails_with_its_status(house: House) -> None:
    house.model.add(COMMAND)
    house.api._default = Answer(status=503, body="closed")
    outcome, _ = await house.run()
    assert outcome.status == "failed"
    assert outcome.ends[0].message.metadata["statusCode"] == "503"


# From the command line


def test_the_command_line_posts_a_command(house: House) -> None:
    house.model.add(COMMAND)
    done = house.command_line("-f", str(FILE.with_suffix(".input.json")), "--format", "json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["ok"], outcome["ends"][0]["message"]["data"]) == (True, '{"done":true}')
    assert house.api.requests[0].text == COMMAND
    assert house.model.requests[0].user_text == "Please turn on the lamp in the kitchen"


def test_the_command_line_streams(house: House) -> None:
    house.model.add({"pieces": ['{"reply"', ": 1}"]})
    done = house.command_line("-", "-m", "stream=true", "--trace", stdin="say it")
    assert (done.returncode, done.stdout) == (0, '{"reply": 1}\n')
    assert '~ node_agent sends Stream: {"reply"' in done.stderr
    assert "sk-test" not in done.stderr


def test_the_command_line_tells_why_it_failed(house: House) -> None:
    house.model.add({"status": 401, "body": {"error": {"message": "bad key"}}})
    done = house.command_line("-d", "hello", "--format", "json")
    assert done.returncode == 1
    outcome = json.loads(done.stdout)
    assert (outcome["status"], outcome["ends"][0]["relation"]) == ("failed", "Failure")
    assert "bad key" in outcome["ends"][0]["message"]["data"]
    assert "bad key" in done.stderr
    assert "Traceback" not in done.stderr
    assert "sk-test" not in done.stdout + done.stderr
