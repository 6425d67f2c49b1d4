"""From plain values to a `ChainDefinition`: what has a wrong shape is a problem, and all of it is said at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast, get_origin

from catenary.definition import ChainDefinition, Connection, EndpointDefinition, NodeDefinition
from catenary.errors import Problem, Severity
from catenary.load.codes import hint_of, severity_of
from catenary.load.document import Document
from catenary.load.names import closest

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json
    from catenary.load.json_text import Parsed
    from catenary.load.places import Path, Place

T = TypeVar("T")
D = TypeVar("D")

_KINDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "a mapping",
}


def read_envelope(parsed: Parsed, file: str) -> Document:
    """Read the definition out of a parsed document."""
    return _Envelope(parsed, file).document()


def kind_of(value: Json) -> str:
    """Say what kind of value it is, for an error text."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return "a number"
    return next(text for kind, text in _KINDS.items() if type(value) is kind)


class _Fields:
    """Takes the known keys out of one mapping, without regard to case; `rest` is what nobody asked for."""

    def __init__(self, envelope: _Envelope, value: Json, path: Path) -> None:
        self.envelope = envelope
        self.path = path
        self.rest: dict[str, Json] = {}
        self.known: list[str] = []
        if isinstance(value, dict):
            self.rest = dict(cast("dict[str, Json]", value))
        elif value is not None:
            envelope.wrong_shape(path, f"{envelope.name(path)} must be a mapping, not {kind_of(value)}")

    def take(self, key: str, kind: type[T], default: D) -> T | D:
        """Give the value of a key; the default when it is absent, null, or of another kind, which is a problem."""
        self.known.append(key)
        written = key if key in self.rest else next((name for name in self.rest if name.lower() == key.lower()), None)
        if written is None:
            return default
        value = self.rest.pop(written)
        if value is None:
            return default
        plain = get_origin(kind) or kind
        if type(value) is plain or kind is object:
            return cast("T", value)
        hint = "put quotes around it" if kind is str and type(value) in {int, float, bool} else ""
        path = (*self.path, written)
        self.envelope.wrong_shape(path, f"{key!r} must be {_KINDS[plain]}, not {kind_of(value)}", hint)
        return default

    def path_of(self, key: str) -> Path:
        """Give the path of a key as it is written; call it before `take`."""
        written = key if key in self.rest else next((name for name in self.rest if name.lower() == key.lower()), key)
        return (*self.path, written)

    def items(self, key: str) -> list[tuple[Path, Json]]:
        """Give the items of a list, each with its path."""
        path = self.path_of(key)
        return [((*path, index), item) for index, item in enumerate(self.take(key, list[Any], []))]

    def unknown(self) -> dict[str, Json]:
        """Give the keys that are left, each with a warning."""
        for key in self.rest:
            guess = closest(key, self.known)
            hint = f"did you mean {guess!r}?" if guess else "it is kept, and nothing reads it"
            self.envelope.add("chain.unknown-key", (*self.path, key), f"the key {key!r} is not known here", hint)
        return self.rest


class _Envelope:
    def __init__(self, parsed: Parsed, file: str) -> None:
        self.parsed = parsed
        self.file = file
        self.problems: list[Problem] = []

    def add(self, code: str, path: Path, text: str, hint: str = "", *, place: Place | None = None) -> None:
        severity: Severity = severity_of(code)
        line, column = place or self.parsed.places.of_key(path)
        self.problems.append(Problem(code, text, hint or hint_of(code), self.file, line, column, severity))

    def wrong_shape(self, path: Path, text: str, hint: str = "") -> None:
        line, column = self.parsed.places.of(path)
        self.problems.append(Problem("chain.shape", text, hint or hint_of("chain.shape"), self.file, line, column))

    def name(self, path: Path) -> str:
        """Name a place of the document in words: `nodes[2]`, `ruleChain`."""
        if not path:
            return "a chain"
        last = path[-1]
        return f"{path[-2]}[{last}]" if isinstance(last, int) and len(path) > 1 else f"{last!r}"

    def document(self) -> Document:
        for path, offset in self.parsed.duplicates:
            place = self.parsed.places.at(offset)
            self.add("chain.duplicate-key", path, f"the key {path[-1]!r} is given twice", place=place)
        top = _Fields(self, self.parsed.value if self.parsed.value is not None else [], ())
        head_path, body_path = top.path_of("ruleChain"), top.path_of("metadata")
        head = _Fields(self, top.take("ruleChain", dict[str, Any], {}), head_path)
        body = _Fields(self, top.take("metadata", dict[str, Any], {}), body_path)
        nodes = self._each(body, "nodes", self._node)
        connections = self._each(body, "connections", self._connection)
        chain_connections = self._each(body, "ruleChainConnections", self._connection)
        endpoints = self._each(body, "endpoints", self._endpoint)
        definition = ChainDefinition(
            id=head.take("id", str, ""),
            name=head.take("name", str, ""),
            root=head.take("root", bool, None),
            debug_mode=head.take("debugMode", bool, False),
            disabled=head.take("disabled", bool, False),
            configuration=head.take("configuration", dict[str, Any], {}),
            additional_info=head.take("additionalInfo", dict[str, Any], {}),
            first_node_index=body.take("firstNodeIndex", int, 0),
            nodes=tuple(node for _, node in nodes),
            connections=tuple(connection for _, connection in connections),
            endpoints=tuple(endpoint for _, endpoint in endpoints),
            rule_chain_connections=tuple(connection for _, connection in chain_connections),
            extra=head.unknown(),
            metadata_extra=body.unknown(),
            document_extra=top.unknown(),
        )
        return Document(
            definition,
            self.parsed.places,
            self.problems,
            self.file,
            self.parsed.value,
            tuple(path for path, _ in nodes),
            tuple(path for path, _ in (*connections, *chain_connections)),
            tuple(path for path, _ in endpoints),
        )

    def _each(self, body: _Fields, key: str, read: Callable[[_Fields, int], T]) -> list[tuple[Path, T]]:
        result: list[tuple[Path, T]] = []
        for index, (path, item) in enumerate(body.items(key)):
            if not isinstance(item, dict):
                self.wrong_shape(path, f"{key}[{index}] must be a mapping, not {kind_of(item)}")
            else:
                fields = _Fields(self, item, path)
                result.append((path, read(fields, index)))
        return result

    def _node(self, fields: _Fields, index: int) -> NodeDefinition:
        return NodeDefinition(
            id=fields.take("id", str, "") or f"node{index}",
            type=fields.take("type", str, ""),
            name=fields.take("name", str, ""),
            debug_mode=fields.take("debugMode", bool, False),
            configuration=fields.take("configuration", dict[str, Any], {}),
            additional_info=fields.take("additionalInfo", dict[str, Any], {}),
            timeout=fields.take("timeout", object, None),
            retry=fields.take("retry", object, None),
            extra=fields.unknown(),
        )

    def _connection(self, fields: _Fields, index: int) -> Connection:
        del index
        return Connection(
            from_id=fields.take("fromId", str, ""),
            to_id=fields.take("toId", str, ""),
            type=fields.take("type", str, ""),
            label=fields.take("label", str, ""),
            extra=fields.unknown(),
        )

    def _endpoint(self, fields: _Fields, index: int) -> EndpointDefinition:
        processors = [item for _, item in fields.items("processors") if isinstance(item, str)]
        return EndpointDefinition(
            id=fields.take("id", str, "") or f"endpoint{index}",
            type=fields.take("type", str, ""),
            name=fields.take("name", str, ""),
            debug_mode=fields.take("debugMode", bool, False),
            configuration=fields.take("configuration", dict[str, Any], {}),
            additional_info=fields.take("additionalInfo", dict[str, Any], {}),
            processors=tuple(processors),
            routers=self._routers(fields),
            extra=fields.unknown(),
        )

    def _routers(self, fields: _Fields) -> tuple[dict[str, Json], ...]:
        routers: list[dict[str, Json]] = []
        for path, item in fields.items("routers"):
            if isinstance(item, dict):
                routers.append(cast("dict[str, Json]", item))
            else:
                self.wrong_shape(path, f"{self.name(path)} must be a mapping, not {kind_of(item)}")
        return tuple(routers)
