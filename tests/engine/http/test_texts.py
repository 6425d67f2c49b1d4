"""Texts behind web addresses, for `include`."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from tests.programs import eventually

from catenary import Engine
from catenary.http import Guard, WebTexts
from catenary.http import texts as module
from catenary.testing import Answer, RecordingApi, serve

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def api() -> RecordingApi:
    return RecordingApi()


@pytest.fixture
def url(api: RecordingApi) -> Generator[str]:
    with serve(api) as server:
        yield server.url


def test_a_text_is_fetched_once_and_kept(api: RecordingApi, url: str) -> None:
    api._answers.extend([Answer(status=200, body="hello é"), Answer(status=200, body="other")])
    texts = WebTexts(Guard())
    assert [texts(f"{url}/a.md") for _ in range(3)] == ["hello é"] * 3
    assert [request.method for request in api.requests] == ["GET"]


def test_only_status_200_counts(api: RecordingApi, url: str, caplog: pytest.LogCaptureFixture) -> None:
    api._answers.extend([Answer(status=404, body="no"), Answer(status=201, body="made")])
    texts = WebTexts(Guard())
    assert texts(f"{url}/secret-name") == ""
    assert texts(f"{url}/b") == ""
    assert "answered 404" in caplog.records[0].reason  # type: ignore[attr-defined]
    assert "secret-name" not in str(caplog.records[0].__dict__)


def test_an_address_that_is_not_allowed_gives_nothing(api: RecordingApi, url: str) -> None:
    assert WebTexts(Guard(allowed_hosts=["example.com"]))(url) == ""
    assert api.requests == []


def test_nobody_waits_for_a_text_that_grows_old(api: RecordingApi, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api._answers.extend([Answer(status=200, body="one"), Answer(status=200, body="two")])
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    texts = WebTexts(Guard())
    assert texts(url) == "one"
    now[0] = 40.0
    assert texts(url) == "one"
    _wait(texts)
    assert texts(url) == "two"


def test_a_text_that_is_too_old_is_waited_for(api: RecordingApi, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api._answers.extend([Answer(status=200, body="one"), Answer(status=200, body="two")])
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    texts = WebTexts(Guard())
    assert texts(url) == "one"
    now[0] = 61.0
    assert texts(url) == "two"


def test_many_who_ask_at_once_share_one_request(api: RecordingApi, url: str) -> None:
    api._answers.append(Answer(status=200, body="one"))
    texts = WebTexts(Guard())
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(texts(url))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == ["one"] * 6
    assert len(api.requests) == 1


def test_a_text_that_is_compressed_more_than_once_gives_nothing(
    api: RecordingApi, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    api._answers.append(Answer(status=200, body="x", headers={"Content-Encoding": "gzip, gzip"}))
    assert WebTexts(Guard())(url) == ""
    assert "is compressed more than once" in caplog.records[0].reason  # type: ignore[attr-defined]


def test_too_many_addresses_at_once_give_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_THREADS", 0)
    assert WebTexts(Guard())(url) == ""


def test_what_is_kept_is_bounded(api: RecordingApi, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_KEPT", 1)
    api._answers.extend(
        [Answer(status=200, body="one"), Answer(status=200, body="two"), Answer(status=200, body="three")]
    )
    texts = WebTexts(Guard())
    assert [texts(f"{url}/a"), texts(f"{url}/b"), texts(f"{url}/a")] == ["one", "two", "three"]


def _chain(url: str) -> dict[str, object]:
    node = {"id": "a", "type": "text/template", "configuration": {"template": f"<{{{{ include('{url}/x.md') }}}}>"}}
    return {"ruleChain": {"id": "web"}, "metadata": {"nodes": [node]}}


async def test_an_engine_fetches_addresses_when_it_is_told_to(api: RecordingApi, url: str) -> None:
    api._answers.append(Answer(status=200, body="hi"))
    async with Engine(allow_web_includes=True) as engine:
        engine.load(_chain(url))
        assert (await engine.run("web", "{}")).message.text == "<hi>"


@pytest.mark.parametrize("type_", ["text/template", "functions"])
async def test_other_runs_go_on_while_an_address_is_waited_for(type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, others_went_on = threading.Event(), threading.Event()

    async def slow(address: str, guard: Guard) -> str:
        asked.set()
        return address[-4:] if others_went_on.wait(15) else "nobody went on"

    monkeypatch.setattr(module, "_get", slow)
    chain = _chain("http://example.com")
    if type_ == "functions":
        node = {"functionName": "send", "param": "<${include('http://example.com/' + msg.name)}>"}
        chain["metadata"] = {"nodes": [{"id": "a", "type": "functions", "configuration": node}]}
    async with Engine(allow_web_includes=True) as engine:
        engine.function("send")(lambda ctx, msg: ("Success", msg))
        engine.load(chain)
        run = asyncio.create_task(engine.run("web", '{"name": "x.md"}'))
        await eventually(asked.is_set)  # which would wait behind an event loop that is held up
        others_went_on.set()
        assert (await run).message.text == "<x.md>"


async def test_an_engine_fetches_nothing_by_itself(api: RecordingApi, url: str) -> None:
    async with Engine() as engine:
        engine.load(_chain(url))
        outcome = await engine.run("web", "{}")
    assert "include() of web addresses is off" in str(outcome.error)
    assert api.requests == []


def _wait(texts: WebTexts) -> None:
    for thread in threading.enumerate():
        if thread.name == "catenary-include":
            thread.join(15)
    assert texts._asked == {}
