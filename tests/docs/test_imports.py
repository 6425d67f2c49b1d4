"""The modules can be read from the ground up: none imports, when it is loaded, one that needs it in turn."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[2]
ROOTS = (ROOT / "engine", ROOT / "components", ROOT / "server")


def name_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path, root): path for root in ROOTS for path in root.rglob("*.py")}


def imports(nodes: Iterable[ast.stmt]) -> Iterator[str]:
    """Give the modules that are imported when one is loaded: not those for types only, and none inside functions."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (one if one in MODULES else str(node.module) for one in inside)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.If):
            is_for_types = ast.unparse(node.test) == "TYPE_CHECKING"
            yield from imports(node.orelse if is_for_types else [*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from imports(node.body)


def test_no_module_needs_itself_by_way_of_others() -> None:
    graph = {name: set(imports(ast.parse(path.read_text("utf-8")).body)) - {name} for name, path in MODULES.items()}

    order = list(TopologicalSorter(graph).static_order())  # a circle is an error that names it

    assert set(MODULES) <= set(order)
    assert order.index("catenary.errors") < order.index("catenary.engine")
