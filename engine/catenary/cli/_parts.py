"""What chains of a command need besides their own files: component types, shared resources, and other chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catenary.cli._pairs import bad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.life.parts import Parts
    from catenary.registry import Registry

_COMPONENT = "--component"
_CHAINS = "--chains"
_TOOLS = "--tools"
CACHE_URL = "CATENARY_CACHE_URL"
"""The environment variable that has the address of the cache."""


def component_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--component` to a command; it arrives as `components`."""
    return click.option(
        _COMPONENT,
        "components",
        multiple=True,
        metavar="[TYPE=]FILE",
        help="Have the chain in FILE as a component type; its id is the type if none is given. Repeatable.",
    )(command)


def part_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--component` and `--shared` to a command; they arrive as `components` and `shared`."""
    shared = click.option(
        "--shared",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, readable=True),
        help="Load the nodes and endpoints in FILE as shared resources, which chains borrow with ref://ID. Repeatable.",
    )
    return component_option(shared(command))


def chains_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--chains` to a command; it arrives as `chains`."""
    return click.option(
        _CHAINS,
        multiple=True,
        metavar="PATH",
        type=click.Path(exists=True, readable=True),
        help="Load the chain in PATH, or those in the folder PATH, for the chain to run them. Repeatable.",
    )(command)


def tools_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--tools` to a command; it arrives as `tools`."""
    return click.option(
        _TOOLS,
        multiple=True,
        metavar="FILE.py",
        type=click.Path(exists=True, dir_okay=False, readable=True),
        help="Have the functions in FILE.py as tools of agents. Repeatable.",
    )(command)


def cache_of_environment() -> str | None:
    """Give the address of the cache that the environment variable `CATENARY_CACHE_URL` names, if it does.

    Raises:
        click.UsageError: When it is no address of a cache, or the extra for it is not installed.
    """
    import os

    url = os.environ.get(CACHE_URL, "").strip()
    if not url:
        return None
    from catenary.errors import EngineError
    from catenary.remote_cache import open_cache

    try:
        open_cache(url)
    except EngineError as error:
        raise click.UsageError(f"{CACHE_URL}: {error}; {error.hint}") from None
    return url


def files_of_parts(options: Mapping[str, Any]) -> list[str]:
    """Give the files that `part_options` name."""
    from catenary.life.parts import split_component

    return [*(split_component(given)[1] for given in options["components"]), *options["shared"]]


def add_components(registry: Registry, components: Iterable[str]) -> None:
    """Register the chains that `--component` names.

    Raises:
        click.BadParameter: When a file is not there, or two chains have one type.
        ChainError: When a chain has errors.
    """
    from pathlib import Path

    from catenary.errors import ChainError, EngineError
    from catenary.life.parts import add_component, split_component

    for given in components:
        type_name, file = split_component(given)
        if not Path(file).is_file():
            raise bad(_COMPONENT, f"there is no file {file!r}")
        try:
            add_component(registry, type_name, Path(file))
        except ChainError:
            raise
        except EngineError as error:
            raise bad(_COMPONENT, f"{file}: {error}; {error.hint}") from None


def load_parts(engine: Engine, options: Mapping[str, Any]) -> None:
    """Register and load what `part_options` and `tools_option` name.

    Raises:
        click.BadParameter: As `add_components`, or when a file of tools cannot be run.
        ChainError: As `add_components`, and as `SharedResources.load`.
    """
    from pathlib import Path

    from catenary.errors import ChainError, EngineError
    from catenary.life.parts import add_tools

    add_components(engine.registry, options["components"])
    for file in options.get("tools", ()):
        try:
            add_tools(engine, Path(file))
        except EngineError as error:
            raise bad(_TOOLS, f"{error}; {error.hint}" if error.hint else str(error)) from None
    for file in options["shared"]:
        try:
            engine.shared.load(Path(file))
        except ChainError:
            raise
        except EngineError as error:
            raise bad("--shared", f"{file}: {error}") from None


def parts_of(options: Mapping[str, Any]) -> Parts:
    """Give what `part_options`, `chains_option` and `tools_option` name, as files.

    Raises:
        click.BadParameter: As `add_components`, or when a folder has no chains.
        ChainError: As `add_components`.
    """
    from pathlib import Path

    from catenary.life.parts import Parts, split_component
    from catenary.registry import Registry

    add_components(Registry(), options["components"])
    components = map(split_component, options["components"])
    for path in options["chains"]:
        if not chain_files_of(path):
            raise bad(_CHAINS, f"there are no chains in {path!r}")
    return Parts(
        tuple((type_name, Path(file)) for type_name, file in components),
        tuple(map(Path, options["shared"])),
        tuple(map(Path, options["chains"])),
        tuple(map(Path, options.get("tools", ()))),
    )


def declare_parts(engine: Engine, options: Mapping[str, Any]) -> list[Problem]:
    """Have chains checked with what `part_options` name; nothing is opened.

    Returns:
        What is wrong with it.

    Raises:
        click.BadParameter: As `add_components`.
    """
    from functools import partial
    from pathlib import Path

    from catenary.cli.errors import problems_of
    from catenary.life.parts import split_component

    found: list[Problem] = []
    for given in options["components"]:
        found += problems_of(partial(_added, engine.registry, given), split_component(given)[1])
    for file in options["shared"]:
        found += problems_of(partial(engine.shared.declare, Path(file)), file)
    return found


def chain_files_of(file: str) -> list[str]:
    """Give the chains of a folder; a file is itself."""
    from pathlib import Path

    from catenary.life.parts import chains_in

    return [file] if file == "-" or not Path(file).is_dir() else list(map(str, chains_in(Path(file))))


def load_chains(engine: Engine, given: Iterable[str], chain: Chain | None = None, file: str | None = None) -> None:
    """Load what `--chains` names; a chain without id gets the name of its file.

    Args:
        engine: Takes the chains in.
        given: Files and folders.
        chain: The chain that is run, which is loaded already.
        file: Its file; without one, it stands in for the file that has a chain with its id.

    Raises:
        click.BadParameter: When a folder has no chains.
        ChainInvalid: When there are errors; it lists those of all files.
    """
    from functools import partial
    from pathlib import Path

    from catenary.cli.errors import problems_of
    from catenary.errors import ChainInvalid

    owners: dict[str, Path | None] = {} if chain is None else {chain.id: Path(file) if file else None}
    problems: list[Problem] = []
    for path in given:
        files = chain_files_of(path)
        if not files:
            raise bad(_CHAINS, f"there are no chains in {path!r}")
        for one in files:
            if not file or not Path(one).samefile(file):
                problems += problems_of(partial(_loaded, engine, Path(one), owners), one)
    if any(problem.severity == "error" for problem in problems):
        raise ChainInvalid(problems)


def _loaded(engine: Engine, path: Path, owners: dict[str, Path | None]) -> list[Problem]:
    """Load a chain, unless another file has its id. Returns: what is wrong with that."""
    from catenary.life.chainfiles import id_of, same_id
    from catenary.load import read

    document = read(path)
    chain_id = id_of(path, document)
    if chain_id in owners:
        owner = owners[chain_id]
        return [] if owner is None or owner.samefile(path) else [same_id(chain_id, owner, path)]
    owners[chain_id] = path
    engine.load(document, id=chain_id)
    return []


def _added(registry: Registry, given: str) -> list[Problem]:
    add_components(registry, [given])
    return []
