"""The properties of an engine, which chains read as `global`: from files, from the environment, and set by hand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import ChainError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.jsontext import Json

PREFIX: Final = "CATENARY_GLOBAL__"
"""Variables with this prefix are properties: `CATENARY_GLOBAL__MODELS__DEFAULT` is `global.models.default`."""

STRUCTURED: Final = frozenset({".json", ".yaml", ".yml", ".toml"})
"""The suffixes of files that hold properties as they are; others are env files."""

_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][\w.\-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*')\s*(?:#.*)?""")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def read_properties(
    *files: str | Path,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Give properties for `Engine(properties)`: files in their order, over them the environment, over it `settings`.

    Mappings are merged key by key; of anything else the later one counts.

    Args:
        *files: JSON, YAML or TOML files of a mapping, by suffix; others are env files, whose `global.key=value` lines
            count, and their `CATENARY_GLOBAL__KEY=value` lines where the environment does not have the variable.
        environ: Variables; those of the process if absent. Give `{}` for none. Only those with the prefix count.
        settings: Values by dotted key: `{"models.default": "small"}`.

    Raises:
        ConfigError: When a file cannot be read, or a key lies inside a plain value.
    """
    properties: dict[str, Json] = {}
    variables: dict[str, str] = {}
    for file in files:
        path = Path(file)
        if path.suffix.lower() in STRUCTURED:
            merge(properties, read_mapping(path))
            continue
        for name, value in read_env_lines(path):
            if name.startswith("global."):
                put(properties, name.split(".")[1:], value)
            else:
                variables[name] = value
    variables.update(os.environ if environ is None else environ)
    for name in sorted(variables):
        keys = keys_of(name)
        if keys:
            put(properties, keys, variables[name])
    for key, value in (settings or {}).items():
        put(properties, key.split("."), value)
    return properties


def read_mapping(path: Path) -> dict[str, Json]:
    """Read the mapping in a JSON, YAML or TOML file. Raises: ConfigError: when it cannot be read, or is none."""
    if path.suffix.lower() == ".toml":
        return _read_toml(path)
    from catenary.load.document import read_parsed

    try:
        value = read_parsed(path).value
    except ChainError as error:
        place = f" (line {error.line}, column {error.column})" if error.line else ""
        raise ConfigError(_said(path, f"{error}{place}"), hint=error.hint) from None
    if not isinstance(value, dict):
        raise ConfigError(f"{path} holds no mapping of keys to values", hint="write key: value, or {...}")
    return cast("dict[str, Json]", value)


def _read_toml(path: Path) -> dict[str, Json]:
    import tomllib

    try:
        return cast("dict[str, Json]", _plain(tomllib.loads(path.read_text(encoding="utf-8"))))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # of TOML, and of UTF-8
        raise ConfigError(f"{path}: {error}") from None


def _plain(value: Any) -> Json:
    """Give a value of TOML as one of JSON; a date is its text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value if isinstance(value, str | int | float) else value.isoformat()


def _said(path: Path, text: str) -> str:
    return text if str(path) in text else f"{path}: {text}"


def merge(properties: dict[str, Json], others: Mapping[str, Json]) -> None:
    """Put other properties over properties."""
    for key, value in others.items():
        present = properties.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            merge(cast("dict[str, Json]", present), cast("dict[str, Json]", value))
        else:
            properties[key] = value


def leaves(properties: Mapping[str, Json], prefix: str = "") -> Iterator[str]:
    """Give the dotted key of each plain value."""
    for key, value in properties.items():
        if isinstance(value, dict) and value:
            yield from leaves(cast("dict[str, Json]", value), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def put(properties: dict[str, Json], keys: list[str], value: Json) -> None:
    """Put a value under nested keys. Raises: ConfigError: when one is empty, or lies inside a plain value."""
    if not all(keys):
        raise ConfigError(f"a part of the dotted key {'.'.join(keys)!r} is empty")
    inside: dict[str, Json] = properties
    for depth, key in enumerate(keys[:-1], start=1):
        inner = inside.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(
                f"{'.'.join(keys[:depth])!r} has a plain value already, so it cannot hold {keys[depth]!r}"
            )
        inside = cast("dict[str, Json]", inner)
    inside[keys[-1]] = value


def keys_of(variable: str) -> list[str]:
    """Give the keys of the property that an environment variable sets; none when it sets none.

    A name all in capitals gives keys in small letters.
    """
    key = variable.removeprefix(PREFIX)
    if key == variable or not key:
        return []
    return (key.lower() if key.isupper() else key).split("__")


def read_env_lines(path: Path) -> list[tuple[str, str]]:
    """Read the lines of an env file: `NAME=value`, quotes, `#` comments and `export` as shells have them.

    Nothing is expanded. In double quotes, backslash escapes are read.

    Raises:
        ConfigError: When the file cannot be read, or a line is no assignment.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # some editors begin with a mark
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = _value(match[2]) if match else None
        if match is None or value is None:
            # The line is not shown: it may hold a key that nobody else should see.
            raise ConfigError(f"{path}:{number}: the line is not of the form NAME=value")
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
