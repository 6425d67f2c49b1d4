"""The properties of a run (`global`): from an env file, from the environment, and from `--set`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

import click

from catenary.cli._pairs import bad, put, typed_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary.jsontext import Json

PREFIX: Final = "CATENARY_GLOBAL__"
"""Variables with this prefix are properties: `CATENARY_GLOBAL__MODELS__DEFAULT` is `global.models.default`."""

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][\w.\-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*')\s*(?:#.*)?""")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def property_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--set` and `--env-file` to a command; they arrive as `settings` and `env_files`."""
    for decorate in (
        click.option(
            "--env-file",
            "env_files",
            multiple=True,
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False),
            help="A file of NAME=value lines for the environment, and of global.key=value lines. Repeatable.",
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
    """Give the properties: those of `--set` win over the environment, and it over the env files.

    The variables of the env files that the environment does not have are added to it.

    Args:
        settings: The texts of `--set`.
        env_files: The paths of the env files, in their order.
        sources: Gets where each property came from, by its dotted key; the later one wins, as with the values.

    Raises:
        click.BadParameter: When an option or a line of a file cannot be read.
    """
    properties: dict[str, Json] = {}
    sources = {} if sources is None else sources
    from_files: dict[str, str] = {}
    for path in env_files:
        for name, value in read_env_file(path):
            if name.startswith("global."):
                put(properties, name.split(".")[1:], value, "--env-file")
                sources[name.removeprefix("global.")] = path
            elif name not in os.environ:
                os.environ[name] = value
                from_files[name] = f"{name} in {path}"
    put_variables(properties, os.environ)
    for name in sorted(os.environ):
        keys = _keys(name)
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


def put_variables(properties: dict[str, Json], environment: Mapping[str, str]) -> None:
    """Put the variables with the prefix into the properties; a name all in capitals gives a key in small letters."""
    for name in sorted(environment):
        keys = _keys(name)
        if keys:
            put(properties, keys, environment[name], f"environment variable {name}")


def _keys(variable: str) -> list[str]:
    """Give the keys of the property that an environment variable sets; none when it sets none."""
    key = variable.removeprefix(PREFIX)
    if key == variable or not key:
        return []
    return (key.lower() if key.isupper() else key).split("__")


def read_env_file(path: str) -> list[tuple[str, str]]:
    """Read the lines of an env file: `NAME=value`, quotes, `#` comments and `export` as shells have them.

    Nothing is expanded. In double quotes, backslash escapes are read.

    Raises:
        click.BadParameter: When the file cannot be read, or a line is no assignment.
    """
    from pathlib import Path

    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()  # some editors begin with a mark
    except OSError as error:
        raise bad("--env-file", f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise bad("--env-file", f"{path} is not UTF-8 text") from None
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match[2]) if match else None
        if match is None or value is None:
            # The line is not shown: it may hold a key that nobody else should see.
            raise bad("--env-file", f"{path}:{number}: the line is not of the form NAME=value")
        pairs.append((match[1], value))
    return pairs


def _value(text: str) -> str | None:
    if text[:1] not in {'"', "'"}:
        return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
    match = _QUOTED.fullmatch(text)
    if match is None:
        return None
    inner = match[1][1:-1]
    if text[0] == "'":
        return inner
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inner)
