"""The standard components: where they are is told in one table, and none is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import catenary_components
from catenary.component import registered
from catenary.promised import promised


def test_the_table_names_each_standard_component_and_no_other() -> None:
    for module in walk_packages(catenary_components.__path__, "catenary_components."):
        import_module(module.name)
    standard = {
        name: (one.__module__, one.__qualname__) for name, one in registered.items() if _is_standard(one.__module__)
    }

    told = {name: promise[1:] for name, promise in promised.items() if promise.package == "catenary_components"}

    assert told == standard


def _is_standard(module: str) -> bool:
    return module.startswith("catenary_components.")


def test_a_chain_imports_the_components_that_it_names() -> None:
    source = """
import sys
import catenary_components
from catenary import Engine

nodes = [{"id": "a", "type": "exprFilter", "configuration": {"expr": "msg.t > 3"}}]
with Engine() as engine:
    chain = engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": nodes, "connections": []}})
    print(chain.run_sync({"t": 4}).ends[0].relation)
named = [name for name in sys.modules if name.startswith("catenary_components.")]
print(sorted(name for name in named if not name.startswith("catenary_components.filter")))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)

    assert done.stdout == "True\n[]\n"
