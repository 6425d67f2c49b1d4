"""Write a picture as one HTML file that needs nothing else: to move and zoom, and to look into nodes."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from catenary.drawing.inlets import box_id
from catenary.drawing.overlay import duration_text
from catenary.drawing.palette import DARK
from catenary.drawing.settings import shown_endpoint, shown_settings
from catenary.drawing.svg import heading_of, svg
from catenary.drawing.text import printable

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition
    from catenary.drawing.overlay import Overlay
    from catenary.drawing.placing import Layout
    from catenary.jsontext import Json
    from catenary.recording import RunRecord, Visit
    from catenary.registry import Registry

_MOST_VISITS: Final = 5
_MOST_TEXT: Final = 2000
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(
    layout: Layout,
    definition: ChainDefinition,
    registry: Registry,
    overlay: Overlay | None = None,
    record: RunRecord | None = None,
) -> str:
    """Write a picture as an HTML document, the same text for the same picture.

    Args:
        layout: The picture.
        definition: The chain; the configuration of its nodes is shown, with secrets masked.
        registry: Tells which options are secret.
        overlay: A run to be shown on the picture.
        record: That run; the last visits of each node are shown with what came in and what left.
    """
    heading = printable(heading_of(layout.diagram))
    nodes = _nodes(definition, registry, overlay, record)
    about = _line("p", printable(overlay.heading)) if overlay else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(heading)}</title>
<style>
{_part("page.css")}{_dark()}</style>
</head>
<body>
<header>
<div class="about">
{_line("h1", heading)}
{about}</div>
<div class="tools">
<input id="search" type="search" placeholder="Find a node  ( / )" aria-label="Find a node">
<span id="found" role="status"></span>
<button id="out" aria-label="Zoom out" title="Zoom out ( - )">&minus;</button>
<button id="in" aria-label="Zoom in" title="Zoom in ( + )">+</button>
<button id="fit" title="Show all ( 0 )">Fit</button>
</div>
</header>
<main>
<div id="stage"><div id="picture">
{svg(layout, overlay, titled=False)}</div></div>
<aside id="details" hidden><button id="close" aria-label="Close">&times;</button><div aria-live="polite"></div></aside>
</main>
<script type="application/json" id="nodes">{_inside_script(nodes)}</script>
<script>
{_part("page.js")}</script>
</body>
</html>
"""


@cache
def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _line(name: str, text: str) -> str:
    """Give an element of one line, which shows all of its text when there is no room for it."""
    return f'<{name} title="{escape(text)}">{escape(text)}</{name}>'


def _dark() -> str:
    """Give the style of the picture where the reader's ground is dark."""
    rules = (
        f'svg [{part}="{light}"] {{ {part}: {dark}; }}' for light, dark in DARK.items() for part in ("fill", "stroke")
    )
    return "@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"


def _inside_script(value: Json) -> str:
    """Give JSON in which nothing ends the script element around it."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _nodes(
    definition: ChainDefinition, registry: Registry, overlay: Overlay | None, record: RunRecord | None
) -> dict[str, Any]:
    visits: dict[str, list[Visit]] = {}
    for visit in record.visits if record else ():
        if visit.chain_id == definition.id:
            visits.setdefault(visit.node_id, []).append(visit)
    nodes: dict[str, Any] = {}
    for node in definition.nodes:
        configuration = shown_settings(registry.find(node.type), node.configuration)
        told: dict[str, Any] = {
            "name": printable(node.name),
            "type": printable(node.type),
            "configuration": json.dumps(configuration, indent=2, ensure_ascii=False),
        }
        count = overlay.nodes.get(node.id) if overlay else None
        if count is not None:
            told["run"] = count.told
            told["error"] = count.error
            told["visits"] = [_visit(visit) for visit in visits.get(node.id, [])[-_MOST_VISITS:]]
        nodes.setdefault(printable(node.id), told)
    for endpoint in definition.endpoints:
        told = {
            "name": printable(endpoint.name),
            "type": printable(endpoint.type),
            "configuration": json.dumps(shown_endpoint(endpoint, registry), indent=2, ensure_ascii=False),
        }
        nodes.setdefault(printable(box_id(endpoint, definition)), told)
    return nodes


def _visit(visit: Visit) -> dict[str, str]:
    took = "" if visit.duration_s is None else f", {duration_text(visit.duration_s)}"
    lines = [f"in: {_cut(visit.message.writable().text)}"]
    lines += [f"{relation}: {_cut(message.writable().text)}" for relation, message in visit.sent]
    return {"title": f"Visit {visit.number}{took}", "error": visit.error, "text": "\n".join(lines)}


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}... ({len(text)} characters)"
