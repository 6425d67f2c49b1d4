"""The measures of a picture, in pixels, and how large boxes and labels are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.drawing.text import lines_of, width_of

if TYPE_CHECKING:
    from catenary.drawing.diagram import Box, Port

TITLE: Final = 13.0
SMALL: Final = 11.0
LINE: Final = 17.0
LABEL_HEIGHT: Final = 18.0
PORT_STEP: Final = 24.0
LANE: Final = 10.0
MARGIN: Final = 26.0
TITLE_ROOM: Final = 34.0
ARROW: Final = 12.0
START_ROOM: Final = 44.0
BEND_HEIGHT: Final = 8.0
ROW_WIDTH: Final = 1180.0

_PAD: Final = 16.0
_LEAST_BOX: Final = 118.0
_MOST_TEXT: Final = 210.0
_MOST_LABEL: Final = 170.0
_MOST_ROUTER: Final = 300.0


def title_lines(box: Box) -> list[str]:
    """Give the name of a box, or its id when it has no name, in at most two lines."""
    return lines_of(box.name or box.id, TITLE * 1.06, _MOST_TEXT) or ["(no id)"]


def box_size(box: Box, ports: int) -> tuple[float, float]:
    """Give width and height of a box with this number of ports."""
    titles = title_lines(box)
    wide = [width_of(line, TITLE * 1.06) for line in titles]
    wide.append(width_of(box.type, SMALL))
    if box.name:
        wide.append(width_of(box.id, SMALL, monospace=True))
    slanted = 20.0 if box.shape in {"join", "end"} else 0.0
    width = max(_LEAST_BOX, min(max(wide), _MOST_TEXT) + 2 * _PAD + slanted)
    lines = len(titles) + 1 + bool(box.name)
    return round(width), max(lines * LINE + 16.0, ports * PORT_STEP + 8.0)


def text_room(width: float, shape: str) -> float:
    """Give the room for text in a box of this width."""
    return width - 2 * _PAD - (20.0 if shape in {"join", "end"} else 0.0) + 0.5


def label_width(port: Port) -> float:
    """Give the width of the label of a port."""
    return min(width_of(port.label, SMALL), _MOST_ROUTER if port.incoming else _MOST_LABEL) + 14.0


def label_room(width: float) -> float:
    """Give the room for text in a label of this width."""
    return width - 14.0 + 0.5
