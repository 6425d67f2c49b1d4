"""Host functions, host objects, host scripts and `$ctx`, as scripts see them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.cache import ChainCache, MemoryCache
from catenary.clock import SystemClock
from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script.engine import ScriptHost, ScriptLimits, ScriptSource, engine_named
from catenary.expr.script.script import Script
from catenary.message import Message

CTX = SimpleNamespace(node_id="n1", chain_id="c1")


def compiled(source: str, **changes: Any) -> Script:
    return Script.compile(source, Environment(**changes))


def run(source: str, ctx: object = CTX, **functions: Any) -> Any:
    return compiled(source, script_functions=functions).call(Message("{}"), ctx)


def failure(source: str, ctx: object = CTX, **functions: Any) -> str:
    with pytest.raises(ScriptError) as caught:
        run(source, ctx, **functions)
    return str(caught.value)


def context(**more: Any) -> SimpleNamespace:
    store = MemoryCache(SystemClock())
    return SimpleNamespace(node_id="n1", chain_id="c1", global_cache=store, chain_cache=ChainCache(store, "c1"), **more)


class Box:
    """A host object."""

    size = 3

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, value: Any, mark: str = "-") -> int:
        self.kept.append((value, mark))
        return len(self.kept)

    def fail(self) -> None:
        raise ValueError("the box is shut")

    def _secret(self) -> None:
        """Not for scripts."""


# Functions


def test_a_script_calls_a_host_function() -> None:
    assert run("return [double(4), double(double(1))];", double=lambda n: n * 2) == [8, 4]


@pytest.mark.parametrize(
    "value", [None, True, 0, 1.5, "tést", [1, [None]], {"a": {"b": []}}, 'quote " and \\ back', "\u2028"]
)
def test_arguments_and_results_are_json_values(value: Any) -> None:
    seen: list[Any] = []

    def echo(given: Any) -> Any:
        seen.append(given)
        return given

    assert run(f"return [echo({json.dumps(value)}) ?? null];", echo=echo) == [value]
    assert seen == [value]


def test_half_of_a_surrogate_pair_in_an_argument_becomes_the_replacement_character() -> None:
    assert run(r"return [same('a\ud800'), same({k: '\udfff'})];", same=lambda x: x) == ["a\ufffd", {"k": "\ufffd"}]


def test_a_function_that_gives_nothing_gives_undefined() -> None:
    assert run("return typeof nothing();", nothing=lambda: None) == "undefined"


def test_a_result_is_the_scripts_own() -> None:
    shared = {"list": [1]}
    assert run("const a = give(); a.list.push(2); const b = give(); return b.list;", give=lambda: shared) == [1]
    assert shared == {"list": [1]}


def test_undefined_at_the_end_of_the_arguments_is_as_if_absent() -> None:
    assert run("return f(1, undefined);", f=lambda a, b="default": [a, b]) == [1, "default"]


def test_an_error_of_a_host_function_can_be_caught() -> None:
    source = "try { box.fail(); } catch (error) { return [error instanceof Error, error.message, box.keep(1)]; }"
    assert run(source, box=Box()) == [True, "the box is shut", 1]


def test_an_error_of_a_host_function_that_nobody_catches_is_that_of_the_script() -> None:
    assert failure("box.fail();", box=Box()) == "Error: the box is shut"


def test_an_error_without_a_text_is_told_by_its_class() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    assert failure("fail();", fail=fail) == "Error: ZeroDivisionError"


def test_wrong_arguments_are_an_error_in_the_script() -> None:
    assert "argument" in failure("box.keep(1, 2, 3, 4);", box=Box())


def test_a_result_that_is_no_json_is_an_error_in_the_script() -> None:
    assert failure("odd();", odd=lambda: {1, 2}).startswith("Error: odd gave what is no JSON value")


def test_an_async_function_is_an_error_in_the_script() -> None:
    async def late() -> int:
        return 1

    assert "late is async, and a script cannot wait" in failure("return late();", late=late)


def test_public_methods_of_an_object_can_be_called_and_nothing_else() -> None:
    box = Box()
    source = "return [box.keep('a'), box.keep('b', '+'), typeof box._secret, typeof box.size, typeof box.__init__];"
    assert run(source, box=box) == [1, 2, "undefined", "undefined", "undefined"]
    assert box.kept == [("a", "-"), ("b", "+")]


def test_what_the_host_lends_cannot_be_replaced() -> None:
    assert "read-only" in failure("f = null;", f=lambda: 1)
    assert "read-only" in failure("box.keep = null;", box=Box())
    assert "read-only" in failure("$ctx.GetSelfId = null;")


def test_a_host_function_is_called_once_for_each_call_of_the_script() -> None:
    calls: list[Any] = []
    source = "for (let i = 0; i < 20; i++) note(i); try { note('x'); } finally { note('y'); }"
    assert run(source, note=calls.append) is None
    assert calls == [*range(20), "x", "y"]


def test_a_script_cannot_swallow_a_request() -> None:
    calls: list[Any] = []
    source = """
        for (let i = 0; i < 3; i++) {
            try { note(i); } catch (e) { note('caught'); throw 'never'; } finally { note('done' + i); }
        }
        return 'end';
    """
    assert run(source, note=calls.append) == "end"
    assert calls == [0, "done0", 1, "done1", 2, "done2"]


def test_a_loop_that_tries_again_for_ever_still_gets_its_answer() -> None:
    assert run("for (;;) { try { return f(); } catch {} }", f=lambda: 5) == 5


def test_chance_and_time_are_the_same_when_a_script_is_run_again() -> None:
    seen: list[Any] = []

    def note(*values: Any) -> None:
        seen.append(values)

    source = """
        const a = Math.random(), b = Date.now(), c = new Date().getTime(), d = Date();
        note(a, b); note(c, d); note(Math.random());
        return [a, b, c, d];
    """
    a, b, c, d = run(source, note=note)
    assert seen[:2] == [(a, b), (c, d)]
    assert 0 <= a < 1


def test_time_goes_on_however_often_it_is_asked() -> None:
    source = "f(); const t = Date.now(); let n = 0; while (Date.now() - t < 5) n++; f(); return n > 0;"
    assert run(source, f=lambda: None) is True


def test_chance_is_another_in_each_call() -> None:
    script = compiled("return Math.random();")
    assert len({script.call(Message("{}")) for _ in range(20)}) == 20


def test_an_environment_says_how_often_a_script_may_call_the_host() -> None:
    script = compiled("for (;;) f();", script_functions={"f": lambda: 1}, script_host_calls=3)
    with pytest.raises(ScriptError, match="called host functions more than 3 times"):
        script.call(Message("{}"))


def test_too_many_calls_of_the_host_are_an_error() -> None:
    calls: list[int] = []
    host = ScriptHost({"f": lambda: calls.append(1)})
    script = engine_named().compile(ScriptSource("for (;;) f();", "F"), ScriptLimits(host_calls=10), host)
    with pytest.raises(ScriptError, match="called host functions more than 10 times") as caught:
        script.call(Message("{}"))
    assert len(calls) == 10
    assert "`f`" in caught.value.hint


def test_the_time_limit_counts_all_rounds() -> None:
    source = "for (let k = 0; k < 200; k++) { f(); for (let i = 0; i < 20000; i++); }"
    script = compiled(source, script_functions={"f": lambda: None}, script_timeout_s=0.2)
    with pytest.raises(ScriptError, match=r"^execution timeout"):
        script.call(Message("{}"))


def test_what_is_left_behind_by_a_promise_calls_nothing() -> None:
    calls: list[Any] = []
    run("Promise.resolve().then(() => note(1)); (async () => { await null; note(2); })();", note=calls.append)
    assert run("return note(3) ?? 1;", note=calls.append) == 1
    assert calls == [3]


# Host scripts

LIBRARY = """
const FACTOR = 3;
var settings = {unit: 'C'};
function triple(x) { return FACTOR * x; }
function shout(x) { return upper(x) + (vars.mark || '?'); }
class Point { constructor(x) { this.x = x; } }
"""


def test_scripts_see_the_globals_of_host_scripts() -> None:
    script = compiled(
        "return [triple(2), settings.unit, FACTOR, shout('a'), new Point(1).x];",
        host_scripts={"library": LIBRARY},
        script_functions={"upper": str.upper},
        vars={"mark": "!"},
    )
    assert script.call(Message("{}")) == [6, "C", 3, "A!", 1]


@pytest.mark.parametrize("source", ["settings.unit = 'F';", "triple = null;", "FACTOR = 4;", "triple.x = 1;"])
def test_what_a_host_script_defines_cannot_be_changed(source: str) -> None:
    with pytest.raises(ScriptError, match="TypeError"):
        compiled(source, host_scripts={"library": LIBRARY}).call(Message("{}"))


def test_a_host_script_that_is_wrong_is_an_error_when_scripts_are_compiled() -> None:
    with pytest.raises(ScriptError, match="SyntaxError"):
        compiled("return 1;", host_scripts={"bad": "function ("})


def test_a_host_function_cannot_be_called_while_host_scripts_are_read() -> None:
    with pytest.raises(ScriptError, match="only while a message is handled"):
        compiled("return 1;", host_scripts={"eager": "f();"}, script_functions={"f": lambda: 1})


def test_a_script_that_goes_another_way_each_time_is_an_error() -> None:
    library = "let turn = 0; function next() { return ++turn; }"
    script = compiled("f(next()); f(1);", host_scripts={"l": library}, script_functions={"f": lambda n: None})
    with pytest.raises(ScriptError, match="called other host functions when it was run again"):
        script.call(Message("{}"))


# $ctx


def test_the_ids_of_node_and_chain_are_there() -> None:
    source = "return [$ctx.GetSelfId(), $ctx.Self().GetNodeId().Id, $ctx.RuleChain().GetNodeId().Id];"
    assert run(source) == ["n1", "n1", "c1"]


@pytest.mark.parametrize("name", ["ChainCache", "GlobalCache"])
def test_a_script_keeps_values_in_a_cache(name: str) -> None:
    ctx = context()
    source = f"""
        const cache = $ctx.{name}();
        cache.Set('a1', {{x: [1]}}); cache.Set('a2', 'two', '1h30m'); cache.Set(5, null, 0);
        cache.Delete('none');
        const all = cache.GetByPrefix('a');
        cache.DeleteByPrefix('a2');
        return [cache.Get('a1'), cache.Has('a2'), cache.Has('5'), all];
    """
    assert run(source, ctx) == [{"x": [1]}, False, True, {"a1": {"x": [1]}, "a2": "two"}]
    kept = ctx.global_cache.get_by_prefix("")
    assert kept == ({"c1:a1": {"x": [1]}, "c1:5": None} if name == "ChainCache" else {"a1": {"x": [1]}, "5": None})


def test_a_missing_key_is_thrown() -> None:
    assert failure("$ctx.ChainCache().Get('none');", context()) == "Error: cache: key is missing"
    assert run("try { $ctx.GlobalCache().Get('none'); } catch (e) { return e.message; }", context()) == (
        "cache: key is missing"
    )


@pytest.mark.parametrize("ttl", ["10", "1d", "soon", 10])
def test_a_bad_time_to_live_is_thrown(ttl: Any) -> None:
    assert "invalid ttl" in failure(f"$ctx.ChainCache().Set('k', 1, {json.dumps(ttl)});", context())


def test_outside_of_a_chain_the_context_says_so() -> None:
    assert "outside of a chain" in failure("return $ctx.GetSelfId();", None)
    assert run("return typeof $ctx.ChainCache().Get;", None) == "function"


# Properties

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.integers(0, 9)),
        st.tuples(st.just("fail"), st.integers(0, 9)),
        st.tuples(st.just("guarded"), st.integers(0, 9)),
        st.tuples(st.just("finally"), st.integers(0, 9)),
        st.tuples(st.just("nested"), st.integers(0, 9)),
        st.tuples(st.just("random"), st.just(0)),
        st.tuples(st.just("branch"), st.integers(0, 9)),
    ),
    max_size=8,
)

TEXTS = {
    "call": "out.push(call({n}));",
    "fail": "try {{ fail({n}); }} catch (e) {{ out.push(e.message); }}",
    "guarded": "try {{ out.push(call({n})); }} catch (e) {{ call(99); }}",
    "finally": "try {{ out.push(call({n})); }} finally {{ call(50 + {n}); }}",
    "nested": "out.push(call(call({n})));",
    "random": "call(Math.random() + Date.now() * 0);",
    "branch": "if (call({n}) > 5) out.push(call(20)); else out.push(call(21));",
}


def expected(steps: list[tuple[str, int]]) -> tuple[list[Any], list[Any]]:
    """Give what the script returns and what it calls, as if it had run once; `None` stands for any number."""
    out: list[Any] = []
    calls: list[Any] = []
    for kind, n in steps:
        if kind == "random":
            calls.append(None)
            continue
        calls.append(-n if kind == "fail" else n)
        if kind == "nested":
            calls.append(n + 1)
        elif kind == "finally":
            calls.append(50 + n)
        elif kind == "branch":
            calls.append(20 if n + 1 > 5 else 21)
        last = calls[-1] if kind in {"nested", "branch"} else n
        out.append(f"no {n}" if kind == "fail" else last + 1)
    return out, calls


@settings(max_examples=times(60), deadline=None)
@given(STEPS)
def test_every_program_calls_the_host_exactly_as_if_it_ran_once(steps: list[tuple[str, int]]) -> None:
    calls: list[Any] = []

    def call(n: float) -> float:
        calls.append(n)
        return n + 1

    def fail(n: int) -> None:
        calls.append(-n)
        raise ValueError(f"no {n}")

    body = "\n".join(TEXTS[kind].format(n=n) for kind, n in steps)
    result = run(f"const out = [];\n{body}\nreturn out;", call=call, fail=fail)
    out, expected_calls = expected(steps)
    assert result == out
    assert len(calls) == len(expected_calls)
    assert all(want is None or want == got for want, got in zip(expected_calls, calls, strict=True))
