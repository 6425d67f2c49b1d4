"""Properties from files, from the environment, and set by hand."""

from __future__ import annotations

import pytest

from catenary.errors import ConfigError
from catenary.properties import read_properties

FILES = {
    "a.json": '{"region": "north", "models": {"default": "small", "limit": 3}}',
    "a.yaml": "region: north\nmodels: {default: small, limit: 3}\n",
    "a.toml": 'region = "north"\n[models]\ndefault = "small"\nlimit = 3\n',
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_three_kinds_give_the_same(tmp_path, name):
    file = tmp_path / name
    file.write_text(FILES[name])
    wanted = {"region": "north", "models": {"default": "small", "limit": 3}}
    assert read_properties(file, environ={}) == wanted


def test_later_files_win_and_the_environment_over_them_and_settings_over_all(tmp_path):
    first, second, env = tmp_path / "a.yaml", tmp_path / "b.json", tmp_path / "c.env"
    first.write_text("m: {a: first, b: first, c: first, d: first}")
    second.write_text('{"m": {"b": "second", "e": 2}}')
    env.write_text("global.m.c=env file\nCATENARY_GLOBAL__M__D=variable of the file\nCATENARY_GLOBAL__M__F=kept\n")
    variables = {"CATENARY_GLOBAL__M__D": "variable", "CATENARY_OTHER": "x"}
    properties = read_properties(first, second, env, environ=variables, settings={"m.e": "set"})
    assert properties == {"m": {"a": "first", "b": "second", "c": "env file", "d": "variable", "e": "set", "f": "kept"}}


def test_environment_of_the_process_is_read_unless_another_is_given(monkeypatch):
    monkeypatch.setenv("CATENARY_GLOBAL__REGION", "south")
    assert read_properties()["region"] == "south"
    assert read_properties(environ={}) == {}


def test_dates_of_toml_are_texts(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text("day = 2026-01-02\nat = [07:30:00]\n")
    assert read_properties(file, environ={}) == {"day": "2026-01-02", "at": ["07:30:00"]}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", "[1]", "holds no mapping"),
        ("a.json", '{"a": ', r"a\.json: .*line 1"),
        ("a.yaml", "a: [", r"a\.yaml: .*line 1"),
        ("a.toml", "a = ", r"a\.toml: "),
        ("a.env", "no assignment", r"a\.env:1: the line is not of the form NAME=value"),
    ],
)
def test_file_that_cannot_be_read_is_named(tmp_path, name, text, told):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_properties(file, environ={})


@pytest.mark.parametrize("name", ["nope.json", "nope.toml", "nope.env"])
def test_file_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(ConfigError, match=name):
        read_properties(tmp_path / name, environ={})


def test_key_inside_a_plain_value_is_an_error():
    with pytest.raises(ConfigError, match="'a' has a plain value already, so it cannot hold 'b'"):
        read_properties(environ={}, settings={"a": 1, "a.b": 2})
