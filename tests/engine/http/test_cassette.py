"""Exchanges written to a file and played back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from catenary.errors import ConfigError, ConnectFailed
from catenary.http import HttpClients, HttpOptions
from catenary.http.cassette import Player
from catenary.testing import Reply, ScriptedModel, dropped, serve, too_many_requests

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

KEY = "sk-1234567890abcdef"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def asking(text: str, *, stream: bool = False) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text}], "stream": stream})


@pytest.fixture
async def clients() -> AsyncGenerator[HttpClients]:
    made = HttpClients()
    yield made
    await made.close()


async def ask(clients: HttpClients, url: str, text: str = "hi", *, stream: bool = False) -> tuple[int, str]:
    client = clients.client(HttpOptions(is_taped=True))
    content = asking(text, stream=stream)
    async with client.stream("POST", f"{url}/v1/chat/completions?key=x", headers=HEADERS, content=content) as answer:
        body = b"".join([piece async for piece in answer])
    return answer.status, body.decode()


async def recorded(file: Path, *replies: Any, stream: bool = False) -> list[tuple[int, str]]:
    """Record an exchange for each reply."""
    clients = HttpClients()
    recorder = clients.record(file, lambda text: text.replace("hidden", "****"))
    with serve(ScriptedModel(replies)) as server:
        answers = [await ask(clients, server.url, f"question {n}", stream=stream) for n in range(len(replies))]
    recorder.save()
    await clients.close()
    return answers


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_recorded_is_played(clients: HttpClients, tmp_path: Path, stream: bool) -> None:
    file = tmp_path / "tape.json"
    answers = await recorded(file, "Grüße aus Wien", too_many_requests(retry_after=3), stream=stream)
    player = clients.play(file)
    assert clients.is_played
    played = [await ask(clients, "https://nowhere.example", f"question {n}", stream=stream) for n in range(2)]
    assert [(status, plain(body)) for status, body in played] == [(status, plain(body)) for status, body in answers]
    assert player.left == 0


def plain(body: str) -> Any:
    return body if body.startswith("data:") else json.loads(body)


async def test_no_key_and_no_secret_is_written(tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    await recorded(file, f"your key is {KEY}, and hidden")
    text = file.read_text()
    assert KEY not in text
    assert "hidden" not in text
    assert "your key is ****, and ****" in text


async def test_clients_that_are_not_taped_go_their_way(clients: HttpClients, tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    await recorded(file, "one")
    clients.play(file)
    recorder = clients.record(tmp_path / "other.json")
    with serve(ScriptedModel(["real"])) as server:
        url = f"{server.url}/v1/chat/completions"
        answer = await clients.client().request("POST", url, content=asking("x"))
    assert "real" in answer.text
    assert len(recorder) == 0


async def test_a_stream_that_broke_breaks_again(clients: HttpClients, tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    with pytest.raises(ConnectFailed):
        await recorded(file, dropped(after=2, text="a b c d"), stream=True)
    broken = HttpClients()
    recorder = broken.record(file)
    with serve(ScriptedModel([dropped(after=2, text="a b c d")])) as server, pytest.raises(ConnectFailed):
        await ask(broken, server.url, stream=True)
    recorder.save()
    await broken.close()
    clients.play(file)
    with pytest.raises(ConnectFailed):
        await ask(clients, "https://nowhere.example", stream=True)


async def test_a_request_with_other_words_gets_the_answer_to_one_of_its_shape(
    clients: HttpClients, tmp_path: Path
) -> None:
    file = tmp_path / "tape.json"
    await recorded(file, "first", "second")
    clients.play(file)
    assert "second" in (await ask(clients, "https://x.example", "question 1"))[1]
    assert "first" in (await ask(clients, "https://x.example", "in other words"))[1]
    status, text = await ask(clients, "https://x.example")
    assert (status, "has 2 exchanges, and this is request 3" in text) == (400, True)


async def test_a_request_of_another_shape_is_told_what_differs(clients: HttpClients, tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    await recorded(file, Reply(text="at once"))
    player = clients.play(file)
    client = clients.client(HttpOptions(is_taped=True))
    content = json.dumps({"messages": [{"role": "system", "content": "x"}]})
    answer = await client.request("POST", "https://x.example/v1/chat/completions", content=content)
    assert (answer.status, player.left) == (400, 1)
    assert "it is chat/completions, messages of system, tools none" in answer.text
    assert "the next one that was recorded is chat/completions, messages of user" in answer.text


async def test_an_answer_of_the_same_kind_is_preferred_and_one_of_the_other_kind_stands_for_it(
    clients: HttpClients, tmp_path: Path
) -> None:
    file, other = tmp_path / "tape.json", tmp_path / "other.json"
    await recorded(file, "at once")
    await recorded(other, "streamed", stream=True)
    exchanges = [*json.loads(file.read_text())["exchanges"], *json.loads(other.read_text())["exchanges"]]
    file.write_text(json.dumps({"cassette": 1, "exchanges": exchanges}))
    clients.play(file)
    answers = [await ask(clients, "https://x.example", "in other words", stream=True) for _ in range(2)]
    assert ["streamed" in answers[0][1], "at once" in answers[1][1]] == [True, True]


@pytest.mark.parametrize("text", ["", "[]", '{"cassette": 2, "exchanges": []}', '{"cassette": 1, "exchanges": [{}]}'])
def test_what_is_no_cassette_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tape.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="is no cassette"):
        Player.load(file)


def test_a_cassette_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        Player.load(tmp_path / "none.json")
