"""Documents: longer text in Jinja2, with the names and functions of templates."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from catenary.errors import TemplateError
from catenary.expr import Document, Environment
from catenary.message import Message

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = Message(
    {"x": 1, "t": 25.0, "xs": [3, 1, 2], "o": {"b": 1, "items": [7]}, "s": 'a "b"\n', "none": None},
    "made",
    metadata={"deviceId": "d1", "upper": "meta", "id": "shadow", "msg": "shadow"},
    id="7",
    ts=5,
)


def render(source: str, environment: Environment | None = None, message: Message = MESSAGE, ctx: Any = None) -> str:
    return Document.compile(source, environment).render(message, ctx)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain\n", "plain\n"),
        ("{{ msg.x }}", "1"),
        ("{{ id }} {{ ts }} {{ type }} {{ msgType }} {{ dataType }}", "7 5 made made JSON"),
        ("{{ deviceId }} {{ metadata.deviceId }} {{ metadata['deviceId'] }}", "d1 d1 d1"),
        ("{{ metadata.nope }}|{{ nope }}|{{ msg.nope }}|{{ nil }}{{ none }}{{ null }}|", "||||"),
        ("{{ msg.x + 1 }} {{ 7 / 2 }} {{ 2 ** 3 }} {{ 7 // 2 }} {{ -msg.x }}", "2 3.5 8 3 -1"),
        ("{{ msg.xs + [4] }} {{ 'a' ~ msg.x ~ none }}", "[3,1,2,4] a1"),
        ("{% if msg.t > 20 %}hot{% elif msg.t > 10 %}warm{% else %}cold{% endif %}", "hot"),
        ("{% for x in msg.xs %}{{ loop.index }}={{ x }}{{ ' ' if not loop.last }}{% endfor %}", "1=3 2=1 3=2"),
        ("{% for x in nope %}{{ x }}{% else %}none{% endfor %}", "none"),
        ("{% for x in msg.xs if x > 1 %}{{ x }}{% endfor %}", "32"),
        ("{% for k, v in msg.o | dictsort %}{{ k }}={{ v }};{% endfor %}", "b=1;items=[7];"),
        ("{% for k, v in metadata.items() %}{{ k }}{% break %}{% endfor %}", "deviceId"),
        ("{% set y = msg.x + 1 %}{{ y }}", "2"),
        ("{% with y = 2 %}{{ y }}{% endwith %}{{ y }}", "2"),
        ("{% macro m(n) %}<{{ n }}{{ msg.x }}>{% endmacro %}{{ m(1) }}{{ m(2) }}", "<11><21>"),
        ("{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}x{% endcall %}", "[x]"),
        ("{% set ns = namespace(n=0) %}{% for x in msg.xs %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "6"),
        ("{% block a %}x{% endblock %}{{ self.a() }}", "xx"),
        ("{% raw %}{{ x }}{% endraw %}{# a comment #}", "{{ x }}"),
        ("a {%- if true %} b {%- endif %}", "a b"),
        ("{{ cycler('a', 'b').next() }}{{ joiner(',')() }}{{ range(3) }}{{ range(3, 0, -1) }}", "a[0,1,2][3,2,1]"),
        ("{{ dict(a=1) }}{{ dict(a=1).a }}", '{"a":1}1'),
        ("{{ 1 if msg.nope else 2 }} {{ msg.nope == none }} {{ msg.nope is defined }}", "2 true false"),
        ("{{ msg.xs[0] }}{{ msg.xs[-1] }}{{ msg.xs[9] }}{{ msg.xs[1:] }}{{ msg.s[0] }}", "32[1,2]a"),
    ],
)  # fmt: skip
def test_rendering(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 25.0 }} {{ 1e21 }} {{ 0.1 + 0.2 }}", "25 1000000000000000000000 0.30000000000000004"),
        ("{{ true }} {{ msg.o }} {{ [1.0, none] }}", 'true {"b":1,"items":[7]} [1,null]'),
        ("{{ 12345678901234567890 }}", "12345678901234567890"),
        ("{{ 1 / 0 }} {{ duration('90s') }}", "+Inf 1m30s"),
        ("{{ {'k': '<b>&'} }}", '{"k":"<b>&"}'),
    ],
)
def test_values_print_as_in_templates(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ upper('a') }}{{ 'a' | upper }}{{ upper }}", "AAmeta"),
        ("{{ type(msg.x) }} {{ type }}", "int made"),
        ("{{ msg.s | escape }} {{ escape(msg.s) }}", 'a \\"b\\"\\n a \\"b\\"\\n'),
        ('{{ json(msg.o) }} "{{ msg.s | jsonEscape }}"', '{"b":1,"items":[7]} "a \\"b\\"\\n"'),
        ("{{ split('a,b', ',') }} {{ 'a,b' | split(',') | join('-') }}", '["a","b"] a-b'),
        ("{{ sum(msg.xs) }} {{ count([true, false]) }} {{ max(msg.xs) }} {{ len(msg.s) }}", "6 1 3 6"),
        ("{{ msg.xs | sort }} {{ msg.xs | sum }} {{ msg.xs | map('string') | join('+') }}", "[1,2,3] 6 3+1+2"),
        ("{{ msg.name | default('you') }} {{ msg.none | default('n') }} {{ '' | default('e', true) }}", "you n e"),
        ("{{ '%.2f' | format(msg.x) }} {{ '%s-%03d' | format('a', 7) }}", "1.00 a-007"),
        ("{{ [{'a': 1}, {'a': 2}] | map(attribute='a') | list }}", "[1,2]"),
        ("{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | list }}", '[{"a":2}]'),
        ("{{ [{'a': 1}, {'a': 2}] | sum('a') }} {{ [{'a': 'x'}] | join(',', 'a') }}", "3 x"),
        ("{{ 'ab' | center(6) }}|{{ 'a\nb' | indent(2) }}|{{ 'aXa' | replace('a', 'b') }}", "  ab  |a\n  b|bXb"),
        ("{{ 'aaa' | replace('a', 'b', 2) }} {{ 2.567 | round(1) }} {{ '4' | int }} {{ 'x' | int(7) }}", "bba 2.6 4 7"),
        ("{{ [1,2,3] | batch(2, 0) }} {{ [1,2,3] | slice(2) }}", "[[1,2],[3,0]] [[1,2],[3]]"),
        ("{{ 'a b&c' | urlencode }} {{ {'q': 'a b'} | urlencode }} {{ '<a href=\"x\">' | html }}",
         "a%20b%26c q=a%20b &lt;a href=&#34;x&#34;&gt;"),
        ("{{ {'b': 1, 'a': [1]} | tojson }} {{ [1] | tojson(1) }}", '{"a":[1],"b":1} [\n 1\n]'),
        ("{{ 'one two three' | wordwrap(7) }} {{ 'a' | truncate(9) }} {{ 'a b' | wordcount }}", "one two\nthree a 2"),
        ("{{ msg.s.upper() }}{{ 'a-b'.split('-') }}{{ ','.join(['a']) }}{{ 'aa'.replace('a', 'b', 1) }}",
         'A "B"\n["a","b"]aba'),
        ("{{ msg.o.items }}{{ msg.o.get('b') }}{{ msg.o.get('z', 9) }}{{ msg.o.keys() }}{{ msg.o.values() }}",
         '[7]19["b","items"][1,[7]]'),
        ("{{ {'a': [1.0, none]} | upper }} {{ none | upper }}{{ msg.none | trim }} {{ 2.0 | truncate(9) }}",
         '{"A":[1,NULL]}  2'),
        ("{{ date('2024-01-02').Year() }} {{ date('2024-01-02').Format('02.01.2006') }}", "2024 02.01.2024"),
    ],
)  # fmt: skip
def test_functions_and_filters(source: str, text: str) -> None:
    assert render(source) == text


def test_now_is_a_time() -> None:
    assert datetime.fromisoformat(render("{{ now() }}")).tzinfo is not None


def test_the_payload_as_text_is_msg_data() -> None:
    assert render("{{ msg.data }} {{ msg['data'] }}", message=Message("raw", data_type="TEXT")) == "raw raw"
    assert render("{{ msg.data }}", message=Message({"data": 5})) == "5"
    assert render("{{ msg.data }}", message=Message("[1]")) == "[1]"
    assert render("{% set msg = {'data': 2} %}{{ msg.data }}") == "2"


def test_properties_and_variables_may_have_dots_in_their_names() -> None:
    environment = Environment(
        properties={"a.b": "dotted", "llm": {"base": "u"}}, vars={"rules": ["x"]}, rule_chain={"id": "c1"}
    )
    source = "{{ global.a.b }} {{ global.llm.base.upper() }} {{ vars.rules }} {{ ruleChain.id }} {{ global.nope }}|"
    assert render(source, environment) == 'dotted U ["x"] c1 |'


def test_functions_of_the_host_are_functions_and_filters() -> None:
    class Prices:
        def of(self, name: str) -> float:
            return {"tea": 2.5}[name]

        def _secret(self) -> str:
            return "no"

    environment = Environment(functions={"double": lambda x: x * 2, "prices": Prices()})  # type: ignore[dict-item]
    assert render("{{ double(msg.x) }}{{ msg.x | double }} {{ prices.of('tea') }}", environment) == "22 2.5"
    with pytest.raises(TemplateError, match="'prices' has no method '_secret'"):
        render("{{ prices._secret() }}", environment)
    with pytest.raises(TemplateError, match=r"prices\.of\(\): KeyError: 'tee'"):
        render("{{ prices.of('tee') }}", environment)


def test_outputs_of_nodes_are_read_and_named() -> None:
    class Context:
        def output(self, node_id: str) -> Message | None:
            return Message({"v": 5}, "kind", metadata={"m": "k"}) if node_id == "s1" else None

    environment = Environment(nodes=frozenset({"s1", "s2", "s3"}))
    document = Document.compile("{{ s1.msg.v }} {{ s1.msgType }} {{ s1.metadata.m }} {{ s2 }}.", environment)
    assert document.node_references == {"s1", "s2"}
    assert document.render(MESSAGE, Context()) == "5 kind k ."
    with pytest.raises(TemplateError, match="line 1: cannot fetch msg from nil"):
        render("{{ s2.msg.x }}", environment, ctx=Context())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\n{{ msg.nope.deep }}", "line 2: cannot fetch deep from nil (nope is not there)"),
        ("{{ nope.deep }}", "line 1: cannot fetch deep from nil (nope is not there)"),
        ("{{ msg.none.deep }}", "line 1: cannot fetch deep from nil"),
        ("\n\n{{ msg.nope + 1 }}", "line 3: 'nope' is nil"),
        ("{{ msg.nope > 1 }}", "line 1: 'nope' is nil"),
        ("{{ msg.s + 1 }}", "line 1: '+' cannot take string and int"),
        ("{{ upper(1 + msg.x) }}", "line 1: upper() takes a string, not int"),
        ("{{ ts.nope }}", "line 1: cannot fetch nope from int"),
        ("{{ msg.o.nope() }}", "line 1: nil cannot be called"),
        ("{{ msg.x() }}", "line 1: int cannot be called"),
        ("{{ self }}", "line 1: this has no text"),
        ("{{ [1 / 0] }}", "line 1: +Inf cannot be written as JSON"),
        ("{% for x in msg.x %}{% endfor %}", "line 1: a list is needed here, not int"),
        ("{% macro m(n) %}{{ n.a.b }}{% endmacro %}\n{{ m({}) }}", "line 1: cannot fetch b from nil"),
    ],
)
def test_what_fails_is_told_with_its_line(source: str, text: str) -> None:
    with pytest.raises(TemplateError) as raised:
        render(source)
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\n {{ foo() }}", "there is no function 'foo'"),
        ("{{ uper('a') }}", "there is no function 'uper'; did you mean 'upper'?"),
        ("{{ msg.x | uper }}", "there is no filter 'uper'; did you mean 'upper'?"),
        ("{{ msg.x | e }}", "there is no filter 'e'; `html` escapes for HTML, `escape` for text in quotes"),
        ("{{ msg.x | safe }}", "there is no filter 'safe'; nothing is escaped"),
        ("{{ msg | attr('x') }}", "there is no filter 'attr'; write `value.name`"),
        ("{{ msg.x is evn }}", "there is no test 'evn'; did you mean 'even'?"),
        ("{{ upper() }}", "upper() takes 1 argument, not 0"),
        ("{{ filter(msg.xs, 1) }}", "there is no function 'filter'"),
        ("{{ msg.x", "unexpected end of template, expected 'end of print statement'"),
        ("{% if %}", "Expected an expression"),
        ("{% for x in y %}", "Unexpected end of template"),
        ("{% autoescape true %}{% endautoescape %}", "`autoescape` is not available"),
        ("{% include 'x' %}", "'x' cannot be read: no folder is allowed"),
    ],
)
def test_what_cannot_be_compiled_is_told_when_it_is_loaded(source: str, text: str) -> None:
    with pytest.raises(TemplateError) as raised:
        Document.compile(source)
    assert str(raised.value).startswith(text)


def test_the_place_of_a_mistake_is_shown() -> None:
    with pytest.raises(TemplateError) as raised:
        Document.compile("one\n  two {{ foo() }}\n", name="mail.j2")
    assert str(raised.value) == (
        "mail.j2: there is no function 'foo'; did you mean 'floor'? (line 2, column 3)\n      two {{ foo() }}\n      ^"
    )


def test_a_lenient_environment_leaves_what_fails_empty(caplog: pytest.LogCaptureFixture) -> None:
    source = "a {{ msg.no.deep }} b {{ msg.x }}{% for x in [1, 2] %}[{{ x + 'a' }}]{% endfor %}"
    with caplog.at_level(logging.WARNING):
        assert render(source, Environment(lenient=True)) == "a  b 1[][]"
    assert len(caplog.records) == 3
    assert "cannot fetch deep" in caplog.records[0].reason  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "source", ["{% if msg.no.deep %}a{% endif %}", "{% for x in msg.no.deep %}a{% endfor %}", "{% set x = nil + 1 %}"]
)
def test_a_statement_that_fails_is_an_error_in_a_lenient_environment_too(source: str) -> None:
    with pytest.raises(TemplateError, match="line 1: "):
        render(source, Environment(lenient=True))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ msg.x > 'a' }}", "'>' cannot take int and string"),
        ("{% if nil < 1 %}{% endif %}", "'<' cannot take nil and int"),
        ("{{ {} <= {} }}", "'<=' cannot take map and map"),
        ("{{ [3, 'a'] | sort | join }}", "'<' cannot take string and int"),
        ("{% for x in msg.x %}{% endfor %}", "a list is needed here, not int"),
        ("{% for x in nil %}{% endfor %}", "a list is needed here, not nil"),
        ("{% for a, b in [1] %}{% endfor %}", "a list is needed for several names, not int"),
        ("{% for a, b in [[1]] %}{% endfor %}", "2 names, but 1 values"),
        ("{{ 'a' in msg.x }}", "'in' takes a list, a map or a string on the right, not int"),
        ("{{ 1 in 'abc' }}", "'in' takes a string on the left of a string, not int"),
        ("{{ 'a' | abs }}", "abs cannot take string"),
        ("{{ 3 | length }}", "int has no length"),
        ("{{ 3 | dictsort }}", "a map is needed here, not int"),
        ("{{ {[]: 1} }}", "array cannot be a key"),
        ("{{ 1 is divisibleby 0 }}", "division by zero"),
        ("{{ 'x' | filesizeformat }}", "'x' is no number"),
        ("{{ 'a'.find(1) }}", "string is needed here, not int"),
        ("{{ 'abc' | replace('a') }}", "replace() missing 1 required positional argument: 'new'"),
        ("{{ 'a' + 1 }}", "'+' cannot take string and int"),
    ],
)
def test_what_fails_is_told_in_the_words_of_the_language_with_file_and_line(source: str, reason: str) -> None:
    document = Document.compile(f"one\n{source}", name="mail.j2")
    with pytest.raises(TemplateError) as raised:
        document.render(MESSAGE)
    assert str(raised.value).startswith(f"mail.j2, line 2: {reason}")


def test_a_document_says_what_it_is() -> None:
    document = Document.compile("a")
    assert document
    assert not Document.compile("")
    assert document == Document.compile("a")
    assert len({document, Document.compile("a"), Document.compile("b")}) == 2
    assert repr(document) == "Document('a')"


# Files


@pytest.fixture
def files(tmp_path: Path) -> Environment:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "main.j2").write_text("Hi {{ deviceId }}.\n{% include 'tone.j2' %}\n", "utf-8")
    (tmp_path / "prompts" / "tone.j2").write_text("Be kind to {{ id }}.\n", "utf-8")
    (tmp_path / "macros.j2").write_text("{% macro m(n) %}{{ n }}{{ msg.x }}{% endmacro %}", "utf-8")
    (tmp_path / "base.j2").write_text("<{% block body %}{% endblock %}>", "utf-8")
    return Environment(roots=(tmp_path,), nodes=frozenset({"s1", "s2"}))


def test_a_file_includes_what_lies_beside_it(files: Environment) -> None:
    document = Document.read("prompts/main.j2", files)
    assert document.render(MESSAGE) == "Hi d1.\nBe kind to 7."
    assert document.source == {"template": "prompts/main.j2"}
    assert document.name == "prompts/main.j2"


def test_parts_imports_and_parents_are_found_below_the_roots(files: Environment) -> None:
    assert render("{% from 'macros.j2' import m %}{{ m('a') }}", files) == "a1"
    assert render("{% import 'macros.j2' as lib %}{{ lib.m('a') }}", files) == "a1"
    assert render("{% extends 'base.j2' %}{% block body %}{{ super() }}x{% endblock %}", files) == "<x>"
    assert render("{% include 'no.j2' ignore missing %}-", files) == "-"
    assert render("{% include ['no.j2', 'base.j2'] %}", files) == "<>"
    assert render("{% set f = 'base.j2' %}{% include f %}", files) == "<>"
    assert render("{{ include('base.j2') }}{{ fileExists('no') }}", files) == "<{% block body %}{% endblock %}>false"


def test_macros_of_another_file_see_the_message_at_hand(files: Environment) -> None:
    document = Document.compile("{% from 'macros.j2' import m %}{{ m('') }}", files)
    assert [document.render(Message({"x": x})) for x in (1, 2)] == ["1", "2"]


def test_a_part_of_a_text_includes_what_lies_beside_itself(files: Environment) -> None:
    document = Document.compile("{% include 'prompts/main.j2' %}", files)
    assert document.render(MESSAGE) == "Hi d1.\nBe kind to 7."
    (files.roots[0] / "prompts" / "main.j2").unlink()
    assert document.render(MESSAGE) == "Hi d1.\nBe kind to 7."


def test_changed_files_apply_at_once(files: Environment) -> None:
    root = files.roots[0]
    document = Document.read("prompts/main.j2", files)
    (root / "prompts" / "tone.j2").write_text("Be brief.", "utf-8")
    assert document.render(MESSAGE) == "Hi d1.\nBe brief."
    (root / "prompts" / "main.j2").write_text("{{ id }}!", "utf-8")
    assert document.render(MESSAGE) == "7!"


def test_a_file_that_is_broken_later_stays_as_it_was(files: Environment, caplog: pytest.LogCaptureFixture) -> None:
    main = files.roots[0] / "prompts" / "main.j2"
    document = Document.read("prompts/main.j2", files)
    main.write_text("{{ id }", "utf-8")
    assert document.render(MESSAGE) == "Hi d1.\nBe kind to 7."
    main.unlink()
    assert document.render(MESSAGE) == "Hi d1.\nBe kind to 7."
    assert "last version stays" in caplog.records[0].message
    main.write_text("mended", "utf-8")
    assert document.render(MESSAGE) == "mended"


def test_nodes_named_in_parts_are_kept(files: Environment) -> None:
    (files.roots[0] / "part.j2").write_text("{{ s1.data }}", "utf-8")
    assert Document.compile("{% include 'part.j2' %}", files).node_references == {"s1"}
    assert Document.compile("{% set f = 'part.j2' %}{% include f %}", files).node_references == {"s1", "s2"}
    assert Document.compile("{{ include('part.j2', true) }}", files).node_references == {"s1", "s2"}
    assert Document.compile("{{ include('part.j2') }}", files).node_references == set()


def test_an_error_in_a_part_names_file_and_line(files: Environment) -> None:
    (files.roots[0] / "part.j2").write_text("one\n{{ msg.no.x }}", "utf-8")
    with pytest.raises(TemplateError, match=r"^part\.j2, line 2: cannot fetch x from nil"):
        render("{% include 'part.j2' %}", files)
    (files.roots[0] / "bad.j2").write_text("one\n{{ foo() }}", "utf-8")
    with pytest.raises(TemplateError, match=r"^bad\.j2, line 2: there is no function 'foo'"):
        Document.compile("{% include 'bad.j2' %}", files)
    with pytest.raises(TemplateError, match=r"^bad\.j2: there is no function 'foo'.* \(line 2, column 1\)"):
        Document.read("bad.j2", files)


@pytest.mark.parametrize("path", ["../x.j2", "/etc/passwd", "link.j2"])
def test_files_elsewhere_are_refused(files: Environment, path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.j2"
    outside.write_text("secret", "utf-8")
    (files.roots[0] / "link.j2").symlink_to(outside)
    for read in (lambda: Document.read(path, files), lambda: Document.compile(f"{{% include '{path}' %}}", files)):
        with pytest.raises(TemplateError, match="outside of the folders"):
            read()
    with pytest.raises(TemplateError, match="outside of the folders"):
        render(f"{{% set f = '{path}' %}}{{% include f %}}", files)


def test_a_missing_file_is_told(files: Environment) -> None:
    with pytest.raises(TemplateError, match=r"there is no document 'no\.j2'") as raised:
        Document.read("no.j2", files)
    assert "beside the chain" in raised.value.hint
    with pytest.raises(TemplateError, match=r"there is no document 'no.j2' \(line 2, column 1\)"):
        Document.compile("a\n{% include 'no.j2' %}", files)
    with pytest.raises(TemplateError, match=r"line 1: there is no document 'no\.j2'"):
        render("{% set f = 'no.j2' %}{% include f %}", files)


def test_circles_are_told_with_the_files_in_them(files: Environment) -> None:
    root = files.roots[0]
    (root / "a.j2").write_text("{% include 'b.j2' %}", "utf-8")
    (root / "b.j2").write_text("{% include 'a.j2' %}", "utf-8")
    with pytest.raises(TemplateError, match=r"include each other more than 20 deep: .*a\.j2 -> b\.j2"):
        Document.read("a.j2", files).render(MESSAGE)
    (root / "c.j2").write_text("{% extends 'c.j2' %}", "utf-8")
    with pytest.raises(TemplateError, match=r"'c\.j2' extends itself"):
        Document.read("c.j2", files)


def test_a_file_may_include_itself_as_long_as_that_ends(files: Environment) -> None:
    (files.roots[0] / "tree.j2").write_text(
        "{{ n.v }}{% for n in n.sub %}({% include 'tree.j2' %}){% endfor %}", "utf-8"
    )
    source = "{% set n = msg %}{% include 'tree.j2' %}"
    tree = {"v": 1, "sub": [{"v": 2, "sub": [{"v": 3, "sub": []}]}]}
    assert render(source, files, Message(tree)) == "1(2(3))"
