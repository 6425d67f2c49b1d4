"""What a document may not do: reach anything but plain data, run long, or grow without bound."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.errors import TemplateError
from catenary.expr import Document, Environment
from catenary.message import Message

MESSAGE = Message({"x": 1, "s": "text", "xs": [1, 2], "o": {"a": 1}})


def attempt(source: str) -> str:
    """Give the error of a document, empty when there is none."""
    try:
        Document.compile(source).render(MESSAGE)
    except TemplateError as error:
        return str(error)
    return ""


GROWING = "{% set ns = namespace(v='aaaaaaaaaaaaaaaa', l=[1, 2], d={}) %}{% for i in range(60) %}STEP{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(10**9) %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) if false %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'a' | center(1000) }}{{ 'b' | center(1000) }}{% endfor %}",
        "{{ 'a' * 10**9 }}",
        "{{ [0] * 10**9 }}",
        "{{ 'a' | center(10**9) }}",
        "{{ 'a' | center(1000000000) }}",
        "{{ 'a' | indent(1000000000, true) }}",
        "{{ '%1000000000d' | format(1) }}",
        "{{ '%.*f' | format(1000000000, 1.0) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ [1] | batch(1000000000, 0) }}",
        "{{ [1] | slice(1000000000) }}",
        "{{ 1.5 | round(1000000000, 'ceil') }}",
        "{{ {} | tojson(1000000000) }}",
        "{{ 'a' | replace('', 'aaaaaaaa' * 9) }}",
        "{{ repeat('a', 1000000000) }}",
        "{{ range(-1000000000, 1000000000, 1) }}",
        "{{ range(0) | sum(start=[]) }}{{ [[1]] | sum(start=[]) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{% for i in range(9) %}{{ m() }}{% endfor %}{% endmacro %}{{ m() }}",
        "{% for x in [[]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        GROWING.replace("STEP", "{% set ns.v = ns.v ~ ns.v %}"),
        GROWING.replace("STEP", "{% set ns.v = ns.v + ns.v %}"),
        GROWING.replace("STEP", "{% set ns.v %}{{ ns.v }}{{ ns.v }}{% endset %}"),
        GROWING.replace("STEP", "{% set ns.v = [ns.v, ns.v] | join %}"),
        GROWING.replace("STEP", "{% set ns.v = ns.v | replace('a', 'aa') %}"),
        GROWING.replace("STEP", "{% set ns.l = ns.l + ns.l %}"),
        GROWING.replace("STEP", "{% set ns.l = [ns.l, ns.l] %}"),
        GROWING.replace("STEP", "{% set ns.l = (ns.l, ns.l) %}"),
        GROWING.replace("STEP", "{% set ns.d = {'a': ns.d, 'b': ns.d} %}"),
        GROWING.replace("STEP", "{% set ns.d = dict(a=ns.d, b=ns.d) %}"),
        GROWING.replace("STEP", "{% set ns.d = {'a': ns.d, 'b': ns.d} | dictsort | list %}"),
        GROWING.replace("STEP", "{% set ns.d = dict(a=ns.d | dictsort, b=ns.d | dictsort) %}"),
        "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = ns.l + [range(100000)] %}{% endfor %}",
    ],
)
def test_what_would_take_for_ever_or_all_memory_is_stopped(source: str) -> None:
    began = process_time()
    assert attempt(source)
    assert process_time() - began < 6


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "(" * 5000 + ")" * 5000 + " }}",
        "{% if x %}" * 2000,
        "{{ 9" + "9" * 9999 + " }}",
        "{% for i in x %}" * 30 + "{% endfor %}" * 30,
        "{{ -" + "-" * 5000 + "1 }}",
    ],
)
def test_texts_that_are_nested_deeply_are_an_error(source: str) -> None:
    assert attempt(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ msg.__class__.__init__.__globals__ }}",
        "{{ [].__class__ }}",
        "{{ msg['__class__'].x }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context.environment }}",
        "{{ cycler('a').__init__.__globals__.os }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ namespace().__class__.x }}",
        "{{ range.__init__.x }}",
        "{{ dict.__base__.x }}",
        "{{ lipsum.__globals__ }}",
        "{{ upper.__globals__ }}",
        "{{ now().__class__.x }}",
        "{{ (1).real }}",
        "{{ 'a'.format.__self__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0.__class__}' | format(1) | attr('x') }}",
        "{{ msg | attr('__class__') }}",
        "{{ 'a'.encode() }}",
        "{{ 'a'.translate({}) }}",
        "{{ 'a'.zfill(10) }}",
        "{{ msg.xs.append(1) }}",
        "{{ msg.xs.sort() }}",
        "{{ msg.o.update({}) }}",
        "{{ msg.o.pop('a') }}",
        "{{ msg.o.clear() }}",
        "{% macro m() %}{% endmacro %}{{ m.__globals__.x }}",
        "{% macro m() %}{% endmacro %}{{ m._func.x }}",
        "{% for x in msg.xs %}{{ loop.__class__.x }}{% endfor %}",
        "{% for x in msg.xs %}{{ loop._iterator.x }}{% endfor %}",
        "{{ environment.loader }}",
        "{{ get_flashed_messages.__globals__ }}",
        "{{ config.items() }}",
        "{{ msg.xs | map(attribute='__class__') | map(attribute='x') | list }}",
        "{{ [msg] | map(attribute='o.__class__.x') | first }}",
        "{{ [''] | groupby('__class__') }}",
        "{{ [''] | map('attr', '__class__') | list }}",
        "{{ msg.x is sameas none }}",
        "{{ fileExists.__closure__.x }}",
        "{{ $files }}",
        "{% include '/etc/passwd' %}",
        "{{ include('/etc/passwd') }}",
        "{% import 'os' as os %}",
        "{% do x %}",
        "{% set msg.o.a = 2 %}",
    ],
)
def test_nothing_but_plain_data_can_be_reached(source: str) -> None:
    assert attempt(source)
    assert MESSAGE.value == {"x": 1, "s": "text", "xs": [1, 2], "o": {"a": 1}}


def test_a_message_never_speaks_to_the_next() -> None:
    document = Document.compile("{% set x = msg.x %}{% macro m() %}{{ x }}{{ msg.x }}{% endmacro %}{{ m() }}")
    assert [document.render(Message({"x": n})) for n in range(3)] == ["00", "11", "22"]


def test_metadata_is_no_function() -> None:
    message = Message({}, metadata={"range": "r", "upper": "u", "$files": "f", "loop": "l", "self": "s"})
    source = "{{ range(2) }}{{ upper('a') }}{{ range }}{% for i in [1] %}{{ loop.index }}{% endfor %}"
    assert Document.compile(source).render(message) == "[0,1]Ar1"


_WORDS = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{#", "#}", " ", "msg", ".", "x", "(", ")", "[", "]", "|", "upper", "'", '"', "if", "for",
     "in", "endif", "endfor", "set", "=", "1", "+", "~", "\n", "{", "}", "-", "raw", "macro", "include", "$", ":=",
     "range"]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=30).map(" ".join) | st.lists(_WORDS, max_size=30).map("".join) | st.text())
@settings(max_examples=times(300))
def test_any_text_renders_or_is_an_error_of_ours(source: str) -> None:
    for environment in (Environment(), Environment(lenient=True)):
        try:
            document = Document.compile(source, environment)
            assert isinstance(document.render(MESSAGE), str)
        except TemplateError:
            pass


@given(st.text(st.characters(exclude_characters="{\r")))
@settings(max_examples=times(100))
def test_text_without_braces_or_carriage_returns_renders_as_itself(source: str) -> None:
    assert Document.compile(source).render(MESSAGE) == source
