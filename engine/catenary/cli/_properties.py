"""The properties of a run (`global`): from files, from the environment, and from `--set`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from catenary.cli._pairs import bad, put, typed_pair
from catenary.properties import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary.jsontext import Json

_FROM_FILES: Final = "catenary.variables_of_env_files"
"""Where the context of a command has which variable came from which env file."""

__all__ = ["PREFIX", "properties_of", "property_options", "put_variables", "read_env_file"]


def property_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--set` and `--env-file` to a command; they arrive as `settings` and `env_files`."""
    for decorate in (
        click.option(
            "--env-file",
            "--properties",
            "env_files",
            multiple=True,
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False),
            is_eager=True,
            callback=_put_into_environment,
            help="A JSON, YAML or TOML file of properties, or one of NAME=value lines for the environment and of"
            " global.key=value lines. Repeatable.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="global.KEY=VALUE",
            help="Set what the chain reads as ${global.KEY}; KEY may be dotted, KEY:=VALUE reads JSON. Repeatable.",
        ),
    ):
        command = decorate(command)
    return command


def properties_of(
    settings: Iterable[str], env_files: Iterable[str], sources: dict[str, str] | None = None
) -> dict[str, Json]:
    """Give the properties: those of `--set` win over the environment, and it over the files, of which the later win.

    The variables of the env files that the environment does not have are added to it, if the option has not done it.

    Args:
        settings: The texts of `--set`.
        env_files: The paths of the files, in their order.
        sources: Gets where each property came from, by its dotted key; the later one wins, as with the values.

    Raises:
        click.BadParameter: When an option or a line of a file cannot be read.
    """
    from catenary.properties import keys_of

    properties: dict[str, Json] = {}
    sources = {} if sources is None else sources
    ctx = click.get_current_context(silent=True)
    from_files: dict[str, str] = {} if ctx is None else ctx.meta.setdefault(_FROM_FILES, {})
    for path in env_files:
        _put_file(properties, path, sources, from_files)
    put_variables(properties, os.environ)
    for name in sorted(os.environ):
        keys = keys_of(name)
        if keys:
            sources[".".join(keys)] = from_files.get(name, f"environment variable {name}")
    for setting in settings:
        key, value = typed_pair(setting, "--set")
        root, _, rest = key.partition(".")
        if root != "global" or not rest:
            wanted = rest or (key if root != "global" else "KEY")
            raise bad("--set", f"{key!r} is no property; write --set global.{wanted}=VALUE")
        put(properties, rest.split("."), value, "--set")
        sources[rest] = "--set"
    return properties


def _put_into_environment(ctx: click.Context, _: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Add the variables of the env files to the environment, before other options look there for their values."""
    for path in paths:
        _put_file({}, path, {}, ctx.meta.setdefault(_FROM_FILES, {}))
    return paths


def _put_file(properties: dict[str, Json], path: str, sources: dict[str, str], from_files: dict[str, str]) -> None:
    from pathlib import Path

    from catenary.errors import ConfigError
    from catenary.properties import STRUCTURED, leaves, merge, read_mapping

    if Path(path).suffix.lower() in STRUCTURED:
        try:
            found = read_mapping(Path(path))
        except ConfigError as error:
            raise bad("--env-file", str(error)) from None
        merge(properties, found)
        sources.update(dict.fromkeys(leaves(found), path))
        return
    for name, value in read_env_file(path):
        if name.startswith("global."):
            put(properties, name.split(".")[1:], value, "--env-file")
            sources[name.removeprefix("global.")] = path
        elif name not in os.environ:
            os.environ[name] = value
            from_files[name] = f"{name} in {path}"


def put_variables(properties: dict[str, Json], environment: Mapping[str, str]) -> None:
    """Put the variables with the prefix into the properties; a name all in capitals gives a key in small letters."""
    from catenary.properties import keys_of

    for name in sorted(environment):
        keys = keys_of(name)
        if keys:
            put(properties, keys, environment[name], f"environment variable {name}")


def read_env_file(path: str) -> list[tuple[str, str]]:
    """Read the lines of an env file.

    Raises:
        click.BadParameter: When the file cannot be read, or a line is no assignment.
    """
    from pathlib import Path

    from catenary.errors import ConfigError
    from catenary.properties import read_env_lines

    try:
        return read_env_lines(Path(path))
    except ConfigError as error:
        raise bad("--env-file", str(error)) from None
