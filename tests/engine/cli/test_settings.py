"""`--set`, `--env-file`, environment variables and `--config`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.cli._properties import PREFIX, properties_of, put_variables, read_env_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]
    Shown = Callable[[str], Path]


@pytest.fixture
def env_file(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / ".env"
        path.write_text(text)
        return str(path)

    return write


# Properties


def test_set_gives_text_and_json(call: Call, shown: Shown) -> None:
    result = call(
        "run", shown("[global.a.b, global.a.c, global.n]"),
        "--set", "global.a.b=1", "--set", "global.a.c:=[1, true]", "--set", "global.n=x:=y",
    )  # fmt: skip
    assert json.loads(result.stdout) == ["1", [1, True], "x:=y"]


def test_set_reaches_the_settings_of_nodes(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("t", "exprTransform", {"expr": "${global.deep.formula}"})])
    assert call("run", chain, "--set", "global.deep.formula=1 + 1").stdout == "2\n"


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("a=1", "write --set global.a=VALUE"),
        ("global=1", "write --set global.KEY=VALUE"),
        ("global.=1", "is no property"),
        ("global.a..b=1", "is empty"),
        ("global.a", "has no '='"),
        ("=1", "no key"),
        (":=1", "no key before the ':='"),
        ("global.a:={", "is not JSON"),
        ("global.a:=" + "[" * 100_000, "is not JSON"),
    ],
)
def test_a_wrong_set_is_a_usage_error(call: Call, shown: Shown, setting: str, text: str) -> None:
    result = call("run", shown("1"), "--set", setting)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())


def test_a_plain_value_cannot_hold_another(call: Call, shown: Shown) -> None:
    result = call("run", shown("1"), "--set", "global.a=1", "--set", "global.a.b=2")
    assert result.exit_code == 2
    assert "'a' has a plain value already" in result.stderr


def test_variables_are_properties() -> None:
    properties: dict[str, Any] = {}
    names = {"MODELS__DEFAULT__API_KEY": "k", "models__other__maxTokens": "5", "TOP": "t", "": "nothing"}
    put_variables(properties, {f"{PREFIX}{name}": value for name, value in names.items()} | {"CATENARY_X": "1"})
    assert properties == {"models": {"default": {"api_key": "k"}, "other": {"maxTokens": "5"}}, "top": "t"}


def test_set_wins_over_variables_and_they_over_files(
    env_file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = env_file("global.a=file\nglobal.b=file\nglobal.c=file\nCATENARY_GLOBAL__D=file\nCATENARY_GLOBAL__B=file\n")
    monkeypatch.setenv(f"{PREFIX}B", "variable")
    monkeypatch.setenv(f"{PREFIX}C", "variable")
    assert properties_of(["global.c=set"], [file]) == {"a": "file", "b": "variable", "c": "set", "d": "file"}


def test_a_file_adds_to_the_environment_and_replaces_nothing(
    env_file: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THERE", "kept")
    properties_of([], [env_file("THERE=other\nNOT_THERE=added\n")])
    assert (os.environ["THERE"], os.environ["NOT_THERE"]) == ("kept", "added")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = b  ", "b"),
        ("A=", ""),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A=# comment", ""),
        ("A=b=c", "b=c"),
        ('A="b # c"', "b # c"),
        ('A="b\\n\\"c\\"\\\\"  # comment', 'b\n"c"\\'),
        ("A='b\\n \"$c\"'", 'b\\n "$c"'),
        ("A=$HOME", "$HOME"),
        ("A='it''s'", None),
        ('A="open', None),
        ("A", None),
        ("1A=b", None),
        ("A B=c", None),
    ],
)
def test_lines_of_an_env_file(env_file: Callable[[str], str], line: str, value: str | None) -> None:
    path = env_file(f"\n# a comment\n{line}\n")
    if value is not None:
        assert read_env_file(path) == [("A", value)]
        return
    with pytest.raises(click.BadParameter, match=r":3: the line is not of the form NAME=value"):
        read_env_file(path)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])))
def test_any_value_survives_double_quotes(env_file: Callable[[str], str], value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert read_env_file(env_file(f'A="{quoted}"')) == [("A", value)]


def test_a_wrong_line_is_not_shown(call: Call, shown: Shown, env_file: Callable[[str], str]) -> None:
    result = call("run", shown("1"), "--env-file", env_file("sk-secret-key"))
    assert result.exit_code == 2
    assert "secret" not in result.output


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "env"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(click.BadParameter):
        read_env_file(str(path))


def test_a_missing_env_file_is_a_usage_error(call: Call, shown: Shown) -> None:
    assert call("run", shown("1"), "--env-file", "/nowhere").exit_code == 2


# --config


def test_config_changes_one_setting_for_this_run(call: Call, hot: Path) -> None:
    before = hot.read_text()
    assert (
        json.loads(call("run", hot, "-d", '{"t": 9}', "--config", "hot.EXPR=msg.t > 5", "--format", "json").stdout)[
            "ends"
        ][0]["relation"]
        == "True"
    )
    assert hot.read_text() == before


def test_config_gives_text_json_and_parts_of_a_setting(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file(
        [("a.b", "exprTransform", {"mapping": {"one": "1"}}), ("c", "exprTransform", None)], [("a.b", "Success", "c")]
    )
    result = call("run", chain, "--config", "a.b.mapping.two=2", "--config", 'c.mapping:={"sum": "msg.one + msg.two"}')
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"sum": 3})


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("hto.expr=1", "the chain has no node 'hto'; did you mean 'hot'?"),
        ("zzz.expr=1", "the nodes are: hot, end"),
        ("hot=1", "names a node but no setting"),
        ("hot.exp=1", "did you mean 'expr'?"),
        ("hot.expr", "has no '='"),
        ("hot.expr:=x", "is not JSON"),
        ("hot.=x", "is empty"),
    ],
)
def test_a_wrong_config_is_a_usage_error(call: Call, hot: Path, override: str, text: str) -> None:
    result = call("run", hot, "--config", override)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())


def test_a_wrong_value_is_told_of_the_option_and_not_of_the_file(call: Call, hot: Path) -> None:
    result = call("run", hot, "--config", "hot.expr=1 +")
    assert result.exit_code == 2
    assert f"{hot}:" not in result.stderr
    assert "'--config': node 'hot' (exprFilter): expr: expected a value" in " ".join(result.stderr.split())


def test_config_of_a_file_that_is_no_chain(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]")
    assert call("run", path, "--config", "a.b=1").exit_code == 2
    path.write_text("{")
    assert call("run", path, "--config", "a.b=1").exit_code == 3


def test_a_chain_with_changes_still_reads_files_beside_it(call: Call, chain_file: Callable[..., Path]) -> None:
    chain = chain_file([("t", "exprTransform", {"expr": "1"})])
    (chain.parent / "note.txt").write_text("beside")
    assert call("run", chain, "--config", "t.expr=include('note.txt')").stdout == "beside\n"


def test_properties_may_be_files_of_keys(tmp_path: Path) -> None:
    keys, toml = tmp_path / "a.yaml", tmp_path / "b.toml"
    keys.write_text("models: {default: small, limit: 3}\nregion: north\n")
    toml.write_text("[models]\nlimit = 4\n")
    sources: dict[str, str] = {}
    properties = properties_of(["global.region=set"], [str(keys), str(toml)], sources)
    assert properties == {"models": {"default": "small", "limit": 4}, "region": "set"}
    assert sources == {"models.default": str(keys), "models.limit": str(toml), "region": "--set"}


def test_file_of_keys_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("[")
    with pytest.raises(click.BadParameter, match="line 1"):
        properties_of([], [str(file)])
