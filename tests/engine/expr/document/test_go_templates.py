"""Text templates of Go are recognised and told as Jinja2."""

from __future__ import annotations

from time import thread_time

import pytest

from catenary.errors import TemplateError
from catenary.expr import Document
from catenary.expr.document.go_templates import go_problem, translate
from catenary.message import Message


@pytest.mark.parametrize(
    ("source", "jinja"),
    [
        ("{{ .msg.x }}", "{{ msg.x }}"),
        ("{{.msg.x}}", "{{ msg.x }}"),
        ("{{- .msg.x -}}", "{{- msg.x -}}"),
        ("{{ . }}", "{{ msg }}"),
        ("{{ $.msg.x }}", "{{ msg.x }}"),
        ("{{ if gt .msg.t 20 }}a{{ else }}b{{ end }}", "{% if msg.t > 20 %}a{% else %}b{% endif %}"),
        ("{{ if .a }}1{{ else if eq .b \"x\" }}2{{ end }}", '{% if a %}1{% elif b == "x" %}2{% endif %}'),
        ("{{ if and .a (not .b) }}x{{ end }}", "{% if a and (not b) %}x{% endif %}"),
        ("{{ if or (lt .a 1) (ge .b 2) }}x{{ end }}", "{% if (a < 1) or (b >= 2) %}x{% endif %}"),
        ("{{ eq .a 1 2 }}{{ ne .a .b }}{{ le .a 1 }}", "{{ a in [1, 2] }}{{ a != b }}{{ a <= 1 }}"),
        ("{{ range .xs }}{{ . }};{{ .y }}{{ end }}", "{% for item in xs %}{{ item }};{{ item.y }}{% endfor %}"),
        ("{{ range $x := .xs }}{{ $x }}{{ end }}", "{% for x in xs %}{{ x }}{% endfor %}"),
        ("{{ range $_, $x := .xs }}{{ $x.y }}{{ end }}", "{% for x in xs %}{{ x.y }}{% endfor %}"),
        ("{{ range $k, $v := .m }}{{ $k }}{{ end }}", "{% for k, v in m.items() %}{{ k }}{% endfor %}"),
        ("{{ range .xs }}{{ else }}none{{ end }}", "{% for item in xs %}{% else %}none{% endfor %}"),
        ("{{ range .xs }}{{ if .a }}{{ break }}{{ end }}{{ continue }}{{ end }}",
         "{% for item in xs %}{% if item.a %}{% break %}{% endif %}{% continue %}{% endfor %}"),
        ("{{ with .msg.o }}{{ .b }}{{ end }}", "{% if msg.o %}{{ msg.o.b }}{% endif %}"),
        ("{{ with $o := .msg.o }}{{ $o.b }}{{ end }}", "{% set o = msg.o %}{% if o %}{{ o.b }}{% endif %}"),
        ("{{ $v := .msg.x }}{{ $v }}{{ $v = 2 }}", "{% set v = msg.x %}{{ v }}{% set v = 2 %}"),
        ("{{ .data | escape }}{{ escape .data }}", "{{ data | escape }}{{ data | escape }}"),
        ("{{ len .xs }}{{ .xs | len }}{{ index .m \"a\" 0 }}", '{{ xs | length }}{{ xs | length }}{{ m["a"][0] }}'),
        ("{{ printf \"%d-%s\" .a .b }}{{ .a | printf \"%d\" }}", '{{ "%d-%s" | format(a, b) }}{{ "%d" | format(a) }}'),
        ("{{ print .a \"-\" .b }}{{ slice .s 1 2 }}", '{{ a ~ "-" ~ b }}{{ s[1:2] }}'),
        ("{{ html .a }}{{ js .a }}{{ urlquery .a }}", "{{ a | html }}{{ a | jsonEscape }}{{ a | urlencode }}"),
        ("{{ custom .a 1 }}{{ .a | custom 1 }}", "{{ custom(a, 1) }}{{ a | custom(1) }}"),
        ("{{/* note */}}{{ .a }}", "{# note #}{{ a }}"),
        ("{{ define \"row\" }}{{ .x }}{{ end }}{{ template \"row\" .msg }}",
         "{% macro row(item) %}{{ item.x }}{% endmacro %}{{ row(msg) }}"),
        ("{{ define \"a b\" }}x{{ end }}{{ template \"a b\" }}{{ template \"c.j2\" }}",
         '{% macro a_b(item) %}x{% endmacro %}{{ a_b() }}{% include "c.j2" %}'),
        ("{{ range $i, $x := .xs }}{{ $i }}{{ end }}",
         "{% for x in xs %}{% set i = loop.index0 %}{{ i }}{% endfor %}"),
        ("{{ range 3 }}{{ . }}{{ end }}", "{% for item in range(3) %}{{ item }}{% endfor %}"),
        ("{{ with index .xs 0 }}{{ .y }}{{ else }}-{{ end }}",
         "{% set item = xs[0] %}{% if item %}{{ item.y }}{% else %}-{% endif %}"),
        ("{{ with .o }}{{ .x }}{{ else }}-{{ end }}", "{% if o %}{{ o.x }}{% else %}-{% endif %}"),
        ("{{ block \"b\" .o }}{{ .x }}{{ end }}", "{% block b %}{{ o.x }}{% endblock %}"),
        ("{{ println .a }}{{ not (eq .a 1) }}", '{{ a ~ "\\n" }}{{ not (a == 1) }}'),
        ("{{ le .a 1 | not }}{{ eq .a 1 | printf \"%t\" }}", '{{ not (a <= 1) }}{{ "%s" | format((a == 1)) }}'),
        ("{{ printf \"%v=%q\" .a .b }}", '{{ "%s=\\"%s\\"" | format(a, b) }}'),
        ("{{ `raw \"x\"` }}", '{{ "raw \\"x\\"" }}'),
        ("{{ .a }} `{{ `raw \"x\"` }}`", '{{ a }} `{{ "raw \\"x\\"" }}`'),
        ("{{ (index .xs 0).y }}", "{{ (xs[0]).y }}"),
    ],
)  # fmt: skip
def test_translation(source: str, jinja: str) -> None:
    assert go_problem(source) is not None
    assert translate(source) == jinja


@pytest.mark.parametrize(
    "source",
    [
        "{{ msg.x }}",
        "{{ end }}",
        "{{ '.x' }}",
        "{{ 'a' ~ \"$5\" }}",
        "{{ msg['.x'] }}",
        "{{ ''.upper() }}",
        "{{ (1).x }}",
        "{{ x[0].y }}",
        "{{ range(3) }}",
        "{{ range }}",
        "{{ index }}",
        "{{ .5 + 1 }}",
        "{{ not x }}",
        "{{ not (x == 1) }}",
        "{{ not 'x' in xs }}",
        "{{ len (xs) }}",
        "{{ range (3) }}",
        "{{ x if y else z }}",
        "{{ len(msg.xs) }}",
        "{{ {'a': 1}.a }}",
        "{# {{ .x }} #}",
        "{% raw %}{{ .x }}{% endraw %}",
        "{% set x = 1 %}",
        "${ .x }",
        ".x $y := {{ x }}",
    ],
)
def test_jinja2_is_not_taken_for_go(source: str) -> None:
    assert go_problem(source) is None


def test_the_error_names_what_was_found_its_place_and_the_line_in_jinja2() -> None:
    source = "Alarm\n  {{ if gt .msg.t 20 }}hot{{ end }} at {{ .msg.place }}\n"
    with pytest.raises(TemplateError) as raised:
        Document.compile(source, name="alarm.tpl")
    assert str(raised.value).startswith(
        "alarm.tpl: '{{ if gt .msg.t 20 }}' is a template of Go; documents are written in Jinja2 (line 2, column 3)"
    )
    assert raised.value.hint == "In Jinja2 this line is: {% if msg.t > 20 %}hot{% endif %} at {{ msg.place }}"
    assert source[raised.value.position :].startswith("{{ if")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ with .msg.none }}{{ .x }}{{ else }}nobody{{ end }}", "nobody"),
        ("{{ with .msg.o }}{{ .b }} {{ $.metadata.k }}{{ end }}", "1 v"),
        ("{{ range $i, $x := .msg.xs }}{{ if $i }}, {{ end }}{{ $x.name }}{{ end }}", "a, b"),
        ("{{ range $k, $v := .metadata }}{{ $k }}={{ $v }};{{ end }}", "k=v;"),
        ('{{ define "row" }}<{{ .name }}>{{ end }}{{ range .msg.xs }}{{ template "row" . }}{{ end }}', "<a><b>"),
        ('{{ block "o" .msg.o }}{{ .b }}{{ end }}', "1"),
        ('{{ printf "%s has %v, %q, %t" .metadata.k .msg.o .metadata.k .msg.yes }}', 'v has {"b":1}, "v", true'),
        ("{{ if and (gt (len .msg.xs) 1) (not .msg.none) }}many{{ end }}", "many"),
        ("{{ eq .msg.o.b 2 | not }}{{ range 2 }}{{ . }}{{ end }}", "true01"),
        ("{{ range .msg.xs }}{{ range .ys }}{{ . }}{{ end }};{{ end }}", "12;3;"),
        ("{{ (index .msg.xs 1).name }}{{ slice .metadata.k 0 1 }}{{ /* note */ -}} \n.", "bv."),
    ],
)
def test_what_is_translated_means_the_same(source: str, text: str) -> None:
    assert go_problem(source) is not None
    message = Message(
        {"xs": [{"name": "a", "ys": [1, 2]}, {"name": "b", "ys": [3]}], "o": {"b": 1}, "yes": True}, metadata={"k": "v"}
    )
    assert Document.compile(translate(source)).render(message) == text


@pytest.mark.parametrize("piece", ["{{", "{{ x", "{{-", "{#", "{% raw %}", "{{ 'a", "{{ .a }}", '{{ define "', "{%"])
def test_long_texts_are_looked_through_in_linear_time(piece: str) -> None:
    def took(count: int) -> float:
        times: list[float] = []
        for _ in range(3):
            began = thread_time()
            go_problem(piece * count)
            times.append(thread_time() - began)
        return min(times)

    assert took(16_000) < 32 * max(took(2_000), 0.000_1)


def test_deep_parentheses_are_no_reason_to_crash() -> None:
    problem = go_problem("{{ if and .a " + "(" * 5_000 + "1" + ")" * 5_000 + " }}")
    assert problem is not None


def test_lines_stay_where_they_are() -> None:
    source = "{{ if .a }}\nx\n{{ end }}\n{{ range\n .xs }}\n{{ . }}{{ end }}"
    assert translate(source) == "{% if a %}\nx\n{% endif %}\n{% for item in xs %}\n\n{{ item }}{% endfor %}"


def test_what_is_translated_runs() -> None:
    source = (
        '{{ range .msg.xs }}{{ if gt .t 20.0 }}{{ .name | escape }}={{ printf "%.1f" .t }};{{ end }}{{ end }}'
        '{{ with .msg.o }}{{ .b }}{{ end }}{{ len .msg.xs }}{{ index .metadata "k" }}'
    )
    message = Message({"xs": [{"t": 25.04, "name": 'a"b'}, {"t": 3, "name": "c"}], "o": {"b": 1}}, metadata={"k": "v"})
    assert Document.compile(translate(source)).render(message) == 'a\\"b=25.0;12v'


@pytest.mark.parametrize("action", ["", "else", "range", "end", "if", "template", "define", "$ :=", "|"])
def test_an_action_that_lacks_something_is_told_as_a_template_of_go(action: str) -> None:
    problem = go_problem(f"{{{{ $ }}}} {{{{ {action} }}}}")
    assert problem is not None
    assert "is a template of Go" in str(problem)
