"""Both engines for JavaScript do the same; where one cannot, the name of the test says so."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from catenary import Engine
from catenary.cache import ChainCache, MemoryCache
from catenary.clock import SystemClock
from catenary.defaults import ChainDefaults
from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script.engine import EngineName, engine_named
from catenary.expr.script.script import Script
from catenary.message import Message

ENGINES: list[EngineName] = ["quickjs", "v8"]
MEMORY = 24 * 2**20


class Runner:
    """Compiles and calls scripts on one engine."""

    def __init__(self, name: EngineName) -> None:
        self.name = name

    def compiled(self, source: str, settings: dict[str, Any], **form: Any) -> Script:
        # The time limit of V8 goes by the clock on the wall.
        known = {"script_engine": self.name, "script_memory_bytes": MEMORY, "script_timeout_s": 15.0, **settings}
        return Script.compile(source, Environment(**known), **form)

    def __call__(
        self, source: str, data: Any = "{}", data_type: str = "JSON", ctx: object = None, **settings: Any
    ) -> Any:
        return self.compiled(source, settings).call(Message(data, "T", data_type, {"k": "v"}), ctx)

    def fails(self, source: str, data: Any = "{}", **settings: Any) -> ScriptError:
        with pytest.raises(ScriptError) as caught:
            self(source, data, **settings)
        return caught.value


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest) -> Runner:
    return Runner(request.param)


# Arguments


@pytest.mark.parametrize(
    ("data", "data_type", "seen"),
    [
        ('{"a":[1,null,"x"]}', "JSON", 'object:{"a":[1,null,"x"]}'),
        ("5", "JSON", "number:5"),
        ('"text"', "JSON", 'string:"text"'),
        ("null", "JSON", "object:null"),
        ("", "JSON", "object:{}"),
        (" \n", "JSON", "object:{}"),
        ("no json", "JSON", 'string:"no json"'),
        ('{"a":1}', "TEXT", 'string:"{\\"a\\":1}"'),
        ("x", "WEIRD", 'string:"x"'),
        (b"\x00\xff", "BINARY", "object:[0,255]"),
        ("é", "BINARY", "object:[195,169]"),
    ],
)
def test_the_payload_is_what_the_data_type_says(run: Runner, data: Any, data_type: str, seen: str) -> None:
    assert run("return typeof msg + ':' + JSON.stringify(msg);", data, data_type) == seen


def test_all_four_arguments_come_in(run: Runner) -> None:
    assert run("return [msg.a, metadata.k, msgType, dataType];", '{"a":1}') == [1, "v", "T", "JSON"]


@pytest.mark.parametrize(
    "source",
    ["return metadata.k;", "return arguments[1].k;", "return eval('meta' + 'data').k;", "return meta\\u0064ata.k;"],
)
def test_metadata_is_there_by_whatever_name_the_script_reads_it(run: Runner, source: str) -> None:
    assert run(source) == "v"


def test_chance_and_time_are_new_in_each_call(run: Runner) -> None:
    script = run.compiled("return [Math.random(), Date.now(), Date.now()];", {})
    (first, *_), (second, began, ended) = script.call(Message("{}")), script.call(Message("{}"))
    assert first != second
    assert began <= ended <= time.time() * 1000


def test_this_is_undefined(run: Runner) -> None:
    assert run("return this === undefined;") is True
    finish = "(function (a, b, c, d, write) { 'use strict'; return write(this === undefined); })"
    assert run.compiled("return 1;", {}, finish=finish).call(Message("{}")) is True


def test_the_function_can_call_itself_by_its_name(run: Runner) -> None:
    script = run.compiled("return msg > 2 ? msg : Switch(msg + 1);", {}, function="Switch")
    assert script.call(Message("0")) == 3


def test_vars_and_global_are_there_and_cannot_be_changed(run: Runner) -> None:
    settings: dict[str, Any] = {"vars": {"a": {"b": 1}}, "properties": {"p": "q"}}
    assert run("return [vars.a.b, global.p];", **settings) == [1, "q"]
    assert "TypeError" in str(run.fails("vars.a.b = 2;", **settings))
    assert run("return typeof global;") == "undefined"


@pytest.mark.parametrize(
    ("data", "source", "result"),
    [
        ("text", "return msg.data;", "text"),
        ('{"a":1}', "return msg.data;", '{"a":1}'),
        ("[1,2]", "return msg.data;", "[1,2]"),
        ("5", "return msg.data;", "5"),
        ('{"data":7}', "return msg.data;", 7),
        ('{"a":1}', "return JSON.parse(msg.data).a;", 1),
        ('{"a":1}', "return [Object.keys(msg), JSON.stringify(msg), typeof {}.data];", [["a"], '{"a":1}', "undefined"]),
        ('{"a":1}', "msg.data = 2; return Object.keys(msg);", ["a", "data"]),
    ],
)
def test_msg_data_is_the_raw_payload(run: Runner, data: str, source: str, result: Any) -> None:
    assert run(source, data) == result


# Results


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("undefined", None),
        ("0", 0),
        ("-7", -7),
        ("2 ** 31", 2**31),
        ("2 ** 53 - 1", 2**53 - 1),
        ("1.5", 1.5),
        ("12345678901234567890n", 12345678901234567890),
        ("-5n", -5),
        ("''", ""),
        ("'?!'", "?!"),
        ("'tést \\u{1F600}'", "tést \U0001f600"),
        ("[1, [], {a: {}}]", [1, [], {"a": {}}]),
        ("{a: undefined, b: NaN}", {"b": None}),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("new Boolean(true)", True),
        ("new Map([[1, 2]])", {}),
        ("() => 1", None),
        ("Symbol()", None),
    ],
)
def test_a_result_is_a_json_value(run: Runner, returned: str, result: Any) -> None:
    assert run(f"return {returned};") == result


def test_nothing_returned_is_nothing(run: Runner) -> None:
    assert run("msg.a = 1;") is None


@pytest.mark.parametrize("promise", ["Promise.resolve(1)", "(async () => 1)()", "new Promise(() => {})"])
def test_a_promise_is_an_empty_object_and_is_not_awaited(run: Runner, promise: str) -> None:
    assert run(f"return {promise};") == {}


def test_integers_that_the_script_leaves_alone_keep_their_digits(run: Runner) -> None:
    data = '{"id":12345678901234567890,"n":1}'
    assert run("msg.n = 2; return msg;", data) == {"id": 12345678901234567890, "n": 2}


@pytest.mark.parametrize("text", ["a\0b", "\0", "\u2028\u2029", "\ufeff", "'\"`\\ ${x}", "</script>", "\r\n\t"])
def test_every_character_goes_in_and_comes_out(run: Runner, text: str) -> None:
    assert run("return msg;", text, "TEXT") == text
    assert run("return [msg, metadata.k];", text, "TEXT") == [text, "v"]


def test_half_of_a_surrogate_pair_becomes_the_replacement_character(run: Runner) -> None:
    assert run("return msg;", "a\ud800b", "TEXT") == "a\ufffdb"
    assert run("return ['x\\ud800', 'y'];") == ["x\ufffd", "y"]


def test_long_texts_go_in_and_come_out(run: Runner) -> None:
    text = "é" * 1_000_000
    assert run("return msg + '!';", text, "TEXT") == f"{text}!"


def test_a_function_of_the_component_finishes_the_result(run: Runner) -> None:
    finish = "(function (result, metadata, msgType, dataType, write) { return write([result, metadata, dataType]); })"
    script = run.compiled("metadata.k = 'w'; return 5;", {}, finish=finish)
    assert script.call(Message("{}", metadata={"k": "v"})) == [5, {"k": "w"}, "JSON"]


def test_empty_json_may_be_handed_over_as_text(run: Runner) -> None:
    assert run.compiled("return [msg];", {}, blank_is_text=True).call(Message("")) == [""]


# Errors


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("throw 'too hot';", "too hot"),
        ("throw new Error('boom');", "Error: boom"),
        ("throw {code: 5};", '{"code":5}'),
        ("throw 5;", "5"),
        ("throw null;", "null"),
        ("throw undefined;", "undefined"),
        ("throw '';", "the script threw an empty text"),
        ("throw {toJSON() { throw new Error('worse'); }};", "Error: worse"),
        ("return absent;", "ReferenceError: absent is not defined"),
        ("x = 1;", "ReferenceError: x is not defined"),
    ],
)
def test_the_text_of_what_is_thrown_is_the_error(run: Runner, source: str, text: str) -> None:
    assert str(run.fails(source)) == text


def test_errors_of_the_engine_itself_are_worded_by_it(run: Runner) -> None:
    quickjs, v8 = "cannot read property 'b' of undefined", "Cannot read properties of undefined (reading 'b')"
    own = {"quickjs": f"TypeError: {quickjs}", "v8": f"TypeError: {v8}"}
    assert str(run.fails("return msg.a.b;")) == own[run.name]


def test_an_error_names_its_line(run: Runner) -> None:
    error = run.fails("var a = 1;\n  throw new Error('no');\n")
    assert "line 2, column" in error.hint
    assert "`throw new Error('no');`" in error.hint
    assert error.position > len("var a = 1;")


@pytest.mark.parametrize("source", ["retrun 5;", "return (1;", "let a; let a;", "if (", "return 08;", "}", "await 1;"])
def test_a_script_that_is_wrong_is_refused(run: Runner, source: str) -> None:
    error = run.fails(f"var fine = 1;\n{source}")
    assert str(error).startswith("the script is not valid")
    assert "SyntaxError: " in str(error)


def test_the_place_of_an_error_of_syntax_is_told(run: Runner) -> None:
    assert "at line 2, column " in str(run.fails("var fine = 1;\nretrun 5;\n"))


@pytest.mark.parametrize(
    "source",
    [
        "} , (function () { for (;;); })(), function () {",
        "}; function other() {",
        "} function Filter() { return true;",
        "return 1; } + (() => 'out')() + function () {",
    ],
)
def test_a_source_that_closes_its_function_is_refused_and_not_run(run: Runner, source: str) -> None:
    assert "SyntaxError" in str(run.fails(source))


@pytest.mark.parametrize("name", ENGINES)
def test_without_its_package_one_sentence_names_the_extra(name: EngineName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"catenary.expr.script.{name}", None)
    extra = {"quickjs": "js", "v8": "v8"}[name]
    with pytest.raises(ScriptError, match=rf"pip install 'catenary\[{extra}\]'"):
        engine_named(name)


# Limits


@pytest.mark.parametrize(
    "source",
    [
        "for (;;);",
        "while (true) { try { for (;;); } catch {} }",
        "try { for (;;); } finally { for (;;); }",
        "const a = [3, 1]; for (;;) a.sort();",
        "return /(a+)+$/.test('a'.repeat(40) + 'b');",
        "for (;;) JSON.parse('[1]');",
    ],
)
def test_a_loop_without_end_is_stopped(run: Runner, source: str) -> None:
    script = run.compiled(source, {"script_timeout_s": 0.2})
    began = time.process_time()
    with pytest.raises(ScriptError, match=r"^execution timeout: the script ran longer than 0\.2 s"):
        script.call(Message("{}"))
    assert time.process_time() - began < 5
    assert run("return 1;", script_timeout_s=10) == 1


def test_a_script_may_be_called_after_it_was_stopped(run: Runner) -> None:
    script = run.compiled("while (msg.spin); return msg.n;", {"script_timeout_s": 0.5})
    for n in range(3):
        with pytest.raises(ScriptError, match="execution timeout"):
            script.call(Message({"spin": True}))
        assert script.call(Message({"spin": False, "n": n})) == n


@pytest.mark.parametrize(
    "source",
    [
        "const a = []; for (;;) a.push(new Array(1000).fill(a.length));",
        "let a; for (;;) a = {a};",
        "let s = 'ab'; for (;;) s += s;",
    ],
)
def test_a_script_that_fills_the_memory_is_stopped(run: Runner, source: str) -> None:
    assert str(run.fails(source, script_timeout_s=10.0)) == "out of memory: the script took more than 24 MiB"
    assert run("return 1;") == 1


def test_the_memory_of_typed_arrays_counts(run: Runner) -> None:
    assert str(run.fails("return new Uint8Array(2 ** 26).length;")).startswith("out of memory")
    assert run("return new Uint8Array(2 ** 20).length;") == 2**20


def test_endless_recursion_is_an_error(run: Runner) -> None:
    assert str(run.fails("function f() { return f() + 1; } return f();")).startswith("stack overflow")
    assert run("return 1;") == 1


@pytest.mark.parametrize(
    "source", ["new Array(2 ** 32 - 1).indexOf(5)", "Array.prototype.fill.call({length: 2 ** 53 - 1}, 0)"]
)
def test_a_built_in_function_that_would_take_for_ever_refuses(run: Runner, source: str) -> None:
    assert "a list has at most" in str(run.fails(f"return {source};"))


# Isolation


@pytest.mark.parametrize(
    "attack",
    [
        "globalThis.kept = 1;",
        "Object.prototype.kept = 1;",
        "Array.prototype.kept = 1;",
        "Math.kept = 1;",
        "JSON.parse = () => ({});",
        "vars.kept = 1;",
        "Filter.kept = 1;",
        "msg.__proto__.kept = 1;",
        "Error.prepareStackTrace = () => 'x';",
        "(() => {}).constructor.prototype.kept = 1;",
    ],
)
def test_what_one_message_leaves_behind_no_other_finds(run: Runner, attack: str) -> None:
    script = run.compiled(
        f"if (msg.attack) {{ try {{ {attack} }} catch {{}} return; }}"
        "return [typeof kept, typeof {}.kept, typeof [].kept, typeof Math.kept, typeof vars.kept, typeof Filter.kept,"
        " typeof (() => {}).kept, JSON.parse('1'), typeof new Error('e').stack];",
        {},
    )
    script.call(Message({"attack": True}))
    undefined = ["undefined"] * 7
    assert script.call(Message({"attack": False})) == [*undefined, 1, "string"]
    assert run("return [typeof kept, typeof {}.kept];") == ["undefined", "undefined"]


def test_a_stack_tells_nothing_by_which_the_way_in_could_be_found() -> None:
    stack = Runner("v8")("return new Error('x').stack;")
    assert "enter_" not in stack


@pytest.mark.parametrize(
    "name",
    ["console", "setTimeout", "clearTimeout", "fetch", "require", "process", "WebAssembly", "SharedArrayBuffer",
     "Atomics", "Intl", "structuredClone", "queueMicrotask", "performance", "atob"],
)  # fmt: skip
def test_nothing_reaches_outside(run: Runner, name: str) -> None:
    assert run(f"return typeof {name};") == "undefined"


def test_threads_call_one_script_at_once(run: Runner) -> None:
    script = run.compiled("let n = 0; for (let i = 0; i < 1000; i++) n += msg; return n;", {})
    results: dict[int, Any] = {}

    def call(number: int) -> None:
        results[number] = [script.call(Message(str(number))) for _ in range(5)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [number * 1000] * 5 for number in range(4)}


# The host


class Box:
    """A host object."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, value: Any) -> int:
        self.kept.append(value)
        return len(self.kept)

    def fail(self) -> None:
        raise ValueError("the box is shut")


def test_scripts_call_host_functions_and_methods_once_for_each_call(run: Runner) -> None:
    box = Box()
    functions = {"double": lambda n: n * 2, "box": box}
    source = "const a = double(4); box.keep(a); box.keep(double(a)); return [a, box.keep('end')];"
    assert run(source, script_functions=functions) == [8, 3]
    assert box.kept == [8, 16, "end"]


def test_an_error_of_a_host_function_can_be_caught(run: Runner) -> None:
    functions = {"box": Box()}
    assert (
        run("try { box.fail(); } catch (error) { return error.message; }", script_functions=functions)
        == "the box is shut"
    )
    assert str(run.fails("box.fail();", script_functions=functions)) == "Error: the box is shut"


def test_limits_hold_while_host_functions_are_called(run: Runner) -> None:
    functions = {"f": lambda: 1}
    error = run.fails("f(); for (;;);", script_functions=functions, script_timeout_s=0.1)
    assert str(error).startswith("execution timeout")


def test_scripts_of_the_host_define_globals(run: Runner) -> None:
    scripts = {"lib": "const FACTOR = 3; function triple(x) { return FACTOR * x; }"}
    assert run("return [triple(2), FACTOR];", host_scripts=scripts) == [6, 3]


def test_the_context_gives_ids_and_caches(run: Runner) -> None:
    store = MemoryCache(SystemClock())
    ctx = SimpleNamespace(node_id="n1", chain_id="c1", global_cache=store, chain_cache=ChainCache(store, "c1"))
    source = "const c = $ctx.ChainCache(); c.Set('a', {n: 1}); return [$ctx.GetSelfId(), c.Get('a').n, c.Has('b')];"
    assert run(source, ctx=ctx) == ["n1", 1, False]
    with pytest.raises(ScriptError):
        run("return $ctx.ChainCache().Get('missing');", ctx=ctx)


@pytest.mark.parametrize("cache", ["ChainCache", "GlobalCache"])
def test_null_in_a_cache_is_read_as_null(run: Runner, cache: str) -> None:
    store = MemoryCache(SystemClock())
    ctx = SimpleNamespace(global_cache=store, chain_cache=ChainCache(store, "c1"))
    source = f"const c = $ctx.{cache}(); c.Set('a', null); return [c.Get('a') === null, c.Has('a'), c.GetByPrefix('')];"
    assert run(source, ctx=ctx) == [True, True, {"a": None}]


def test_time_and_chance_are_the_same_when_a_script_is_run_again(run: Runner) -> None:
    source = "const a = [Date.now(), Math.random()]; f(); f(); return a[0] <= Date.now() && a[1] !== Math.random();"
    assert run(source, script_functions={"f": lambda: None}) is True


@pytest.mark.parametrize("timeout_s", [0.1, 0.4])
def test_all_rounds_of_a_call_have_one_time_limit(run: Runner, timeout_s: float) -> None:
    """The record that is read again in each round makes a loop of requests as long as the square of its rounds."""
    source = "for (let i = 0; i < 100_000; i++) f(i);"
    asked: list[int] = []
    limits = {"script_timeout_s": timeout_s, "script_host_calls": 100_000}
    script = run.compiled(source, {"script_functions": {"f": asked.append}, **limits})
    began = time.thread_time()
    with pytest.raises(ScriptError, match=rf"^execution timeout: the script ran longer than {timeout_s} s"):
        script.call(Message("{}"))
    assert len(asked) < 10_000
    assert time.thread_time() - began < 2 * timeout_s


# In a chain


@pytest.mark.parametrize("name", ENGINES)
async def test_chains_run_on_the_engine_that_the_defaults_name(name: EngineName) -> None:
    async with Engine(defaults=ChainDefaults(script_engine=name)) as engine:
        node = {
            "id": "n",
            "type": "jsTransform",
            "configuration": {"jsScript": "msg.stack = new Error('e').stack; return {msg};"},
        }
        outcome = await engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}}).run({"a": 1})
    assert ("eval at" in outcome.message.value["stack"]) is (name == "v8")
