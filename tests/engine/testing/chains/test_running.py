"""Cases of chain tests: what a mock does, what is expected, and what a case runs in."""

from __future__ import annotations

import asyncio

import pytest
from tests.engine.testing.chains.kit import CHAIN, problems, put, results

from catenary import Message
from catenary.component import Component, Config, Context, Emission, register
from catenary.errors import ChainError, ChainInvalid
from catenary.relation import SUCCESS
from catenary.testing.chains import read_suite, run_case

COLD = "input: {data: {t: 20}}\n"
HOT = "input: {data: {t: 50}}\n"


# What is expected


@pytest.mark.parametrize(
    "expect",
    [
        "status: completed",
        "path: [hot, send, shape, done]",
        "containsPath: [hot, shape]",
        "visited: [send]",
        "visited: send",
        "notVisited: []",
        "visits: {send: 1}",
        "relations: {hot: 'True', shape: [Success]}",
        "received: {send: {data: {t: 50}}}",
        "received: {send: [{contains: {t: 50}, that: msg.t == 50}]}",
        "data: {t: 50, where: north}",
        "contains: {t: 50}",
        "contains: {where: {$regex: ^no}}",
        "that: ['msg.t > 40', '${msg.where == \"north\"}']",
        "ends: [{node: done, relation: Success, data: {t: 50, where: north}}]",
        "dataType: JSON",
        "maxDuration: 60s",
    ],
)
def test_what_came_as_expected_is_no_problem(tmp_path, expect):
    assert problems(tmp_path, f"{HOT}expect: {{{expect}}}") == []


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ("status: failed", "status: expected failed, got completed"),
        ("error: no", "error: expected '$contains"),
        ("path: [hot, done]", "path: expected hot -> done\n            got hot -> shape -> done"),
        ("containsPath: [shape, hot]", "containsPath: expected shape -> hot"),
        ("visited: send", "visited: send was not visited"),
        ("notVisited: shape", "notVisited: shape was visited"),
        ("visits: {shape: 2}", "visits.shape: expected 2, got 1"),
        ("relations: {hot: 'True'}", "relations.hot[0]: expected 'True', got 'False'"),
        ("received: {shape: {data: {t: 1}}}", "received.shape.data.t: expected 1, got 20"),
        ("received: {send: {}}", "received.send: expected 1 messages, got 0"),
        ("data: {t: 20}", "data.where: not expected, got 'north'"),
        ("contains: {t: 21}", "data.t: expected 21, got 20"),
        ("that: msg.t > 40", "that: msg.t > 40 is false, the data is"),
        ("metadata: {a: b}", "metadata.a: expected 'b', got nothing"),
        ("type: ALARM", "type: expected 'ALARM', got ''"),
        ("ends: []", "ends: not expected: done by Success"),
        ("ends: [{node: done}, {node: shape}]", "ends[1]: no branch ended at shape"),
        ("ends: [{node: done, relation: Failure}]", "ends[0].relation: expected 'Failure', got 'Success'"),
        ("maxDuration: 0", "maxDuration: expected at most 0 s"),
    ],
)
def test_what_is_not_as_expected_is_told(tmp_path, expect, problem):
    found = problems(tmp_path, f"{COLD}expect: {{{expect}}}")
    assert found[0].startswith(problem.replace("'$contains", "$contains 'no'"))


def test_all_that_is_not_as_expected_is_told_at_once(tmp_path):
    found = problems(tmp_path, f"{COLD}expect: {{path: [hot], data: {{}}, visited: send}}")
    assert [line.split(":")[0] for line in found] == ["path", "visited", "data.t", "data.where"]


def test_case_without_expectations_expects_that_the_run_completes(tmp_path):
    assert problems(tmp_path, "input: {data: {t: text}}")[0].startswith("status: expected completed, got failed (")


def test_expression_that_cannot_be_compiled_is_told(tmp_path):
    assert "that: 'msg.t >'" in problems(tmp_path, f"{COLD}expect: {{that: msg.t >}}")[0]


# Mocks


@pytest.mark.parametrize(
    ("mock", "expect"),
    [
        ("{}", "data: {t: 50, where: north}"),
        ("{data: {t: 1}}", "data: {t: 1, where: north}"),
        ("{data: {t: '${msg.t + 1}', x: ['${vars.limit}']}}", "received: {shape: {data: {t: 51, x: [40]}}}"),
        ("{metadata: {code: '20${0}'}}", "metadata: {code: '200'}"),
        (
            "{type: REPLY, data: plain, dataType: TEXT}",
            "received: {shape: {type: REPLY, dataType: TEXT, data: plain}}, error: t",
        ),
        (
            "{error: 503}",
            "error: 503, ends: [{node: send, error: 503}]",
        ),
        (
            "{error: 'gone at ${msg.t}'}",
            "status: failed, error: gone at 50, ends: [{node: send, relation: Failure, error: gone}]",
        ),
        ("{relation: Other}", "ends: []"),
        ("{silent: true}", "path: [hot, send]"),
        (
            "{sends: [{data: {t: 1}}, {data: {t: 2}}]}",
            "visits: {shape: 2}, received: {shape: [{data: {t: 1}}, {data: {t: 2}}]}",
        ),
        ("{delay: 1h}", "visited: shape"),
    ],
)
def test_mock_stands_in_for_the_node(tmp_path, mock, expect):
    assert problems(tmp_path, f"{HOT}mocks: {{send: {mock}}}\nexpect: {{{expect}}}") == []


def test_delay_takes_no_time_in_truth_and_counts_on_the_clock_of_the_test(tmp_path):
    found = problems(tmp_path, f"{HOT}mocks: {{send: {{delay: 2h}}}}\nexpect: {{maxDuration: 1h}}")
    assert [line[:31] for line in found] == ["maxDuration: expected at most 3"]


def test_delay_longer_than_the_timeout_of_the_node_fails_it(tmp_path):
    chain = CHAIN.replace("{id: send,", "{id: send, timeout: 5s,")
    case = f"{HOT}mocks: {{send: {{delay: 6s}}}}\nexpect: {{error: took longer than its timeout of 5 s}}"
    assert problems(tmp_path, case, chain=chain) == []


def test_branches_go_on_in_the_order_of_their_delays(tmp_path):
    chain = """
ruleChain: {id: race}
metadata:
  nodes:
    - {id: f, type: fork}
    - {id: slow, type: restApiCall, configuration: {url: http://x}}
    - {id: fast, type: restApiCall, configuration: {url: http://x}}
    - {id: a, type: exprTransform, configuration: {expr: "'a'"}}
    - {id: b, type: exprTransform, configuration: {expr: "'b'"}}
  connections:
    - {fromId: f, type: Success, toId: slow}
    - {fromId: f, type: Success, toId: fast}
    - {fromId: slow, type: Success, toId: a}
    - {fromId: fast, type: Success, toId: b}
"""
    tests = """
cases:
  - name: one
    mocks: {slow: {delay: 200s}, fast: {delay: 100s}}
    expect: {containsPath: [b, a], that: "msg == 'a'", maxDuration: 250s}
"""
    assert results(put(tmp_path, tests, chain))[0].problems == []


def test_list_of_results_is_for_successive_visits_and_the_last_holds_on(tmp_path):
    chain = CHAIN.replace("{id: send,", "{id: send, retry: {maxRetries: 3, delay: 60},")
    case = (
        f"{HOT}mocks: {{send: [{{error: busy}}, {{error: busy}}, {{data: {{t: 7}}}}]}}\nexpect: {{contains: {{t: 7}}}}"
    )
    assert problems(tmp_path, case, chain=chain) == []
    assert problems(tmp_path, f"{HOT}mocks: {{send: [{{}}, {{error: busy}}]}}", chain=chain) == []


def test_node_that_would_call_the_outside_is_refused(tmp_path):
    path = put(tmp_path, f"properties: {{site: n}}\ncases:\n  - name: one\n    {HOT}")
    found = results(path)[0].problems
    assert found[0] == (
        "the node 'send' (restApiCall) would call the outside; give it a mock, or allow it with `allowExternal`"
    )


@pytest.mark.parametrize("allowed", ["true", "[send]"])
def test_call_to_the_outside_may_be_allowed(tmp_path, allowed):
    head = f"properties: {{site: n}}\nallowExternal: {allowed}\n"
    text = f"{head}cases:\n  - name: one\n    {HOT}    expect: {{error: ''}}\n"
    (result,) = results(put(tmp_path, text))
    assert not any("would call" in line for line in result.problems)


def test_mock_of_a_node_in_a_chain_that_runs_inside(tmp_path):
    outer = """
ruleChain: {id: outer}
metadata: {nodes: [{id: call, type: flow, configuration: {targetId: meter, extend: true}}]}
"""
    put(tmp_path, "", name="meter")
    tests = """
load: meter.yaml
properties: {site: south}
cases:
  - name: one
    input: {data: {t: 99}}
    mocks: {"meter:send": {data: {t: 1}}}
    expect:
      path: [call]
      visited: "meter:send"
      received: {"meter:send": {data: {t: 99}}}
      data: {t: 1, where: south}
  - name: in full
    input: {data: {t: 99}}
    mocks: {"meter:send": {}}
    expect: {path: [call, "meter:hot", "meter:send", "meter:shape", "meter:done"]}
"""
    assert [result.problems for result in results(put(tmp_path, tests, outer, name="outer"))] == [[], []]


# What a case runs in


def test_case_says_more_exactly_what_the_file_says(tmp_path):
    expect = "{notVisited: send, contains: {where: south}}"
    case = f"{HOT}vars: {{limit: 60}}\nproperties: {{site: south}}\nexpect: {expect}"
    assert problems(tmp_path, case) == []


def test_environment_variables_are_set_meanwhile(tmp_path, monkeypatch):
    import os

    monkeypatch.setenv("CATENARY_TEST_A", "before")
    assert problems(tmp_path, f"{COLD}env: {{CATENARY_TEST_A: x, CATENARY_TEST_B: y}}") == []
    assert (os.environ["CATENARY_TEST_A"], "CATENARY_TEST_B" in os.environ) == ("before", False)


def test_start_names_the_node_to_start_at(tmp_path):
    assert problems(tmp_path, f"{HOT}start: shape\nexpect: {{path: [shape, done]}}") == []


def test_input_may_come_from_a_file_and_has_all_that_a_message_has(tmp_path):
    (tmp_path / "in.json").write_text('{"t": 44}')
    case = "input: {file: in.json, type: T, metadata: {a: b}, id: i, ts: 5}\n"
    assert problems(tmp_path, f"{case}expect: {{type: T, metadata: {{a: b}}, that: [id == 'i', ts == 5]}}") == []


def test_rows_run_a_case_once_for_each(tmp_path):
    text = """
properties: {site: n}
mocks: {send: {}}
cases:
  - name: way
    rows: [{t: 20, way: "False"}, {t: 41, way: "True"}]
    input: {data: {t: <t>}}
    expect: {relations: {hot: <way>}, that: msg.t == <t>}
  - name: at <t> degrees
    rows: [{t: 3}]
    input: {data: {t: <t>, text: "<b>"}}
"""
    found = results(put(tmp_path, text))
    assert [one.name for one in found] == ["way [t=20, way=False]", "way [t=41, way=True]", "at 3 degrees"]
    assert [one.problems for one in found] == [[], [], []]


def test_cases_are_left_out_with_a_reason(tmp_path):
    text = """
properties: {site: n}
cases:
  - {name: a, skip: not yet}
  - {name: b, only: true, input: {data: {t: 1}}}
  - {name: c}
"""
    found = results(put(tmp_path, text))
    assert [one.result for one in found] == ["skipped", "passed", "skipped"]
    assert found[0].reason == "not yet"
    assert "only" in found[2].reason


def test_case_that_takes_too_long_in_truth_is_stopped(tmp_path):
    chain = "ruleChain: {id: d}\nmetadata: {nodes: [{id: w, type: delay, configuration: {delayMs: '60000'}}]}"
    text = "clock: real\ntimeout: 200ms\ncases:\n  - name: one\n"
    assert results(put(tmp_path, text, chain))[0].problems == ["took longer than its timeout of 0.2 s in truth"]
    text = "cases:\n  - name: one\n"
    assert results(put(tmp_path, text, chain))[0].problems == []


class _Line(Component[Config]):
    """Leads nowhere, so that no connection can be made."""

    def run(self, ctx: Context, msg: Message) -> Emission:
        """Pass on."""
        return SUCCESS


@register("tests/dead_line", category="external")
class DeadLine(_Line):
    """Connects when it is opened, and cannot."""

    def open(self, ctx: Context) -> None:
        """Fail."""
        raise OSError("no line")


@register("tests/dead_async_line", category="action")
class DeadAsyncLine(_Line):
    """Connects when it is opened, and cannot."""

    async def open(self, ctx: Context) -> None:
        """Fail."""
        raise OSError("no line")

    async def close(self) -> None:
        """Fail."""
        raise AssertionError("it was never open")


def _line(node_type: str, name: str) -> str:
    return f"ruleChain: {{id: {name}}}\nmetadata: {{nodes: [{{id: line, type: {node_type}}}]}}\n"


@pytest.mark.parametrize("node_type", ["tests/dead_line", "tests/dead_async_line"])
def test_nodes_with_a_mock_are_not_opened(tmp_path, node_type):
    text = "mocks: {line: {data: 1}}\ncases: [{name: one, expect: {data: 1}}]"
    assert results(put(tmp_path, text, _line(node_type, "meter")))[0].problems == []


def test_nodes_with_a_mock_in_another_chain_are_not_opened(tmp_path):
    (tmp_path / "sub.yaml").write_text(_line("tests/dead_async_line", "sub"))
    chain = "ruleChain: {id: meter}\nmetadata: {nodes: [{id: f, type: flow, configuration: {targetId: sub}}]}"
    text = "load: sub.yaml\nmocks: {'sub:line': {data: 1}}\ncases: [{name: one, expect: {path: [f, 'sub:line']}}]"
    assert results(put(tmp_path, text, chain))[0].problems == []


def test_nodes_that_are_refused_are_not_opened(tmp_path):
    text = "cases: [{name: one, expect: {status: failed}}]"
    found = results(put(tmp_path, text, _line("tests/dead_line", "meter")))[0].problems
    assert found == [
        "the node 'line' (tests/dead_line) would call the outside; give it a mock, or allow it with `allowExternal`"
    ]


def test_nodes_that_may_call_the_outside_are_opened(tmp_path):
    text = "allowExternal: [line]\ncases: [{name: one}]"
    with pytest.raises(ChainInvalid, match="cannot be opened: no line"):
        results(put(tmp_path, text, _line("tests/dead_line", "meter")))


# Nodes that wait for an answer

PATIENT = "timeout: 10m\n"
"""More than a test may take: what waits for nobody ends at once, and not by this limit."""

WAITING = """\
ruleChain: {id: w}
metadata:
  nodes:
    - {id: both, type: fork}
    - {id: nap, type: delay, configuration: {delayMs: "60000"}}
    - {id: later, type: exprTransform, configuration: {expr: "1"}}
    - {id: ask, type: wait, configuration: {LIMIT}}
  connections:
    - {fromId: both, type: Success, toId: nap}
    - {fromId: both, type: Success, toId: ask}
    - {fromId: nap, type: Success, toId: later}
"""


def test_run_that_waits_for_an_answer_is_paused_once_all_else_is_over(tmp_path):
    text = f"{PATIENT}cases: [{{name: one, expect: {{status: paused, path: [both, nap, ask, later]}}}}, {{name: two}}]"
    one, two = results(put(tmp_path, text, WAITING.replace("LIMIT", "")))
    assert one.problems == []
    assert two.problems[0] == (
        "status: expected completed, got paused (a node waits, and nobody answers in a test: give it a mock)"
    )


def test_wait_with_a_time_limit_ends_by_it(tmp_path):
    text = f"{PATIENT}cases: [{{name: one, expect: {{relations: {{ask: Timeout}}, visited: later}}}}]"
    assert results(put(tmp_path, text, WAITING.replace("LIMIT", "timeout: 1h")))[0].problems == []


def test_wait_with_a_time_limit_is_paused_where_that_is_expected(tmp_path):
    text = f"{PATIENT}cases: [{{name: one, expect: {{status: paused, path: [both, nap, ask, later]}}}}]"
    assert results(put(tmp_path, text, WAITING.replace("LIMIT", "timeout: 1h")))[0].problems == []


@pytest.mark.parametrize("limit", ["", "timeout: 1h"])
@pytest.mark.parametrize(
    "kind", ["flow, configuration: {targetId: w}", "for, configuration: {range: 1..2, do: 'chain:w'}"]
)
def test_run_that_waits_in_a_chain_inside_is_paused(tmp_path, kind, limit):
    (tmp_path / "w.yaml").write_text(WAITING.replace("LIMIT", limit))
    chain = f"ruleChain: {{id: top}}\nmetadata: {{nodes: [{{id: f, type: {kind}}}]}}"
    text = f"{PATIENT}load: w.yaml\ncases: [{{name: one, expect: {{status: paused, visited: ['w:ask', 'w:later']}}}}]"
    assert results(put(tmp_path, text, chain))[0].problems == []


BEHIND = """\
ruleChain: {id: top}
metadata:
  nodes:
    - {id: f, type: flow, configuration: {targetId: inner, extend: true}}
    - {id: both, type: fork}
    - {id: a, type: fork}
    - {id: b, type: fork}
    - {id: j, type: join}
    - {id: ask, type: wait, configuration: {LIMIT}}
  connections:
    - {fromId: f, type: Success, toId: both}
    - {fromId: both, type: Success, toId: a}
    - {fromId: both, type: Success, toId: b}
    - {fromId: a, type: Success, toId: j}
    - {fromId: b, type: Success, toId: j}
    - {fromId: j, type: Success, toId: NEXT}
"""


@pytest.mark.parametrize("limit", ["", "timeout: 1h"])
@pytest.mark.parametrize("behind", ["ask", "f2"])
def test_run_that_waits_behind_what_a_chain_inside_has_sent_is_paused(tmp_path, behind, limit):
    (tmp_path / "inner.yaml").write_text("ruleChain: {id: inner}\nmetadata: {nodes: [{id: i, type: fork}]}")
    (tmp_path / "w.yaml").write_text("ruleChain: {id: w}\nmetadata: {nodes: [{id: ask, type: wait}]}")
    again = "    - {id: f2, type: flow, configuration: {targetId: w, extend: true}}\n  connections:"
    chain = BEHIND.replace("LIMIT", limit).replace("NEXT", behind).replace("  connections:", again)
    text = f"{PATIENT}load: [inner.yaml, w.yaml]\ncases: [{{name: one, expect: {{status: paused}}}}]"
    assert results(put(tmp_path, text, chain))[0].problems == []


# What a file names

UNKNOWN = """\
mocks: {sned: {}, done: {}}
cases:
  - {name: one, start: [hott], expect: {path: [hot, shap], ends: [{node: x}]}}
  - {name: two}
"""


def test_unknown_nodes_are_told_with_place_and_hint_when_the_file_is_read(tmp_path):
    with pytest.raises(ChainInvalid) as caught:
        read_suite(put(tmp_path, UNKNOWN))
    places = [(one.line, one.column, one.text) for one in caught.value.problems]
    assert places == [
        (1, 9, "there is no node 'sned'"),
        (1, 19, "branches end at the node 'done': there is nothing to mock"),
        (3, 25, "there is no node 'hott'"),
        (3, 53, "there is no node 'shap'"),
        (3, 68, "there is no node 'x'"),
    ]
    assert caught.value.problems[0].hint == "did you mean 'send'?"


def test_nodes_of_other_chains_are_known_when_the_file_is_read(tmp_path):
    (tmp_path / "sub.yaml").write_text(_line("end", "sub"))
    text = "load: sub.yaml\nmocks: {'sub:lnie': {}, 'sub:line': {}}\ncases: [{name: one}]"
    with pytest.raises(ChainInvalid) as caught:
        read_suite(put(tmp_path, text))
    assert [one.text for one in caught.value.problems] == [
        "there is no node 'sub:lnie'",
        "branches end at the node 'sub:line': there is nothing to mock",
    ]


def test_other_chains_that_are_not_there_are_told_when_the_file_is_read(tmp_path):
    with pytest.raises(ChainInvalid, match=r"meter.test.yaml:1:\d+: test.no-chain: there is no file sub.yaml"):
        read_suite(put(tmp_path, "load: sub.yaml\ncases: [{name: one}]"))


def test_nothing_is_said_about_the_nodes_of_a_chain_that_cannot_be_read(tmp_path):
    for chain in ("metadata: {", "metadata: {nodes: [{id: 1, type: []}]}"):
        suite = read_suite(put(tmp_path, "mocks: {nowhere: {}}\ncases: [{name: one}]", chain))
        with pytest.raises(ChainError):
            asyncio.run(run_case(suite, suite.cases[0]))


@pytest.mark.parametrize(
    ("delay", "expected"),
    [("29s", "{contains: {b: 2}}"), ("40s", "{status: failed, error: context deadline exceeded, maxDuration: 39s}")],
)
def test_the_time_of_a_group_is_that_of_the_clock_of_the_test(tmp_path, delay, expected):
    chain = """\
ruleChain: {id: meter}
metadata:
  nodes:
    - {id: g, type: groupAction, configuration: {nodeIds: w, mergeToMap: true}}
    - {id: w, type: delay}
"""
    tests = f"cases: [{{name: one, mocks: {{w: {{delay: {delay}, data: {{b: 2}}}}}}, expect: {expected}}}]\n"
    (result,) = results(put(tmp_path, tests, chain))
    assert result.problems == []
