"""What chains under test need besides their own files: component types, shared resources, other chains."""

from __future__ import annotations

import json

import pytest
from tests.engine.shared.database import Database, node
from tests.engine.testing.chains.kit import put, results

from catenary.component import ComponentInfo, registered
from catenary.errors import ChainInvalid
from catenary.life.parts import Parts
from catenary.testing.chains import read_suite

HOT = """\
ruleChain:
  id: acme/hot
  additionalInfo: {inputSchema: {type: object, properties: {limit: {type: integer, default: 40}}}}
metadata:
  nodes:
    - {id: f, type: exprFilter, configuration: {expr: "msg.t > ${vars.limit}"}}
    - {id: call, type: restApiCall, configuration: {url: "http://127.0.0.1:9/x"}}
  connections: [{fromId: f, type: "True", toId: call}]
"""
HOST = "ruleChain: {id: meter}\nmetadata: {nodes: [{id: a, type: acme/hot}]}\n"
COLD = "cases: [{name: cold, input: {data: {t: 1}}, expect: {ends: [{node: a, relation: 'False'}]}}]\n"


def hosted(folder, tests, chain=HOST, **files):
    for name, text in {"hot": HOT, **files}.items():
        (folder / f"{name}.yaml").write_text(text)
    return put(folder, tests, chain=chain)


def outcomes(path):
    return [(one.result, one.problems) for one in results(path)]


def complaint(path, parts=Parts()):  # noqa: B008 - it is never changed
    with pytest.raises(ChainInvalid) as caught:
        read_suite(path, parts)
    return [(one.code, one.line, one.column, one.text) for one in caught.value.problems]


@pytest.mark.parametrize(("chain", "given"), [(HOST, "hot.yaml"), (HOST.replace("acme/hot", "mine"), "mine=hot.yaml")])
def test_a_file_of_tests_names_component_types_seen_from_where_it_lies(tmp_path, monkeypatch, chain, given):
    monkeypatch.chdir("/")
    assert outcomes(hosted(tmp_path, f"components: {given}\n{COLD}", chain)) == [("passed", [])]


def test_without_its_component_type_a_chain_cannot_be_loaded(tmp_path):
    with pytest.raises(ChainInvalid, match="acme/hot"):
        results(hosted(tmp_path, COLD))


WARM = "components: [hot.yaml]\n%scases:\n  - name: warm\n    input: {data: {t: 50}}\n%s"


def test_nodes_inside_of_a_component_are_refused_to_call_the_outside(tmp_path):
    ((result, problems),) = outcomes(hosted(tmp_path, WARM % ("", "")))
    text = "the node 'meter#a:call' (restApiCall) would call the outside; give it a mock, or allow it with"
    assert (result, problems[0][: len(text)]) == ("failed", text)


def test_nodes_inside_of_a_component_have_mocks_and_are_expected_like_others(tmp_path):
    mocks = "mocks: {'meter#a:call': {data: {t: 7}}}\n"
    expect = "    expect: {path: [a, 'meter#a:f', 'meter#a:call'], contains: {t: 7}}\n"
    assert outcomes(hosted(tmp_path, WARM % (mocks, expect))) == [("passed", [])]


def test_a_component_that_has_a_mock_is_not_made(tmp_path):
    expect = "    expect: {path: [a], contains: {t: 8}}\n"
    assert outcomes(hosted(tmp_path, WARM % ("mocks: {a: {data: {t: 8}}}\n", expect))) == [("passed", [])]


def test_unknown_nodes_inside_of_a_component_are_told(tmp_path):
    assert complaint(hosted(tmp_path, WARM % ("mocks: {'meter#a:cal': {}}\n", ""))) == [
        ("test.unknown-node", 2, 9, "there is no node 'meter#a:cal'")
    ]


def test_a_component_that_runs_itself_is_told_once_it_is_loaded(tmp_path):
    inner = "ruleChain: {id: acme/hot}\nmetadata: {nodes: [{id: b, type: acme/hot}]}\n"
    with pytest.raises(ChainInvalid, match="the component runs itself"):
        results(hosted(tmp_path, f"components: hot.yaml\n{COLD}", hot=inner))


SUB = "ruleChain: {id: %s}\nmetadata: {nodes: [{id: z, type: exprTransform, configuration: {expr: msg + 1}}]}\n"
RUNS = """\
ruleChain: {id: meter}
metadata:
  nodes:
    - {id: a, type: flow, configuration: {targetId: one, extend: true}}
    - {id: b, type: flow, configuration: {targetId: two, extend: true}}
  connections: [{fromId: a, type: Success, toId: b}]
"""
PLUS = "cases: [{name: plus, input: {data: 1}, expect: {data: 3, visited: ['two:z']}}]\n"


@pytest.mark.parametrize(
    "head",
    [
        "chains: .",
        "chains: [one.yaml, two.yaml]",
        "chains: [., one.yaml]",
        "load: one.yaml\nchains: two.yaml",
        "load: [one.yaml, two.yaml]",
    ],
)
def test_chains_are_files_and_folders(tmp_path, head):
    files = {"one": SUB % "one", "two": "metadata:" + (SUB % "x").partition("metadata:")[2]}  # `two` by its file's name
    assert outcomes(hosted(tmp_path, f"{head}\n{PLUS}", RUNS, **files)) == [("passed", [])]


@pytest.mark.parametrize(("one", "owner"), [("one", "one.yaml"), ("meter", "meter.yaml")])
def test_two_files_with_one_chain_are_told(tmp_path, one, owner):
    path = hosted(tmp_path, f"components: hot.yaml\nload: [one.yaml, two.yaml]\n{COLD}", one=SUB % one, two=SUB % one)
    with pytest.raises(ChainInvalid, match=f"the chain '{one}' is in .*{owner} already"):
        results(path)


@pytest.fixture
def database(monkeypatch):
    """A component type with a connection, which has been made as often as is on the list."""
    kind = type("TestedDatabase", (Database,), {"opened": [], "__doc__": Database.__doc__})
    monkeypatch.setitem(registered, "test/database", kind)
    kind.info = ComponentInfo("test/database", "test")
    return kind


def wire(name, *nodes):
    return json.dumps({"ruleChain": {"id": name}, "metadata": {"nodes": nodes}})


@pytest.mark.usefixtures("database")
def test_a_chain_borrows_what_is_shared(tmp_path):
    files = {"connections": wire("connections", node("db", "database", dsn=":memory:"))}
    chain = wire("meter", node("a", "database", dsn="ref://db", sql="SELECT 4711"))
    tests = "shared: connections.yaml\ncases: [{name: one, expect: {data: [[4711]]}}]\n"
    assert outcomes(hosted(tmp_path, tests, chain, **files)) == [("passed", [])]
    (result,) = results(put(tmp_path, tests.partition("\n")[2], chain))
    assert "node resource not found id=db" in result.problems[0]


def test_what_is_not_there_is_all_told_with_its_place(tmp_path):
    (tmp_path / "empty").mkdir()
    head = "components: [hot.yaml, x=none.yaml]\nshared: no.yaml\nchains: [empty, nowhere]\n"
    hint = "files under `chains` are seen from this file"
    path = hosted(tmp_path, head + COLD)
    assert complaint(path) == [
        ("test.no-chain", 1, 24, "there is no file none.yaml"),
        ("test.no-chain", 2, 9, "there is no file no.yaml"),
        ("test.no-chain", 3, 10, "there are no chains in empty"),
        ("test.no-chain", 3, 17, "there is no file nowhere"),
    ]
    with pytest.raises(ChainInvalid) as caught:
        read_suite(path)
    assert caught.value.problems[-1].hint == hint


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("components: [hot.yaml, acme/hot=cool.yaml]", "the component already exists. componentType=acme/hot"),
        ("shared: [db.yaml, db2.yaml]", "duplicate node id:db"),
    ],
)
def test_two_parts_with_one_name_are_told(tmp_path, head, text):
    shared = wire("db", node("db", "database", dsn=":memory:"))
    path = hosted(tmp_path, f"{head}\n{COLD}", cool=HOT, db=shared, db2=shared)
    with pytest.raises(ChainInvalid) as caught:
        results(path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.text) == (str(path), text)


def test_parts_may_be_given_besides_and_each_counts_once(tmp_path):
    path = hosted(tmp_path, f"components: hot.yaml\n{COLD}")
    both = read_suite(path, Parts(components=(("", tmp_path / "hot.yaml"),))).parts
    assert [file.name for _, file in both.components] == ["hot.yaml"]
    alone = read_suite(put(tmp_path, COLD, HOST), Parts(components=(("", tmp_path / "hot.yaml"),))).parts
    assert alone == both
