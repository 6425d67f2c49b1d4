"""`catenary serve` as a process: what it says, how it starts, reloads and stops."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.peers.server import free_port
from tests.server.kit import COMMAND, KEY, chain, get, greeting, http_endpoint, post, process, slow, started

pytestmark = pytest.mark.timeout(90)  # each starts programs


def write(folder: Path, *chains: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for one in chains:
        (folder / f"{one['ruleChain']['id']}.json").write_text(json.dumps(one))
    return folder


def rewrite(file: Path, text: str) -> None:
    """Put another text into a file, so that nobody ever reads half of it."""
    new = file.parents[1] / f"{file.name}.new"
    new.write_text(text)
    new.replace(file)


def refused(tmp_path: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """Start a server that does not come up. Returns: its exit code, and what it says."""
    ran = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "CATENARY_DATA_DIR": str(tmp_path / "data"), **environ},
    )
    assert "Traceback" not in ran.stderr
    return ran.returncode, " ".join(ran.stderr.split())


def run(url: str, chain_id: str, data: Any, **more: Any) -> httpx.Response:
    return post(f"{url}/api/v1/chains/{chain_id}/run", json={"data": data}, **more)


def test_it_says_what_listens_where_and_what_is_in_service(tmp_path: Path) -> None:
    port = free_port()
    endpoint = http_endpoint("POST", "/orders")
    own = {**http_endpoint("GET", "/own"), "id": "own", "configuration": {"server": f":{port}"}}
    folder = write(tmp_path / "chains", chain("shop", ("n", "fork", {}), endpoints=[endpoint, own]), greeting())
    (folder / "bad.yaml").write_text("ruleChain: {id: bad}\nmetadata:\n  nodes: [{id: a, type: exprFiltr}]\n")
    (folder / "off.yaml").write_text("ruleChain: {id: off, disabled: true}\nmetadata: {nodes: []}\n")
    with started(tmp_path, "chains") as server:
        output = server.output
        assert run(server.url, "hello", {"name": "Ann"}).json()["data"] == {"text": "Hello Ann"}
        assert post(f"{server.url}/orders", content="x").text == "x"
        assert get(f"http://127.0.0.1:{port}/own?a=1").json() == {"a": ["1"]}
        assert server.stop() == 0
    assert re.search(rf"{server.url} +the API, no key needed", output)
    assert re.search(rf"{server.url} +POST /orders +chain shop", output)
    assert re.search(rf"http://127.0.0.1:{port} +GET /own +chain shop", output)
    assert "Chains: 2 in service, 1 with errors" in output
    assert re.search(r"hello +1 node +chains/hello.json", output)
    assert re.search(r"chains/bad.yaml:3:\d+: chain.unknown-type: ", output)
    assert "did you mean 'exprFilter'?" in output
    assert "chains/off.yaml: disabled" in output


def test_an_empty_folder_is_explained_and_what_is_explained_works(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with started(tmp_path, "mine", "--watch") as server:
        output = server.wait_for(r"(?s)There is no chain in 'mine'.*curl (\S+) -d '(.*?)'\n")
        assert "Write it there, and it is in service at once." in server.output
        example = re.search(r"(?s)mine/hello.yaml:\n\n(.*?)\n\n", server.output)
        assert example
        text = "\n".join(line.removeprefix("    ") for line in example[1].splitlines())
        (tmp_path / "mine" / "hello.yaml").write_text(text)
        server.wait_for("loaded the chain 'hello'")
        answer = post(output[1], content=output[2])
        assert answer.json()["data"] == {"text": "Hello Ann"}


def test_files_that_are_no_chains_are_named_where_there_is_no_chain(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "package.json").write_text("{}")
    with started(tmp_path, "mine") as server:
        server.wait_for("has neither ruleChain nor metadata, and so is none: mine/package.json")


def test_without_a_folder_it_serves_chains_here_or_the_current_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()

    write(tmp_path / "one" / "chains", greeting())
    write(tmp_path / "two", greeting("here"))
    for name, served in (("one", "hello"), ("two", "here")):
        with started(tmp_path / name) as server:
            server.wait_for(rf"{served} +1 node")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nowhere"], "the folder 'nowhere' is not there; give the folder that your chains are in"),
        (
            ["file.json"],
            "the folder 'file.json' is a file; give the folder that your chains are in: `catenary serve .`",
        ),
        ([".", "--host", "0.0.0.0"], "other machines can connect to '0.0.0.0', which needs an API key"),
        ([".", "--api-key", "short"], "an API key of 5 characters is too short; take 16 or more"),
        ([".", "--api-keys", "none.txt"], "the keys in none.txt cannot be read"),
        ([".", "--grace", "long"], "must be a number of seconds"),
        ([".", "--port", "70000"], "70000 is not in the range"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments: list[str], text: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text("{}")
    code, said = refused(tmp_path, *arguments)
    assert (code, text in said) == (2, True), said


def test_all_addresses_that_are_taken_are_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
            one.listen()
        ports = [one.getsockname()[1] for one in (first, second)]
        own = {**http_endpoint("GET", "/own"), "configuration": {"server": f":{ports[1]}"}}
        write(tmp_path / "chains", chain("shop", ("n", "fork", {}), endpoints=[own]))
        code, said = refused(tmp_path, "chains", "--port", str(ports[0]))
    assert code == 1
    assert f"127.0.0.1:{ports[0]} is in use by another program" in said
    assert f"127.0.0.1:{ports[1]} cannot be listened on: address already in use (endpoint 'in' of chain 'shop')" in said


def test_an_endpoint_whose_address_is_taken_is_told_and_comes_up_later(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port := free_port()))  # which no client gets when it is free again
        taken.listen()
        own = {**http_endpoint("GET", "/own"), "configuration": {"server": f":{port}"}}
        write(tmp_path / "chains", chain("shop", ("n", "fork", {}), endpoints=[own]))
        with started(tmp_path, "chains") as server:
            server.wait_for(rf"reconnecting: 127.0.0.1:{port} is in use by another program")
            assert get(f"{server.url}/readyz").status_code == 503
            taken.close()
            deadline = time.monotonic() + 30
            while get(f"{server.url}/readyz").status_code != 200:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert get(f"http://127.0.0.1:{port}/own").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_finished_before_it_stops(number: signal.Signals, tmp_path: Path) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await may_answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    async def main(listening: socket.socket, url: str, server: Any) -> tuple[int, int]:
        asking = httpx.AsyncClient(base_url=url, trust_env=False, timeout=30)
        async with await asyncio.start_server(answer, sock=listening), asking as client:
            under_way = asyncio.create_task(client.post("/api/v1/chains/ask/run", json={"data": 1}))
            await asked.wait()
            server.popen.send_signal(number)
            await asyncio.to_thread(server.wait_for, "stopping: ")
            ready = await client.get("/readyz")
            may_answer.set()
            return (await under_way).status_code, ready.status_code

    with socket.create_server(("127.0.0.1", 0)) as listening:
        call = {"url": f"http://127.0.0.1:{listening.getsockname()[1]}/", "requestMethod": "GET"}
        write(tmp_path / "chains", chain("ask", ("c", "restApiCall", call)))
        with started(tmp_path, "chains", "--grace", "60s") as server:
            assert asyncio.run(main(listening, server.url, server)) == (200, 503)
            assert server.popen.wait(30) == 0


def test_runs_that_do_not_finish_in_time_are_cancelled(tmp_path: Path) -> None:
    write(tmp_path / "chains", slow())
    with started(tmp_path, "chains", "--grace", "100ms") as server:
        assert run(server.url, "slow", 1, params={"wait": "false"}).status_code == 202
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 9.5  # without the option they have 10 seconds


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_does_not_wait(number: signal.Signals, code: int, tmp_path: Path) -> None:
    write(tmp_path / "chains", slow())
    with started(tmp_path, "chains", "--grace", "60s") as server:
        assert run(server.url, "slow", 1, params={"wait": "false"}).status_code == 202
        server.popen.send_signal(number)
        server.wait_for("stopping: ")
        assert server.stop(number) == code


def test_changed_files_are_taken_over_and_a_broken_one_keeps_the_last_good_version(tmp_path: Path) -> None:
    folder = write(tmp_path / "chains", greeting())
    file = folder / "hello.json"
    with started(tmp_path, "chains", "--watch") as server:
        rewrite(file, json.dumps(greeting(text="Good day")))
        server.wait_for("reloaded the chain 'hello'")
        assert run(server.url, "hello", {"name": "Ann"}).json()["data"] == {"text": "Good day Ann"}
        rewrite(file, '{"ruleChain": {"id": "hello"}, "metadata": [')
        server.wait_for("chains/hello.json:1:.*code=chain.syntax")
        assert run(server.url, "hello", {"name": "Ann"}).json()["data"] == {"text": "Good day Ann"}
        (one,) = get(f"{server.url}/api/v1/chains").json()["chains"]
        assert [problem["code"] for problem in one["problems"]] == ["chain.syntax"]
        file.unlink()
        server.wait_for("stopping the chain 'hello'")
        assert server.stop() == 0


def test_keys_let_other_machines_in_and_are_never_written(tmp_path: Path) -> None:
    write(tmp_path / "chains", greeting())
    with started(tmp_path, "chains", "--host", "0.0.0.0", CATENARY_API_KEYS=KEY) as server:
        assert "the API, with an API key" in server.output
        assert run(server.url, "hello", {"name": "Ann"}).status_code == 401
        headers = {"authorization": f"Bearer {KEY}"}
        assert run(server.url, "hello", {"name": "Ann"}, headers=headers).status_code == 200
        assert server.stop() == 0
        assert KEY not in server.output


def test_the_log_is_json_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "chains", chain("c", ("n", "fork", {}), endpoints=[http_endpoint("GET", "/x")]))
    (folder / "bad.json").write_text('{"ruleChain": {')
    with process(tmp_path, "chains", "--log-format", "json", "--port", str(port := free_port())) as server:
        server.wait_for("the API is up")
        get(f"http://127.0.0.1:{port}/x?y=1")
        get(f"http://127.0.0.1:{port}/healthz")
        assert server.stop() == 0
        records = [json.loads(line) for line in server.output.splitlines()]
    by_message = {one["message"]: one for one in records}
    assert by_message["the API is up"]["address"] == f"http://127.0.0.1:{port}"
    assert by_message["an endpoint"]["routes"] == "GET /x"
    assert by_message["a chain cannot be served"]["code"] == "chain.syntax"
    assert by_message["GET /x"]["status"] == 200
    assert "GET /healthz" not in by_message


def test_properties_shared_resources_and_component_types_are_given_as_for_run(tmp_path: Path) -> None:
    shared = {"ruleChain": {"id": "s"}, "metadata": {"nodes": [_database("db")]}}
    (tmp_path / "shared.json").write_text(json.dumps(shared))
    (tmp_path / "shout.json").write_text(json.dumps(greeting("acme/shout", "HELLO")))
    (tmp_path / "site.env").write_text("global.region=north\n")
    select = {"driverName": "sqlite", "dsn": "ref://db", "sql": "select '${global.region}' as region", "getOne": True}
    write(tmp_path / "chains", chain("where", ("n", "dbClient", select)), chain("shout", ("n", "acme/shout", {})))
    given = (
        "--shared",
        "shared.json",
        "--component",
        "shout.json",
        "--env-file",
        "site.env",
        "--set",
        f"global.data_dir={tmp_path}",
    )
    with started(tmp_path, "chains", *given) as server:
        assert run(server.url, "where", {}).json()["data"] == {"region": "north"}
        assert run(server.url, "shout", {"name": "Ann"}).json()["data"] == {"text": "HELLO Ann"}


def test_an_env_file_has_all_that_the_server_reads_of_the_environment(tmp_path: Path) -> None:
    lines = [f"CATENARY_API_KEYS={KEY}", "CATENARY_LOG_FORMAT=json", "CATENARY_RECORD=1", "CATENARY_STORE=kept.db"]
    (tmp_path / "site.env").write_text("\n".join(lines))
    write(tmp_path / "chains", greeting())
    with process(tmp_path, "chains", "--env-file", "site.env") as server:
        up = json.loads(server.wait_for(r'\{.*"the API is up".*')[0])
        assert up["needs_key"] is True
        url = f"{up['address']}/api/v1"
        assert get(f"{url}/runs").status_code == 401
        given: Any = {"headers": {"X-API-Key": KEY}}
        assert post(f"{url}/chains/hello/run", json={"data": {"name": "Ann"}}, **given).status_code == 200
        assert [one["chainId"] for one in get(f"{url}/runs", **given).json()["runs"]] == ["hello"]
    assert (tmp_path / "kept.db").exists()


def test_what_is_doubtful_about_a_chain_is_told_at_the_start_and_when_its_file_changes(tmp_path: Path) -> None:
    settings: dict[str, Any] = {}
    doubtful = chain("hello", ("a", "log", {}), ("b", "log", settings), ways=("a Sucess b",))
    folder = write(tmp_path / "chains", doubtful)
    with started(tmp_path, "chains", "--watch") as server:
        server.wait_for(
            r"(?s)Chains: 1 in service, 0 with errors.*hello.json:1:\d+: chain.unknown-relation: .*\(warning\)"
        )
        summary = get(f"{server.url}/api/v1/chains").json()["chains"][0]
        assert [(one["code"], one["severity"]) for one in summary["problems"]] == [
            ("chain.unknown-relation", "warning")
        ]
        settings["jsScrpt"] = "return 1"
        write(folder, doubtful)
        server.wait_for(r"warning catenary.life.watching: \S+hello.json:1:\d+: config.unknown-option: ")


def test_each_time_of_a_schedule_is_shown_with_when_it_is_due_next(tmp_path: Path) -> None:
    times = [
        {"from": {"path": "0 0 2 1 1 *"}},
        {"from": {"path": "0 0 2 1 7 *", "configuration": {"timezone": "Asia/Tokyo"}}},
    ]
    clock = {"id": "clock", "type": "schedule", "configuration": {"timezone": "Europe/Berlin"}, "routers": times}
    write(tmp_path / "chains", chain("night", ("n", "log", {}), endpoints=[clock]))
    with started(tmp_path, "chains") as server:
        (row,) = get(f"{server.url}/api/v1/endpoints").json()["endpoints"]
        output = server.output
    assert row["routes"] == ["0 0 2 1 1 *", "0 0 2 1 7 *"]
    assert [time[4:] for time in row["next"]] == ["-01-01T02:00:00+01:00", "-07-01T02:00:00+09:00"]
    for route, due in zip(row["routes"], row["next"], strict=True):
        assert re.search(rf"next {re.escape(due)} +{re.escape(route)} +chain night", output)


def test_endpoints_of_chains_use_the_server_of_one_that_is_shared(tmp_path: Path) -> None:
    front = http_endpoint("GET", "/${vars.shop}/hello", server="127.0.0.1:0")
    front["id"] = "front"
    front["routers"][0]["to"]["path"] = "hello"
    head = {"id": "pool", "configuration": {"vars": {"shop": "books"}}}
    (tmp_path / "shared.json").write_text(json.dumps({"ruleChain": head, "metadata": {"endpoints": [front]}}))
    own = http_endpoint("GET", "/own", server="ref://front")
    write(tmp_path / "chains", chain("hello", ("n", "text/template", {"template": "HELLO"}), endpoints=[own]))
    with started(tmp_path, "chains", "--shared", "shared.json") as server:
        (address,) = {row["address"] for row in get(f"{server.url}/readyz").json()["endpoints"]}
        for path in ("/books/hello", "/own"):
            assert get(address + path).text == "HELLO"
    assert re.search(r"GET /own +chain hello", server.output)
    assert re.search(r"GET /\$\{vars.shop\}/hello +endpoint front", server.output)


def _database(name: str) -> Any:
    settings = {"driverName": "sqlite", "dsn": f"{name}.db", "sql": "select 1"}
    return {"id": name, "type": "dbClient", "configuration": settings}


def test_runs_are_recorded_and_questions_outlive_the_server(tmp_path: Path) -> None:
    ask = chain(
        "ask", ("w", "wait", {}), ("done", "exprTransform", {"mapping": {"n": "msg.n"}}), ways=("w Success done",)
    )
    write(tmp_path / "chains", ask)
    store = ("--record", "--store", "runs.db")
    with started(tmp_path, "chains", *store) as server:
        run_id = run(server.url, "ask", {"n": 1}).json()["runId"]
        assert server.stop() == 0
    with started(tmp_path, "chains", *store) as server:
        assert get(f"{server.url}/api/v1/runs/{run_id}").json()["status"] in {
            "waiting",
            "paused",
        }
        body = {"nodeId": "w", "data": {"n": 2}}
        taken = post(f"{server.url}/api/v1/runs/{run_id}/answers", json=body).json()
        path = f"{server.url}/api/v1/runs/{taken['resumedAs']}"
        deadline = time.monotonic() + 30
        while (found := get(path).json())["status"] != "completed":
            assert time.monotonic() < deadline, found
        assert found["record"]["ends"][0]["message"]["data"] == '{"n":2}'


def test_an_idle_server_is_small(tmp_path: Path) -> None:
    write(tmp_path / "chains", greeting())
    with started(tmp_path, "chains") as server:
        status = Path(f"/proc/{server.popen.pid}/status").read_text()
    resident = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]
    assert resident <= 80


def test_the_help_teaches(tmp_path: Path) -> None:
    ran = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True, timeout=40)
    for word in (
        "catenary serve chains/ --watch",
        "curl http://127.0.0.1:9090/api/v1/chains/",
        "--api-keys",
        "/readyz",
    ):
        assert word in ran.stdout


def test_a_missing_extra_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'prometheus_client' else real(name, *rest)\n"
        "from catenary.cli import main; main(['serve', '.'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=40
    )
    assert ran.returncode == 2
    assert (
        "packages that are not installed: prometheus_client; install them with: pip install 'catenary[server]'"
        in " ".join(ran.stderr.split())
    )
