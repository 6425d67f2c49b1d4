"""Scripts share contexts, and nothing that one message changes in them reaches another one."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script import pool as script_pool
from catenary.expr.script.script import Script
from catenary.message import Message

ROOTS = """
    function* generator() {}
    async function later() {}
    async function* both() {}
    const view = $ctx.ChainCache();
    const samples = [
        globalThis, generator, generator.prototype, later, both, both.prototype, () => 1, class {}, [], {}, '', 1,
        true, 1n, /x/, Symbol('s'), [].values(), ''[Symbol.iterator](), new Map().keys(), new Set().values(),
        ''.matchAll(/x/g),
        new Uint8Array(1), new DataView(new ArrayBuffer(1)), new Error('e'), new Date(0), Promise.resolve(),
        new WeakMap(), new Proxy({}, {}), msg, metadata, $ctx, view, vars, Filter, Filter.prototype,
        [].values().map(x => x), Iterator.from({next() { return {done: true}; }}), msg.list,
    ];
"""

OPEN_THINGS = (
    ROOTS
    + """
    const seen = new Set(), open = [], waiting = [];
    const fresh = new Set(samples.slice(1)), shared = [globalThis, $ctx, vars, Filter, view];
    for (const sample of samples) {
        if (shared.includes(sample)) waiting.push([sample, '']);
        waiting.push([Object.getPrototypeOf(Object(sample)), typeof sample]);
        if (typeof sample === 'function' && sample.prototype && sample !== Filter) {
            waiting.push([Object.getPrototypeOf(sample.prototype), 'prototype']);
        }
    }
    while (waiting.length > 0) {
        const [value, path] = waiting.pop();
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
        if (fresh.has(value) && !shared.includes(value)) continue;
        seen.add(value);
        if (!Object.isFrozen(value)) open.push(path);
        waiting.push([Object.getPrototypeOf(value), path + '.__proto__']);
        for (const key of Reflect.ownKeys(value)) {
            const found = Object.getOwnPropertyDescriptor(value, key);
            for (const part of ['value', 'get', 'set']) waiting.push([found[part], path + '.' + String(key)]);
        }
    }
    return [open, seen.size > 500];
"""
)


def test_all_that_scripts_share_is_frozen() -> None:
    script = Script.compile(OPEN_THINGS, Environment(vars={"a": {"b": [1]}}))
    assert script.call(Message({"list": [1]}, metadata={"k": "v"})) == [[], True]


ATTACKS = [
    "globalThis.leak = 1;",
    "globalThis['leak'] = 1;",
    "(0, eval)('var leak = 1');",
    "(0, eval)('function leak() {}');",
    "(0, eval)('let leak = 1');",
    "(0, eval)('leak = 1');",
    "new Function('leak = 1')();",
    "(function () { return this; }).call(undefined).leak = 1;",
    "Object.defineProperty(globalThis, 'leak', {value: 1});",
    "Reflect.set(globalThis, 'leak', 1);",
    "Object.setPrototypeOf(globalThis, {leak: 1});",
    "Object.prototype.leak = 1;",
    "msg.__proto__.leak = 1;",
    "msg.__proto__.__proto__.leak = 1;",
    "msg.constructor.prototype.leak = 1;",
    "[].__proto__.leak = 1;",
    "msg.list.__proto__.leak = 1;",
    "Array.prototype.push = () => 'leak';",
    "Array.prototype[0] = 'leak';",
    "String.prototype.leak = 1;",
    "JSON.parse = JSON.stringify = () => 'leak';",
    "Math.random = () => 4;",
    "Date.now = () => 4;",
    "Date.prototype.getTime = () => 4;",
    "Number.prototype.toString = () => 'leak';",
    "Function.prototype.call = Function.prototype.apply = () => 'leak';",
    "RegExp.prototype.exec = () => 'leak';",
    "Promise.prototype.then = () => 'leak';",
    "Error.prepareStackTrace = () => 'leak';",
    "Error.stackTraceLimit = 0;",
    "Object.getPrototypeOf(function* () {}).prototype.next = () => 'leak';",
    "Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({done: true});",
    "Filter.leak = 1;",
    "Filter.prototype.leak = 1;",
    "this.body = () => 'leak';",
    "this.finish = () => 'leak';",
    "this.names.leak = 1;",
    "vars.leak = 1;",
    "vars.o.leak = 1;",
    "$ctx.leak = 1;",
    "$ctx.ChainCache().Get = () => 'leak';",
    "delete Object.prototype.toString;",
    "delete globalThis.JSON;",
    "for (const key of Object.getOwnPropertyNames(globalThis)) { try { globalThis[key] = 'leak'; } catch {} }",
]

LOOK = """
    return [
        typeof leak, ({}).leak, [].leak, ''.leak, typeof Filter.leak, Filter.prototype.leak, vars.leak, vars.o.leak,
        $ctx.leak, [1, 2].push(3), JSON.stringify({a: 1}), Math.random() < 1, Date.now() > 1e12, String(5), [][0],
        /a/.exec('a')[0], [...[1]], [...(function* () { yield 1; })()], Math.max.apply(null, [1, 2]), String({}),
        new Error('x').stack !== 'leak', new Date(7).getTime(), String($ctx.ChainCache().Get).includes('ask'),
    ];
"""


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_one_message_changes_reaches_no_other(attack: str) -> None:
    settings = Environment(vars={"o": {}})
    script = Script.compile(f"if (msg.first) {{ {attack} }} {LOOK}", settings)
    other = Script.compile(LOOK, settings)
    before = [script.call(Message("{}")), other.call(Message("{}"))]
    try:
        script.call(Message({"first": True, "list": []}))
    except ScriptError as error:
        assert "Error" in str(error)
    assert [script.call(Message("{}")), other.call(Message("{}"))] == before


def test_arguments_are_the_scripts_own_in_each_call() -> None:
    message = Message({"list": [1], "o": {}}, metadata={"k": "v"})
    source = "msg.list.push(2); msg.o.x = 1; metadata.k += 'w'; delete metadata.none; return [msg, metadata];"
    script = Script.compile(source)
    first = script.call(message)
    assert first == [{"list": [1, 2], "o": {"x": 1}}, {"k": "vw"}]
    assert script.call(message) == first
    assert (message.value, dict(message.metadata)) == ({"list": [1], "o": {}}, {"k": "v"})


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("const o = {}; o.toString = () => 'mine'; return String(o);", "mine"),
        ("const o = {}; o.constructor = 1; o.valueOf = 2; o.hasOwnProperty = 3; return Object.keys(o).length;", 3),
        ("const e = new Error('a'); e.name = 'Mine'; e.message = 'b'; return String(e);", "Mine: b"),
        ("function P() {} P.prototype = Object.create(Map.prototype); P.prototype.constructor = P;", None),
        ("function P() {} P.toString = () => 'P!'; return String(P);", "P!"),
        ("const a = []; a.toString = () => 'list'; return `${a}`;", "list"),
        ("const d = new Date(0); d.toJSON = () => 'day'; return [d];", ["day"]),
        ("class A { toString() { return 'A!'; } } return `${new A()}`;", "A!"),
        ("return Object.assign(Object.create(Date.prototype), {toString: 1}).toString;", 1),
        ("const m = new Map(); m.constructor = 5; return m.constructor;", 5),
        ("return [typeof Object.prototype.toString, {}.toString === Object.prototype.toString];", ["function", True]),
        ("return Object.keys(Object.getOwnPropertyDescriptors(Error.prototype)).includes('name');", True),
    ],
)  # fmt: skip
def test_objects_of_a_script_may_have_properties_that_prototypes_have(source: str, result: Any) -> None:
    assert run(source) == result


def run(source: str) -> Any:
    return Script.compile(source).call(Message("{}"))


def machines() -> int:
    return len({id(place.shared) for place in script_pool._threads.places.values()})


def test_many_scripts_share_one_context() -> None:
    before = machines()
    scripts = [Script.compile(f"return {n} + vars.n;", Environment(vars={"n": n % 3})) for n in range(300)]
    assert [script.call(Message("{}")) for script in scripts] == [n + n % 3 for n in range(300)]
    assert machines() <= before + 1


def test_scripts_that_nobody_has_any_more_are_forgotten() -> None:
    for n in range(300):
        Script.compile(f"return {n};")
    gc.collect()
    kept = Script.compile("return 'kept';")
    for n in range(300):
        Script.compile(f"return {n};")
    assert len(script_pool._threads.places) < 400
    assert kept.call(Message("{}")) == "kept"


def test_a_script_that_fills_the_memory_costs_the_others_nothing() -> None:
    settings = Environment(script_memory_bytes=8 * 2**20)
    good = Script.compile("return 'x'.repeat(1000).length;", settings)
    greedy = Script.compile("const a = []; for (;;) a.push({a});", settings)
    for _ in range(3):
        assert good.call(Message("{}")) == 1000
        with pytest.raises(ScriptError, match="out of memory"):
            greedy.call(Message("{}"))


def test_contexts_with_other_limits_are_other_contexts() -> None:
    small = Script.compile("return 'x'.repeat(3000000).length;", Environment(script_memory_bytes=2 * 2**20))
    large = Script.compile("return 'x'.repeat(3000000).length;", Environment(script_memory_bytes=32 * 2**20))
    assert large.call(Message("{}")) == 3_000_000
    with pytest.raises(ScriptError, match="out of memory"):
        small.call(Message("{}"))


def test_threads_have_contexts_of_their_own() -> None:
    script = Script.compile("let n = 0; for (let i = 0; i < msg.n; i++) n += i; return n;")
    wrong: list[Any] = []

    def work(n: int) -> None:
        for _ in range(100):
            own = Script.compile(f"return {n} * 2;")
            if script.call(Message({"n": n})) != n * (n - 1) / 2 or own.call(Message("{}")) != n * 2:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
