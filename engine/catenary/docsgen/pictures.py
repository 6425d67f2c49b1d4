"""The pictures of the chains of a checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.drawing import diagram_of, place, svg
from catenary.load import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catenary.registry import Registry

_CHAINS: Final = ("chains/*.json", "chains/*.yaml", "chains/*.yml")
_TOPOLOGIES: Final = "components/*/*/topologies/*.json"
_NO_CHAINS: Final = (".input", ".test")


def picture_pages(root: Path, registry: Registry) -> dict[str, str]:
    """Give the pictures of ready-made chains and of agent topologies (`agent-NAME.svg`), by file name."""
    return {
        f"{name}.svg": svg(place(diagram_of(read(path).definition, registry))) for name, path in sorted(_found(root))
    }


def _found(root: Path) -> Iterator[tuple[str, Path]]:
    for pattern in _CHAINS:
        yield from ((path.stem, path) for path in root.glob(pattern) if not path.stem.endswith(_NO_CHAINS))
    yield from ((f"agent-{path.stem}", path) for path in root.glob(_TOPOLOGIES))
