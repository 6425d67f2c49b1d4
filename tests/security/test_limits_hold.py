"""Limits hold for what is small to write and long to do."""

from __future__ import annotations

import time

import pytest

from catenary.errors import ChainError, ExpressionError, ScriptError
from catenary.expr import Environment, Expression, Script, Template
from catenary.load.document import _parse as parse_document
from catenary.message import Message

SLACK_S = 8.0
"""Of processor time; without the guards each of these takes minutes."""


@pytest.mark.parametrize(
    "source",
    [
        "for (;;) 'ß'.repeat(1e6).toUpperCase();",
        "for (;;) new Uint8Array(3e7).fill(1);",
        "const list = {length: 1e7}; for (;;) Array.prototype.indexOf.call(list, 1);",
        "const text = '[' + '1,'.repeat(1e6) + '1]'; for (;;) JSON.parse(text);",
        "const list = Array(1e5).fill('x'); for (;;) JSON.stringify(list);",
        "const text = 'é'.repeat(1e6); for (;;) encodeURIComponent(text);",
        "const list = []; for (;;) list.push(new Uint8Array(new Array(1e6)));",
        "const list = []; for (;;) list.push(Uint8Array.from({length: 1e6}));",
        "let n = 8; for (;;) new Uint8Array({get length() { return (n = n === 8 ? 1e6 : 8); }});",
    ],
)
def test_a_loop_of_long_built_in_calls_is_stopped_in_time(source: str) -> None:
    pytest.importorskip("quickjs")
    script = Script.compile(source, Environment(script_timeout_s=0.2))
    began = time.process_time()
    with pytest.raises(ScriptError):
        script.call(Message("{}"))
    assert time.process_time() - began < SLACK_S


def test_a_list_that_holds_one_list_many_times_over_is_not_written_for_ever() -> None:
    pytest.importorskip("quickjs")
    source = "let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; return a;"
    script = Script.compile(source, Environment(script_timeout_s=0.2))
    began = time.process_time()
    with pytest.raises(ScriptError):
        script.call(Message("{}"))
    assert time.process_time() - began < SLACK_S


def evaluated(source: str, data: object = "") -> object:
    return Expression.compile(source).evaluate(Message(data))


def test_numbers_that_were_chosen_to_have_one_hash_slow_nothing_down() -> None:
    colliding = [n * (2**61 - 1) for n in range(50_000)]
    began = time.process_time()
    assert len(Expression.compile("uniq(msg)").evaluate(Message(colliding))) == 50_000
    assert len(Expression.compile("uniq(msg)").evaluate(Message([[n] for n in colliding]))) == 50_000
    assert time.process_time() - began < SLACK_S


def test_elements_that_are_equal_by_value_are_one() -> None:
    data = [1, 1.0, True, "1", [1], [1.0], [True], {"a": 2**70}, {"a": float(2**70)}, 2.5, None, [], {}, "", [[]]]
    assert evaluated("uniq(msg)", data) == [
        1, True, "1", [1], [True], {"a": 2**70}, 2.5, None, [], {}, "", [[]],
    ]  # fmt: skip


def test_long_lists_of_one_kind_are_sorted_quickly() -> None:
    numbers = [(n * 7919) % 1_000_003 for n in range(500_000)]
    began = time.process_time()
    assert evaluated("sort(msg)[:3]", numbers) == sorted(numbers)[:3]
    assert evaluated("sort(msg, 'desc')[:3]", [str(n) for n in numbers]) == sorted(map(str, numbers), reverse=True)[:3]
    assert time.process_time() - began < SLACK_S


@pytest.mark.parametrize(
    "part",
    [
        "0..999998",
        "repeat('a', 1000000)",
        "split(repeat('\u6f22', 999999), '')",
        "fromJSON(repeat('[', 3))",
        "max(0..999998)",
    ],
)
def test_many_large_values_in_one_expression_are_counted(part: str) -> None:
    began = time.process_time()
    with pytest.raises(ExpressionError):
        evaluated(f"[{', '.join([part] * 500)}]")
    assert time.process_time() - began < SLACK_S


def test_a_long_sum_of_texts_is_counted() -> None:
    with pytest.raises(ExpressionError, match="memory budget exceeded"):
        evaluated(f"[{', '.join(['msg + msg'] * 2_000)}]", "a" * 400_000)


def test_many_small_values_in_one_expression_are_fine() -> None:
    assert evaluated(f"[{', '.join(['upper(msg.a) + lower(msg.a)'] * 500)}]", {"a": "x"}) == ["Xx"] * 500


def test_half_a_surrogate_pair_in_a_bytes_literal_is_a_question_mark() -> None:
    assert evaluated("b'a\udcf8'") == b"a?"


def test_the_parts_of_a_template_are_counted_together() -> None:
    template = Template.compile("${repeat('a', 1000000)}" * 300, Environment())
    with pytest.raises(ExpressionError, match="memory budget exceeded"):
        template.render(Message(""))


MAKE_BUFFERS = [
    "new Uint8Array(1e6).fill(1)",
    "new ArrayBuffer(1e6)",
    "new Uint8Array(base)",
    "new Float64Array(base)",
    "new (class extends Uint8Array {})(1e6)",
    "new base.constructor(1e6)",
    "Reflect.construct(Uint8Array, [1e6], Object)",
    "base.slice()",
    "base.buffer.slice(0)",
    "base.with(0, 1)",
    "new ArrayBuffer(8).transfer(1e6)",
    "new ArrayBuffer(8, {maxByteLength: 1e6})",
    "new ArrayBuffer({valueOf: () => (late = late === 8 ? 1e6 : 8)})",
]


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
@pytest.mark.parametrize("made", MAKE_BUFFERS)
def test_buffers_are_bounded_by_the_memory_limit_of_scripts(engine: str, made: str) -> None:
    pytest.importorskip("quickjs" if engine == "quickjs" else "py_mini_racer")
    # The time limit of V8 goes by the clock on the wall.
    where = Environment(script_engine=engine, script_memory_bytes=16 * 2**20, script_timeout_s=15)
    source = f"let late = 8; const base = new Uint8Array(1e6), all = []; for (;;) all.push({made});"
    with pytest.raises(ScriptError, match="out of memory: the script took more than 16 MiB"):
        Script.compile(source, where).call(Message("{}"))


@pytest.mark.parametrize("engine", ["quickjs", "v8"])
def test_typed_arrays_are_what_they_are_without_limits(engine: str) -> None:
    pytest.importorskip("quickjs" if engine == "quickjs" else "py_mini_racer")
    source = """
        const own = class extends Uint16Array {};
        const view = new Uint8Array(new ArrayBuffer(8), 2, 4);
        return [
            [...new Uint8Array([1, 2, 300])], [...new Float64Array(new Set([1.5]))], view.length, view.byteOffset,
            [...Uint8Array.from("123")], [...Int8Array.of(-1)], new own(2) instanceof own, new own(2).map(() => 7)[1],
            new Uint8Array(2).constructor === Uint8Array, Uint8Array.name, [...new Uint8Array({length: 2, 0: 5})],
            new ArrayBuffer(3).byteLength, new Uint8Array().length, new ArrayBuffer(2).constructor === ArrayBuffer,
        ];
    """
    expected = [[1, 2, 44], [1.5], 4, 2, [1, 2, 3], [-1], True, 7, True, "Uint8Array", [5, 0], 3, 0, True]
    assert Script.compile(source, Environment(script_engine=engine)).call(Message("{}")) == expected


def test_a_script_that_catches_its_requests_has_no_more_time_than_others() -> None:
    pytest.importorskip("quickjs")
    where = Environment(script_functions={"ask": str}, script_timeout_s=0.2)
    script = Script.compile("for (;;) { try { ask('a'); } catch {} }", where)
    began = time.process_time()
    with pytest.raises(ScriptError, match="execution timeout"):
        script.call(Message("{}"))
    assert time.process_time() - began < 4


def test_an_error_of_a_script_has_a_bounded_text() -> None:
    pytest.importorskip("quickjs")
    with pytest.raises(ScriptError) as caught:
        Script.compile("throw 'x'.repeat(1e6);", Environment()).call(Message("{}"))
    assert len(str(caught.value)) < 101_000


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("yaml", "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))),
        ("yaml", "a: &a [*a]"),
        ("yaml", "a: &a {<<: *a}"),
        ("yaml", "a: " + "[" * 100_000),
        ("yaml", "a: " + "9" * 1_000_000),
        ("yaml", "!!python/object/apply:os.system ['id']"),
        ("json", "[" * 200_000),
        ("json", "9" * 1_000_000),
    ],
)  # fmt: skip
def test_bombs_in_chain_files_are_refused_in_time(kind: str, text: str) -> None:
    began = time.process_time()
    with pytest.raises(ChainError):
        parse_document(text, "chain", kind)
    assert time.process_time() - began < 4
