"""`POST /api/v1/chains/{id}/run`: what goes in, what comes out, and what becomes of runs whose client goes away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from tests.server.kit import Sent, chain, events_of, greeting, held, serving, slow, waiting

from catenary_server import ServiceSettings

STREAM = {"accept": "text/event-stream"}


async def test_a_message_goes_in_and_the_outcome_comes_out() -> None:
    async with serving(greeting()) as site:
        answer = await site.run("hello", {"name": "Ann"})
        found = answer.json()
    assert answer.status_code == 200
    assert (found["chainId"], found["status"], found["ok"], found["error"]) == ("hello", "completed", True, None)
    assert found["data"] == {"text": "Hello Ann"}
    assert found["message"]["data"] == '{"text":"Hello Ann"}'
    assert [(end["nodeId"], end["relation"]) for end in found["ends"]] == [("greet", "Success")]


async def test_all_parts_of_a_message_and_of_its_run_are_taken() -> None:
    parts = {"t": "metadata.k + type + dataType", "d": "msg"}
    nodes = [("first", "exprFilter", {"expr": "false"}), ("second", "exprTransform", {"mapping": parts})]
    async with serving(chain("c", *nodes)) as site:
        answer = await site.run(
            "c", "x", type="T", metadata={"k": "K"}, start="second", timeout="5s", runId="run-1", dataType="TEXT"
        )
    assert answer.json()["data"] == {"t": "KTTEXT", "d": "x"}
    assert answer.json()["runId"] == "run-1"


@pytest.mark.parametrize(
    ("body", "data", "data_type"),
    [
        ({"data": {"a": 1}}, {"a": 1}, "JSON"),
        ({"data": [1, None]}, [1, None], "JSON"),
        ({"data": "plain"}, "plain", "TEXT"),
        ({"data": '{"a": 1}', "dataType": "JSON"}, {"a": 1}, "JSON"),
        ({}, {}, "JSON"),
    ],
)
async def test_data_is_any_json_value_and_a_text_is_the_payload_itself(body: Any, data: Any, data_type: str) -> None:
    async with serving(chain("c", ("n", "fork", {}))) as site:
        found = (await site.client.post("/api/v1/chains/c/run", json=body)).json()
    assert (found["data"], found["message"]["dataType"]) == (data, data_type)


async def test_without_a_body_the_message_is_empty() -> None:
    async with serving(chain("c", ("n", "comment", {}))) as site:
        answer = await site.client.post("/api/v1/chains/c/run")
        document = (await site.client.get("/openapi.json")).json()
    assert (answer.status_code, answer.json()["message"]["data"]) == (200, "")
    assert document["paths"]["/api/v1/chains/{chainId}/run"]["post"]["requestBody"]["required"] is False
    assert document["paths"]["/api/v1/chains"]["post"]["requestBody"]["required"] is True


async def test_bytes_are_hex_digits_both_ways() -> None:
    async with serving(chain("c", ("n", "fork", {}))) as site:
        found = (await site.run("c", "00ff", dataType="BINARY")).json()
        wrong = await site.run("c", "no hex", dataType="BINARY")
        no_text = await site.run("c", {"a": 1}, dataType="BINARY")
    assert found["message"]["data"] == "00ff"
    assert [wrong.status_code, no_text.status_code] == [422, 422]


async def test_a_run_that_fails_is_422_with_the_error_in_the_outcome() -> None:
    async with serving(greeting()) as site:
        answer = await site.run("hello", {"name": 4})
    assert answer.status_code == 422
    assert answer.json()["status"] == "failed"
    assert answer.json()["error"]["code"] == "run.node-failed"
    assert "node 'greet' (exprTransform)" in answer.json()["error"]["message"]


async def test_a_run_that_takes_too_long_is_422_and_cancelled() -> None:
    async with serving(slow()) as site:
        answer = await site.run("slow", 1, timeout=0.02)
    assert (answer.status_code, answer.json()["status"], answer.json()["error"]["code"]) == (
        422,
        "cancelled",
        "run.timeout",
    )


async def test_a_chain_that_is_not_there_is_404_and_lists_those_that_are() -> None:
    async with serving(greeting()) as site:
        answer = await site.run("helo", 1)
    assert answer.status_code == 404
    assert answer.json() == {
        "code": "chain.not-found",
        "message": "there is no chain 'helo'",
        "hint": "loaded chains: 'hello'",
        "problems": [],
    }


async def test_ids_with_a_slash_are_reached_by_its_escape() -> None:
    async with serving(greeting("a/b")) as site:
        answer = await site.client.post("/api/v1/chains/a%2Fb/run", json={"data": {"name": "x"}})
    assert answer.json()["chainId"] == "a/b"


async def test_an_id_is_used_once() -> None:
    async with serving(slow(), greeting()) as site:
        first = asyncio.create_task(site.run("slow", 1, runId="one"))
        await site.until(lambda: len(site.app.service.runs))
        second = await site.run("hello", {"name": "x"}, runId="one")
        assert (second.status_code, second.json()["code"]) == (409, "run.exists")
        await site.client.post("/api/v1/runs/one/cancel")
        assert (await first).status_code == 409


async def test_an_id_that_is_recorded_is_not_used_again(tmp_path: Any) -> None:
    async with serving(greeting(), history=tmp_path / "runs.db") as site:
        assert (await site.run("hello", {"name": "x"}, runId="one")).status_code == 200
        await asyncio.to_thread(site.engine.history.flush)  # type: ignore[union-attr]
        assert (await site.run("hello", {"name": "x"}, runId="one")).status_code == 409


async def test_no_more_runs_than_are_allowed_are_on_at_once() -> None:
    async with serving(slow(), settings=ServiceSettings(max_in_flight=1)) as site:
        first = asyncio.create_task(site.run("slow", 1))
        await site.until(lambda: len(site.app.service.runs))
        second = await site.run("slow", 1)
        assert (second.status_code, second.json()["code"]) == (503, "server.busy")
        assert second.headers["retry-after"] == "1"
        first.cancel()
        await site.until(lambda: not len(site.app.service.runs))


async def test_a_client_that_goes_away_cancels_its_run() -> None:
    async with serving(slow()) as site:
        run = asyncio.create_task(site.run("slow", 1))
        await site.until(lambda: len(site.app.service.runs))
        (live,) = site.app.service.runs
        run.cancel()
        await site.until(lambda: live.is_over)
        assert live.outcome is None


async def test_a_run_goes_on_without_its_client_when_that_is_asked_for() -> None:
    async with serving(held()) as site:
        run = asyncio.create_task(site.run("held", 1, runId="kept", query={"disconnect": "detach"}))
        await site.until(lambda: len(site.app.service.runs))
        run.cancel()
        await asyncio.wait([run])
        site.gate.set()
        await site.until(lambda: not len(site.app.service.runs))
        found = (await site.client.get("/api/v1/runs/kept")).json()
        assert (found["status"], found["outcome"]["data"]) == ("completed", 1)


async def test_who_does_not_wait_gets_the_place_of_the_run() -> None:
    async with serving(greeting()) as site:
        answer = await site.run("hello", {"name": "Ann"}, query={"wait": "false"})
        assert (answer.status_code, answer.json()["status"]) == (202, "running")
        place = answer.headers["location"]
        await site.until(lambda: not len(site.app.service.runs))
        assert (await site.client.get(place)).json()["outcome"]["data"] == {"text": "Hello Ann"}


async def test_a_run_that_waits_for_somebody_is_202_with_what_is_asked() -> None:
    async with serving(waiting()) as site:
        answer = await site.run("ask", {"n": 1})
        found = answer.json()
        assert (answer.status_code, found["status"]) == (202, "waiting")
        (pause,) = found["pauses"]
        assert (pause["nodeId"], pause["relations"], pause["answerers"]) == ("w", ["Yes", "No"], ["ann"])
        body = {"nodeId": "w", "answerer": "ann", "data": {"n": 2}}
        taken = await site.client.post(f"{answer.headers['location']}/answers", json=body)
        assert (taken.status_code, taken.json()["resumedAs"]) == (202, None)
        await site.until(lambda: not len(site.app.service.runs))
        over = (await site.client.get(answer.headers["location"])).json()
        assert (over["status"], over["outcome"]["data"]) == ("completed", {"n": 2, "by": "ann"})


async def test_events_come_as_they_happen_and_the_last_one_has_the_outcome() -> None:
    async with serving(greeting()) as site:
        body = {"data": {"name": "Ann"}}
        async with site.client.stream("POST", "/api/v1/chains/hello/run", json=body, headers=STREAM) as answer:
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            sent = [one async for one in events_of(answer)]
    names = [one.event for one in sent]
    assert names == ["run.start", "node.start", "node.end", "branch.end", "run.complete"]
    assert [one.id for one in sent] == ["1", "2", "3", "4", "5"]
    for one in sent:
        event = json.loads(one.data)
        assert (event["type"], str(event["seq"])) == (one.event, one.id)
    assert json.loads(sent[-1].data)["outcome"]["data"] == {"text": "Hello Ann"}


@pytest.mark.parametrize(
    ("data", "last"), [({"name": 1}, "run.error"), ({"name": "x"}, "run.complete")], ids=["failed", "completed"]
)
async def test_a_stream_has_one_terminal_event(data: Any, last: str) -> None:
    async with serving(greeting()) as site:
        request: Any = {"json": {"data": data}, "headers": STREAM}
        async with site.client.stream("POST", "/api/v1/chains/hello/run", **request) as answer:
            sent = [one async for one in events_of(answer)]
    terminal = [one.event for one in sent if one.event in {"run.complete", "run.error", "run.cancel", "run.pause"}]
    assert (terminal, sent[-1].event) == ([last], last)


async def test_a_quiet_stream_has_a_heart_beat_and_stops_its_run_when_the_client_goes_away() -> None:
    settings = ServiceSettings(heartbeat_s=0.02)
    async with serving(slow(), settings=settings) as site:
        async with site.client.stream("POST", "/api/v1/chains/slow/run", json={}, headers=STREAM) as answer:
            stream = events_of(answer)
            beats = [await _beat(stream) for _ in range(2)]
            (live,) = site.app.service.runs
        await site.until(lambda: live.is_over)
    assert beats == [["nothing new"], ["nothing new"]]


async def _beat(stream: Any) -> list[str]:
    async for one in stream:
        if one.comments:
            return one.comments
    raise AssertionError("the stream is over")


async def test_a_stream_goes_on_where_the_client_left_off() -> None:
    async with serving(waiting()) as site:
        path, query = "/api/v1/chains/ask/run", {"disconnect": "detach"}
        body = {"data": {"n": 1}, "runId": "r"}
        async with site.client.stream("POST", path, json=body, headers=STREAM, params=query) as answer:
            first = [await _next(answer)]
        assert site.app.service.runs.get("r").is_over is False  # type: ignore[union-attr]
        await site.until(lambda: list(site.engine.pauses))
        await site.client.post("/api/v1/runs/r/answers", json={"nodeId": "w", "answerer": "ann"})
        headers = {"last-event-id": first[0].id}
        async with site.client.stream("GET", "/api/v1/runs/r/events", headers=headers) as answer:
            rest = [one async for one in events_of(answer)]
    numbers = [int(one.id) for one in (*first, *rest)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {"wait.open", "wait.answered", "run.complete"} <= {one.event for one in rest}


async def _next(answer: httpx.Response) -> Sent:
    async for one in events_of(answer):
        return one
    raise AssertionError("the stream is empty")


async def test_a_chain_that_is_being_stopped_runs_nothing_more() -> None:
    async with serving(slow()) as site:
        run = asyncio.create_task(site.run("slow", 1, runId="r"))
        await site.until(lambda: len(site.app.service.runs))
        stopping = asyncio.create_task(site.engine.stop("slow", grace_s=60))
        await asyncio.sleep(0)
        answer = await site.run("slow", 1)
        assert (answer.status_code, answer.json()["code"]) == (503, "chain.stopping")
        await site.client.post("/api/v1/runs/r/cancel")
        assert (await run).json()["code"] == "run.cancelled"
        await stopping
