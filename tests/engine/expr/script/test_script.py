"""JavaScript in chains: what a script is given, what it may return, and what stops it."""

from __future__ import annotations

import gc
import sys
import threading
import time
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from catenary.errors import ScriptError
from catenary.expr import Environment
from catenary.expr.script.script import Script, ScriptFunction
from catenary.message import Message

INTENT = "var data = JSON.parse(msg.data); return data.action !== undefined;"


def environment(**changes: Any) -> Environment:
    return Environment(**{"script_memory_bytes": 16 * 2**20, **changes})


def run(source: str, data: Any = "{}", data_type: str = "JSON", **settings: Any) -> Any:
    return Script.compile(source, environment(**settings)).call(Message(data, "T", data_type, {"kind": "a"}))


def failure(source: str, data: Any = "{}", **settings: Any) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        run(source, data, **settings)
    return caught.value


@pytest.mark.parametrize(
    ("data", "data_type", "seen"),
    [
        ('{"a":[1,"x",null]}', "JSON", {"a": [1, "x", None]}),
        ("[1,2]", "JSON", [1, 2]),
        ("41", "JSON", 41),
        ('"text"', "JSON", "text"),
        ("true", "JSON", True),
        ("null", "JSON", None),
        ("", "JSON", {}),
        (" \n", "JSON", {}),
        ("{nope", "JSON", "{nope"),
        ('{"a":1}', "TEXT", '{"a":1}'),
        ('{"a":1}', "json", '{"a":1}'),
        (b"\x00\xffA", "BINARY", [0, 255, 65]),
        ("Hi", "BINARY", [72, 105]),
        ('{"big":12345678901234567}', "JSON", {"big": 12345678901234567}),
    ],
)
def test_msg_is_the_payload(data: Any, data_type: str, seen: Any) -> None:
    assert run("return msg;", data, data_type) == seen


def test_the_other_arguments_are_texts() -> None:
    assert run("return [metadata.kind, metadata.none === undefined, msgType, dataType];") == ["a", True, "T", "JSON"]


def test_metadata_that_is_no_text_is_seen_as_json_text() -> None:
    script = Script.compile("return metadata;")
    assert script.call(Message("{}", metadata={"n": 1, "o": {"b": [1]}, "none": None})) == {
        "n": "1",
        "o": '{"b":[1]}',
        "none": "",
    }


@pytest.mark.parametrize(
    ("data", "data_type", "kept"),
    [
        ('{"action":"on"}', "JSON", True),
        ('{"x":1}', "JSON", False),
        ('{"action":"on"}', "TEXT", True),
        ('{"x":1}', "TEXT", False),
        (b'{"action":"on"}', "BINARY", True),
        ("[1,2]", "JSON", False),
        ("5", "JSON", False),
        ("true", "JSON", False),
    ],
)
def test_the_raw_payload_is_read_as_msg_data(data: Any, data_type: str, kept: bool) -> None:
    assert run(INTENT, data, data_type) is kept


def test_a_payload_with_a_key_data_keeps_it() -> None:
    assert run("return msg.data;", '{"data":{"x":1}}') == {"x": 1}


@pytest.mark.parametrize("data", ['{"a":1}', "[1,2]", '"s"'])
def test_the_raw_payload_is_no_part_of_the_value(data: str) -> None:
    plain = run("return [JSON.stringify(msg), typeof msg, Object.keys(msg), Array.isArray(msg)];", data)
    untouched = f"var msg = JSON.parse({data!r});"
    assert plain == run(f"{untouched} return [JSON.stringify(msg), typeof msg, Object.keys(msg), Array.isArray(msg)];")


def test_the_raw_payload_is_read_from_msg_alone() -> None:
    assert run(
        "return ['data' in {}, {}.data === undefined, 'x'.data === undefined, metadata.data === undefined];"
    ) == [
        False,
        True,
        True,
        True,
    ]


def test_a_key_data_may_be_written() -> None:
    assert run("msg.data = 5; return msg;", '{"a":1}') == {"a": 1, "data": 5}


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("", None),
        ("  \n", None),
        ("return;", None),
        ("return null;", None),
        ("return function () {};", None),
        ("return true;", True),
        ("return new Boolean(true);", True),
        ("return 1;", 1),
        ("return 5e9;", 5_000_000_000),
        ("return 1.5;", 1.5),
        ("return 10n ** 20n;", 10**20),
        (r"return 'a\0b';", "a\0b"),
        (r"return '\ud83d\ude00';", "\N{GRINNING FACE}"),
        (r"return ['\ud800', '\\ud800'];", ["�", "\\ud800"]),
        ("return {b: 1, a: [undefined]};", {"b": 1, "a": [None]}),
        ("return Promise.resolve(1);", {}),
        ("return Filter.name;", "Filter"),
        ("return 1 // the end", 1),
    ],
)
def test_what_a_script_returns(source: str, result: Any) -> None:
    value = run(source)
    assert value == result
    assert type(value) is type(result)


def test_long_results_and_errors_come_out_whole() -> None:
    assert run("var s = ''; for (var i = 0; i < 30000; i++) s += 'ab'; return s;") == "ab" * 30000
    assert str(failure("throw 'x'.repeat(50000) + 'y'.repeat(50000);")) == "x" * 50000 + "y" * 50000


def test_vars_and_global_are_there_and_read_only() -> None:
    settings = {"vars": MappingProxyType({"a": {"b": (1, 2)}}), "properties": {"key": "k", "odd": {1}.__class__}}
    assert run("return [vars.a.b[1], global.key];", **settings) == [2, "k"]
    assert "read-only" in str(failure("vars.a.b[0] = 5;", **settings))
    assert "read-only" in str(failure("global = {};", **settings))


def test_without_properties_there_is_no_global() -> None:
    assert run("return [typeof global, typeof vars];") == ["undefined", "object"]


@pytest.mark.parametrize("name", ["console", "require", "setTimeout", "fetch", "process", "std", "os"])
def test_nothing_of_the_outside_is_in_reach(name: str) -> None:
    assert run(f"return typeof {name};") == "undefined"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("throw 'boom';", "boom"),
        ("throw new Error('boom');", "Error: boom"),
        ("throw {code: 5};", '{"code":5}'),
        ("return absent.x;", "ReferenceError: absent is not defined"),
        ("x = 1;", "ReferenceError: x is not defined"),
        ("return msg.a.b;", "TypeError: cannot read property 'b' of undefined"),
        ("var a = {}; a.a = a; return a;", "TypeError: circular reference"),
    ],
)
def test_the_text_of_what_is_thrown_is_the_error(source: str, text: str) -> None:
    assert str(failure(source)) == text


def test_an_error_that_cannot_be_told_is_still_an_error() -> None:
    assert str(failure("throw {toJSON() { throw new Error('worse'); }};")) == "Error: worse"


def test_an_error_names_its_place() -> None:
    error = failure("var a = 1;\n  return absent.x;")
    assert error.position == 20
    assert error.hint == "line 2, column 10 of the script: `return absent.x;`"
    assert error.source == "var a = 1;\n  return absent.x;"


def test_a_place_in_parsed_text_is_not_taken_for_one_in_the_script() -> None:
    assert "line 1, column" in failure(r"return JSON.parse('\n\n\n\n\nx');").hint


def test_a_syntax_error_names_its_place_when_compiled() -> None:
    with pytest.raises(ScriptError, match="line 2, column 10") as caught:
        Script.compile("var a = 1;\n  retrun a;")
    assert "`retrun a;`" in str(caught.value)
    assert caught.value.position == 20


def test_a_long_line_is_shortened_in_errors() -> None:
    with pytest.raises(ScriptError) as caught:
        Script.compile(f"return '{'x' * 200}' nonsense;")
    assert "..." in str(caught.value)


@pytest.mark.parametrize(
    "source", ["for (;;);", "try { for (;;); } catch (e) { return 1; }", "/(a+)+$/.test('a'.repeat(99) + 'b');"]
)
def test_a_script_that_never_ends_is_stopped(source: str) -> None:
    assert str(failure(source, script_timeout_s=0.05)).startswith("execution timeout")


@pytest.mark.parametrize(
    "source",
    ["var a = []; for (;;) a.push({a});", "var a; for (;;) a = {a};", "return 'x'.repeat(2 ** 26).length;"],
)
def test_a_script_that_eats_memory_is_stopped(source: str) -> None:
    assert str(failure(source)) == "out of memory: the script took more than 16 MiB"


def test_endless_recursion_is_an_error() -> None:
    assert str(failure("(function f() { f(); })();")).startswith("stack overflow")


def test_a_result_nested_too_deeply_is_an_error() -> None:
    source = "var a = []; for (var i = 0; i < 1500; i++) a = [a]; return a;"
    assert "nested too deeply" in str(failure(source))


def test_a_stopped_script_runs_again() -> None:
    script = Script.compile(
        "if (msg === 'stop') for (;;); return 1;",
        environment(script_timeout_s=0.05),
    )
    assert [script.call(Message("go")), script.call(Message("go"))] == [1, 1]
    with pytest.raises(ScriptError):
        script.call(Message("stop"))
    assert script.call(Message("go")) == 1


def test_promises_do_not_pile_up() -> None:
    script = Script.compile(
        "Promise.resolve('x'.repeat(100000)).then(x => x); return 1;", environment(script_memory_bytes=2**20)
    )
    assert {script.call(Message("{}")) for _ in range(30)} == {1}


def test_no_time_limit_when_it_is_zero() -> None:
    assert run("var n = 0; for (var i = 0; i < 100000; i++) n++; return n;", script_timeout_s=0) == 100000


def test_a_context_too_small_for_anything_is_an_error() -> None:
    with pytest.raises(ScriptError, match="out of memory"):
        Script.compile("return 1;", environment(script_memory_bytes=100_000))


def test_scripts_share_nothing() -> None:
    one = Script.compile("try { globalThis.x = 1; } catch {} try { JSON.parse = null; } catch {} return 1;")
    other = Script.compile("return [typeof x, typeof JSON.parse];")
    assert one.call(Message("{}")) == 1
    assert one.call(Message("{}")) == 1
    assert other.call(Message("{}")) == ["undefined", "function"]


def test_a_script_never_changes_the_message() -> None:
    message = Message({"a": [1]}, metadata={"k": "v"})
    Script.compile("msg.a.push(2); metadata.k = 'w'; return true;").call(message)
    assert (message.value, dict(message.metadata)) == ({"a": [1]}, {"k": "v"})


def doubled_in_threads(script: Script) -> dict[int, int]:
    results: dict[int, int] = {}

    def work(n: int) -> None:
        for _ in range(50):
            results[n] = script.call(Message({"n": n}))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_threads_may_call_one_script_and_another_may_drop_it() -> None:
    assert doubled_in_threads(Script.compile("return msg.n * 2;")) == {n: n * 2 for n in range(4)}
    gc.collect()


@given(st.text(alphabet=st.characters(), max_size=20))
def test_any_text_passes_unharmed_but_for_half_surrogates(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert ECHO.call(Message(text, data_type="TEXT", metadata={"k": text}, type=text)) == [expected] * 3


@pytest.mark.parametrize("text", ["a\ud800b", "\udc00", "\ud83d\ude00", "\0é"])
def test_half_surrogates_become_the_replacement_character(text: str) -> None:
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert ECHO.call(Message(text, data_type="TEXT", metadata={"k": text}, type=text)) == [expected] * 3


ECHO = Script.compile("return [msg, metadata.k, msgType];")


class Settings(BaseModel):
    script: Script
    text: Annotated[Script, ScriptFunction("ToString")] = Script.compile("")


def test_a_config_field_is_compiled_with_the_environment() -> None:
    settings = Settings.model_validate(
        {"script": "return vars.a;", "text": "return ToString.name;"},
        context={"environment": Environment(vars={"a": 7})},
    )
    assert settings.script.call(Message("{}")) == 7
    assert settings.text.call(Message("{}")) == "ToString"
    assert settings.model_dump() == {"script": "return vars.a;", "text": "return ToString.name;"}
    assert Settings(script=settings.script).script is settings.script


def test_a_config_field_tells_what_is_wrong() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"script": "return (;", "text": 5})
    script, text = caught.value.errors()
    assert script["loc"] == ("script",)
    assert "line 1, column 9" in script["msg"]
    assert isinstance(script["ctx"]["error"], ScriptError)  # type: ignore[typeddict-item]
    assert text["msg"] == "must be a text"


def test_a_config_field_is_a_text_in_the_schema() -> None:
    assert Settings.model_json_schema()["properties"]["script"] == {
        "title": "Script",
        "type": "string",
        "format": "javascript",
    }


def test_a_script_shows_its_source() -> None:
    assert repr(Script.compile("return 1;")) == "Script('return 1;')"
    assert Script.compile(" ").is_blank


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "catenary.expr.script.quickjs", None)
    with pytest.raises(ScriptError, match=r"pip install 'catenary\[js\]'"):
        Script.compile("return 1;")
    assert Script.compile("").call(Message("{}")) is None


@pytest.mark.parametrize(
    "source",
    [
        "return new Array(4e9).join('x');",
        "return new Array(4e9) + '';",
        "return [].concat(new Array(4e9));",
        "var a = []; a[4e9] = 1; return a.reverse();",
        "return Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1);",
        "return new Array(4e9).values().drop(4e9).next();",
        "return String.raw({raw: {length: 2 ** 53 - 1}});",
        "return 'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b');",
        "return 'a'.repeat(2e7).split('a'.repeat(1e7) + 'b');",
    ],
)
def test_a_built_in_function_cannot_take_for_ever(source: str) -> None:
    script = Script.compile(source)
    began = time.thread_time()
    with pytest.raises(ScriptError, match="RangeError"):
        script.call(Message("{}"))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    "source",
    [
        "msg.__proto__.admin = true;",
        "Object.prototype.admin = true;",
        "Object.prototype.toString = null;",
        "Object.prototype.toJSON = function () { return 'x'; };",
        "delete Object.getPrototypeOf(msg).data;",
        "Object.defineProperty(Object.getPrototypeOf(msg), 'data', {value: 'x'});",
    ],
)
def test_what_a_message_brings_does_not_reach_the_next(source: str) -> None:
    script = Script.compile("if (msg.first) { " + source + " } return [({}).admin, String({}), msg.data, {}];")
    with pytest.raises(ScriptError, match="TypeError"):
        script.call(Message({"first": True}))
    assert script.call(Message("{}")) == [None, "[object Object]", "{}", {}]


def test_objects_of_a_script_may_have_what_the_prototype_has() -> None:
    source = """
        function Point(x) { this.x = x; this.constructor = 'c'; }
        Point.prototype.toString = function () { return 'P' + this.x; };
        msg.valueOf = 3;
        return [String(new Point(1)), new Point(2).constructor, msg.valueOf, Object.keys(msg), typeof ({}).toString];
    """
    assert Script.compile(source).call(Message({"a": 1})) == ["P1", "c", 3, ["a", "valueOf"], "function"]


def test_ordinary_calls_on_lists_and_texts_give_what_they_should() -> None:
    source = """
        return [[3, 1, 2].map(x => x * 2).filter(x => x > 2).sort().join('-'), [1].concat([2], 3), [[1], [2]].flat(),
            [1, 2].reverse(), [1, 2, 3].slice(-2), [1, 2].reduce((a, b) => a + b), [1, 2] + '', 'abab'.indexOf('b', 2),
            'a,b'.split(','), 'aa'.replace('a', 'b'), 'aa'.replaceAll(/a/g, 'c'), String.raw`a\\n`, [].join.name];
    """
    assert Script.compile(source).call(Message("{}")) == [
        "4-6", [1, 2, 3], [1, 2], [2, 1], [2, 3], 3, "1,2", 3, ["a", "b"], "ba", "cc", "a\\n", "join",
    ]  # fmt: skip


def test_a_number_with_too_many_digits_is_an_error() -> None:
    with pytest.raises(ScriptError, match="too many digits"):
        Script.compile("return 2n ** 100000n;").call(Message("{}"))
