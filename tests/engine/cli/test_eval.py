"""`catenary eval`: one expression, template or script, and lines of them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]

# What is printed


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("msg.t > 40", "true"),
        ("msg", '{"name":"Zoë","t":41}'),
        ("msg.name", '"Zoë"'),
        ("nil", "null"),
        ("msg.t / 2", "20.5"),
        ("date('2024-05-06')", '"2024-05-06T00:00:00Z"'),
    ],
)
def test_the_value_is_json(call: Call, source: str, printed: str) -> None:
    result = call("eval", source, "-d", '{"t": 41, "name": "Zoë"}')

    assert (result.exit_code, result.stdout, result.stderr) == (0, printed + "\n", "")


@pytest.mark.parametrize(("source", "printed"), [("'a'", "a"), ("nil", ""), ("1e21", "1" + 21 * "0"), ("[1]", "[1]")])
def test_raw_is_the_text_that_templates_have(call: Call, source: str, printed: str) -> None:
    assert call("eval", source, "--raw").stdout == printed + "\n"


def test_what_no_json_can_hold_is_told_with_the_way_out(call: Call) -> None:
    result = call("eval", "1 / 0")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "error: +Inf cannot be written as JSON\n  hint: Print it as text with --raw.\n"
    assert call("eval", "1 / 0", "--raw").stdout == "+Inf\n"


def test_what_no_terminal_can_show_is_an_escape_in_values_and_a_blank_in_excerpts(call: Call) -> None:
    assert call("eval", "'\udcff'", "--raw").stdout == "\\udcff\n"
    assert "    ' ' + 1\n" in call("eval", "'\udcff' + 1").stderr


def test_a_template_keeps_the_kind_of_a_lone_part(call: Call) -> None:
    assert call("eval", "--template", "${msg.t}", "-d", '{"t": [1]}').stdout == "[1]\n"
    assert call("eval", "--template", "t is ${msg.t}", "-d", '{"t": [1]}', "--raw").stdout == "t is [1]\n"


def test_metadata_keys_are_names_in_templates_only(call: Call) -> None:
    assert call("eval", "--template", "${site}", "-m", "site=north").stdout == '"north"\n'
    assert call("eval", "site", "-m", "site=north").stdout == "null\n"


def test_a_script_is_the_body_of_a_function(call: Call) -> None:
    assert call("eval", "--js", "return {t: msg.t * 2}", "-d", '{"t": 21}').stdout == '{"t":42}\n'


def test_a_script_has_caches_of_its_own(call: Call) -> None:
    source = "const c = $ctx.ChainCache(); c.Set('a', [1]); return [c.Get('a'), $ctx.GlobalCache().Has('a')]"

    assert call("eval", "--js", source).stdout == "[[1],false]\n"


@pytest.mark.parametrize(
    ("kind", "source", "printed"),
    [
        ("--document", "{% for x in msg.xs %}{{ x }},{% endfor %}{{ site }}", '"1,2,north"'),
        ("--python", "[x * 2 for x in msg.xs]", "[2,4]"),
    ],
)
def test_documents_and_python_expressions_are_evaluated(call: Call, kind: str, source: str, printed: str) -> None:
    assert call("eval", kind, source, "-d", '{"xs": [1, 2]}', "-m", "site=north").stdout == printed + "\n"


def test_format_json_is_one_object(call: Call) -> None:
    result = call("eval", "msg.t", "-d", '{"t": 41}', "--format", "json")

    assert json.loads(result.stdout) == {"ok": True, "kind": "int", "text": "41", "value": 41}


def test_format_json_tells_the_place_of_an_error(call: Call) -> None:
    result = call("eval", "1 +\n nope(", "--format", "json")

    assert result.exit_code == 1
    assert result.stderr == ""
    error = json.loads(result.stdout)["error"]
    assert (error["line"], error["column"], set(error)) == (2, 7, {"text", "hint", "line", "column"})


# What is wrong


def test_a_failure_has_a_caret_below_the_place(call: Call) -> None:
    result = call("eval", "1 + msg.t * 2", "-d", '{"t": "x"}')

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: expression '1 + msg.t * 2', line 1, column 5: '*' cannot take string and int\n"
        "    1 + msg.t * 2\n"
        "        ^\n"
    )


def test_a_syntax_error_has_one_caret_and_a_hint(call: Call) -> None:
    result = call("eval", "msg.t = 4")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("^") == 1
    assert "  hint: Compare with `==`." in result.stderr


@pytest.mark.parametrize("kind", [[], ["--template"], ["--js"]])
def test_no_kind_of_text_shows_a_stack_trace(call: Call, kind: list[str]) -> None:
    for source in ("${", "(((", "${(}", "return return", "${1 +}", "throw new Error('x')", "\x00"):
        result = call("eval", *kind, source)
        assert result.exit_code in {0, 1}
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["1", "-d", "1", "-f", __file__], "once"),
        (["1", "-d", "@"], "no file name"),
        (["1", "-d", "@/nowhere"], "/nowhere"),
        (["1", "-m", "x"], "has no '='"),
        (["1", "--var", "x"], "has no '='"),
        (["1", "--var", "x:=["], "not JSON"),
        (["1", "--output", "x"], "has no '='"),
        (["1", "--root", "/nowhere"], "does not exist"),
        (["1", "--set", "x=1"], "no property"),
        (["1", "--chain", "/nowhere"], "does not exist"),
        (["1", "2"], "unexpected argument '2'"),
        (["msg.a", "==", "1"], "one pair of quotes"),
        (["-f", "-"], "stdin cannot be both"),
        (["-d", "@-"], "stdin cannot be both"),
    ],
)
def test_wrong_usage_is_told(call: Call, args: list[str], said: str) -> None:
    result = call("eval", *args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("source", "option"),
    [("Hi ${msg.name}!", "--template"), ("{{ msg.t }} {% if a %}", "--document"), ("return msg.t", "--js")],
)
def test_a_text_of_another_kind_is_told_as_such(call: Call, source: str, option: str) -> None:
    assert f"hint: An expression is meant here; give {option} " in call("eval", source).stderr


def test_a_chain_of_a_wrong_shape_is_refused(call: Call, tmp_path: Path) -> None:
    chain = tmp_path / "chain.json"
    chain.write_text('{"ruleChain": {"id": "a"}, "metadata": {"nodes": [{"id": 1}, 2]}}')
    result = call("eval", "1", "--chain", chain)

    assert (result.exit_code, result.stdout) == (3, "")
    assert "chain." in result.stderr


def test_a_script_without_return_is_warned_of(call: Call) -> None:
    assert call("eval", "--js", "msg.t * 2", "-d", '{"t": 1}').stderr == (
        "warning: the script gives nothing: it has no `return`\n"
    )
    assert call("eval", "--js", "return null").stderr == ""


def test_a_name_that_is_like_a_known_one_is_warned_of(call: Call) -> None:
    result = call("eval", "metdata")

    assert (result.exit_code, result.stdout) == (0, "null\n")
    assert result.stderr == "warning: unknown name 'metdata'; did you mean 'metadata'?\n"
    assert call("eval", "nothing").stderr == ""
    assert json.loads(call("eval", "metdata", "--format", "json").stdout)["warnings"]


# What the expression sees


def test_data_comes_from_a_file_or_from_stdin(call: Call, tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text('{"t": 1}')

    assert call("eval", "msg.t", "-d", f"@{data}").stdout == "1\n"
    assert call("eval", "msg.t", "-f", data).stdout == "1\n"
    assert call("eval", "msg.t", "-f", "-", stdin='{"t": 2}').stdout == "2\n"
    assert call("eval", "msg.t", "-d", "@-", stdin='{"t": 3}').stdout == "3\n"
    assert call("eval", "msg", "-d", "@@-").stdout == '"@-"\n'


def test_data_that_looks_like_json_and_is_none_is_warned_of(call: Call) -> None:
    result = call("eval", "msg.t", "-d", "{t: 1}")

    assert result.stderr.startswith("warning: the data is no JSON, so msg is a text: ")
    assert "cannot fetch t from string" in result.stderr
    assert call("eval", "1", "-d", "hello").stderr == ""


def test_the_message_has_type_data_type_and_metadata(call: Call) -> None:
    args = ["-d", "[1]", "--type", "T", "--data-type", "text", "-m", "a=1"]

    assert json.loads(call("eval", "[type, dataType, metadata.a, msg]", *args).stdout) == ["T", "TEXT", "1", "[1]"]


def test_properties_and_variables_are_set(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENARY_GLOBAL__REGION", "north")
    args = ["--set", "global.limits:=[1]", "--var", "n:=2", "--var", "word=a"]

    result = call("eval", "[global.region, global.limits[0], vars.n, vars.word]", *args)
    assert json.loads(result.stdout) == ["north", 1, 2, "a"]


def test_an_output_is_seen_under_the_name_of_its_node(call: Call) -> None:
    assert call("eval", "prepare.msg.n + 1", "--output", 'prepare={"n": 1}').stdout == "2\n"


def test_include_reads_below_the_current_folder_or_the_roots(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)
    monkeypatch.chdir(here)

    assert call("eval", "include('a.txt')").stdout == '"here"\n'
    assert call("eval", "include('a.txt')", "--root", there).stdout == '"there"\n'
    assert call("eval", f"include('{there}/a.txt')").exit_code == 1
    assert call("eval", f"include('{there}/a.txt')", "--set", f"global.data_dir={there}").stdout == '"there"\n'


def test_a_chain_lends_its_variables_nodes_and_folder(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("prepare", "end", {})], vars={"limit": 40})
    (chain.parent / "a.txt").write_text("a")

    result = call(
        "eval",
        "[vars.limit, vars.more, ruleChain.id, include('a.txt'), prepare.msg]",
        *("--chain", chain, "--var", "more=x", "--output", "prepare=1"),
    )
    assert json.loads(result.stdout) == [40, "x", "test", "a", 1]


def test_an_output_of_a_node_that_the_chain_does_not_have_is_told(call: Call, hot: Path) -> None:
    result = call("eval", "1", "--chain", hot, "--output", "hto=1")

    assert result.exit_code == 2
    assert "the chain has no node 'hto'; did you mean 'hot'?" in result.stderr


def test_a_chain_that_is_none_is_told(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{")

    result = call("eval", "1", "--chain", tmp_path / "c.json")

    assert (result.exit_code, result.stdout) == (3, "")
    assert "c.json:1:2: chain.syntax" in result.stderr


# Lines of stdin


def test_each_line_of_stdin_is_an_expression(call: Call) -> None:
    result = call("eval", "-d", '{"t": 1}', stdin="\ufeffmsg.t\r\n\n  msg.t + 1\n")

    assert (result.exit_code, result.stdout) == (0, "1\n2\n")


def test_a_line_that_fails_does_not_end_the_others(call: Call) -> None:
    result = call("eval", stdin="1\nnil + 1\n\nb'\xff\n3\n")

    assert (result.exit_code, result.stdout) == (1, "1\n3\n")
    assert "error: line 2: " in result.stderr
    assert "error: line 4: " in result.stderr


def test_bytes_that_are_no_text_do_not_end_the_lines(call: Call) -> None:
    assert call("eval", stdin=b"'\xff'\n2\n").stdout.endswith("2\n")


# The explanation


def explained(call: Call, source: str, *args: str) -> dict:
    result = call("eval", "--explain", "--format", "json", source, *args)
    return json.loads(result.stdout)["explain"]


def test_the_tree_says_what_binds_tighter(call: Call) -> None:
    part = explained(call, "1 + msg.a * 2")["parts"][0]

    assert [(row["depth"], row["node"], row["column"]) for row in part["tree"]] == [
        (0, "+", 1),
        (1, "1", 1),
        (1, "*", 5),
        (2, ".a", 5),
        (3, "msg", 5),
        (2, "2", 13),
    ]


def test_what_is_read_is_listed_by_what_it_means(call: Call) -> None:
    source = "let k = msg.a.b; [k.c, metadata.x, prep.msg, nothing, upper(data), nope(1), now().Year()]"
    reads = explained(call, source, "--output", "prep=1")["parts"][0]["reads"]

    assert reads == {
        "variables": ["msg.a.b", "metadata.x", "data"],
        "nodes": ["prep.msg"],
        "unknown": ["nothing"],
        "functions": ["upper", "now"],
        "unknownFunctions": ["nope"],
        "methods": ["Year"],
    }


def test_a_template_is_explained_part_by_part(call: Call) -> None:
    parts = explained(call, "a ${msg.t}\n${site}", "--template")["parts"]

    assert [(part["source"], part["line"], part["column"]) for part in parts] == [("msg.t", 1, 5), ("site", 2, 3)]
    assert parts[1]["reads"] == {"metadataKeys": ["site"]}


def test_what_is_the_same_for_every_message_is_named(call: Call) -> None:
    assert {"text": "-(2)", "value": "-2"} in explained(call, "msg.t + -(2)")["parts"][0]["folded"]


@pytest.mark.parametrize(
    "source",
    [
        "$env['a'] ?? [1, {a: nil}][0]",
        "msg?.a?.[0][1:2].b",
        "filter([1], # > 0) | map({let x = #index; x}) | reduce(#acc + #)",
        "if true { 1 } else { 2 }; not (1 in [2]) && 'a' not in {a: 1}",
        "1 < 2 <= 3 ? `a` : b'x'",
        "-msg.t ** 2..3",
    ],
)
def test_every_form_can_be_explained(call: Call, source: str) -> None:
    result = call("eval", "--explain", "-d", '{"a": [[1, 2]], "t": 1}', "--", source)

    for title in ("tree", "lowered to Python", "runs as"):
        assert f"{title}\n" in result.stdout
    assert "<object" not in result.stdout


def test_the_closure_that_is_shown_is_python(call: Call) -> None:
    import ast

    part = explained(call, "msg.t > 40 && upper(metadata.a) == 'X'")["parts"][0]

    assert ast.parse(part["closure"])
    assert "upper" in part["closure"]
    assert part["lowered"] == "msg.t > 40 and upper(metadata.a) == 'X'"


def test_times_are_told(call: Call) -> None:
    times = explained(call, "msg.t > 40", "-d", '{"t": 1}')["times"]

    assert 0 < times["evaluateUs"] < times["compileUs"]
    assert all(math.isfinite(value) for value in times.values())


def test_an_expression_that_fails_is_explained_all_the_same(call: Call) -> None:
    result = call("eval", "--explain", "msg.t + 1")

    assert result.exit_code == 1
    assert "compiled in" in result.stdout
    assert "evaluated in" not in result.stdout
    assert "'+' cannot take nil and int" in result.stderr


def test_an_expression_that_is_none_says_so_only(call: Call) -> None:
    result = call("eval", "--explain", "msg.t +")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "found the end" in result.stderr


def test_a_script_is_timed(call: Call) -> None:
    explanation = explained(call, "return 1", "--js")

    assert explanation["parts"] == []
    assert explanation["times"]["evaluateUs"] > 0


@pytest.mark.parametrize(("one", "other"), [("--js", "--template"), ("--python", "--document"), ("--js", "--python")])
def test_expr_is_of_one_kind(call: Call, one: str, other: str) -> None:
    result = call("eval", one, other, "1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert one in result.stderr
    assert other in result.stderr
    assert "not several" in result.stderr
    assert call("eval", one, one, "return 1" if one == "--js" else "1").exit_code == 0
