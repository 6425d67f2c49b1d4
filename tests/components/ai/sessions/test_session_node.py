"""`ai/session`."""

from __future__ import annotations

import time
from typing import Any

from catenary import Message
from catenary.testing import calls
from catenary_components.ai.sessions.store import NEW
from catenary_components.ai.state import AgentState


def load(bench: Any, *replies: str, key: str = "ann", **settings: Any) -> None:
    """Load an agent with a session, and a chain for each thing that can be done with it."""
    bench.load(*replies, session={"key": key, **settings})
    for op in ("read", "observe", "model", "title", "clear", "delete", "list"):
        node = {"id": "s", "type": "ai/session", "configuration": {"op": op, "key": key, **settings}}
        bench.engine.load({"ruleChain": {"id": op, "name": op}, "metadata": {"nodes": [node], "connections": []}})


async def done(bench: Any, op: str, data: Any = "", data_type: str = "TEXT", **metadata: str) -> Message:
    outcome = await bench.engine.run(op, Message(data, data_type=data_type, metadata=metadata))
    assert outcome.ok, outcome.error
    return outcome.message


async def test_what_is_observed_is_known_to_the_agent_and_no_model_is_asked(bench: Any) -> None:
    load(bench, "I know")
    message = await done(bench, "observe", "it rains")
    assert (message.text, message.metadata["sessionKey"]) == ("it rains", "ann")
    assert not bench.model.requests

    await bench.say("well?")
    assert [one["content"] for one in bench.last] == ["it rains", "well?"]


async def test_a_whole_conversation_can_be_observed(bench: Any) -> None:
    load(bench, "4")
    said: list[Any] = [
        {"role": "system", "content": "left out"},
        {"role": "user", "content": "1+1"},
        {"role": "assistant", "content": "2"},
    ]
    await done(bench, "observe", {"messages": said}, "JSON")
    await bench.say("2+2")

    assert [one["content"] for one in bench.last] == ["1+1", "2", "2+2"]


async def test_a_session_is_read_as_a_record(bench: Any) -> None:
    load(bench, "one")
    assert (await done(bench, "read")).value == {}

    await bench.say("a")
    record = (await done(bench, "read")).text
    assert [message.text for message in AgentState.from_json(record).messages] == ["a", "one"]
    assert AgentState.from_json(record).to_json() == record


async def test_a_session_keeps_the_model_that_was_chosen_for_it(bench: Any) -> None:
    load(bench, *"abcde")
    await done(bench, "model", session_model="big", session_extra_fields='{"seed": 7}')
    assert not bench.model.requests

    told = [(await bench.say()).message.metadata["model"], (await bench.say(session_model="other")).message]
    assert (told[0], told[1].metadata["model"]) == ("big", "other")
    assert [(one.body["model"], one.body["seed"]) for one in bench.model.requests] == [("big", 7), ("other", 7)]

    await done(bench, "clear")
    assert (await bench.say()).message.metadata["model"] == "big"
    await done(bench, "model")
    await bench.say()
    assert (bench.model.requests[-1].body["model"], "seed" in bench.model.requests[-1].body) == ("m", False)


async def test_a_model_that_is_not_allowed_is_not_asked_though_a_session_has_it(bench: Any) -> None:
    load(bench, "a")
    await done(bench, "model", session_model="big")
    bench.engine.remove("c")
    bench.load(session={"key": "ann"}, allowedModels=["m-*"])
    outcome = await bench.say()
    assert outcome.message.text == "the model 'big' is not allowed here; allowed: m-*"
    assert not bench.model.requests


async def test_fields_that_are_no_object_are_no_choice_of_a_model(bench: Any) -> None:
    load(bench, "a")
    outcome = await bench.engine.run("model", Message("", metadata={"session_extra_fields": "[1]"}))
    assert outcome.message.metadata["errorMsg"].startswith("metadata session_extra_fields is not a JSON object: [1]")
    await bench.say()
    assert bench.model.requests[-1].body["model"] == "m"


async def test_what_is_cleared_or_deleted_is_forgotten(bench: Any) -> None:
    load(bench, "one", "two", "three")
    for op in ("clear", "delete"):
        await bench.say("a")
        message = await done(bench, op, "go on")
        assert message.text == "go on"
    await bench.say("b")

    assert [one["content"] for one in bench.last] == ["b"]


async def test_keys_are_listed_by_their_beginning(bench: Any) -> None:
    load(bench, "1", "2", "3", key="${metadata.who}")
    for who in ("ann:2", "bob:1", "ann:1"):
        await bench.say("a", who=who)

    assert (await done(bench, "list", who="ann:")).value == ["ann:1", "ann:2"]
    assert len((await done(bench, "list")).value) == 3


async def test_without_a_key_the_agent_is_named(bench: Any) -> None:
    bench.load("one", session={})
    await bench.say("a", userId="ann")
    node = {"id": "s", "type": "ai/session", "configuration": {"agent": "c/agent"}}
    bench.engine.load({"ruleChain": {"id": "read", "name": "R"}, "metadata": {"nodes": [node], "connections": []}})

    assert len((await done(bench, "read", userId="ann")).value["messages"]) == 2


async def test_keys_and_messages_may_be_limited(bench: Any) -> None:
    load(bench, "1", "2", "3", key="${metadata.who}")
    for who in ("ann:1", "ann:2", "ann:3"):
        await bench.say("a", who=who)

    async def limited(**options: Any) -> Any:
        node = {"id": "s", "type": "ai/session", "configuration": {"key": "${metadata.who}", **options}}
        chain = {"ruleChain": {"id": "limited"}, "metadata": {"nodes": [node]}}
        return (await bench.engine.make(chain).run(Message("", metadata={"who": options.pop("who", "ann:")}))).message

    assert (await limited(op="list", limit=2)).value == ["ann:1", "ann:2"]
    assert (await limited(op="list", offset=2, limit=2)).value == ["ann:3"]
    read = (await limited(op="read", limit=1, key="ann:1")).value
    assert [one["role"] for one in read["messages"]] == ["assistant"]


async def test_sessions_that_are_over_are_purged(bench: Any) -> None:
    load(bench, "1", "2", key="${metadata.who}")
    for who in ("ann", "bob"):
        await bench.say("a", who=who)
    node = {"id": "s", "type": "ai/session", "configuration": {"op": "purge", "key": "a", "ttl": "30m"}}
    chain = bench.engine.make({"ruleChain": {"id": "purge"}, "metadata": {"nodes": [node]}})

    assert (await chain.run(Message(""))).message.value == []
    bench.clock.advance(time.time() - bench.clock.time_ms() / 1000 + 3600)
    assert (await chain.run(Message(""))).message.value == ["ann"]
    assert (await done(bench, "list")).value == ["bob"]


async def test_a_list_tells_what_sessions_are_about(bench: Any) -> None:
    load(bench, "1", "2", calls("ask"), key="${metadata.who}")
    await bench.say("How many bolts\nare in a box of the third drawer, on the left side, below?", who="ann")
    await bench.say("hi", who="bob")
    await done(bench, "title", " Bob's greeting ", who="bob")
    await done(bench, "model", who="bob", session_model="m2")
    await done(bench, "title", "never used", who="eve")
    node = {"id": "s", "type": "ai/session", "configuration": {"op": "list", "details": True}}
    chain = bench.engine.make({"ruleChain": {"id": "d"}, "metadata": {"nodes": [node]}})
    store = next(one for one in bench.engine.chains["c"].instances).component.sessions.store
    await store.save("zoe", "[]", NEW)

    outcome = await chain.run(Message(""))
    assert outcome.ok, outcome.error
    ann, bob, eve, zoe = outcome.message.value
    now = bench.clock.time_ms()
    assert ann["title"] == "How many bolts are in a box of the third drawer, on the l..."
    assert (ann["key"], ann["messages"], ann["paused"], ann["begun"], ann["last"]) == ("ann", 2, False, now, now)
    assert (bob["title"], bob["model"]) == ("Bob's greeting", "m2")
    assert (eve["title"], eve["messages"], eve["last"]) == ("never used", 0, 0)
    assert (zoe["key"], zoe["damaged"], zoe["title"]) == ("zoe", True, "")


async def test_a_title_stays_when_a_session_is_emptied_and_goes_when_it_is_taken_back(bench: Any) -> None:
    load(bench, "1", "2")
    await bench.say("hi")
    await done(bench, "title", "Rain")
    await done(bench, "clear")
    assert (await done(bench, "read")).value["title"] == "Rain"
    await done(bench, "title", "")
    assert "title" not in (await done(bench, "read")).value
