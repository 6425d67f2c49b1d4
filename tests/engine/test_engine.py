"""The engine: loading, reloading, running, closing."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from tests.engine.runtime.kit import Kind, definition, load, ways

from catenary import SUCCESS, Component, Config, Engine, Message, register
from catenary.errors import ChainError, ChainInvalid, ChainSyntaxError, EngineError
from catenary.testing import FakeClock

LOG = []


@register("t/opens", category="test")
class Opens(Component[Config]):
    """Notes when it is opened and closed."""

    def open(self, ctx):
        LOG.append(f"open {ctx.node_id}")

    def close(self):
        LOG.append("close")

    def run(self, ctx, msg):
        return SUCCESS


@register("t/opensAsync", category="test")
class OpensAsync(Component[Config]):
    """Notes when it is opened and closed, on an event loop."""

    async def open(self, ctx):
        await asyncio.sleep(0)
        LOG.append(f"open {ctx.node_id}")

    async def close(self):
        await asyncio.sleep(0)
        LOG.append("close async")

    def run(self, ctx, msg):
        return SUCCESS


@register("t/opensNever", category="test")
class OpensNever(Component[Config]):
    """Cannot be opened."""

    def open(self, ctx):
        raise OSError("no such device")

    def run(self, ctx, msg):
        return SUCCESS


@register("t/opensLate", category="test")
class OpensLate(OpensNever):
    """Cannot be opened on an event loop the first time."""

    tries = 0

    async def open(self, ctx):
        type(self).tries += 1
        if self.tries == 1:
            raise OSError("busy")


@pytest.fixture(autouse=True)
def log():
    LOG.clear()
    OpensLate.tries = 0
    return LOG


OPENS, OPENS_ASYNC = Kind("t/opens"), Kind("t/opensAsync")


def test_same_text_again_gives_the_present_chain(engine):
    text = json.dumps(definition({"a": None}))
    assert engine.load(text) is engine.load(json.loads(text))


def test_another_text_under_the_same_id_is_an_error(engine):
    load(engine, {"a": None})
    with pytest.raises(ChainError, match=r"chain\.duplicate-id: .* 'c'") as caught:
        load(engine, {"b": None})
    assert "reload" in caught.value.hint


def test_chain_may_be_kept_under_another_id(engine):
    chain = engine.load(definition({"a": None}), id="other")
    assert (chain.id, engine.get("other"), dict(engine.chains)) == ("other", chain, {"other": chain})
    assert repr(chain) == "Chain('other', 1 nodes, version 1)"


def test_unknown_chain_is_an_error_that_lists_the_known(engine):
    with pytest.raises(EngineError, match="ruleChain id=x not found") as caught:
        engine.run_sync("x", "")
    assert "none" in caught.value.hint
    load(engine, {"a": None})
    with pytest.raises(EngineError) as caught:
        engine.get("x")
    assert "'c'" in caught.value.hint


def test_chain_with_errors_is_not_kept(engine):
    with pytest.raises(ChainInvalid):
        engine.load(definition({"a": Kind("t/unknown")}))
    with pytest.raises(ChainSyntaxError):
        engine.load("{")
    assert not engine.chains
    assert [problem.code for problem in engine.check(definition({"a": Kind("t/unknown")}))] == ["chain.unknown-type"]


async def test_reload_serves_new_messages_and_lets_old_ones_finish(engine, log):
    go, begun = asyncio.Event(), asyncio.Event()

    async def wait(ctx, msg):
        begun.set()
        await go.wait()
        return "Old"

    old = load(engine, {"a": wait, "o": OPENS, "p": OPENS_ASYNC})
    task = asyncio.create_task(engine.run("c", "x"))
    await begun.wait()
    new = engine.reload(definition({"a": lambda ctx, msg: "New"}))
    assert (old.version, new.version, engine.get("c")) == (1, 2, new)
    assert ways(await engine.run("c", "x")) == ["a New"]
    assert "close" not in log
    go.set()
    assert ways(await task) == ["a Old"]
    assert log[-2:] == ["close async", "close"]


def test_reload_closes_an_idle_version_at_once(engine, log):
    load(engine, {"a": OPENS})
    engine.reload(definition({"a": None}))
    assert log == ["open a", "close"]


def test_reload_of_what_is_not_there_loads(engine):
    assert engine.reload(definition({"a": None})).version == 1


def test_reload_with_errors_keeps_the_present_version(engine):
    chain = load(engine, {"a": None})
    with pytest.raises(ChainInvalid):
        engine.reload(definition({"a": Kind("t/unknown")}))
    assert engine.get("c") is chain
    assert chain.run_sync("x").ok


def test_run_that_reloads_its_own_chain_without_a_loop(engine, log):
    chain = load(engine, {"a": lambda ctx, msg: engine.reload(definition({"b": None})) and SUCCESS, "o": OPENS})
    assert chain.run_sync("x").ok
    assert log == ["open o", "close"]


async def test_close_of_a_version_that_needs_a_loop_comes_with_the_engine(engine, log):
    chain = load(engine, {"o": OPENS_ASYNC})
    await chain.run("x")
    engine.reload(definition({"b": None}))
    engine.reload(definition({"c": None}))
    assert log == ["open o"]
    await engine.close()
    assert log == ["open o", "close async"]


def test_remove_takes_a_chain_out_of_service(engine, log):
    load(engine, {"a": OPENS})
    engine.remove("c")
    assert log == ["open a", "close"]
    with pytest.raises(EngineError):
        engine.get("c")
    load(engine, {"b": None})


def test_made_chain_is_not_kept(engine):
    chain = engine.make(definition({"a": None}))
    assert chain.run_sync("x").ok
    assert not engine.chains


async def test_open_and_close_may_be_async(log):
    async with Engine() as engine:
        load(engine, {"a": OPENS_ASYNC, "b": OPENS})
        assert log == ["open b"]
        await engine.run("c", "x")
        await engine.run("c", "x")
        assert log == ["open b", "open a"]
    assert log[2:] == ["close async", "close"]


async def test_entering_the_engine_opens_what_is_loaded(log):
    engine = Engine()
    load(engine, {"a": OPENS_ASYNC})
    async with engine:
        assert log == ["open a"]


def test_checking_opens_nothing(engine, log):
    assert engine.check(definition({"a": OPENS, "b": OPENS_ASYNC, "c": Kind("t/opensNever")})) is not None
    assert log == []


def test_what_cannot_be_opened_is_a_problem_of_the_chain(engine, log):
    with pytest.raises(ChainInvalid, match="no such device") as caught:
        load(engine, {"o": OPENS, "p": OPENS_ASYNC, "a": Kind("t/opensNever")}, ["o p"])
    assert [problem.code for problem in caught.value.problems] == ["chain.open-failed"]
    assert "node 'a'" in str(caught.value)
    assert log == ["open o", "close"]
    assert not engine.chains


async def test_what_cannot_be_opened_at_first_use_is_tried_again(engine):
    chain = load(engine, {"a": Kind("t/opensLate")})
    with pytest.raises(EngineError, match="node 'a' cannot be opened: busy"):
        await chain.run("x")
    assert chain.active == 0
    assert (await chain.run("x")).ok


async def test_closing_twice_is_fine(log):
    engine = Engine()
    load(engine, {"a": OPENS})
    _ = engine.http
    await engine.close()
    await engine.close()
    assert log == ["open a", "close"]
    with pytest.raises(EngineError, match="closed"):
        engine.load(definition({"a": None}))
    with pytest.raises(EngineError):
        await engine.run("c", "x")


def test_engine_as_a_plain_context(log):
    with Engine() as engine:
        load(engine, {"a": OPENS})
        assert engine.run_sync("c", "x").ok
    engine.close_sync()
    assert log == ["open a", "close"]


async def test_stream_gives_events_until_the_terminal_one(engine):
    heard = []
    load(engine, {"a": None})
    events = [event async for event in engine.stream("c", "x", listener=heard.append)]
    assert [event.name for event in events] == ["run.start", "node.start", "node.end", "branch.end", "run.complete"]
    assert heard == events


async def test_leaving_a_stream_early_cancels_the_run(engine):
    stopped = []

    async def hang(ctx, msg):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(1)

    load(engine, {"a": hang})
    before = asyncio.all_tasks()
    stream = engine.stream("c", "x")
    async for event in stream:
        if event.name == "node.start":
            break
    await stream.aclose()
    assert stopped == [1]
    assert asyncio.all_tasks() == before


async def test_stream_raises_what_the_run_raises(engine):
    chain = load(engine, {"a": None})
    engine.remove("c")
    with pytest.raises(EngineError, match="ruleChain id=c not found"):
        [event async for event in chain.stream("x")]


def test_functions_and_tools_are_registered(engine):
    @engine.function("double")
    def double(ctx, msg):
        return SUCCESS

    @engine.tool
    def weather(city: str) -> str:
        return city

    engine.tool(weather, name="other")
    assert engine.functions == {"double": double}
    assert engine.tools == {"weather": weather, "other": weather}


def test_components_see_what_the_engine_was_given():
    clock = FakeClock()
    seen = []

    def look(ctx, msg):
        seen.append((ctx.clock, ctx.properties["a"], ctx.rule_chain["id"], ctx.vars["v"]))
        return SUCCESS

    with Engine({"a": 1, "data_dir": "/nowhere"}, clock=clock, roots=["/nowhere"]) as engine:
        load(engine, {"a": look}, vars={"v": "w"}).run_sync("")
        assert engine.registry.find("t/def") is not None
    assert seen == [(clock, 1, "c", "w")]


def test_limits_of_the_engine_hold_where_the_chain_is_silent():
    from catenary.engine import ChainDefaults

    with Engine(defaults=ChainDefaults(allow_cycle=True, max_visits=7)) as engine:
        assert "visited 7 times" in str(load(engine, {"a": None}, ["a a"]).run_sync("").error)
        own = load(engine, {"a": None}, ["a a"], id="d", maxVisits=2)
        assert "visited 2 times" in str(own.run_sync("").error)


def test_chain_is_written_as_it_was_given(engine):
    written = load(engine, {"a": None, "b": None}, ["a b"]).to_dict()
    assert written["ruleChain"]["id"] == "c"
    assert [node["id"] for node in written["metadata"]["nodes"]] == ["a", "b"]


async def test_scope_is_laid_into_the_run(engine):
    seen = []
    load(engine, {"a": lambda ctx, msg: seen.append(ctx.scope[Message]) or SUCCESS})
    message = Message("s")
    await engine.run("c", "x", scope=[message])
    engine.run_sync("c", "x", scope={Message: message})
    assert seen == [message, message]
    outcome = await engine.run("c", "x")
    assert "the run has no Message" in outcome.message.metadata["errorMsg"]


async def test_chain_given_by_path_and_by_document(engine, tmp_path):
    from catenary.load import read

    path = tmp_path / "chain.json"
    path.write_text(json.dumps(definition({"a": None})))
    chain = engine.load(path)
    assert engine.load(read(path)) is chain


def test_tool_without_a_name_is_refused_and_can_be_given_one(engine):
    nameless = functools.partial(max, 1)
    with pytest.raises(EngineError, match="has no name"):
        engine.tool(nameless)
    engine.tool(nameless, name="most")
    assert engine.tools["most"] is nameless


def test_a_function_without_a_name_and_a_name_without_a_function_are_refused(engine):
    with pytest.raises(EngineError, match="has no name") as caught:
        engine.function(len)
    assert "@engine.function('name')" in caught.value.hint
    with pytest.raises(EngineError, match="cannot be called"):
        engine.function("five")(5)


def test_a_closed_engine_says_so(engine):
    chain = load(engine, {"a": None})
    engine.close_sync()
    for call in (lambda: engine.run_sync("x", {}), lambda: chain.run_sync({}), lambda: engine.load({})):
        with pytest.raises(EngineError, match="the engine is closed"):
            call()


def test_what_cannot_be_opened_is_told_with_its_place(engine):
    text = '{"metadata": {"nodes": [{"id": "a", "type": "end"},\n {"id": "b", "type": "t/opensNever"}]}}'
    with pytest.raises(ChainInvalid) as caught:
        engine.load(text)
    problem = caught.value.problems[0]
    assert (problem.line, problem.column) == (2, 2)


def test_importing_the_engine_loads_no_heavy_package():
    heavy = {"pydantic", "httpx", "yaml", "jinja2", "cryptography", "importlib.metadata", "catenary.load"}
    code = f"import sys, catenary.engine; sys.exit(str({heavy} & set(sys.modules) or '') or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_folder_may_be_allowed_later(tmp_path: Path) -> None:
    (tmp_path / "word.txt").write_text("hello")
    chain = {
        "ruleChain": {"id": "reader"},
        "metadata": {
            "nodes": [
                {"id": "t", "type": "text/template", "configuration": {"template": "{{ include('word.txt') }}"}},
            ]
        },
    }
    with Engine() as engine:
        engine.allow_folder(tmp_path)
        engine.load(chain)
        assert engine.run_sync("reader", "x").message.text == "hello"


def test_the_hint_of_an_error_ends_its_stack_trace():
    with Engine() as engine, pytest.raises(EngineError) as raised:
        engine.get("nothing")
    assert "".join(traceback.format_exception(raised.value)).endswith("not found\nhint: loaded chains: none\n")
