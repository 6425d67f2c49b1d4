"""Files of chain tests: what is wrong with them is told with its place, all at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engine.testing.chains.kit import CHAIN, put

from catenary.errors import ChainError, ChainInvalid
from catenary.testing.chains import find_suites, read_suite, suite_schema


def wrong(folder, text):
    with pytest.raises(ChainInvalid) as caught:
        read_suite(put(folder, text))
    return [(p.line, p.column, p.code, p.text, p.hint) for p in caught.value.problems]


def test_unknown_keys_are_told_with_place_and_hint(tmp_path):
    text = (
        "mock: {}\ncases:\n  - name: a\n    expct: {}\n    expect: {pth: [], ends: [{nod: x}]}\n    input: {date: 1}\n"
    )
    assert [(line, column, hint) for line, column, _, _, hint in wrong(tmp_path, text)] == [
        (1, 1, "did you mean 'mocks'?"),
        (4, 5, "did you mean 'expect'?"),
        (5, 14, "did you mean 'path'?"),
        (5, 31, "did you mean 'node'?"),
        (6, 13, "did you mean 'data'?"),
    ]


def test_wrong_values_are_told_with_place(tmp_path):
    text = "cases:\n  - name: a\n    expect: {visits: {a: many}, status: fine}\n    mocks: {a: {delay: soon}}\n"
    found = wrong(tmp_path, text)
    assert {code for _, _, code, _, _ in found} == {"test.shape"}
    assert {line for line, *_ in found} == {3, 4}
    assert any("'a' must be a whole number" in text for *_, text, _ in found)
    assert any("'status' must be one of" in text for *_, text, _ in found)


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("components: [3]\ncases: [{name: a}]", (1, 14), "an entry of 'components' must be a text"),
        ("load: {a: b}\ncases: [{name: a}]", (1, 7), "an entry of 'load' must be a text"),
        ("cases: [5]", (1, 9), "an entry of 'cases' must be a mapping"),
        ("5", (1, 1), "the file must be a mapping"),
    ],
)
def test_what_has_the_wrong_shape_is_told_by_its_key(tmp_path, text, place, told):
    assert [(line, column, text) for line, column, _, text, _ in wrong(tmp_path, text)] == [(*place, told)]


@pytest.mark.parametrize("text", ["{}", "cases: []", "cases: [{}]", "cases: 3", "[]", "cases: [{name: a}, {name: a}]"])
def test_what_cannot_be_a_file_of_tests_is_told(tmp_path, text):
    assert wrong(tmp_path, text)


def test_key_that_is_given_twice_is_told(tmp_path):
    assert wrong(tmp_path, "cases:\n  - name: a\n    skip: x\n    skip: y\n")[0][3] == "the key 'skip' is given twice"


def test_rows_are_checked_with_their_values(tmp_path):
    text = "cases:\n  - name: a\n    rows: [{n: 1}, {n: many}]\n    expect: {visits: {a: <n>}}\n"
    assert [line for line, *_ in wrong(tmp_path, text)] == [4]


def test_text_that_is_no_yaml_is_told(tmp_path):
    with pytest.raises(ChainError):
        read_suite(put(tmp_path, "cases: ["))


def test_chain_is_the_file_of_the_same_name_or_the_one_that_is_named(tmp_path):
    assert read_suite(put(tmp_path, "cases: [{name: a}]")).chain == tmp_path / "meter.yaml"
    other = tmp_path / "others" / "x.test.json"
    other.parent.mkdir()
    other.write_text(json.dumps({"chain": "../meter.yaml", "cases": [{"name": "a"}]}))
    assert read_suite(other).chain.resolve() == tmp_path / "meter.yaml"


@pytest.mark.parametrize("head", ["", "chain: gone.yaml\n"])
def test_chain_that_is_not_there_is_told(tmp_path, head):
    path = tmp_path / "alone.test.yaml"
    path.write_text(f"{head}cases: [{{name: a}}]")
    with pytest.raises(
        ChainInvalid, match=r"there is no (file gone.yaml|alone.yaml or alone.yml or alone.json beside)"
    ):
        read_suite(path)


def test_files_are_found_in_folders_at_any_depth(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for path in (
        tmp_path / "x.test.yaml",
        deep / "y.test.json",
        tmp_path / "no.yaml",
        tmp_path / ".hidden" / "z.test.yml",
    ):
        path.write_text(CHAIN)
    assert [path.name for path in find_suites([tmp_path])] == ["y.test.json", "x.test.yaml"]
    assert find_suites([tmp_path / "x.test.yaml", tmp_path]) == [tmp_path / "x.test.yaml", deep / "y.test.json"]


def test_schema_describes_every_key():
    schema = suite_schema()
    for part in [schema, *schema["$defs"].values()]:
        for name, field in part.get("properties", {}).items():
            assert field.get("description"), name
    assert schema["$defs"]["Case"]["additionalProperties"] is False


def test_files_of_the_repository_can_be_read():
    for path in find_suites([Path(__file__).parents[4] / "chains"]):
        assert read_suite(path).cases
