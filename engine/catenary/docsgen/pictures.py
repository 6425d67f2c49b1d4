"""The pictures of the chains of a checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.drawing import diagram_of, place, svg
from catenary.load import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catenary.registry import Registry

_CHAINS: Final = ("chains/*.json", "chains/*.yaml", "chains/*.yml", "chains/parts/*-loop.yaml")
_TOPOLOGIES: Final = "components/*/*/topologies/*.json"
_NO_CHAINS: Final = (".input", ".test")


def picture_pages(root: Path, registry: Registry) -> dict[str, str]:
    """Give the pictures of ready-made chains and of agent topologies (`agent-NAME.svg`), by file name.

    A chain of one node has none: there is nothing to see.
    """
    read_chains = {name: read(path).definition for name, path in sorted(_found(root))}
    return {
        f"{name}.svg": svg(place(diagram_of(definition, registry)))
        for name, definition in read_chains.items()
        if len(definition.nodes) > 1
    }


def _found(root: Path) -> Iterator[tuple[str, Path]]:
    for pattern in _CHAINS:
        yield from ((path.stem, path) for path in root.glob(pattern) if not path.stem.endswith(_NO_CHAINS))
    yield from ((f"agent-{path.stem}", path) for path in root.glob(_TOPOLOGIES))
