"""Geometry: nothing in a picture lies upon anything else, whatever the chain looks like."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from tests.cases import times
from tests.engine.drawing.kit import chain, diagrams, line_of

from catenary.drawing import Diagram, Layout, place
from catenary.drawing.placing import Placed
from catenary.drawing.sizes import TITLE_ROOM


def overlap(one: Placed, other: Placed) -> bool:
    return (
        one.left < other.left + other.width
        and other.left < one.left + one.width
        and one.top < other.top + other.height
        and other.top < one.top + one.height
    )


def crosses(at: Placed, start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Tell whether a straight piece of a line passes through the inside of a rectangle."""
    left, right = sorted((start[0], end[0]))
    top, bottom = sorted((start[1], end[1]))
    return left < at.left + at.width and at.left < right and top < at.top + at.height and at.top < bottom


def rectangles(layout: Layout) -> list[Placed]:
    return [at for _, at in layout.boxes] + [at for _, at in layout.labels]


@settings(max_examples=times(60))
@given(diagrams())
def test_boxes_and_labels_never_overlap(diagram: Diagram) -> None:
    layout = place(diagram)

    assert not [pair for pair in combinations(rectangles(layout), 2) if overlap(*pair)]


@settings(max_examples=times(60))
@given(diagrams())
def test_everything_is_inside_the_picture(diagram: Diagram) -> None:
    layout = place(diagram)

    for at in rectangles(layout):
        assert at.left >= 0
        assert at.top >= 0
        assert at.left + at.width <= layout.width
        assert at.top + at.height <= layout.height
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for line in layout.lines for x, y in line.points)


@settings(max_examples=times(60))
@given(diagrams())
def test_lines_pass_no_box(diagram: Diagram) -> None:
    layout = place(diagram)
    # The sides of joins and ends are slanted: arrows reach a little way into the rectangle around them.
    shrunk = [Placed(at.left + 6, at.top + 1, at.width - 12, at.height - 2) for _, at in layout.boxes]

    for line in layout.lines:
        # The first piece begins below the box that it leaves.
        for start, end in list(zip(line.points, line.points[1:], strict=False))[1:]:
            assert not [at for at in shrunk if crosses(at, start, end)]


@settings(max_examples=times(40))
@given(diagrams())
def test_every_node_and_every_relation_is_shown_once(diagram: Diagram) -> None:
    layout = place(diagram)

    assert sorted(box.id for box, _ in layout.boxes) == sorted(box.id for box in diagram.boxes)
    assert sorted(layout.labels, key=repr) == sorted(set(layout.labels), key=repr)
    assert {port for port, _ in layout.labels} == set(diagram.ports)


@settings(max_examples=times(20))
@given(diagrams())
def test_a_chain_has_one_picture(diagram: Diagram) -> None:
    assert place(diagram) == place(diagram)


def test_a_straight_chain_is_one_straight_line() -> None:
    layout = place(line_of(4))

    assert {y for line in layout.lines for _, y in line.points} == {layout.start[1]} if layout.start else False


def test_a_long_chain_is_broken_into_rows() -> None:
    layout = place(line_of(60))

    assert layout.width < 1500
    assert len({at.top for _, at in layout.boxes}) > 5


def test_large_chains_take_the_shape_of_a_screen_when_told() -> None:
    layout = place(line_of(150), landscape=True)

    assert 1 < layout.width / layout.height < 2.5
    assert place(line_of(150)).width < layout.width


@settings(max_examples=times(60))
@given(diagrams())
def test_nothing_is_where_the_title_stands(diagram: Diagram) -> None:
    layout = place(diagram, landscape=True)
    tops = [at.top for at in rectangles(layout)] + [y for line in layout.lines for _, y in line.points]

    assert min(tops, default=TITLE_ROOM) >= TITLE_ROOM
    assert not [pair for pair in combinations(rectangles(layout), 2) if overlap(*pair)]


def test_a_join_of_twenty_branches_stands_in_the_middle() -> None:
    ids = [f"b{i}" for i in range(20)]
    nodes: list[dict[str, object]] = [{"id": name, "type": "log"} for name in ["split", *ids]]
    wires = [("split", "Success", name) for name in ids] + [(name, "Success", "all") for name in ids]
    layout = place(chain([*nodes, {"id": "all", "type": "join"}], wires))
    tops = {box.id: at.top + at.height / 2 for box, at in layout.boxes}

    assert layout.width < 1300
    assert abs(tops["all"] - (tops["b0"] + tops["b19"]) / 2) < 20


def test_a_connection_that_leads_back_goes_below_the_boxes() -> None:
    nodes: list[dict[str, object]] = [{"id": "a", "type": "log"}, {"id": "b", "type": "log"}]
    layout = place(chain(nodes, [("a", "Success", "b"), ("b", "Again", "a")]))
    (back,) = [line for line in layout.lines if line.back]

    assert max(y for _, y in back.points) > max(at.top + at.height for _, at in layout.boxes)


def test_connections_to_one_node_far_on_run_as_one_line() -> None:
    nodes: list[dict[str, object]] = [{"id": f"s{i}", "type": "log"} for i in range(5)]
    wires = [(f"s{i}", "Success", f"s{i + 1}") for i in range(4)] + [(f"s{i}", "Failure", "s4") for i in range(4)]
    layout = place(chain(nodes, wires))

    assert len(layout.lines) < 2 * len(wires)


def test_a_chain_of_two_thousand_nodes_is_drawn() -> None:
    assert len(place(line_of(2000)).boxes) == 2000


def test_a_chain_without_nodes_is_an_empty_picture() -> None:
    layout = place(chain([], []))

    assert layout.boxes == ()
    assert layout.start is None


def test_lines_that_only_failures_take_are_known() -> None:
    nodes: list[dict[str, object]] = [{"id": name, "type": "log"} for name in "abc"]
    wires = [("a", "Success", "b"), ("a", "Failure", "c"), ("b", "Success", "c"), ("b", "Failure", "a")]
    layout = place(chain(nodes, wires))

    # Two of the three lines that lead on begin or go on as a failure: its port, and the bend below `b`.
    assert sorted(line.failure for line in layout.lines if not line.back) == [False, False, True, True]
    assert [line.failure for line in layout.lines if line.back] == [True]
