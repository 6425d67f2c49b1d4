"""The conformance suite: a sound component passes, and each check finds the component that breaks it."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema_rs
import pytest
from tests.engine.testing.conformance import broken

import catenary_components
from catenary import Engine
from catenary.component import Component, registered
from catenary.errors import EngineError
from catenary.load.schema import config_schema
from catenary.registry import Registry
from catenary.testing import FakeClock
from catenary.testing.conformance import CHECKS, Case, Subject, check, conformance, conformance_of, leftovers
from catenary.testing.conformance.metaschema import schema_problems
from catenary.testing.conformance.running import run_case

assert catenary_components.__doc__


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    broken.Threaded.stop.clear()
    yield
    broken.Threaded.stop.set()
    for process in broken.Spawning.kept:
        process.send_signal(signal.SIGKILL)
        process.wait()
    for one in broken.Connected.kept:
        one.close()
    for file in broken.Opening.kept:
        file.close()
    broken.Opening.kept.clear()
    broken.Spawning.kept.clear()
    broken.Connected.kept.clear()


def found(component: type[Component[Any]], **about: Any) -> dict[str, str]:
    """Give what the suite says, by check."""
    said: dict[str, str] = {}
    for problem in check(component, **about):
        assert problem.type.endswith(f"broken{component.__name__}")
        said[problem.check] = said.get(problem.check, "") + problem.text + "\n"
    return said


test_a_sound_component = conformance(broken.Sound)
test_a_sound_endpoint = conformance(broken.Listener)


@pytest.mark.parametrize(
    ("component", "check_name", "told"),
    [
        (broken.OddSchema, "the schema is valid", "minimum must be a number, not 'one'"),
        (broken.Narrow, "the schema is valid", "does not take the settings of the example 'it goes on': size must be"),
        (broken.BadDefault, "the defaults load", "must be 2"),
        (broken.Required, "the defaults load", "give an example"),
        (broken.Required, "the examples hold", "it has no example"),
        (broken.Open, "an unknown option is reported", "'sizee', which it does not have, is not reported"),
        (broken.Wrong, "the examples hold", "the data is ['{\"n\":2}'], not ['{\"n\":1}']"),
        (broken.Astray, "the examples hold", "left by ['Small'], not by ['Success']"),
        (broken.Astray, "each relation is reached", "no example and no case leaves by 'Big'"),
        (broken.Astray, "each relation is reached", "leaves by 'Small', which is not in its `relations`"),
        (broken.Forever, "a cancelled run leaves nothing behind", "left the task sleep behind"),
        (broken.Threaded, "a cancelled run leaves nothing behind", "left the thread 'left'"),
        (broken.Spawning, "a cancelled run leaves nothing behind", "left the process"),
        (broken.Connected, "a cancelled run leaves nothing behind", "left the socket"),
        (broken.Opening, "a cancelled run leaves nothing behind", "broken.py behind"),
        (broken.Littering, "a cancelled run leaves nothing behind", "left the temporary file litter-"),
        (broken.Stubborn, "a cancelled run leaves nothing behind", "left the run itself, which does not end, behind"),
        (broken.Misspelt, "the examples hold", "it goes on: node 'node' (brokenMisspelt): the option 'siez' is not"),
        (broken.Nested, "secrets are masked", "the option 'servers.tokenSecret' looks like a secret"),
        (broken.Whispering, "secrets are masked", "seen in the log (the defaults): asked by (the secret)"),
        (broken.Once, "closing twice is fine", "closed once more, it raised IndexError: pop from empty list"),
        (broken.Unopened, "closing twice is fine", "closed without being opened, it raised AttributeError"),
        (broken.Unmarked, "secrets are masked", "the option 'password' looks like a secret"),
        (broken.Boastful, "secrets are masked", "seen in the repr of the component"),
        (broken.Logging, "secrets are masked", "seen in the log"),
        (broken.Printing, "secrets are masked", "seen in what is printed"),
        (broken.Leaking, "a cancelled run leaves nothing behind", "left the task sleep behind"),
        (broken.Showing, "secrets are masked", "seen in the repr of the component"),
    ],
)  # fmt: skip
def test_each_check_finds_the_component_that_breaks_it(
    component: type[Component[Any]], check_name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if check_name == "a cancelled run leaves nothing behind":  # for ever
        monkeypatch.setattr(leftovers, "WAIT_S", 0.2)
        monkeypatch.setattr(leftovers, "SETTLE_S", 0.2)
    said = found(component)
    assert told in said[check_name]
    others = {"the schema is valid", *CHECKS} - {check_name}
    if component not in {broken.Required, broken.Astray}:
        assert not set(said) & others


ASKED = Case(
    "two questions",
    routers=[{"from": {"path": "x"}}],
    drive=lambda endpoint: asyncio.gather(*(endpoint.ask(data) for data in ("one", "two"))),  # type: ignore[attr-defined]
    data=["one", "two"],
    timeout_s=15,
)
test_a_sound_endpoint_that_is_asked = conformance(broken.Asking, cases=[ASKED])


@pytest.mark.parametrize(
    ("component", "check_name", "told"),
    [
        (broken.Holding, "a cancelled run leaves nothing behind", "two questions: a cancelled run left the task sleep"),
        (broken.Deaf, "the examples hold", "it did not end within 0.5 s, and 0 of 2 messages came in by the endpoint"),
        (broken.Garbling, "the examples hold", "the data that came in is ['eno', 'owt'], not ['one', 'two']"),
        (broken.Telling, "secrets are masked", "'apiKeys' is seen in the log (two questions): asked: ['(the secret)"),
        (broken.Unstopped, "closing twice is fine", "two questions: stopped, it raised OSError: the port is kept"),
        (broken.Unstarted, "the examples hold", "the endpoint does not run: the port is taken"),
    ],
)
def test_an_endpoint_that_is_asked_shows_what_it_does_wrong(
    component: type[Component[Any]], check_name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if component is broken.Holding:
        monkeypatch.setattr(leftovers, "WAIT_S", 0.2)
    said = found(component, cases=[dataclasses.replace(ASKED, timeout_s=0.5) if component is broken.Deaf else ASKED])
    assert told in said[check_name]
    assert set(said) == {check_name}


def test_nodes_in_chains_that_a_component_makes_for_itself_count() -> None:
    inner = {"ruleChain": {"id": "inner"}, "metadata": {"nodes": [{"id": "s", "type": "brokenSound"}]}}

    class Making(broken.Sound):
        """Run a chain of its own."""

        def open(self, ctx: Any) -> None:
            self.chain = ctx.chain.engine.make(inner)

        async def run(self, ctx: Any, msg: Any) -> Any:
            await ctx.run_chain(self.chain, msg)
            return "Success"

    Registry(discover=False).register("brokenMaking", category="test")(Making)
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "m", "type": "brokenMaking"}]}}
    subject = Subject(broken.Sound, [Case("inside", chain=chain, prepare=lambda engine: engine.registry.add(Making))])
    seen = run_case(subject, subject.given[0])
    assert (seen.failure, seen.left_by) == ("", {"Success"})


def test_nodes_in_chains_that_are_loaded_to_prepare_a_case_count() -> None:
    other = {"ruleChain": {"id": "other"}, "metadata": {"nodes": [{"id": "s", "type": "brokenSound"}]}}
    chain = {
        "ruleChain": {"id": "c"},
        "metadata": {"nodes": [{"id": "f", "type": "flow", "configuration": {"targetId": "other"}}]},
    }
    case = Case("in another chain", chain=chain, prepare=lambda engine: engine.load(other))
    seen = run_case(Subject(broken.Sound), case)
    assert (seen.failure, seen.left_by) == ("", {"Success"})


def test_the_clock_of_a_case_is_that_of_its_engine() -> None:
    clock = FakeClock()
    made: list[Engine] = []
    assert found(broken.Sound, cases=[Case("later", clock=lambda: clock, prepare=made.append)]) == {}
    assert all(engine.clock is clock for engine in made)
    assert made


def test_what_an_error_at_load_tells_is_masked_by_the_engine_or_found() -> None:
    assert "the error at load" in found(broken.Refusing)["secrets are masked"]


def test_a_file_is_no_secret_and_what_the_author_says_is_none_either() -> None:
    assert "password_file" not in found(broken.Unmarked)["secrets are masked"]
    assert "secrets are masked" not in found(broken.Unmarked, public=["password"])


def test_cases_of_the_author_reach_what_examples_do_not() -> None:
    reached = Case("another way", config={"size": 1}, leaves_by=["Small"])
    said = found(broken.Astray, cases=[reached], unreached={"Big": "nothing is big"})
    assert "'Big'" not in said["each relation is reached"]


def test_a_case_that_does_not_hold_is_told() -> None:
    said = found(broken.Sound, cases=[Case("it fails", config={"size": 1}, leaves_by=["Failure"])])
    assert "it fails: left by ['Success'], not by ['Failure']" in said["the examples hold"]


def test_a_case_that_cannot_be_loaded_is_told_once() -> None:
    said = found(broken.Sound, cases=[Case("no number", config={"size": "many"})])
    assert "no number: node 'node' (brokenSound): size" in said["the examples hold"]
    assert set(said) == {"the examples hold"}


def test_a_reason_for_a_relation_that_is_reached_is_told() -> None:
    said = found(broken.Sound, unreached={"Success": "it never works"})
    assert "take it out of `unreached`" in said["each relation is reached"]


def test_a_case_has_what_is_around_it() -> None:
    @contextmanager
    def peer() -> Iterator[dict[str, Any]]:
        yield {"size": 3}

    made: list[Engine] = []
    case = Case("by a peer", config={"size": "${global.size}"}, around=peer, prepare=made.append, leaves_by=["Success"])
    assert found(broken.Sound, cases=[case]) == {}
    assert made[0].properties == {"size": 3}


def test_a_case_may_be_a_whole_chain() -> None:
    nodes = [{"id": "a", "type": "jsTransform"}, {"id": "b", "type": "brokenSound", "configuration": {"size": 0}}]
    links = [{"fromId": "a", "toId": "b", "type": "Success"}]
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": links}}
    assert found(broken.Sound, cases=[Case("in a chain", chain=chain, leaves_by=["Failure"])]) == {}


def test_a_case_that_does_not_end_is_told() -> None:
    class Endless(broken.Sound):
        """Wait."""

        examples = ()

        async def run(self, ctx: Any, msg: Any) -> Any:
            await ctx.clock.sleep(3600)

    Endless.info = broken.Sound.info
    subject = Subject(Endless, [Case("it waits", timeout_s=0.05)])
    assert list(CHECKS["the examples hold"](subject))[1:] == ["it waits: it did not end within 0.05 s"]


def test_a_component_may_be_given_by_its_type() -> None:
    assert check("comment") == []
    with pytest.raises(EngineError, match="component not found"):
        check("noSuchComponent")


def test_a_join_gets_a_branch_to_wait_for() -> None:
    assert check("join", unreached={"Failure": "nothing fails here"}) == []


def test_a_secret_is_looked_for_also_in_runs_that_do_not_end() -> None:
    class Slow(broken.Logging):
        """Log the secret, and wait."""

        examples = ()

        async def run(self, ctx: Any, msg: Any) -> Any:
            await ctx.clock.sleep(3600)

    Slow.info = broken.Logging.info
    subject = Subject(Slow, [Case("it waits", {"size": 1}, timeout_s=0.05)])
    (told,) = [text for text in CHECKS["secrets are masked"](subject) if "(it waits)" in text]
    assert "seen in the log" in told


def test_a_package_is_tested_as_a_whole() -> None:
    mark = conformance_of("catenary_components.action").pytestmark[0]  # type: ignore[attr-defined]
    names = {one.values[0].name for one in mark.args[1]}
    assert names == {"delay", "exec", "fetchNodeOutput", "functions", "log"}
    assert len(mark.args[1]) == len(names) * len(CHECKS)


def test_a_package_without_components_and_one_that_is_misnamed_are_told() -> None:
    with pytest.raises(ValueError, match="'nowhere' has registered no component"):
        conformance_of("nowhere")
    with pytest.raises(ValueError, match="has no component 'delayy'"):
        conformance_of("catenary_components.action", {"delayy": {}})


def test_what_fails_is_explained_to_the_author() -> None:
    run: Any = conformance(broken.Wrong)
    with pytest.raises(pytest.fail.Exception) as failed:
        run(Subject(broken.Wrong), "the examples hold")
    assert "component 'brokenWrong', the examples hold:\n  - example: it is left as it is: the data is" in str(
        failed.value
    )


def test_all_standard_schemas_are_valid_by_the_meta_schema_itself() -> None:
    for component in set(registered.values()):
        jsonschema_rs.meta.validate(config_schema(component))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"type": []},
        {"properties": []},
        {"properties": {"a": 1}},
        {"required": ["a", "a"]},
        {"required": "a"},
        {"enum": 1},
        {"minLength": -1},
        {"minLength": True},
        {"multipleOf": 0},
        {"anyOf": []},
        {"items": 3},
        {"items": {"maximum": "x"}},
        {"allOf": [{"not": 1}]},
        {"title": 1},
        {"deprecated": "yes"},
        {"$defs": {"a": {"uniqueItems": 1}}},
        1,
        None,
    ],
)
def test_what_is_no_schema_is_told_as_the_meta_schema_tells_it(schema: Any) -> None:
    assert not jsonschema_rs.meta.is_valid(schema)
    assert list(schema_problems(schema))


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"$defs": {"a/b": {"type": "object"}}, "$ref": "#/$defs/a~1b"},
        {"anyOf": [{"minimum": 1.5}, False], "x-unit": 3},
        {"$ref": "https://example.com/other"},
    ],
)
def test_what_is_a_schema_passes(schema: Any) -> None:
    assert list(schema_problems(schema)) == []


def test_a_pattern_that_is_none_is_told() -> None:
    assert list(schema_problems({"pattern": "("})) == ["#/pattern must be a regular expression, not '('"]


def test_a_reference_that_leads_nowhere_is_told() -> None:
    assert list(schema_problems({"items": {"$ref": "#/$defs/x"}})) == [
        "#/items/$ref refers to '#/$defs/x', which is not there"
    ]
