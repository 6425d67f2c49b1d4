"""Agents that remember."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Engine, Message
from catenary.errors import ChainInvalid
from catenary.testing import Reply, calls, server_error
from catenary_components.ai.sessions.memory import memory_of
from catenary_components.ai.sessions.store import SessionError

if TYPE_CHECKING:
    from pathlib import Path

    from catenary_components.ai.sessions.memory import MemoryStore

INNER: dict[str, Any] = {"type": "rulechain", "name": "inner", "targetId": "inner"}
KEYED: dict[str, Any] = {"session": "${metadata.who}"}


def said(bench: Any) -> list[tuple[str, str]]:
    """Give role and text of the messages of the last request."""
    return [(message["role"], message.get("content") or "") for message in bench.last]


async def kept(bench: Any, key: str = "ann") -> list[str]:
    record = await memory_of(bench.engine).load(key)
    messages: list[Any] = record.value.get("messages", []) if record else []
    return [
        f"{message['role']}:{''.join(block.get('text', '') for block in message['blocks'])}" for message in messages
    ]


def chain(url: str, settings: dict[str, Any], id: str = "c", name: str = "C") -> dict[str, Any]:  # noqa: A002
    """Give a chain that is an agent."""
    configuration = {"url": f"{url}/v1", "key": "k", "model": "m", **settings}
    nodes = [{"id": "a", "type": "ai/agent", "configuration": configuration}]
    return {"ruleChain": {"id": id, "name": name}, "metadata": {"nodes": nodes, "connections": []}}


async def test_an_agent_without_a_session_begins_anew_with_each_message(bench: Any) -> None:
    bench.load("one", "two")
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")

    assert said(bench) == [("user", "b")]


async def test_an_agent_with_a_session_knows_what_was_said(bench: Any) -> None:
    bench.load("one", "two", systemPrompt="Be short.", **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")

    assert said(bench) == [("system", "Be short."), ("user", "a"), ("assistant", "one"), ("user", "b")]


async def test_a_session_in_which_nothing_was_said_for_too_long_on_the_engines_clock_begins_anew(bench: Any) -> None:
    node = {"id": "s", "type": "ai/session", "configuration": {"op": "observe", "key": "ann"}}
    bench.engine.load({"ruleChain": {"id": "o", "name": "O"}, "metadata": {"nodes": [node], "connections": []}})
    bench.load("one", "two", "three", session={"key": "ann", "ttl": "1m"})
    await bench.say("a")
    bench.clock.advance(60)
    await bench.say("b")
    assert said(bench) == [("user", "a"), ("assistant", "one"), ("user", "b")]
    bench.clock.advance(40)
    await bench.engine.run("o", Message("by the way", data_type="TEXT"))
    record = await memory_of(bench.engine).load("ann")
    times = [message["timeMs"] for message in record.value["messages"]]
    start = bench.clock.time_ms() - 100_000
    assert [time - start for time in times] == [0, 0, 60_000, 60_000, 100_000]
    bench.clock.advance(60.001)
    await bench.say("c")
    assert said(bench) == [("user", "c")]


async def test_users_do_not_see_each_others_sessions(bench: Any) -> None:
    bench.load("one", "two", **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="bob")

    assert said(bench) == [("user", "b")]


async def test_without_a_key_metadata_has_it_or_says_who_it_is(bench: Any) -> None:
    bench.load("1", "2", "3", "4", session={"scope": "per_peer"})
    await bench.say("a", userId="ann", channel="web")
    await bench.say("b", sessionKey="ann:desk")
    await bench.say("c", chatId="7", userId="ann")
    await bench.say("d")

    assert await memory_of(bench.engine).keys() == sorted(
        [
            "agent:c/agent:channel:web:scope:per_peer:ann",
            "ann:desk",
            "agent:c/agent:channel:default:scope:per_peer:7",
            "agent:c/agent:channel:default:scope:per_peer:c",
        ]
    )


async def test_the_key_of_the_author_wins_over_that_of_the_message(bench: Any) -> None:
    bench.load("1", **KEYED)
    await bench.say("a", who="ann", sessionKey="bob")

    assert await memory_of(bench.engine).keys() == ["ann"]


async def test_tools_and_their_results_are_remembered_failed_ones_too(bench: Any) -> None:
    def fetch(name: str) -> str:
        raise ValueError(f"no {name}")

    bench.engine.tool(fetch)
    bench.load(calls("fetch", name="x"), "sorry", "yes", tools=["fetch"], **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")

    assert [role for role, _ in said(bench)] == ["user", "assistant", "tool", "assistant", "user"]
    assert "no x" in bench.last[2]["content"]


async def test_load_history_says_for_one_message_whether_the_model_sees_what_was_before(bench: Any) -> None:
    bench.load("1", "2", "3", **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann", loadHistory="false")
    assert said(bench) == [("user", "b")]

    await bench.say("c", who="ann")
    assert [text for _, text in said(bench)] == ["a", "1", "b", "2", "c"]


async def test_history_may_be_left_out_unless_it_is_asked_for(bench: Any) -> None:
    bench.load("1", "2", "3", session={"key": "k", "loadHistory": False})
    await bench.say("a")
    await bench.say("b")
    assert said(bench) == [("user", "b")]

    await bench.say("c", loadHistory="true")
    assert len(said(bench)) == 5


async def test_the_window_is_counted_in_runs(bench: Any) -> None:
    bench.load("1", "2", "3", session={"key": "k", "window": 1})
    for text in "abc":
        await bench.say(text)

    assert [text for _, text in said(bench)] == ["b", "2", "c"]


async def test_a_failed_call_keeps_what_the_user_said_only(bench: Any) -> None:
    tools = [{"type": "builtin", "name": "calculator"}]
    replies = ["1", calls("calculator", expression="1+1"), server_error(), "3"]
    bench.load(*replies, maxRetries=0, tools=tools, **KEYED)
    await bench.say("a", who="ann")
    failed = await bench.say("b", who="ann")
    assert failed.status == "failed"

    await bench.say("c", who="ann")
    assert [text for _, text in said(bench)] == ["a", "1", "b", "c"]


async def test_a_call_that_is_cancelled_is_saved_once_with_what_the_user_said(bench: Any) -> None:
    hang = asyncio.Event()

    async def wait() -> str:
        hang.set()
        await asyncio.Event().wait()
        return ""

    bench.engine.tool(wait)
    bench.load(calls("wait"), tools=["wait"], session={"key": "ann", "saveFirst": False})
    task = asyncio.create_task(bench.say("a", who="ann"))
    await hang.wait()
    task.cancel()
    await asyncio.wait([task])

    assert await kept(bench) == ["user:a"]
    record = await memory_of(bench.engine).load("ann")
    assert record is not None
    assert record.version == 1


async def test_presets_begin_a_conversation_once(bench: Any) -> None:
    presets: list[Any] = [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "${data}"},
    ]
    bench.load("1", "2", messages=presets, **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")

    assert [text for _, text in said(bench)] == ["2+2", "4", "a", "1", "b"]


async def test_a_second_caller_waits_for_the_first(bench: Any) -> None:
    bench.load(Reply(text="1", delay_s=0.05), "2", **KEYED)
    await asyncio.gather(bench.say("a", who="ann"), bench.say("b", who="ann"))

    assert await kept(bench) == ["user:a", "assistant:1", "user:b", "assistant:2"]


async def test_a_second_caller_may_be_refused(bench: Any) -> None:
    hang, go = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        hang.set()
        await go.wait()
        return ""

    bench.engine.tool(wait)
    bench.load(calls("wait"), "1", tools=["wait"], session={"key": "k", "whenBusy": "fail"})
    first = asyncio.create_task(bench.say("a"))
    await hang.wait()
    second = await bench.say("b")
    go.set()

    assert second.status == "failed"
    assert "session 'k' is in use by another call" in second.message.text
    assert (await first).ok


async def test_an_agent_that_calls_one_with_its_own_session_is_told_rather_than_waits_for_ever(bench: Any) -> None:
    bench.engine.load(chain(bench.url, {"session": "same"}, id="inner"))
    bench.load(calls("inner"), "1", tools=[INNER], session="same")

    outcome = await asyncio.wait_for(bench.say("a"), 15)

    assert outcome.ok
    assert "in use by the very call" in bench.last[-1]["content"]


async def test_an_agent_called_as_a_tool_knows_the_user_of_its_caller(bench: Any) -> None:
    bench.engine.load(chain(bench.url, {"session": {"agent": "inner"}}, id="inner"))
    bench.load(calls("inner"), "deep", "1", tools=[INNER], session={"agent": "outer"})
    await bench.say("a", userId="ann")

    assert "agent:inner:channel:default:scope:per_peer:ann" in await memory_of(bench.engine).keys()


# Where they are kept


async def test_sessions_in_memory_outlive_a_reload_of_the_chain(bench: Any) -> None:
    bench.model.add("1", "2")
    for text in "ab":
        bench.engine.reload(chain(bench.url, {"session": "k"}, name=f"of {text}"), id="c") if text == "b" else (
            bench.engine.load(chain(bench.url, {"session": "k"}))
        )
        await bench.say(text)

    assert [text for _, text in said(bench)] == ["a", "1", "b"]


@pytest.mark.parametrize("store", ["files:sessions", "sqlite:///sessions.db"])
async def test_another_engine_with_the_same_store_goes_on(bench: Any, tmp_path: Path, store: str) -> None:
    bench.model.add("1", "2")
    for text in "ab":
        async with Engine({"data_dir": str(tmp_path)}) as engine:
            engine.load(chain(bench.url, {"session": {"key": "k", "store": store}}))
            outcome = await engine.run("c", Message(text, data_type="TEXT"))
            assert outcome.ok, outcome.error

    assert [text for _, text in said(bench)] == ["a", "1", "b"]


@pytest.mark.parametrize("server", ["postgres", "mariadb", "redis_server"])
async def test_agents_of_two_engines_share_sessions_on_a_server(
    bench: Any, request: pytest.FixtureRequest, server: str
) -> None:
    peer = request.getfixturevalue(server)
    address = peer.url if server == "redis_server" else peer.dsn
    bench.model.add("1", "2")
    for text in "ab":
        async with Engine() as engine:
            engine.load(chain(bench.url, {"session": {"key": "shared", "store": address}}))
            outcome = await engine.run("c", Message(text, data_type="TEXT"))
            assert outcome.ok, outcome.error
            assert peer.password not in engine.masker.text(address)

    assert [text for _, text in said(bench)] == ["a", "1", "b"]


async def test_those_outside_find_the_sessions_of_an_agent(bench: Any) -> None:
    bench.load("1", **KEYED)
    await bench.say("a", who="ann")

    agent = bench.engine.get("c").compiled.by_id["agent"].component
    assert await agent.sessions.keys() == ["ann"]


async def test_a_property_of_the_engine_says_where_sessions_are_kept(bench: Any, tmp_path: Path) -> None:
    bench.model.add("1")
    async with Engine({"data_dir": str(tmp_path), "session_store": "files:kept"}) as engine:
        engine.load(chain(bench.url, {"session": "who"}))
        await engine.run("c", Message("a", data_type="TEXT"))

    assert (tmp_path / "kept" / "who.json").exists()


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        ({"store": "files:../out"}, "outside of the folders"),
        ({"store": "files:/etc"}, "outside of the folders"),
        ({"store": "files:a/b/c"}, "there is no folder for"),
        ({"store": "sqlite:////etc/x.db"}, "outside of the folders"),
        ({"store": "nowhere"}, "session.store is none of memory, files:FOLDER, Redis and a database"),
        ({"ttl": "a day"}, "session.ttl must be a duration"),
        ({"key": "${metadata.}"}, "session.key"),
        ({"scope": "everybody"}, "session.scope"),
        ({"window": -1}, "session.window"),
    ],
)
def test_what_cannot_be_is_told_when_the_chain_is_loaded(tmp_path: Path, session: Any, reason: str) -> None:
    with pytest.raises(ChainInvalid, match=reason), Engine({"data_dir": str(tmp_path)}) as engine:
        engine.load(chain("http://x", {"session": session}))


async def test_an_empty_key_falls_back_to_who_it_is(bench: Any) -> None:
    bench.load("1", session="${metadata.nobody}")
    await bench.say("a", userId="ann")

    assert (await memory_of(bench.engine).keys())[0].endswith(":ann")


# Saving fails


class _Full:
    def __init__(self, store: MemoryStore, room: int) -> None:
        self._store = store
        self._room = room

    async def save(self, key: str, text: str, expected: int) -> int:
        if self._room:
            self._room -= 1
            return await self._store.save(key, text, expected)
        raise SessionError("no space left on device", hint="make room")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def fill(bench: Any, room: int = 1) -> None:
    """Have the disk be full after so many records: after the first one, what the user said is written."""
    agent = bench.engine.get("c").compiled.by_id["agent"].component
    agent._sessions.sessions.store = _Full(memory_of(bench.engine), room)


async def test_a_disk_that_is_full_is_told_before_the_model_is_asked(bench: Any) -> None:
    bench.load(**KEYED)
    fill(bench, room=0)
    outcome = await bench.say("a", who="ann")

    assert (outcome.status, outcome.message.text) == ("failed", "no space left on device")
    assert bench.model.requests == []


async def test_what_the_user_says_is_there_before_the_model_is_asked(bench: Any) -> None:
    there: list[list[str]] = []
    bench.engine.agent_hook(lambda step: there.append([]), at="before_agent")

    @bench.engine.agent_hook(at="before_model_call")
    async def look(step: Any) -> None:
        there[-1] += await kept(bench)

    bench.load("1", "2", **KEYED)
    await bench.say("a", who="ann")
    await bench.say("b", who="ann")
    assert there == [["user:a"], ["user:a", "assistant:1", "user:b"]]


async def test_all_is_written_once_at_the_end_when_that_is_asked_for(bench: Any) -> None:
    there: list[list[str]] = []

    @bench.engine.agent_hook(at="before_model_call")
    async def look(step: Any) -> None:
        there.append(await kept(bench))

    bench.load("1", session={"key": "ann", "saveFirst": False})
    await bench.say("a")
    assert there == [[]]
    assert (await memory_of(bench.engine).load("ann")).version == 1


async def test_an_answer_that_cannot_be_kept_is_a_failure_that_has_the_answer(bench: Any) -> None:
    bench.load("42", **KEYED)
    fill(bench)
    outcome = await bench.say("a", who="ann")

    assert outcome.status == "failed"
    assert outcome.message.text.startswith("the agent has answered, but its session could not be saved: no space")
    assert outcome.message.metadata["answer"] == "42"


async def test_a_stream_whose_answer_cannot_be_kept_ends_with_the_error(bench: Any) -> None:
    bench.load("one two", **KEYED)
    fill(bench)
    outcome = await bench.say("a", who="ann", stream="true")

    pieces = [end.message for end in outcome.ends if end.relation == "Stream"]
    assert pieces[-1].metadata["stream_completed"] == "true"
    assert "could not be saved" in pieces[-1].text
    assert outcome.ends[-1].relation == "Failure"


def test_a_check_tells_which_packages_a_store_needs() -> None:
    from catenary_components.ai.sessions.places import packages_of

    assert packages_of("redis://x") == {"catenary[redis]": ("redis",)}
    assert "sqlalchemy" in packages_of("postgres://x/y")["catenary[sql]"]
    assert packages_of("memory") == packages_of("files:x") == packages_of("${global.store}") == {}


async def test_the_first_error_is_told_when_saving_fails_as_well(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    bench.load(server_error(), maxRetries=0, **KEYED)
    fill(bench)
    outcome = await bench.say("a", who="ann")

    assert "500" in outcome.message.text
    assert "no space left" not in outcome.message.text
    assert "no space left" in outcome.error.cause.__notes__[0]
    assert "a session could not be saved" in caplog.text


async def test_a_damaged_session_fails_once_and_begins_anew(bench: Any) -> None:
    await memory_of(bench.engine).save("ann", '{"version":1,"messages":5}', 0)
    bench.load("1", **KEYED)

    damaged = await bench.say("a", who="ann")
    assert "session 'ann' is damaged" in damaged.message.text
    assert not bench.model.requests
    assert (await bench.say("b", who="ann")).ok
