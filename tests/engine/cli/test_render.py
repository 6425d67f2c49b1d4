"""`catenary render`: what a node would send, and where each part came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import Component, Template, register
from catenary.cli._origins import Mask, is_secret_name, pieces_of
from catenary.component import Config, option, registered
from catenary.expr import Environment, resolve_placeholders

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]

opened: list[str] = []


class InnerConfig(Config):
    """Settings inside settings."""

    text: Template = option("", help="A text.")


class RenderedConfig(Config):
    """Settings of every shape."""

    one: Template = option("", help="A text.", also=["first"])
    many: list[Template] = option([], help="Texts.")
    by_name: dict[Template, Template] = option({}, help="Texts by text.")
    inner: list[InnerConfig] = option([], help="Settings.")
    plain: str = option("", help="A plain text.")
    number: int = option(0, help="A number.")
    code: Template = option("", help="A secret.", secret=True)


class Rendered(Component[RenderedConfig]):
    """Open nothing that `render` would notice."""

    def open(self, ctx: Any) -> None:
        opened.append(ctx.node_id)

    def run(self, ctx: Any, msg: Any) -> str:
        opened.append("run")
        return "Success"


@pytest.fixture(autouse=True)
def _registered() -> Generator[None]:
    register("testCli/rendered", category="test")(Rendered)
    opened.clear()
    yield
    del registered["testCli/rendered"]


@pytest.fixture
def rendered(call: Call, chain_file: Callable[..., Path]) -> Callable[..., Any]:
    """Render a node with a configuration, and give its options by path."""

    def render(config: dict[str, Any], *args: str, code: int = 0, **settings: Any) -> dict[str, Any]:
        file = chain_file([("n", "testCli/rendered", config), ("other", "end", {})], **settings)
        result = call("render", file, "n", "--format", "json", *args)
        assert result.exit_code == code, result.output
        return {option["option"]: option for option in json.loads(result.stdout)["nodes"][0]["options"]}

    return render


# Which options are shown


def test_options_of_every_shape_are_shown_by_path(rendered: Callable[..., Any]) -> None:
    config = {
        "FIRST": "${msg.t}",
        "many": ["a", "${msg.t}b"],
        "byName": {"k${msg.t}": "v${msg.t}"},
        "inner": {"text": "${msg.t}"},
        "plain": "p",
        "number": "7",
    }
    found = rendered(config, "-d", '{"t": 1}')

    assert {path: option["value"] for path, option in found.items()} == {
        "FIRST": 1,
        "many[0]": "a",
        "many[1]": "1b",
        "byName (name)": "k1",
        "byName.k${msg.t}": "v1",
        "inner.text": 1,
        "plain": "p",
        "number": "7",
    }


def test_what_is_not_given_is_not_shown(rendered: Callable[..., Any]) -> None:
    assert rendered({"one": None, "unknown": "${msg}"}) == {}


def test_nothing_is_opened_or_run(rendered: Callable[..., Any]) -> None:
    rendered({"one": "${msg.t}"})

    assert opened == []


# Where parts come from


def test_parts_are_told_apart(rendered: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENARY_GLOBAL__REGION", "north")
    text = "in ${global.region}, ${vars.word} ${ruleChain.id}: ${msg.t * 2}!"
    found = rendered({"one": text}, "-d", '{"t": 21}', vars={"word": "w"})["one"]

    assert found["text"] == "in north, w test: 42!"
    assert found["parts"] == [
        {"kind": "text", "text": "in "},
        {
            "kind": "placeholder",
            "name": "global.region",
            "text": "north",
            "source": "environment variable CATENARY_GLOBAL__REGION",
        },
        {"kind": "text", "text": ", "},
        {"kind": "placeholder", "name": "vars.word", "text": "w", "source": "the chain's vars"},
        {"kind": "text", "text": " "},
        {"kind": "placeholder", "name": "ruleChain.id", "text": "test", "source": "the head of the chain"},
        {"kind": "text", "text": ": "},
        {"kind": "expression", "source": "msg.t * 2", "value": 42, "type": "int", "text": "42"},
        {"kind": "text", "text": "!"},
    ]


def test_a_property_comes_from_what_set_it_last(
    rendered: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = tmp_path / "some.env"
    env.write_text("global.a=1\nglobal.b=1\nCATENARY_GLOBAL__C=1\nCATENARY_GLOBAL__D=1\n")
    monkeypatch.setenv("CATENARY_GLOBAL__D", "2")
    config = {"one": "${global.a}${global.b}${global.c}${global.d}${global.e.f}"}
    args = ["--env-file", str(env), "--set", "global.b=2", "--set", 'global.e:={"f": 3}']
    found = rendered(config, *args)["one"]

    assert found["text"] == "12123"
    assert [part["source"] for part in found["parts"]] == [
        str(env),
        "--set",
        f"CATENARY_GLOBAL__C in {env}",
        "environment variable CATENARY_GLOBAL__D",
        "--set",
    ]


def test_an_expression_inside_a_property_is_evaluated_where_it_lands(rendered: Callable[..., Any]) -> None:
    found = rendered({"one": "a ${global.x} b"}, "-d", '{"t": 1}', "--set", "global.x=${msg.t}")["one"]

    assert found["text"] == "a 1 b"
    assert [part["kind"] for part in found["parts"]] == ["text", "expression", "text"]


def test_files_that_are_read_are_named(rendered: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Be kind.")
    found = rendered({"one": "${include('p.md')} ${include('absent.md')}"})["one"]

    assert found["text"] == "Be kind. "
    assert found["parts"][0]["files"] == [str(tmp_path / "p.md")]
    assert "files" not in found["parts"][-1]


def test_an_included_file_is_evaluated_in_its_part_as_in_the_whole(
    rendered: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "p.txt").write_text("t=${msg.t}")
    option = rendered({"one": "a ${include('p.txt', true)}"}, "-d", '{"t": 1}')["one"]

    assert (option["ok"], option["text"]) == (True, "a t=1")
    assert [part["text"] for part in option["parts"]] == ["a ", "t=1"]


def test_a_property_that_is_not_set_is_told(rendered: Callable[..., Any]) -> None:
    assert rendered({"one": "a${global.absent}"})["one"]["parts"][1]["unset"] == "global.absent"


def test_an_expression_that_is_a_property_not_set_is_told(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("render", chain_file([("m", "exprTransform", {"expr": "${global.absent}"})]), "m")

    assert result.stdout == (
        "m (exprTransform)\n"
        '  expr (expression): ""\n'
        "    ${global.absent}\n"
        "    global.absent is not set and counts as empty text\n"
    )


def test_a_plain_option_with_a_property_that_is_not_set_is_an_error(rendered: Callable[..., Any]) -> None:
    found = rendered({"plain": "${global.absent}"}, code=1)["plain"]

    assert found["error"]["text"] == "${global.absent} has no value"
    assert found["error"]["hint"] == "give --set global.absent=VALUE"


# Outputs of other nodes


def test_an_output_can_be_given(rendered: Callable[..., Any]) -> None:
    assert rendered({"one": "${other.msg.n}"}, "--output", 'other={"n": 5}')["one"]["value"] == 5


def test_an_output_that_is_missing_is_told(rendered: Callable[..., Any]) -> None:
    part = rendered({"one": "${other?.msg?.n}"})["one"]["parts"][0]

    assert part["missingOutputs"] == ["other"]
    assert part["value"] is None


# What fails


def test_a_part_that_fails_leaves_the_others(rendered: Callable[..., Any]) -> None:
    found = rendered({"one": "a ${msg.t + 1} ${1 + 1}", "plain": "p"}, code=1)

    assert found["one"]["partial"] == "a <failed> 2"
    assert found["one"]["parts"][1]["error"]["text"].endswith("'+' cannot take nil and int")
    assert found["one"]["ok"] is False
    assert found["plain"]["ok"] is True


def test_a_lenient_chain_shows_what_is_left_empty(rendered: Callable[..., Any]) -> None:
    found = rendered({"one": "a ${msg.t + 1}"}, code=1, templates="lenient")["one"]

    assert found["text"] == "a "
    assert "error" in found["parts"][1]


def test_a_configuration_that_is_wrong_has_its_problems_told(call: Call, chain_file: Callable[..., Path]) -> None:
    file = chain_file([("a", "testCli/rendered", {"one": "${msg.t +}"}), ("b", "nope", {}), ("c", "end", {})])

    for node, said in (("a", "found the end"), ("b", "component not found")):
        result = call("render", file, node)
        assert result.exit_code == 3
        assert said in result.stdout
    assert call("render", file, "c").exit_code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "name the nodes to show, or give --all"),
        (["hot", "--all"], "name the nodes to show, or give --all"),
        (["hto"], "the chain has no node 'hto'; did you mean 'hot'?"),
        (["xyz"], "the nodes are: hot, end"),
        (["hot", "--output", "hto=1"], "did you mean 'hot'?"),
        (["hot", "--output", "hot"], "has no '='"),
        (["hot", "-d", "1", "-f", __file__], "once"),
    ],
)
def test_wrong_usage_is_told(call: Call, hot: Path, args: list[str], said: str) -> None:
    result = call("render", hot, *args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


# Secrets


def test_secrets_are_masked_wherever_they_stand(rendered: Callable[..., Any]) -> None:
    config = {
        "one": "key ${global.api_key} ${upper('x')} ${global.apiKey + ''}",
        "plain": "${global.db.password}",
        "code": "topsecret ${msg.t}",
        "byName": {"Authorization": "Basic abcdef"},
        "many": ["topsecret 1"],
    }
    args = ["-d", '{"t": 1}']
    for name in ("api_key=sk-12345", "apiKey=sk-6789", "db.password=hunter2"):
        args += ["--set", f"global.{name}"]
    found = rendered(config, *args)

    shown = json.dumps(found)
    for secret in ("sk-12345", "sk-6789", "hunter2", "topsecret", "abcdef"):
        assert secret not in shown
    assert found["one"]["text"] == "key **** X ****"


@pytest.mark.parametrize("name", ["key", "api_key", "apiKey", "global.db.password", "Authorization", "X-Auth-Token"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["monkey", "keyboard", "tokens_used", "Content-Type", "author"])
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_a_short_secret_is_not_looked_for_everywhere() -> None:
    mask = Mask()
    mask.add("1")

    assert mask.hide("11") == "11"


@pytest.mark.parametrize("text", ["", "a", "${global.a}", "a${ global.a }b${vars.x}${global.no}", "${global.a"])
def test_the_pieces_of_a_text_are_the_text_after_the_init_pass(text: str) -> None:
    environment = Environment(properties={"a": "A"}, vars={"x": [1]})
    pieces = pieces_of(text, environment)

    assert "".join(piece.text for piece in pieces) == resolve_placeholders(text, environment)
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]


# Documents


def test_a_document_is_rendered_and_its_files_are_named(
    call: Call, chain_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "prompt.j2").write_text("{% include 'part.j2' %} for {{ msg.t }}{{ include('p.md') }}")
    (tmp_path / "part.j2").write_text("Help")
    (tmp_path / "p.md").write_text("!")
    config = {**AGENT, "url": "http://127.0.0.1", "systemPrompt": {"template": "prompt.j2"}}
    args = ["-d", '{"t": 1}', "--format", "json"]
    result = call("render", chain_file([("ask", "ai/agent", config)]), "ask", *args)

    node = json.loads(result.stdout)["nodes"][0]
    prompt = next(option for option in node["options"] if option["option"] == "systemPrompt")
    assert (prompt["kind"], prompt["text"]) == ("document", "Help for 1!")
    assert set(prompt["files"]) == {str(tmp_path / name) for name in ("prompt.j2", "part.j2", "p.md")}
    assert node["sends"]["messages"][0] == {"role": "system", "content": "Help for 1!"}


def test_a_document_tells_the_outputs_that_it_asked_for_and_no_others(
    call: Call, chain_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "p.txt").write_text("${prepare?.msg.n}")
    nodes = [("doc", "text/template", {"template": "{{ include('p.txt', true) }}"}), ("prepare", "end", {})]
    result = call("render", chain_file([*nodes, ("other", "end", {})]), "doc", "--format", "json")

    assert json.loads(result.stdout)["nodes"][0]["options"][0]["missingOutputs"] == ["prepare"]


def test_a_document_that_fails_says_where(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("doc", "text/template", {"template": "a\n{{ msg.a.b }} ${global.x}"})])
    result = call("render", chain, "doc", "--set", "global.x=1")

    assert result.exit_code == 1
    assert "line 2" in result.stdout
    assert '${global.x} = "1", from --set' in result.stdout


def test_a_python_expression_is_shown_with_its_value(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("render", chain_file([("py", "pyFilter", {"expr": "msg.t > 1"})]), "py", "-d", '{"t": 2}')

    assert result.stdout == "py (pyFilter)\n  expr (python): true\n    msg.t > 1\n"


# What would be sent


def test_the_request_of_an_http_call_is_shown(call: Call, chain_file: Callable[..., Path]) -> None:
    config = {
        "url": "http://127.0.0.1/${metadata.id}",
        "headers": {"Authorization": "Bearer ${global.token}", "${metadata.name}": "${msg.t}"},
        "body": '{"t": ${msg.t}}',
    }
    args = ["-d", '{"t": 1}', "-m", "id=7", "-m", "name=X-T", "--set", "global.token=hidden"]
    result = call("render", chain_file([("c", "restApiCall", config)]), "c", "--format", "json", *args)

    assert json.loads(result.stdout)["nodes"][0]["sends"] == {
        "method": "POST",
        "url": "http://127.0.0.1/7",
        "headers": {"Authorization": "****", "X-T": "1"},
        "body": '{"t": 1}',
    }


def test_a_call_without_a_body_of_its_own_sends_the_data(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("c", "restApiCall", {"url": "http://127.0.0.1", "requestMethod": " get "})])
    sends = json.loads(call("render", chain, "c", "-d", "{}", "--format", "json").stdout)["nodes"][0]["sends"]

    assert (sends["method"], sends["body"]) == ("GET", "{}")


AGENT = {
    "url": "${global.url}",
    "key": "sk-1234567890",
    "model": "m",
    "systemPrompt": "You help in ${global.site}.\n${include('p.md')}",
    "messages": [{"role": "user", "content": "It is ${msg.t}."}],
    "tools": ["lookup"],
    "params": {"temperature": 0.5},
}


def test_the_conversation_of_an_agent_is_shown(call: Call, chain_file: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Be kind.")
    args = ["-d", '{"t": 1}', "--set", "global.url=http://127.0.0.1/v1", "--set", "global.site=north"]
    result = call("render", chain_file([("ask", "ai/agent", AGENT)]), "ask", "--format", "json", *args)

    assert result.exit_code == 0
    assert json.loads(result.stdout)["nodes"][0]["sends"] == {
        "url": "http://127.0.0.1/v1/chat/completions",
        "model": "m",
        "messages": [
            {"role": "system", "content": "You help in north.\nBe kind."},
            {"role": "user", "content": "It is 1."},
        ],
        "temperature": 0.5,
        "tools": ["lookup"],
    }


def test_a_conversation_in_the_data_replaces_the_prompt(call: Call, chain_file: Callable[..., Path]) -> None:
    data = {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}
    chain = chain_file([("ask", "ai/agent", {**AGENT, "url": "http://127.0.0.1"})])
    args = ["-d", json.dumps(data), "-m", "session_model=other", "--format", "json"]
    sends = json.loads(call("render", chain, "ask", *args).stdout)["nodes"][0]["sends"]

    assert [message["content"] for message in sends["messages"]] == ["S", "U"]
    assert sends["model"] == "other"


def test_what_keeps_a_node_from_sending_is_told(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("ask", "ai/agent", {**AGENT, "url": "http://127.0.0.1"})])
    result = call("render", chain, "ask", "-d", '{"messages": [1]}')

    assert result.exit_code == 1
    assert "would send nothing: messages[0] must be an object" in result.stdout


# Text to read


def test_several_nodes_are_shown_as_text(call: Call, chain_file: Callable[..., Path]) -> None:
    nodes = [
        ("warm", "exprFilter", {"expr": "msg.t > vars.limit"}),
        ("script", "jsFilter", {"jsScript": "return ${global.n};"}),
        ("make", "exprTransform", {"mapping": {"double": "msg.t * 2", "bad": "msg.a.b"}}),
    ]
    result = call("render", chain_file(nodes, vars={"limit": 5}), "--all", "-d", '{"t": 7}', "--set", "global.n=1")

    assert result.exit_code == 1
    assert result.stdout == (
        "warm (exprFilter)\n"
        "  expr (expression): true\n"
        "    msg.t > vars.limit\n"
        "\n"
        "script (jsFilter)\n"
        "  jsScript (script): return 1;\n"
        '    ${global.n} = "1", from --set, put in when the chain is loaded\n'
        "\n"
        "make (exprTransform)\n"
        "  mapping.double (expression): 14\n"
        "    msg.t * 2\n"
        "  mapping.bad (expression)\n"
        "    msg.a.b\n"
        "    error: expression 'msg.a.b', line 1, column 1: cannot fetch b from nil; `?.b` gives nil there\n"
        "        msg.a.b\n"
        "        ^\n"
    )


def test_texts_of_several_lines_stay_readable(call: Call, chain_file: Callable[..., Path]) -> None:
    result = call("render", chain_file([("n", "testCli/rendered", {"one": "a\n${msg.t}"})]), "n", "-d", '{"t": 7}')

    assert result.stdout == 'n (testCli/rendered)\n  one (template)\n    | a\n    | 7\n    "a\\n"\n    ${msg.t} = 7\n'
