"""Pictures as SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given, settings
from tests.cases import times
from tests.engine.drawing.kit import chain, diagrams, line_of

from catenary.drawing import Diagram, place, svg
from catenary.drawing.overlay import Count, Overlay

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


@settings(max_examples=times(60))
@given(diagrams())
def test_a_picture_is_well_formed(diagram: Diagram) -> None:
    root = ET.fromstring(svg(place(diagram)).encode())

    assert root.tag == f"{SVG}svg"


@settings(max_examples=times(20))
@given(diagrams())
def test_a_picture_brings_its_own_light_ground_and_nothing_from_outside(diagram: Diagram) -> None:
    picture = svg(place(diagram))

    assert 'fill="#ffffff"' in picture.split("<rect", 2)[1]
    assert "href" not in picture.split("<desc>")[0]
    assert not [e for e in ET.fromstring(picture.encode()).iter() if e.tag in {f"{SVG}image", f"{SVG}use"}]


def test_ids_names_types_and_relations_are_written() -> None:
    nodes: list[dict[str, object]] = [{"id": "a", "type": "log", "name": "First"}, {"id": "b", "type": "end"}]
    written = texts(svg(place(chain(nodes, [("a", "Success", "b")], name="My chain"))))

    assert {"My chain", "First", "a", "log", "b", "end", "Success"} <= set(written)


def test_signs_of_xml_are_escaped() -> None:
    nodes: list[dict[str, object]] = [{"id": "a", "type": "log", "name": "a < b & c > \"d\" 'e'"}]

    assert "a < b & c > \"d\" 'e'" in " ".join(texts(svg(place(chain(nodes, [])))))


def test_long_names_are_cut_and_kept_whole_as_a_tooltip() -> None:
    name = "word " * 40
    picture = svg(place(chain([{"id": "a", "type": "log", "name": name}], [])))

    assert any(text.endswith("…") for text in texts(picture))
    assert any(name.strip() in (e.text or "") for e in ET.fromstring(picture).iter(f"{SVG}title"))


def test_nodes_that_are_not_reached_are_dashed_and_explained() -> None:
    nodes: list[dict[str, object]] = [{"id": "a", "type": "log"}, {"id": "b", "type": "log"}]
    picture = svg(place(chain(nodes, [])))

    assert "stroke-dasharray" in picture
    assert "not reached from the first node" in texts(picture)


def test_colours_of_text_have_enough_contrast() -> None:
    from catenary.drawing.palette import CATEGORIES, INK, OTHER, PALE_INK

    pairs = [(tint.strong, tint.soft) for tint in [*CATEGORIES.values(), OTHER]]
    pairs += [(ink, tint.soft) for ink in (INK, PALE_INK) for tint in CATEGORIES.values()]

    assert min(contrast(*pair) for pair in pairs) >= 4.5


def test_every_colour_has_one_for_dark_grounds_with_enough_contrast() -> None:
    from catenary.drawing import palette

    tints = [*palette.CATEGORIES.values(), palette.OTHER, *map(palette.relation_tint, [("True",), ("x",), ("Stream",)])]
    used = {colour for tint in tints for colour in (tint.strong, tint.soft)}
    used |= {value for value in vars(palette).values() if isinstance(value, str) and value.startswith("#")}
    dark = palette.DARK
    inks = [(dark[ink], dark[tint.soft]) for ink in (palette.INK, palette.PALE_INK) for tint in tints]
    on_ground = (palette.INK, palette.PALE_INK, palette.TAKEN, palette.FAILURE_INK)

    assert used == set(dark)
    assert min(contrast(dark[tint.strong], dark[tint.soft]) for tint in tints) >= 4.5
    assert min(contrast(*pair) for pair in inks) >= 4.5
    assert min(contrast(dark[ink], dark[palette.GROUND]) for ink in on_ground) >= 4.5


def test_what_is_said_of_a_run_lies_above_everything_else() -> None:
    overlay = Overlay("run 1: completed in 2 ms", {"s0": Count(1, 0, 0.002)})
    picture = ET.fromstring(svg(place(line_of(2)), overlay))
    said = next(text for text in picture.iter(f"{SVG}text") if text.text == overlay.heading)
    tops = [float(box.get("y", 0)) for box in picture.iter(f"{SVG}rect")][1:]

    assert float(said.get("y", 0)) < min(tops)


def test_a_picture_without_titles_has_no_room_for_them() -> None:
    layout = place(line_of(2))
    whole, bare = ET.fromstring(svg(layout)), ET.fromstring(svg(layout, titled=False))

    assert float(bare.get("height", 0)) < float(whole.get("height", 0))
    assert "A chain without a name" not in texts(svg(layout, titled=False))


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
