"""Read a chain from a file, a text or a `dict`: its definition, the place of everything, and what has a wrong shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final, cast

from catenary.errors import ChainError, ChainSyntaxError, Problem
from catenary.load.json_text import Parsed, parse_json
from catenary.load.places import HALF_PAIR, MAX_DEPTH, Lines, Path, Places, same_key, value_at

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition
    from catenary.jsontext import Json

MAX_BYTES: Final = 64 * 2**20
"""How large the file of a chain may be."""

_SUFFIXES: Final = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Document:
    """A chain that was read, before anything in it is looked up.

    Args:
        definition: The chain; nodes and connections that could not be read are left out.
        places: Where everything stands, by path.
        problems: What has a wrong shape.
        file: The file it came from; empty for a text or a `dict`.
        value: The plain value of the document.
        node_paths: The path of each node of `definition.nodes`.
        connection_paths: The path of each of `definition.connections`, then of `rule_chain_connections`.
        endpoint_paths: The path of each of `definition.endpoints`.
    """

    definition: ChainDefinition
    places: Places
    problems: list[Problem]
    file: str = ""
    value: Json = None
    node_paths: tuple[Path, ...] = ()
    connection_paths: tuple[Path, ...] = ()
    endpoint_paths: tuple[Path, ...] = field(default=())

    def place_of_node(self, node_id: str, option: str = "") -> tuple[int, int]:
        """Give line and column of a node, or of an option that it sets; zeros for a chain without a text."""
        for node, path in zip(self.definition.nodes, self.node_paths, strict=True):
            if node.id == node_id:
                place = self.places.of(self.path_to(path, "configuration", option) if option else path)
                return place.line, place.column
        return 0, 0

    def path_to(self, base: Path, *keys: str) -> Path:
        """Follow keys from `base`, matched without regard to case, as far as they are there."""
        path = base
        for key in keys:
            value = value_at(self.value, path)
            if not isinstance(value, dict):
                break
            name = same_key(cast("dict[str, Json]", value), key)
            if name is None:
                break
            path = (*path, name)
        return path


_HALF: Final = "the text has half of a surrogate pair, which is no character"


def read(source: str | FilePath | dict[str, Json], *, file: str = "") -> Document:
    """Read a chain. Nothing in it is looked up or compiled: `load.check` and `load.build` do that.

    Args:
        source: A path, the text of a chain, or the chain as plain values, which are copied. A `str` without line
            breaks that names an existing file, or ends in `.json`, `.yaml` or `.yml`, is a path. Files are read by
            these suffixes; a text, or a file with another suffix, is JSON when its first character is `{`, else YAML.
        file: The name for errors, when `source` is not a path.

    Raises:
        ChainSyntaxError: When the text is neither JSON nor YAML.
        ChainError: When the file cannot be read.
    """
    from catenary.load.envelope import read_envelope

    kind = type(source).__name__
    if not isinstance(source, (str, FilePath, dict)):  # type: ignore[redundant-expr] - callers may not check types
        hint = "give a path, the text of a chain, or the chain as a dict"
        raise ChainError(f"a chain cannot be read from a value of type {kind}", file=file, hint=hint)
    if isinstance(source, dict):
        return read_envelope(Parsed(_copied(source, file), Places()), file)
    if isinstance(source, FilePath) or _is_path(source):
        path = FilePath(source)
        file = file or str(path)
        return read_envelope(_parse(_file_text(path, file), file, _SUFFIXES.get(path.suffix.lower())), file)
    return read_envelope(_parse(source, file, _SUFFIXES.get(FilePath(file).suffix.lower())), file)


def read_endpoint(source: str | FilePath | dict[str, Json], *, file: str = "") -> Document:
    """Read an endpoint that stands alone: a chain without nodes around it. The arguments are as for `read`.

    Raises:
        ChainSyntaxError: When the text is neither JSON nor YAML.
        ChainError: When the file cannot be read.
    """
    from catenary.load.envelope import read_envelope

    if isinstance(source, dict):
        parsed = Parsed(_copied(source, file), Places())
    elif isinstance(source, FilePath) or _is_path(source):
        path = FilePath(source)
        file = file or str(path)
        parsed = _parse(_file_text(path, file), file, _SUFFIXES.get(path.suffix.lower()))
    else:
        parsed = _parse(source, file, None)
    return read_envelope(_around(parsed, ("metadata", "endpoints", 0)), file)


def _around(parsed: Parsed, path: Path) -> Parsed:
    """Give a document in which what was read stands at a path, each part of it with its own place."""
    places = parsed.places
    moved = Places(
        places.text,
        {(*path, *inner): offset for inner, offset in places.values.items()},
        {(*path, *inner): offset for inner, offset in places.keys.items()},
    )
    duplicates = [((*path, *inner), offset) for inner, offset in parsed.duplicates]
    return Parsed({"metadata": {"endpoints": [parsed.value]}}, moved, duplicates)


def read_parsed(path: FilePath) -> Parsed:
    """Read any JSON or YAML file: its plain value and the places in it.

    Raises:
        ChainSyntaxError: When the text is neither JSON nor YAML.
        ChainError: When the file cannot be read.
    """
    file = str(path)
    return _parse(_file_text(path, file), file, _SUFFIXES.get(path.suffix.lower()))


def _is_path(source: str) -> bool:
    if "\n" in source or source.lstrip().startswith(("{", "[")) or len(source) > 1000:
        return False
    path = FilePath(source)
    try:
        return path.suffix.lower() in _SUFFIXES or path.is_file()
    except OSError:  # too long for the name of a file
        return False


def _file_text(path: FilePath, file: str) -> str:
    try:
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ChainError(f"cannot read {file}: {reason}", file=file, hint="look at the path") from error
    except ValueError as error:
        raise ChainError(f"cannot read {file!r}: {error}", file=file, hint="look at the path") from error
    if len(raw) > MAX_BYTES:
        raise ChainError(f"{file} is larger than {MAX_BYTES >> 20} MiB", file=file, hint="look at the path")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        place = Lines(raw[: error.start].decode("utf-8")).place(error.start)
        raise ChainSyntaxError(
            "the file is not UTF-8 text",
            file=file,
            line=place.line,
            column=place.column,
            hint="save it with the encoding UTF-8",
        ) from error


def _parse(text: str, file: str, kind: str | None) -> Parsed:
    text = text.removeprefix("\ufeff")
    if half := HALF_PAIR.search(text):
        place = Lines(text).place(half.start())
        raise ChainSyntaxError(_HALF, file=file, line=place.line, column=place.column, hint="leave it out")
    if kind is None:
        kind = "json" if text.lstrip().startswith(("{", "[", "//", "/*")) else "yaml"
    if kind == "json":
        return parse_json(text, file=file)
    from catenary.load.yaml_text import parse_yaml

    return parse_yaml(text, file=file)


def _copied(value: Json, file: str, path: Path = ()) -> Json:
    """Copy plain values; refuse what is not JSON, and what is nested too deep, as a value inside itself is."""
    if len(path) > MAX_DEPTH:
        raise ChainSyntaxError(f"values are nested more than {MAX_DEPTH} deep", file=file, hint="make it flatter")
    if isinstance(value, str) and HALF_PAIR.search(value):
        shown = ".".join(str(step) for step in path)
        raise ChainSyntaxError(f"{shown}: {_HALF}", file=file, hint="leave it out")
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        entries = cast("dict[object, Json]", value).items()
        return {str(key): _copied(item, file, (*path, str(key))) for key, item in entries}
    if isinstance(value, (list, tuple)):
        items = cast("list[Json]", value)
        return [_copied(item, file, (*path, index)) for index, item in enumerate(items)]
    shown = ".".join(str(step) for step in path)
    raise ChainSyntaxError(
        f"{shown}: a {type(value).__name__} is not a value of JSON",
        file=file,
        hint="a chain holds texts, numbers, booleans, null, lists and dicts",
    )
