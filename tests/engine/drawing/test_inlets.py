"""Endpoints in the picture of their chain."""

from __future__ import annotations

import json
import re

import pytest
from tests.engine.drawing.kit import chain, line_of

from catenary.drawing import Box, Diagram, Overlay, diagram_of, mermaid, page, place, svg
from catenary.drawing.settings import masker_of
from catenary.load import read
from catenary.registry import Registry

LOGS: list[dict[str, object]] = [{"id": "a", "type": "log"}, {"id": "b", "type": "log"}]


def web(*routers: dict[str, object], **more: object) -> list[dict[str, object]]:
    return [{"id": "web", "type": "http", "routers": list(routers), **more}]


def router(path: str, to: str = "", method: str = "POST") -> dict[str, object]:
    return {"params": [method], "from": {"path": path}, "to": {"path": to}}


def ways(diagram: Diagram) -> list[tuple[str, str, str]]:
    return [(port.source, port.label, port.targets[0]) for port in diagram.ports if port.incoming]


def test_each_router_leads_from_its_endpoint_to_the_node_that_its_messages_enter_by():
    diagram = chain(LOGS, [], web(router("/in"), router("/late", ":b", "get"), router("/again", "c:b")))

    assert ways(diagram) == [("web", "POST /in", "a"), ("web", "GET /late", "b"), ("web", "POST /again", "b")]
    assert diagram.boxes[-1] == Box("web", "", "http", "endpoint", "endpoint")


def test_a_schedule_shows_its_times():
    clock: dict[str, object] = {"id": "clock", "type": "schedule", "routers": [{"from": {"path": "0 0 18 * * *"}}]}

    assert ways(chain(LOGS, [], [clock])) == [("clock", "0 0 18 * * *", "a")]


@pytest.mark.parametrize(
    ("to", "box"),
    [
        ("chain:orders", ("chain:orders", "chain", "another chain")),
        ("orders:price", ("chain:orders:price", "chain", "another chain")),
        ("chain:${shop}", ("chain:${shop}", "chain", "another chain")),
        ("component:log", ("component:log", "box", "one component")),
        (":ghost", ("ghost", "missing", "no such node")),
        ("component:", ("component:", "missing", "no target")),
    ],
)
def test_what_is_no_node_of_the_chain_is_a_box_of_its_own(to: str, box: tuple[str, str, str]):
    diagram = chain(LOGS, [], web(router("/x", to)))

    last = diagram.boxes[-1]
    assert (last.id, last.shape, last.type) == box
    assert ways(diagram) == [("web", "POST /x", box[0])]


def test_a_node_that_an_endpoint_leads_to_is_reached():
    assert [box.reached for box in chain(LOGS, [], web(router("/x", ":b"))).boxes] == [True, True, True]


def test_the_mark_of_the_start_gives_way_to_an_endpoint_in_front_of_the_first_node():
    assert chain(LOGS, [], web(router("/x"))).mark == ""
    assert chain(LOGS, [], web(router("/x", ":b"))).mark == "a"


def test_an_endpoint_with_the_id_of_a_node_is_another_box():
    diagram = chain(LOGS, [], [{"id": "a", "type": "http", "routers": [router("/x")]}])

    assert ways(diagram) == [("a (endpoint)", "POST /x", "a")]


def test_an_endpoint_with_the_id_of_a_node_that_is_not_there_is_another_box():
    diagram = chain(LOGS, [], web(router("/x", ":web"), router("/y")))
    assert ways(diagram) == [("web", "POST /x", "web (node)"), ("web", "POST /y", "a")]
    assert [box.id for box in diagram.boxes] == ["a", "b", "web", "web (node)"]

    diagram = chain(LOGS, [("a", "Success", "web")], web(router("/y"), router("/x", ":web")))
    assert ways(diagram) == [("web (endpoint)", "POST /y", "a"), ("web (endpoint)", "POST /x", "web")]
    assert [box.id for box in diagram.boxes] == ["a", "b", "web", "web (endpoint)"]


def test_endpoints_stand_left_of_what_they_lead_to():
    layout = place(chain(LOGS, [("a", "Success", "b")], web(router("/x"))))
    left = {box.id: at.left for box, at in layout.boxes}

    assert left["web"] < left["a"] < left["b"]


def test_a_long_path_is_shown_whole():
    path = "/api/v1/customers/{id}/orders/{order}"
    picture = svg(place(chain(LOGS, [], web(router(path)))))

    assert f">POST {path}</text>" in picture


def test_mermaid_has_endpoints_and_no_start_where_they_lead():
    text = mermaid(chain(LOGS, [], web(router("/x"))))

    assert 'n2[/"<b>web</b><br/>http"/]' in text
    assert 'n2 -->|"POST /x"| n0' in text
    assert "start" not in text


def test_a_large_chain_has_its_endpoints_too():
    from dataclasses import replace

    large, small = line_of(1600), chain([{"id": "s0", "type": "log"}], [], web(router("/x")))
    both = replace(large, boxes=(*large.boxes, small.boxes[-1]), ports=(*large.ports, *small.ports))

    assert 'data-node="web"' in svg(place(both))


def test_a_run_leaves_endpoints_as_they_are_for_nobody_knows_how_it_came():
    diagram = chain(LOGS, [("a", "Success", "b")], web(router("/x")))
    picture = svg(place(diagram), Overlay("run"))

    assert re.search(r'<g data-node="web">', picture)
    assert re.search(r'<g data-node="a" opacity', picture)
    assert "style n2 opacity" not in mermaid(diagram, Overlay("run"))


def test_the_page_shows_the_configuration_of_endpoints_with_secrets_masked():
    endpoint = web(router("/x"), configuration={"server": ":7001", "apiKeys": ["open sesame"]})[0]
    document = {"ruleChain": {"id": "c"}, "metadata": {"nodes": LOGS, "endpoints": [endpoint]}}
    definition, registry = read(document).definition, Registry()
    text = page(place(diagram_of(definition, registry)), definition, registry)

    nodes = json.loads(text.partition('id="nodes">')[2].partition("</script>")[0])
    shown = json.loads(nodes["web"]["configuration"])
    assert (nodes["web"]["type"], shown["configuration"]["server"]) == ("http", ":7001")
    assert shown["routers"] == [router("/x")]
    assert "open sesame" not in text
    assert masker_of(definition, registry).text("an open sesame") != "an open sesame"
