"""What chains of a command are made of besides their own files: chains as component types, and shared resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catenary.cli._pairs import bad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.registry import Registry

_COMPONENT = "--component"


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
        help="Load the nodes in FILE as shared resources, which chains borrow with ref://ID. Repeatable.",
    )
    return component_option(shared(command))


def files_of_parts(options: Mapping[str, Any]) -> list[str]:
    """Give the files that `part_options` name."""
    return [*(_split(given)[1] for given in options["components"]), *options["shared"]]


def add_components(registry: Registry, components: Iterable[str]) -> None:
    """Register the chains that `--component` names.

    Raises:
        click.BadParameter: When a file is not there, or two chains have one type.
        ChainError: When a chain has errors.
    """
    from pathlib import Path

    from catenary.dynamic import component_of
    from catenary.errors import ChainError, EngineError
    from catenary.load import read

    for given in components:
        type_name, file = _split(given)
        if not Path(file).is_file():
            raise bad(_COMPONENT, f"there is no file {file!r}")
        document = read(Path(file))
        try:
            registry.add(component_of(type_name or document.definition.id or Path(file).stem, document))
        except ChainError:
            raise
        except EngineError as error:
            raise bad(_COMPONENT, f"{file}: {error}; {error.hint}") from None


def load_parts(engine: Engine, options: Mapping[str, Any]) -> None:
    """Register and load what `part_options` name. Raises: as `add_components`, and as `SharedResources.load`."""
    from pathlib import Path

    from catenary.errors import ChainError, EngineError

    add_components(engine.registry, options["components"])
    for file in options["shared"]:
        try:
            engine.shared.load(Path(file))
        except ChainError:
            raise
        except EngineError as error:
            raise bad("--shared", f"{file}: {error}") from None


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

    found: list[Problem] = []
    for given in options["components"]:
        found += problems_of(partial(_added, engine.registry, given), _split(given)[1])
    for file in options["shared"]:
        found += problems_of(partial(engine.shared.declare, Path(file)), file)
    return found


def _added(registry: Registry, given: str) -> list[Problem]:
    add_components(registry, [given])
    return []


def _split(given: str) -> tuple[str, str]:
    """Give the type, which may be empty, and the file."""
    type_name, _, file = given.rpartition("=")
    return type_name, file
