"""`catenary run --debug`: what each node got and gave."""

from __future__ import annotations

import json

from click import unstyle
from click.testing import CliRunner
from tests.engine.runtime.kit import load

from catenary import DEFAULT, SUCCESS, Message, OrElse
from catenary.cli import main
from catenary.cli._debug import DebugLines
from catenary.recording import MemoryRecorder

CHAIN = {
    "ruleChain": {"id": "c"},
    "metadata": {
        "nodes": [
            {"id": "hot", "type": "exprFilter", "configuration": {"expr": "msg.t > 40"}},
            {"id": "end", "type": "end"},
        ],
        "connections": [{"fromId": "hot", "toId": "end", "type": "True"}],
    },
}


def test_each_node_has_a_line_for_what_came_and_what_left(tmp_path):
    file = tmp_path / "c.json"
    file.write_text(json.dumps(CHAIN))
    result = CliRunner().invoke(main, ["run", str(file), "-d", '{"t":41}', "-m", "a=b", "--debug"])
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        'IN  hot: {"t":41} {"a":"b"}',
        'OUT hot by True: {"t":41} {"a":"b"}',
        'IN  end by True: {"t":41} {"a":"b"}',
    ]
    assert result.stdout == '{"t":41}\n'


def test_log_items_errors_and_other_chains_are_told():
    lines = []
    debug = DebugLines("c", "1: ", lines.append)
    debug("c", "Log", "a", Message({"n": 1}), "reading", None)
    debug("other", "OUT", "b", Message("x"), "Failure", ValueError("bad"))
    lines = [unstyle(line) for line in lines]
    assert lines == ['1: Log a reading: {"n":1}', "1: OUT other:b by Failure: x bad"]


def test_it_falls_silent_when_nobody_reads():
    calls = []

    def broken(line):
        calls.append(line)
        raise BrokenPipeError

    debug = DebugLines("c", write=broken)
    debug("c", "IN", "a", Message("x"), "", None)
    debug("c", "IN", "a", Message("x"), "", None)
    assert len(calls) == 1


async def test_of_two_relations_the_one_that_was_taken_is_told(engine):
    told, events, recorder = [], [], MemoryRecorder()
    nodes = {"a": lambda ctx, msg: OrElse("Hot", DEFAULT), "b": lambda ctx, msg: SUCCESS}
    chain = load(engine, nodes, ["a Default b"])
    await chain.run("x", recorder=recorder)
    await chain.run(
        "x", recorder=recorder, listener=events.append, debug=True, on_debug=lambda *event: told.append(event)
    )
    for record in recorder.records:
        assert [relation for relation, _ in record.visits[0].sent] == ["Default"]
    assert [str(event[4]) for event in told] == ["", "Default", "Default", "Success"]
    assert next(event.relations for event in events if event.name == "node.end") == ("Default",)
