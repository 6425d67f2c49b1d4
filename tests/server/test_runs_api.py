"""`/api/v1/runs` and `/api/v1/pauses`: the history, what waits, answers, and following a run."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.server.kit import Site, chain, events_of, greeting, held, serving, slow, waiting

from catenary import Engine

PATH = "/api/v1/runs"


async def recorded(site: Site, count: int) -> list[str]:
    """Run the greeting so often, and give the ids of the runs."""
    ids = [(await site.run("hello", {"name": str(number)})).json()["runId"] for number in range(count)]
    assert site.engine.history is not None
    await asyncio.to_thread(site.engine.history.flush)
    return ids


async def pages(site: Site, **query: Any) -> list[list[dict[str, Any]]]:
    """Give all pages of the list."""
    found: list[list[dict[str, Any]]] = []
    while True:
        page = (await site.client.get(PATH, params=query)).json()
        found.append(page["runs"])
        if page["next"] is None:
            return found
        query["cursor"] = page["next"]


async def test_recorded_runs_are_listed_page_by_page_each_once(tmp_path: Path) -> None:
    async with serving(greeting(), history=tmp_path / "runs.db") as site:
        ids = await recorded(site, 7)
        found = await pages(site, limit=3)
    assert [len(page) for page in found] == [3, 3, 1]
    assert [one["runId"] for page in found for one in page] == ids[::-1]


async def test_a_run_that_has_just_ended_is_listed(tmp_path: Path) -> None:
    async with serving(greeting(), history=tmp_path / "runs.db") as site:
        for number in range(3):
            run_id = (await site.run("hello", {"name": str(number)})).json()["runId"]
            page = (await site.client.get(PATH, params={"limit": 1})).json()
            assert [(one["runId"], one["status"]) for one in page["runs"]] == [(run_id, "completed")]


@pytest.mark.parametrize("query", [{"before": ""}, {"since": "noon"}, {"before": "x", "cursor": "1700000000000-1"}])
async def test_what_is_no_moment_is_refused_on_every_page(query: dict[str, str]) -> None:
    async with serving(greeting()) as site:
        refused = await site.client.get(PATH, params=query)
    assert (refused.status_code, refused.json()["code"]) == (400, "request.parameter")


async def test_pages_are_whole_when_many_runs_began_in_the_same_moment(tmp_path: Path) -> None:
    async with serving(greeting(), history=tmp_path / "runs.db") as site:
        ids = await recorded(site, 6)
        assert site.engine.history is not None
        store: Any = site.engine.history.store
        database = store.database

        def at_the_same_moment(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE runs SET started_ms = (SELECT max(started_ms) FROM runs)")

        database.write(at_the_same_moment)
        found = await pages(site, limit=2)
    assert [one["runId"] for page in found for one in page] == ids[::-1]


async def test_runs_are_chosen_by_chain_status_and_time(tmp_path: Path) -> None:
    async with serving(greeting(), greeting("other"), history=tmp_path / "runs.db") as site:
        ids = await recorded(site, 1)
        await site.run("other", {"name": 4})
        await asyncio.to_thread(site.engine.history.flush)  # type: ignore[union-attr]
        chosen = [
            await pages(site, **query)
            for query in (
                {"chain": "hello"},
                {"status": "failed"},
                {"since": "2999-01-01T00:00:00Z"},
                {"before": "1999-01-01T00:00:00"},
            )
        ]
    assert [one["runId"] for one in chosen[0][0]] == ids
    assert [(one["chainId"], one["status"]) for one in chosen[1][0]] == [("other", "failed")]
    assert chosen[2:] == [[[]], [[]]]


async def test_a_recorded_run_is_shown_with_its_visits(tmp_path: Path) -> None:
    async with serving(greeting(), history=tmp_path / "runs.db") as site:
        answer = await site.run("hello", {"name": "Ann"})
        found = (await site.client.get(f"{PATH}/{answer.json()['runId']}")).json()
    assert (found["status"], found["outcome"]) == ("completed", None)
    (visit,) = found["record"]["visits"]
    assert (visit["nodeId"], visit["sent"][0]["message"]["data"]) == ("greet", '{"text":"Hello Ann"}')


async def test_without_a_history_runs_that_are_on_are_listed() -> None:
    async with serving(slow(), waiting()) as site:
        run = asyncio.create_task(site.run("slow", 1))
        await site.run("ask", {"n": 1})
        await site.until(lambda: len(site.app.service.runs) == 2)
        found = (await site.client.get(PATH)).json()
        only = (await site.client.get(PATH, params={"status": "waiting"})).json()
        run.cancel()
    assert found["recorded"] is False
    assert {(one["chainId"], one["status"]) for one in found["runs"]} == {("slow", "running"), ("ask", "waiting")}
    assert [one["chainId"] for one in only["runs"]] == ["ask"]


async def test_a_run_that_ends_while_it_is_looked_up_is_shown_with_its_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(held(), history=tmp_path / "runs.db") as site:
        await site.run("held", 1, runId="r", query={"wait": "false"})
        live, store, loop = site.app.service.runs.get("r"), site.engine.history.store, asyncio.get_running_loop()  # type: ignore[union-attr]
        read = store.get

        def looked_up(run_id: str) -> Any:
            record = read(run_id)
            if not site.gate.is_set():
                loop.call_soon_threadsafe(site.gate.set)
                asyncio.run_coroutine_threadsafe(site.until(lambda: live.is_over), loop).result(10)  # type: ignore[union-attr]
            return record

        monkeypatch.setattr(store, "get", looked_up)
        found = (await site.client.get(f"{PATH}/r")).json()
    assert (found["status"], [end["nodeId"] for end in found["record"]["ends"]]) == ("completed", ["h"])


async def test_a_run_that_nobody_knows_is_404_and_says_how_runs_are_recorded() -> None:
    async with serving() as site:
        answers = [
            await site.client.get(f"{PATH}/none"),
            await site.client.get(f"{PATH}/none/events"),
            await site.client.post(f"{PATH}/none/cancel"),
            await site.client.post(f"{PATH}/none/answers", json={"nodeId": "w"}),
        ]
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, "run.not-found")] * 4
    assert "--record" in answers[0].json()["hint"]


async def test_a_run_is_cancelled() -> None:
    async with serving(slow()) as site:
        run = asyncio.create_task(site.run("slow", 1, runId="r"))
        await site.until(lambda: len(site.app.service.runs))
        assert (await site.client.post(f"{PATH}/r/cancel")).status_code == 202
        answer = await run
        assert (answer.status_code, answer.json()["code"]) == (409, "run.cancelled")


async def test_a_run_that_is_over_is_not_cancelled() -> None:
    async with serving(greeting()) as site:
        await site.run("hello", {"name": "x"}, runId="r", query={"wait": "false"})
        await site.until(lambda: not len(site.app.service.runs))
        answer = await site.client.post(f"{PATH}/r/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "run.over")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"nodeId": "w"}, 403, "pause.refused"),
        ({"nodeId": "w", "answerer": "bob"}, 403, "pause.refused"),
        ({"nodeId": "w", "answerer": "ann", "relation": "Maybe"}, 422, "pause.invalid-answer"),
        ({"nodeId": "x", "answerer": "ann"}, 409, "pause.error"),
        ({"answerer": "ann"}, 400, "request.body"),
        ({"nodeId": "w", "visit": 0}, 400, "request.body"),
        ({"nodeId": "w", "colour": "red"}, 400, "request.body"),
    ],
)
async def test_an_answer_that_is_none_is_refused_and_the_question_stays_open(body: Any, status: int, code: str) -> None:
    async with serving(waiting()) as site:
        run_id = (await site.run("ask", {"n": 1})).json()["runId"]
        answer = await site.client.post(f"{PATH}/{run_id}/answers", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert len(site.engine.pauses) == 1


async def test_an_answer_counts_once() -> None:
    async with serving(waiting()) as site:
        run_id = (await site.run("ask", {"n": 1})).json()["runId"]
        body = {"nodeId": "w", "answerer": "ann", "note": "fine", "roles": ["boss"], "metadata": {"k": 1}, "visit": 1}
        answers = [await site.client.post(f"{PATH}/{run_id}/answers", json=body) for _ in range(2)]
    assert [one.status_code for one in answers] == [202, 409]


async def test_what_waits_is_listed() -> None:
    async with serving(waiting(), waiting("other")) as site:
        for name in ("ask", "other"):
            await site.run(name, {"n": 1})
        found = (await site.client.get("/api/v1/pauses")).json()["pauses"]
        chosen = (await site.client.get("/api/v1/pauses", params={"chain": "other"})).json()["pauses"]
    assert [one["chainId"] for one in found] == ["ask", "other"]
    assert [one["chainId"] for one in chosen] == ["other"]


async def test_a_run_whose_process_is_gone_is_taken_up_here(tmp_path: Path) -> None:
    first = Engine()
    first.pauses.keep_in(tmp_path / "r.db")
    run = asyncio.ensure_future(first.load(waiting()).run({"n": 1}))
    while not len(first.pauses):  # noqa: ASYNC110 - the test's own patience
        await asyncio.sleep(0.005)
    await first.close()
    run_id = (await run).run_id
    async with serving(waiting()) as site:
        site.engine.pauses.keep_in(tmp_path / "r.db")
        assert (await site.client.get("/api/v1/pauses")).json()["pauses"][0]["runId"] == run_id
        body = {"nodeId": "w", "answerer": "ann", "data": {"n": 3}}
        taken = (await site.client.post(f"{PATH}/{run_id}/answers", json=body)).json()
        await site.until(lambda: not len(site.app.service.runs))
        found = (await site.client.get(f"{PATH}/{taken['resumedAs']}")).json()
    assert taken["resumedAs"] not in {None, run_id}
    assert (found["status"], found["outcome"]["data"]) == ("completed", {"n": 3, "by": "ann"})


async def test_events_of_a_run_that_nobody_listened_to_are_not_there() -> None:
    async with serving(waiting()) as site:
        run_id = (await site.run("ask", {"n": 1})).json()["runId"]
        await site.client.post(f"{PATH}/{run_id}/answers", json={"nodeId": "w", "answerer": "ann"})
        await site.until(lambda: not len(site.app.service.runs))
        answer = await site.client.get(f"{PATH}/{run_id}/events")
    assert (answer.status_code, answer.json()["code"]) == (409, "run.no-events")


async def test_of_a_long_run_the_newest_events_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catenary_server.live.MAX_EVENTS", 4)
    async with serving(chain("c", ("a", "fork", {}), ("b", "fork", {}), ways=("a Success b",))) as site:
        await site.run("c", 1, runId="r", query={"wait": "false"})
        await site.until(lambda: not len(site.app.service.runs))
        async with site.client.stream("GET", f"{PATH}/r/events") as answer:
            kept = [int(one.id) async for one in events_of(answer)]
        late = await site.client.get(f"{PATH}/r/events", headers={"last-event-id": "1"})
    assert kept == [3, 4, 5, 6, 7]
    assert (late.status_code, late.json()["code"]) == (410, "run.events-gone")


async def test_who_follows_a_run_may_cancel_it_by_going_away() -> None:
    async with serving(slow()) as site:
        await site.run("slow", 1, runId="r", query={"wait": "false"})
        path, query = f"{PATH}/r/events", {"disconnect": "cancel"}
        async with site.client.stream("GET", path, params=query) as answer:
            assert answer.status_code == 200
        await site.until(lambda: not len(site.app.service.runs))
        assert (await site.client.get(f"{PATH}/r")).json()["status"] == "cancelled"


async def test_runs_that_wait_are_found_among_recorded_ones(tmp_path: Path) -> None:
    async with serving(waiting(), greeting(), history=tmp_path / "runs.db") as site:
        run_id = (await site.run("ask", {"n": 1})).json()["runId"]
        await recorded(site, 1)
        found = (await site.client.get(PATH, params={"status": "waiting"})).json()["runs"]
        alone = (await site.client.get(f"{PATH}/{run_id}")).json()
    assert [one["runId"] for one in found] == [run_id]
    assert (alone["status"], len(alone["pauses"])) == ("waiting", 1)


async def test_runs_that_are_over_are_forgotten_when_their_events_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catenary_server.live._KEPT_EVENTS", 8)  # a greeting has four, and the terminal one
    async with serving(greeting()) as site:
        for name in ("a", "b", "c"):
            await site.run("hello", {"name": name}, runId=name, query={"wait": "false"})
            await site.until(lambda: not len(site.app.service.runs))
        found = [(await site.client.get(f"{PATH}/{name}")).status_code for name in ("a", "b", "c")]
    assert found == [404, 200, 200]


async def test_a_run_whose_outcome_was_delivered_is_not_kept() -> None:
    async with serving(greeting()) as site:
        headers = {"accept": "text/event-stream"}
        await site.run("hello", {"name": "x"}, runId="a")
        await site.client.post("/api/v1/chains/hello/run", json={"runId": "b", "data": {"name": "x"}}, headers=headers)
        assert [(await site.client.get(f"{PATH}/{name}")).status_code for name in ("a", "b")] == [404, 404]
