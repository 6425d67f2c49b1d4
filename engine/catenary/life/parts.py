"""What chains need besides their own files: component types, shared resources, tools, and other chains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - the dataclass is looked into at run time
from typing import TYPE_CHECKING

from catenary.errors import ChainError
from catenary.life.chainfiles import chain_files, is_chain, may_be_chain

if TYPE_CHECKING:
    from catenary.engine import Engine
    from catenary.registry import Registry


@dataclass(frozen=True)
class Parts:
    """Files that are loaded before a chain.

    Attributes:
        components: Chains that are component types, each with its type; the id of the chain is the type if it is empty.
        shared: Nodes that are shared resources, which chains borrow with `ref://ID`.
        chains: Chains that others run, and folders of them.
        tools: Python files, whose functions are tools of agents.
    """

    components: tuple[tuple[str, Path], ...] = ()
    shared: tuple[Path, ...] = ()
    chains: tuple[Path, ...] = ()
    tools: tuple[Path, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        """Give these and others, each file once."""
        components = {(name, file.resolve()): (name, file) for name, file in self.components + other.components}
        shared = {file.resolve(): file for file in self.shared + other.shared}
        chains = {path.resolve(): path for path in self.chains + other.chains}
        tools = {file.resolve(): file for file in self.tools + other.tools}
        return Parts(tuple(components.values()), tuple(shared.values()), tuple(chains.values()), tuple(tools.values()))

    def register(self, registry: Registry) -> None:
        """Add the component types to a registry. Raises: as `add_component`."""
        for type_name, file in self.components:
            add_component(registry, type_name, file)

    def load(self, engine: Engine) -> None:
        """Add the component types and tools, and load the shared resources; chains are left to the caller.

        Raises:
            ChainError: When a file has errors.
            EngineError: When two of them have one type or id, or a file of tools cannot be run.
        """
        self.register(engine.registry)
        for file in self.tools:
            add_tools(engine, file)
        for file in self.shared:
            engine.shared.load(file)


def add_tools(engine: Engine, file: Path) -> None:
    """Register the functions in a Python file as tools of agents. Raises: as `functions_in`."""
    from catenary.life.programs import functions_in

    for function in functions_in(file):
        engine.tool(function)


def split_component(given: str) -> tuple[str, str]:
    """Read `[TYPE=]FILE`. Returns: the type, which may be empty, and the file."""
    type_name, _, file = given.rpartition("=")
    return type_name, file


def add_component(registry: Registry, type_name: str, file: Path) -> None:
    """Register the chain in a file as a component type; its id is the type if none is given, else the file's name.

    Raises:
        ChainError: When the chain has errors.
        EngineError: When the registry has the type already.
    """
    from catenary.dynamic import component_of
    from catenary.load import read

    document = read(file)
    registry.add(component_of(type_name or document.definition.id or file.stem, document))


def chains_in(path: Path) -> list[Path]:
    """Give the chains of a folder that are not disabled, and the files that cannot be read; a file is itself."""
    from catenary.load import read

    if not path.is_dir():
        return [path]
    files: list[Path] = []
    for file in chain_files(path):
        if not may_be_chain(file):
            continue
        try:
            document = read(file)
        except ChainError:
            files.append(file)  # it is said what is wrong with it
        else:
            if is_chain(document) and not document.definition.disabled:
                files.append(file)
    return files
