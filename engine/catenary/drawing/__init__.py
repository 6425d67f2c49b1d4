"""Pictures of chains, as SVG or Mermaid text, made without any other program."""

from __future__ import annotations

from catenary.drawing.diagram import Box, Diagram, Port, diagram_of
from catenary.drawing.mermaid import mermaid
from catenary.drawing.placing import Layout, place
from catenary.drawing.svg import svg

__all__ = ["Box", "Diagram", "Layout", "Port", "diagram_of", "mermaid", "place", "svg"]
