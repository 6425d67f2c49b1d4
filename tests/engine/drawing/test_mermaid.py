"""Pictures as Mermaid text."""

from __future__ import annotations

import re

from hypothesis import given, settings
from tests.cases import times
from tests.engine.drawing.kit import chain, diagrams

from catenary.drawing import Diagram, mermaid


def test_nodes_relations_and_start_are_written() -> None:
    nodes: list[dict[str, object]] = [
        {"id": "a", "type": "log", "name": "First"},
        {"id": "j", "type": "join"},
        {"id": "e", "type": "end"},
    ]
    text = mermaid(chain(nodes, [("a", "Success", "j"), ("j", "Success", "e")], name="My chain"))

    assert text.startswith('---\ntitle: "My chain"\n---\nflowchart LR\n')
    assert 'n0["<b>First</b><br/>a<br/>log"]' in text
    assert 'n1{{"<b>j</b><br/>join"}}' in text
    assert 'n2(["<b>e</b><br/>end"])' in text
    assert 'n0 -->|"Success"| n1' in text
    assert "start --> n0" in text


@settings(max_examples=times(60))
@given(diagrams())
def test_no_text_of_a_chain_is_read_as_a_sign(diagram: Diagram) -> None:
    for line in mermaid(diagram).splitlines():
        if re.match(r"  n\d+( -->|[\[({])", line):
            inner = line.partition('"')[2].rpartition('"')[0]
            assert not set(re.sub(r"</?b>|<br/>|#\d+;", "", inner)) & set('"<>[]{}()|&#;`\n')
