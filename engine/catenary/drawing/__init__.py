"""Pictures of chains, as SVG, HTML or Mermaid text, made without any other program."""

from __future__ import annotations

from catenary.drawing.diagram import Box, Diagram, Port, diagram_of
from catenary.drawing.mermaid import mermaid
from catenary.drawing.overlay import Overlay, overlay_of
from catenary.drawing.page import page
from catenary.drawing.placing import Layout, place
from catenary.drawing.svg import svg

__all__ = ["Box", "Diagram", "Layout", "Overlay", "Port", "diagram_of", "mermaid", "overlay_of", "page", "place", "svg"]
