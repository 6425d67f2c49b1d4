"""`wait`: a branch that goes on when somebody outside answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.components.flow.kit import begun, rest

import catenary_components
from catenary import Chain, ChainInvalid, Engine, Message, Outcome
from catenary.errors import AnswererRefused, AnswerInvalid, PauseError
from catenary.events import Event, NodeFinished
from catenary.recording import MemoryRecorder
from catenary.testing import FakeClock

Load = Callable[..., Chain]
assert catenary_components.__doc__


async def answered(engine: Engine, load: Load, settings: dict[str, Any], sent: Any = "{}", **parts: Any) -> Any:
    """Run one `wait` node, answer it, and give the only end."""
    run = await begun(load([("w:wait", settings)]), sent)
    (pause,) = engine.pauses
    await engine.answer(pause.run_id, "w", **parts)
    (end,) = (await run).ends
    return end


@pytest.mark.parametrize(
    ("settings", "given", "data", "metadata"),
    [
        ({}, {}, '{"a":1}', {}),
        ({}, {"data": {"b": 2}}, '{"b":2}', {}),
        ({}, {"data": "text"}, "text", {}),
        ({"use": "merge"}, {"data": {"b": 2}}, '{"a":1,"b":2}', {}),
        ({"use": "field"}, {"data": [1]}, '{"a":1,"answer":[1]}', {}),
        ({"use": "field", "key": "a"}, {"data": None}, '{"a":null}', {}),
        ({"use": "metadata", "key": "k"}, {"data": "v"}, '{"a":1}', {"k": "v"}),
        ({"use": "ignore"}, {"data": "v"}, '{"a":1}', {}),
        ({}, {"metadata": {"m": "1"}, "answerer": "ann", "note": "fine"}, '{"a":1}', None),
    ],
)
async def test_the_settings_say_where_the_data_goes(
    engine: Engine, load: Load, settings: Any, given: Any, data: str, metadata: Any
) -> None:
    end = await answered(engine, load, settings, {"a": 1}, **given)
    assert (end.relation, end.message.text) == ("Success", data)
    expected = {"m": "1", "_answerer": "ann", "_answerNote": "fine"} if metadata is None else metadata
    assert dict(end.message.metadata) == expected


async def test_the_first_relation_is_taken_when_the_answer_chooses_none(engine: Engine, load: Load) -> None:
    settings = {"relations": ["Approved", "Rejected"]}
    assert (await answered(engine, load, settings)).relation == "Approved"
    assert (await answered(engine, load, settings, relation="Rejected")).relation == "Rejected"


@pytest.mark.parametrize(
    ("settings", "given", "text"),
    [
        ({"relations": ["Yes", "No"]}, {"relation": "Success"}, "relation 'Success' is none of 'Yes', 'No'"),
        ({"schema": {"type": "object"}}, {"data": 1}, "data must be of type object, not number"),
        (
            {"schema": {"properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"pattern": "^[0-9]+$"}}}},
            {"data": {"n": "x"}},
            "data.n must match ^[0-9]+$",
        ),
        ({"schema": {"type": "object"}}, {}, "there is no data, and it must be of type object, not null"),
        (
            {"schema": {"properties": {"n": {"type": "number"}}, "additionalProperties": False}},
            {"data": {"n": "1", "x": 1}, "relation": "No"},
            "relation 'No' is none of 'Success'; data.n must be of type number, not string; data.x is not known here",
        ),
        ({"use": "merge"}, {"data": [1]}, "the data must be a JSON object, whose keys go into the data of the message"),
        ({"editable": ["b"]}, {"data": {"b": 2}}, "'a' may not be changed; only 'b'"),
        ({"editable": ["b"], "use": "merge"}, {"data": {"a": True, "b": 3}}, "'a' may not be changed; only 'b'"),
        ({"editable": ["b"]}, {"data": 1}, "the data must be a JSON object: only some keys of it may be changed"),
    ],
)
async def test_a_wrong_answer_is_refused_and_the_node_goes_on_waiting(
    engine: Engine, load: Load, settings: Any, given: Any, text: str
) -> None:
    run = await begun(load([("w:wait", settings)]), {"a": 1})
    (pause,) = engine.pauses
    with pytest.raises(AnswerInvalid) as caught:
        await engine.answer(pause.run_id, "w", **given)
    assert str(caught.value) == text
    await rest()
    assert list(engine.pauses) == [pause]
    assert not run.done()


async def test_nothing_can_be_put_into_data_that_is_no_object(engine: Engine, load: Load) -> None:
    with pytest.raises(AnswerInvalid, match="is no JSON object, so nothing can be put into it"):
        await answered(engine, load, {"use": "field"}, Message("text", data_type="TEXT"), data=1)


async def test_what_may_be_edited_may_also_stay(engine: Engine, load: Load) -> None:
    end = await answered(engine, load, {"editable": ["b"]}, {"a": 1}, data={"a": 1, "b": 2})
    assert end.message.text == '{"a":1,"b":2}'


@pytest.mark.parametrize("who", [{}, {"answerer": "bob"}, {"roles": ["clerks"]}])
async def test_who_is_not_named_may_not_answer(engine: Engine, load: Load, who: Any) -> None:
    with pytest.raises(AnswererRefused, match="may not answer here; these may: ann, managers"):
        await answered(engine, load, {"answerers": ["ann", "managers"]}, **who)


@pytest.mark.parametrize("who", [{"answerer": "ann"}, {"answerer": "bob", "roles": ["managers"]}])
async def test_people_and_roles_may_be_named(engine: Engine, load: Load, who: Any) -> None:
    message = Message("", metadata={"who": "ann"})
    end = await answered(engine, load, {"answerers": "${metadata.who}, managers"}, message, **who)
    assert end.message.metadata["_answerer"] == who["answerer"]


async def test_the_question_is_seen_from_outside(engine: Engine, load: Load) -> None:
    events: list[Any] = []
    settings = {"title": "Pay", "prompt": "${msg.n} EUR?", "timeout": "1m", "relations": ["Yes", "No"]}
    chain = load([("w:wait", settings)])
    run = await begun(chain, {"n": 3}, listener=events.append)
    (pause,) = engine.pauses
    assert (pause.chain_id, pause.node_id, pause.visit, pause.inside) == (chain.id, "w", 1, "")
    assert (pause.title, pause.prompt, pause.relations) == ("Pay", "3 EUR?", ("Yes", "No"))
    assert pause.message.text == '{"n":3}'
    assert pause.expires_ms == pause.since_ms + 60_000
    await engine.answer(pause.run_id, "w", relation="No", answerer="ann")
    await run
    opened, told = [event for event in events if event.name.startswith("wait.")]
    assert (opened.name, opened.data["prompt"], opened.data["visit"]) == ("wait.open", "3 EUR?", 1)
    assert (told.name, dict(told.data)) == (
        "wait.answered",
        {"visit": 1, "relation": "No", "answerer": "ann", "note": ""},
    )
    assert events[-1].name == "run.complete"


async def test_an_answer_counts_once(engine: Engine, load: Load) -> None:
    run = await begun(load([("w:wait", {}), "t:log"], "w Success t"))
    (pause,) = engine.pauses
    await engine.answer(pause.run_id, "w", answerer="ann")
    for _ in range(2):
        with pytest.raises(
            PauseError, match=r"the pause at node 'w' \(visit 1\) of run .* was answered already by ann"
        ):
            await engine.answer(pause.run_id, "w")
    assert (await run).ok
    with pytest.raises(PauseError, match="was answered already by ann"):
        await engine.answer(pause.run_id, "w")


async def test_what_does_not_wait_cannot_be_answered(engine: Engine, load: Load) -> None:
    run = await begun(load([("w:wait", {})]))
    (pause,) = engine.pauses
    with pytest.raises(PauseError, match=f"node 'x' of run {pause.run_id} does not wait") as caught:
        await engine.answer(pause.run_id, "x")
    assert caught.value.hint == f"open pauses: 'w' of run {pause.run_id}"
    with pytest.raises(PauseError, match="does not wait at its visit 2"):
        await engine.answer(pause.run_id, "w", visit=2)
    await engine.answer(pause.run_id, "w", visit=1)
    await run


async def timed(clock: FakeClock, **settings: Any) -> tuple[Engine, asyncio.Task[Outcome]]:
    engine = Engine(clock=clock)
    nodes = [{"id": "w", "type": "wait", "configuration": {"timeout": "${metadata.time}", **settings}}]
    chain = engine.load({"ruleChain": {"id": "x"}, "metadata": {"nodes": nodes, "connections": []}})
    return engine, await begun(chain, Message("kept", metadata={"time": "5s"}))


async def test_without_an_answer_in_time_the_message_leaves_by_timeout(fake_clock: FakeClock) -> None:
    engine, run = await timed(fake_clock)
    (pause,) = engine.pauses
    fake_clock.advance(4.999)
    await rest()
    assert not run.done()
    fake_clock.advance(0.001)
    with pytest.raises(PauseError, match="nobody answered in time"):
        await engine.answer(pause.run_id, "w")
    (end,) = (await run).ends
    assert (end.relation, end.message.text) == ("Timeout", "kept")
    assert not list(engine.pauses)


async def test_an_answer_at_the_last_moment_counts(fake_clock: FakeClock) -> None:
    engine, run = await timed(fake_clock)
    fake_clock.advance(4.999)
    await engine.answer(next(iter(engine.pauses)).run_id, "w")
    fake_clock.advance(1)
    assert (await run).ends[0].relation == "Success"


async def test_a_time_that_is_none_fails(engine: Engine, load: Load) -> None:
    outcome = await load([("w:wait", {"timeout": "${msg.t}"})]).run({"t": "soon"})
    assert "timeout: must be a number of seconds" in str(outcome.error)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"timeout": "soon"}, "timeout: must be a number of seconds"),
        ({"relations": [" "]}, "a relation needs a name"),
        ({"editable": ["a"], "use": "ignore"}, "editable: has no meaning with use 'ignore'"),
        ({"timeout": -1}, "timeout: must be a number of seconds or a text such as '5s' or '500ms', not -1"),
        ({"relations": []}, "relations must not be empty"),
        ({"key": ""}, "key must not be empty"),
        ({"use": "replce"}, "use must be one of 'replace', 'merge', 'field', 'metadata' or 'ignore', not 'replce'"),
        ({"schema": 5}, "answerSchema must be a mapping, not 5"),
        ({"schema": {"type": "objekt"}}, "answerSchema: type must be one of object, array, string"),
        ({"answerSchema": {"required": 5}}, "answerSchema: required must be a list of names, not 5"),
        ({"answerSchema": {"if": {}}}, "answerSchema: if would not be looked at"),
    ],
)
def test_wrong_settings_are_told_at_load(load: Load, settings: Any, text: str) -> None:
    with pytest.raises(ChainInvalid, match=text):
        load([("w:wait", settings)])


async def test_each_round_of_a_loop_is_a_visit_of_its_own(engine: Engine, load: Load) -> None:
    run = await begun(load([("l:for", {"range": "msg", "do": "w", "mode": 1}), ("w:wait", {})]), ["a", "b"])
    seen: list[tuple[int, str]] = []
    for data in ("A", "B"):
        (pause,) = engine.pauses
        seen.append((pause.visit, pause.message.text))
        assert "inside a loop" in pause.inside
        await engine.answer(pause.run_id, "w", visit=pause.visit, data=data)
        await rest()
    assert [visit for visit, _ in seen] == [1, 2]
    assert (await run).message.value == ["A", "B"]


async def test_several_visits_that_wait_at_once_are_told_apart(engine: Engine, load: Load) -> None:
    chain = load(["f:fork", "a:log", "b:log", ("w:wait", {})], "f Success a, f Success b, a Success w, b Success w")
    run = await begun(chain)
    run_id = next(iter(engine.pauses)).run_id
    assert [pause.visit for pause in engine.pauses.of(run_id)] == [1, 2]
    with pytest.raises(PauseError, match="waits several times: visits 1, 2"):
        await engine.answer(run_id, "w")
    await engine.answer(run_id, "w", visit=2)
    await engine.answer(run_id, "w")
    assert (await run).ok


async def test_sub_chains_wait_too(engine: Engine, load: Load) -> None:
    inner = load([("w:wait", {"use": "merge"})])
    run = await begun(load([("c:flow", {"targetId": inner.id, "extend": True})]), {"n": 1})
    (pause,) = engine.pauses
    assert (pause.chain_id, pause.visit) == (inner.id, 1)
    await engine.answer(pause.run_id, "w", data={"m": 2})
    outcome = await run
    assert outcome.run_id == pause.run_id
    assert outcome.message.value == {"n": 1, "m": 2}


async def test_a_run_that_is_cancelled_closes_its_question(engine: Engine, load: Load) -> None:
    run = await begun(load([("w:wait", {})]))
    (pause,) = engine.pauses
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert not list(engine.pauses)
    with pytest.raises(PauseError, match="its run was stopped"):
        await engine.answer(pause.run_id, "w")


async def test_a_run_that_is_out_of_time_closes_its_question(engine: Engine, load: Load) -> None:
    outcome = await load([("w:wait", {})]).run("", timeout=0.02)
    assert outcome.status == "cancelled"
    assert not list(engine.pauses)


async def test_closing_the_engine_pauses_the_run() -> None:
    engine = Engine()
    nodes = [{"id": "f", "type": "fork"}, {"id": "w", "type": "wait"}, {"id": "v", "type": "wait"}]
    ways = [{"fromId": "f", "toId": name, "type": "Success"} for name in "wv"]
    chain = engine.load({"ruleChain": {"id": "x"}, "metadata": {"nodes": nodes, "connections": ways}})
    events: list[Any] = []
    run = await begun(chain, {"n": 1}, listener=events.append)
    await engine.close()
    outcome = await run
    assert (outcome.status, outcome.ok, outcome.error) == ("paused", False, None)
    assert sorted((end.node_id, str(end.relation), end.message.text) for end in outcome.ends) == [
        ("v", "Paused", '{"n":1}'),
        ("w", "Paused", '{"n":1}'),
    ]
    assert events[-1].name == "run.pause"


def test_a_run_in_another_thread_is_answered(engine: Engine, load: Load) -> None:
    chain = load([("w:wait", {})])
    opened = threading.Event()
    engine.pauses.on_open(lambda _: opened.set())
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(chain.run_sync({"n": 1})))
    thread.start()
    assert opened.wait(10)
    assert engine.answer_sync(next(iter(engine.pauses)).run_id, "w", data={"n": 2}) is None
    thread.join(10)
    assert outcomes[0].message.text == '{"n":2}'


def test_one_of_many_answers_from_many_threads_wins(engine: Engine, load: Load) -> None:
    chain = load([("w:wait", {})])
    opened = threading.Event()
    engine.pauses.on_open(lambda _: opened.set())
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(chain.run_sync("")))
    thread.start()
    assert opened.wait(10)
    run_id = next(iter(engine.pauses)).run_id
    won: list[int] = []

    def give(number: int) -> None:
        try:
            engine.answer_sync(run_id, "w", data=number)
        except PauseError:
            return
        won.append(number)

    threads = [threading.Thread(target=give, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    thread.join(10)
    assert [outcomes[0].message.value] == won


@pytest.mark.parametrize("is_heard", [False, True])
async def test_visits_of_a_run_that_is_put_off_stand_at_their_node_as_paused(load: Load, *, is_heard: bool) -> None:
    recorder = MemoryRecorder()
    heard: list[Event] = []
    async with Engine() as own:
        chain = own.load(
            {
                "ruleChain": {"id": "x"},
                "metadata": {
                    "nodes": [
                        {"id": "l", "type": "for", "configuration": {"range": "1..1", "do": "w"}},
                        {"id": "w", "type": "wait"},
                    ],
                    "connections": [],
                },
            }
        )
        run = await begun(chain, recorder=recorder, **({"listener": heard.append} if is_heard else {}))
        await own.pauses.put_off()
        assert (await run).status == "paused"
    (record,) = recorder.records
    assert [(visit.node_id, visit.error, [by for by, _ in visit.sent]) for visit in record.visits] == [
        ("l", "", ["Paused"]),
        ("w", "", ["Paused"]),
    ]
    left = [(one.node_id, one.relations, one.error) for one in heard if isinstance(one, NodeFinished)]
    assert left == ([("w", ("Paused",), ""), ("l", ("Paused",), "")] if is_heard else [])


async def test_a_question_shows_no_secret(engine: Engine, load: Load) -> None:
    engine.masker.add("hunter22")
    run = await begun(load([("w:wait", {"title": "T ${msg.key}", "prompt": "P ${msg.key}"})]), {"key": "hunter22"})
    (pause,) = engine.pauses
    assert (pause.title, pause.prompt) == ("T ****", "P ****")
    await engine.answer(pause.run_id, "w")
    assert (await run).message.value == {"key": "hunter22"}


@pytest.mark.parametrize(("relation", "is_known"), [("Yes", True), ("Timeout", True), ("Failure", True), ("No", False)])
def test_a_connection_that_no_answer_can_choose_is_a_warning(
    load: Load, engine: Engine, relation: str, *, is_known: bool
) -> None:
    chain = load([("w:wait", {"relations": ["Yes"]}), "l:log"], f"w {relation} l")
    texts = ["node 'w' (wait): relation 'No' is not one of Yes, Timeout, Failure"]
    assert [problem.text for problem in engine.check(chain.to_dict())] == ([] if is_known else texts)
