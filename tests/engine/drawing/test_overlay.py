"""A recorded run on the picture of its chain, nodes that run others, and very large chains."""

from __future__ import annotations

import json
from time import process_time

import pytest
from click.testing import CliRunner
from tests.engine.drawing.kit import line_of

from catenary import Engine, Message
from catenary.cli import main
from catenary.drawing import diagram_of, mermaid, overlay_of, place, svg
from catenary.drawing.grid import LARGE
from catenary.load import read
from catenary.recording import MemoryRecorder
from catenary.registry import Registry

CHAIN = {
    "ruleChain": {"id": "c", "name": "Orders"},
    "metadata": {
        "nodes": [
            {"id": "big", "type": "exprFilter", "configuration": {"expr": "msg.t > 1"}},
            {"id": "each", "type": "for", "configuration": {"range": "1..3", "do": "one"}},
            {"id": "one", "type": "exprTransform", "configuration": {"expr": "msg"}},
            {"id": "bad", "type": "exprTransform", "configuration": {"expr": "msg.nothing.at.all"}},
            {"id": "small", "type": "log", "configuration": {"jsScript": "return 'small';"}},
        ],
        "connections": [
            {"fromId": "big", "toId": "each", "type": "True"},
            {"fromId": "big", "toId": "small", "type": "False"},
            {"fromId": "each", "toId": "bad", "type": "Success"},
        ],
    },
}


@pytest.fixture
def record():
    recorder = MemoryRecorder()
    with Engine() as engine:
        engine.load(CHAIN).run_sync(Message({"t": 2}), recorder=recorder)
    return recorder.records[0]


@pytest.fixture
def diagram():
    return diagram_of(read(CHAIN).definition, Registry())


def test_a_node_that_runs_others_is_drawn_with_a_dotted_line_to_them(diagram):
    (inner,) = [port for port in diagram.ports if port.inner]
    assert (inner.source, inner.targets) == ("each", ("one",))
    assert all(box.reached for box in diagram.boxes)
    assert "n1 -.->" in mermaid(diagram)
    assert 'stroke-dasharray="2 4"' in svg(place(diagram))


def test_an_overlay_counts_visits_times_errors_and_what_was_sent(record, diagram):
    overlay = overlay_of(record)
    assert {node: (count.visits, count.failed) for node, count in overlay.nodes.items()} == {
        "big": (1, 0),
        "each": (1, 0),
        "one": (3, 0),
        "bad": (1, 1),
    }
    assert overlay.nodes["bad"].error
    assert overlay.heading.startswith(f"run {record.run_id}: failed in ")
    taken = {(port.source, port.label): overlay.taken(port) for port in diagram.ports}
    assert taken == {("big", "True"): 1, ("big", "False"): 0, ("each", "Success"): 1, ("each", "runs"): 3}


def test_what_a_run_did_not_take_is_pale(record, diagram):
    drawn = svg(place(diagram), overlay_of(record))
    assert '<g data-node="small" opacity="0.45">' in drawn
    assert '<g data-node="big">' in drawn
    assert "3\u00d7 " in drawn
    text = mermaid(diagram, overlay_of(record))
    assert "style n4 opacity:0.4" in text
    assert 'n0 ==>|"True 1x"| n1' in text


def test_a_run_is_drawn_from_its_record_in_a_file(record, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(CHAIN))
    (tmp_path / "r.json").write_text(json.dumps(record.to_dict()))
    for name in ("r.svg", "r.html", "r.mmd"):
        arguments = [str(tmp_path / "c.json"), "-o", str(tmp_path / name), "--run", str(tmp_path / "r.json")]
        assert CliRunner().invoke(main, ["draw", *arguments]).exit_code == 0
        assert "opacity" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "told"), [("{}", "no record of a run"), ("nothing", "no record of a run"), (None, "of the chain 'c'")]
)
def test_what_is_no_run_of_the_chain_is_refused(record, tmp_path, content, told):
    other = {**CHAIN, "ruleChain": {"id": "other"}}
    (tmp_path / "c.json").write_text(json.dumps(other))
    (tmp_path / "r.json").write_text(json.dumps(record.to_dict()) if content is None else content)
    result = CliRunner().invoke(main, ["draw", str(tmp_path / "c.json"), "--run", str(tmp_path / "r.json")])
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_very_large_chains_are_laid_out_quickly():
    careful = place(line_of(20))
    assert careful.labels
    began = process_time()
    layout = place(line_of(10_000))
    assert process_time() - began < 15
    assert len(layout.boxes) == 10_000 > LARGE
    places = [(at.left, at.top) for _, at in layout.boxes]
    assert len(set(places)) == len(places)
    assert all(at.left >= 0 and at.left + at.width <= layout.width for _, at in layout.boxes)
    assert all(at.top + at.height <= layout.height for _, at in layout.boxes)
