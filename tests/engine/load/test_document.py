"""Reading documents: sources, kinds of text, and wrong shapes with their places."""

from __future__ import annotations

import pytest

from catenary.errors import ChainError, ChainSyntaxError
from catenary.load import document, read

YAML = "ruleChain:\n  id: a\nmetadata:\n  nodes:\n    - {id: n, type: t}\n"
JSON = '{"ruleChain": {"id": "a"}, "metadata": {"nodes": [{"id": "n", "type": "t"}]}}'


@pytest.mark.parametrize("text", [YAML, JSON, "\ufeff" + JSON, "\n  " + JSON, "# comment\n" + YAML])
def test_text_is_json_or_yaml_by_its_first_character(text):
    definition = read(text).definition
    assert definition.id == "a"
    assert definition.nodes[0].id == "n"


@pytest.mark.parametrize(("name", "text"), [("a.json", JSON), ("a.yaml", YAML), ("a.YML", YAML), ("a.chain", JSON)])
def test_file_is_read_by_its_suffix(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read(path).definition.id == "a"
    assert read(str(path)).definition.id == "a"
    assert read(path).file == str(path)


def test_json_in_a_yaml_file_is_yaml(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("{ruleChain: {id: a}}", encoding="utf-8")
    assert read(path).definition.id == "a"


def test_yaml_in_a_json_file_is_an_error(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(YAML, encoding="utf-8")
    with pytest.raises(ChainSyntaxError) as caught:
        read(path)
    assert caught.value.file == str(path)


def test_missing_file_is_named():
    with pytest.raises(ChainError, match=r"cannot read no-such-file\.json: No such file"):
        read("no-such-file.json")


def test_impossible_path_is_named():
    with pytest.raises(ChainError, match="cannot read"):
        read("a\0b.json")


def test_file_that_is_not_utf8_names_the_line(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(ChainSyntaxError, match="not UTF-8") as caught:
        read(path)
    assert caught.value.line == 2


def test_one_line_that_is_no_file_is_a_text():
    document = read("just words")
    assert [problem.text for problem in document.problems] == ["a chain must be a mapping, not a text"]


def test_dict_is_copied():
    source = {"metadata": {"nodes": [{"type": "t", "configuration": {"l": (1, 2)}}]}}
    definition = read(source).definition
    source["metadata"]["nodes"][0]["configuration"]["l"] = 3
    assert definition.nodes[0].configuration == {"l": [1, 2]}


def test_dict_has_no_places():
    problem = read({"ruleChain": []}, file="mine").problems[0]
    assert (problem.line, problem.column, problem.file) == (0, 0, "mine")


def test_dict_with_values_that_are_not_json_is_refused():
    with pytest.raises(ChainSyntaxError, match=r"ruleChain\.id: a object is not a value of JSON"):
        read({"ruleChain": {"id": object()}})


def test_dict_with_an_infinite_number_is_refused():
    with pytest.raises(ChainSyntaxError, match="a float is not a value of JSON"):
        read({"ruleChain": {"additionalInfo": {"x": float("inf")}}})


def test_dict_that_contains_itself_is_refused():
    source: dict[str, object] = {}
    source["metadata"] = source
    with pytest.raises(ChainSyntaxError, match="nested more than"):
        read(source)


def test_keys_match_without_regard_to_case():
    text = '{"RULECHAIN": {"ID": "a"}, "Metadata": {"Nodes": [{"Id": "n", "TYPE": "t"}], "FirstNodeIndex": 0}}'
    document = read(text)
    assert document.definition.id == "a"
    assert document.definition.nodes[0].type == "t"
    assert document.problems == []
    assert document.path_to((), "metadata", "nodes") == ("Metadata", "Nodes")


def test_nodes_without_id_are_numbered():
    document = read({"metadata": {"nodes": [{"type": "t"}, {"id": "", "type": "t"}, {"id": None, "type": "t"}]}})
    assert [node.id for node in document.definition.nodes] == ["node0", "node1", "node2"]


def test_null_is_absent():
    document = read({"ruleChain": None, "metadata": {"nodes": None, "connections": None, "firstNodeIndex": None}})
    assert document.definition.nodes == ()
    assert document.problems == []


WRONG = """{
  "ruleChain": {"id": 5, "root": "yes", "configuration": []},
  "metadata": {
    "firstNodeIndex": 1.5,
    "nodes": [null, 3, {"id": "a", "type": "t", "name": true, "configuration": "x"}],
    "connections": {"a": 1},
    "endpoints": [{"id": "e", "type": "http", "routers": ["x"], "processors": "y"}, "z"],
    "ruleChainConnections": [[]]
  }
}"""


def test_all_wrong_shapes_are_reported_with_their_places():
    found = {(problem.line, problem.column): problem.text for problem in read(WRONG).problems}
    assert found == {
        (2, 23): "'id' must be a text, not a whole number",
        (2, 34): "'root' must be true or false, not a text",
        (2, 58): "'configuration' must be a mapping, not a list",
        (4, 23): "'firstNodeIndex' must be a whole number, not a number",
        (5, 15): "nodes[0] must be a mapping, not null",
        (5, 21): "nodes[1] must be a mapping, not a whole number",
        (5, 57): "'name' must be a text, not true or false",
        (5, 80): "'configuration' must be a mapping, not a text",
        (6, 20): "'connections' must be a list, not a mapping",
        (7, 59): "routers[0] must be a mapping, not a text",
        (7, 79): "'processors' must be a list, not a text",
        (7, 85): "endpoints[1] must be a mapping, not a text",
        (8, 30): "ruleChainConnections[0] must be a mapping, not a list",
    }


def test_number_as_id_gets_a_hint():
    problem = read("ruleChain: {id: 5}").problems[0]
    assert problem.hint == "put quotes around it"


@pytest.mark.parametrize("text", ["[]", "null", "5", "- a"])
def test_document_that_is_no_mapping_is_reported(text):
    (problem,) = read(text + "\n").problems
    assert problem.text.startswith("a chain must be a mapping, not ")
    assert "ruleChain" in problem.hint


def test_unknown_keys_are_kept_with_a_warning_and_a_guess():
    document = read('{"ruleChain": {"nam": "x"}, "metadata": {"nodes": [{"type": "t", "colour": 1}]}}')
    first, second = document.problems
    assert (first.code, first.severity, first.hint) == ("chain.unknown-key", "warning", "did you mean 'name'?")
    assert (first.line, first.column) == (1, 16)
    assert second.hint == "it is kept, and nothing reads it"
    assert document.definition.nodes[0].extra == {"colour": 1}


def test_duplicate_keys_are_errors_at_the_second():
    (problem,) = read('{"ruleChain": {"id": "a",\n"id": "b"}}').problems
    assert (problem.code, problem.severity, problem.line, problem.column) == ("chain.duplicate-key", "error", 2, 1)
    assert "'id'" in problem.text


def test_text_too_long_for_a_file_name_is_a_text():
    assert read("x" * 300).problems[0].text == "a chain must be a mapping, not a text"


def test_path_ends_at_what_is_no_mapping():
    assert read({"metadata": []}).path_to((), "metadata", "nodes", "x") == ("metadata",)


def test_place_of_a_missing_key_is_that_of_its_mapping():
    document = read(JSON)
    path = document.path_to(document.node_paths[0], "timeout")
    assert path == ("metadata", "nodes", 0)


@pytest.mark.parametrize(
    "source",
    [
        '{"ruleChain": {"id": "\\ud800"}}',
        'ruleChain: {id: "\\ud800"}\n',
        '{"ruleChain": {"id": "\ud800"}}',
        "ruleChain: {id: \ud800}\n",
        {"ruleChain": {"id": "\ud800"}},
    ],
)
def test_half_a_character_is_refused(source):
    with pytest.raises(ChainSyntaxError, match="half"):
        read(source)


def test_a_file_that_never_ends_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "MAX_BYTES", 2**20)
    (tmp_path / "large.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ChainError, match=r"large\.json is larger than 1 MiB"):
        read(tmp_path / "large.json")


@pytest.mark.parametrize("comment", ["// a chain\n", "/* a chain */"])
def test_json_behind_a_comment_is_told_so(comment):
    with pytest.raises(ChainSyntaxError) as raised:
        read(comment + "{}")
    assert raised.value.hint.startswith("JSON has no comments")


@pytest.mark.parametrize("source", [5, None, b"{}"])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(ChainError, match="cannot be read from a value of type"):
        read(source)
