"""The JavaScript that scripts are written in: each row of what a script author may rely on."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script.script import Script
from catenary.message import Message


def run(source: str, data: Any = "{}", data_type: str = "JSON", **settings: Any) -> Any:
    return Script.compile(source, Environment(**settings)).call(Message(data, "T", data_type, {"kind": "a"}))


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("let a = 1; const b = 2; return a + b;", 3),
        ("return [1, 2, 3].map(x => x * 2);", [2, 4, 6]),
        ("const {a, ...rest} = {a: 1, b: 2, c: 3}; return rest;", {"b": 2, "c": 3}),
        ("const [x, y = 5] = [1]; return [...'ab', x, y];", ["a", "b", 1, 5]),
        ("return `a${1 + 1}b`;", "a2b"),
        ("function f(a = 1, ...more) { return [a, more]; } return f(undefined, 2, 3);", [1, [2, 3]]),
        (
            "class A { #x = 1; static s = 2; get x() { return this.#x; } } return [new A().x, A.s, 'x' in new A()];",
            [1, 2, True],
        ),
        ("class A { f() { return 1; } } class B extends A { f() { return super.f() + 1; } } return new B().f();", 2),
        ("function* g() { yield 1; yield* [2, 3]; } return [...g()];", [1, 2, 3]),
        ("return [...new Set([1, 1, 2]), new Map([['k', 'v']]).get('k')];", [1, 2, "v"]),
        ("return new Proxy({}, {get: (o, k) => 'no ' + k}).x;", "no x"),
        ("return Reflect.ownKeys({b: 1, a: 2});", ["b", "a"]),
        ("const s = Symbol('x'); return [{[s]: 1}[s], s.description];", [1, "x"]),
        ("return 2 ** 10;", 1024),
        ("return [[1, 2].includes(2), 'a'.padStart(3, '-'), Object.entries({a: 1}), Object.values({a: 1})];",
         [True, "--a", [["a", 1]], [1]]),
        ("const a = {b: null}; return [a?.b?.c ?? 'none', a.f?.()];", ["none", None]),
        ("return [[1, [2, [3]]].flat(Infinity), [[1], [2]].flatMap(x => x), [1, 3].at(-1)];", [[1, 2, 3], [1, 2], 3]),
        ("return 'a-b-c'.replaceAll('-', '+');", "a+b+c"),
        ("return [...'a1b2'.matchAll(/[a-z](\\d)/g)].map(m => m[1]);", ["1", "2"]),
        ("return '2024-05'.match(/(?<year>\\d+)-/).groups.year;", "2024"),
        ("return Object.hasOwn({a: 1}, 'a') && Object.fromEntries([['a', 1]]).a === 1;", True),
        ("try { throw 1; } catch { return 'caught'; }", "caught"),
        ("let a = null; a ??= 5; a ||= 6; a &&= 7; return a;", 7),
        ("return 1_000;", 1000),
        ("return String(10n ** 20n);", "100000000000000000000"),
        ("return [1, 2, 3].findLast(x => x < 3);", 2),
        ("return new Date(0).toISOString() + typeof Date.now();", "1970-01-01T00:00:00.000Znumber"),
        ("return [new Date(2024, 1) instanceof Date, Date.UTC(1970, 0), Date.parse('1970-01-01')];", [True, 0, 0]),
        ("class Day extends Date {} return new Day(0).getTime();", 0),
        ("return [Date.name, Date.length, typeof Date(), new Date().constructor.name];", ["Date", 7, "string", "Date"]),
        ("return encodeURIComponent('ä ') + decodeURIComponent('%20') + parseInt('12px') + parseFloat('1.5x');",
         "%C3%A4%20 121.5"),
        ("return [typeof Promise.resolve, typeof WeakMap, typeof Uint8Array, typeof JSON.parse];",
         ["function", "function", "function", "function"]),
        ("label: for (;;) { for (;;) break label; } return 'out';", "out"),
        ("return new Function('a', 'return a + 1')(1) + eval('1 + 1');", 4),
    ],
)  # fmt: skip
def test_the_language_is_there(source: str, result: Any) -> None:
    assert run(source) == result


@pytest.mark.parametrize(
    "name",
    [
        *("console", "require", "module", "exports", "process", "Buffer", "global", "window", "self", "navigator"),
        *("FinalizationRegistry", "WeakRef"),
        *("setTimeout", "setInterval", "setImmediate", "clearTimeout", "queueMicrotask", "performance"),
        *("fetch", "XMLHttpRequest", "WebSocket", "URL", "URLSearchParams", "atob", "btoa"),
        *("TextEncoder", "TextDecoder", "Intl", "structuredClone", "WebAssembly", "SharedArrayBuffer", "Atomics"),
        *("std", "os", "print", "load", "scriptArgs", "gc", "DOMException"),
    ],
)
def test_what_is_no_part_of_the_language_is_absent(name: str) -> None:
    assert run(f"return typeof {name};") == "undefined"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("undeclared = 1;", "ReferenceError"),
        ("Object.freeze(msg).x = 1;", "TypeError"),
        ("return (function () { return this.x; })();", "TypeError"),
        ("return arguments.callee;", "TypeError"),
    ],
)
def test_scripts_are_strict(source: str, error: str) -> None:
    with pytest.raises(ScriptError, match=error):
        run(source)


def test_what_strict_code_forbids_fails_the_load() -> None:
    with pytest.raises(ScriptError, match="not valid"):
        Script.compile("with (msg) { return x; }")


def test_a_promise_is_not_awaited() -> None:
    assert run("return Promise.resolve(true);") == {}
    assert run("return (async () => true)();") == {}


def test_bytes_are_an_array_of_numbers() -> None:
    source = "let sum = 0; for (const byte of msg) sum += byte; return [msg.length, msg[0], sum, Array.isArray(msg)];"
    assert run(source, b"\x01\x02\xff", "BINARY") == [3, 1, 258, True]


def test_arguments_have_their_types() -> None:
    assert run("return [typeof msg, typeof metadata, typeof msgType, typeof dataType];") == [
        "object",
        "object",
        "string",
        "string",
    ]
    assert run("return [dataType === 'JSON', [dataType], dataType.length];") == [True, ["JSON"], 4]


def test_vars_are_always_there_and_global_only_when_the_engine_has_properties() -> None:
    assert run("return [typeof vars, Object.keys(vars).length, typeof global];") == ["object", 0, "undefined"]
    assert run("return [vars.a, global.b.c];", vars={"a": 1}, properties={"b": {"c": 2}}) == [1, 2]
    assert run("return [globalThis.vars.a, globalThis.global];", vars={"a": 1}) == [1, None]


def test_scripts_of_two_chains_see_their_own_vars() -> None:
    one = Script.compile("return vars.a;", Environment(vars={"a": 1}))
    two = Script.compile("return vars.a;", Environment(vars={"a": 2}))
    assert [one.call(Message("{}")), two.call(Message("{}")), one.call(Message("{}"))] == [1, 2, 1]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("throw 'boom';", "boom"),
        ("throw new Error('boom');", "Error: boom"),
        ("throw 5;", "5"),
        ("throw null;", "null"),
        ("throw undefined;", "undefined"),
        ("throw {a: 1};", '{"a":1}'),
        ("throw [1];", "[1]"),
        ("throw '';", "the script threw an empty text"),
        ("class Odd extends Error { constructor() { super('o'); this.name = 'Odd'; } } throw new Odd();", "Odd: o"),
        ("Promise.reject(5); throw new TypeError('t');", "TypeError: t"),
    ],
)
def test_a_thrown_values_text_is_the_error(source: str, text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        run(source)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("data", "source", "result"),
    [
        ('{"id":12345678901234567}', "return msg;", {"id": 12345678901234567}),
        ('{"id":12345678901234567}', "return {msg, more: msg.id};", {"msg": {"id": 12345678901234567},
                                                                   "more": 12345678901234567}),
        ('{"id":9007199254740993,"n":1}', "msg.n++; return msg;", {"id": 9007199254740993, "n": 2}),
        ('{"a":-9223372036854775809}', "return msg;", {"a": -9223372036854775809}),
        ('{"a":123456789012345678901234567890}', "return [msg.a];", [123456789012345678901234567890]),
        ("[9007199254740993,9007199254740995]", "return msg;", [9007199254740993, 9007199254740995]),
        ('{"a":9007199254740992,"b":9007199254740993}', "return msg;", {"a": 9007199254740992, "b": 9007199254740993}),
        ('[{"a":9007199254740993},{"a":9007199254740992}]', "return {msg};",
         {"msg": [{"a": 9007199254740993}, {"a": 9007199254740992}]}),
        ('[{"a":9007199254740993,"b":1},{"b":9007199254740992}]', "return msg.map(x => ({a: x.a, b: x.b}));",
         [{"a": 9007199254740993, "b": 1}, {"b": 9007199254740992}]),
        ("9007199254740993", "return msg;", 9007199254740993),
        ('{"a":1e25}', "return msg;", {"a": 1e25}),
        ('{"a":9007199254740993}', "return msg.a / 2;", 4503599627370496),
        ('{"a":9007199254740993}', "return String(msg.a);", "9007199254740992"),
    ],
)  # fmt: skip
def test_integers_that_a_script_leaves_alone_keep_their_digits(data: str, source: str, result: Any) -> None:
    value = run(source, data)
    assert value == result
    assert repr(value) == repr(result)
