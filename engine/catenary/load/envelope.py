"""From plain values to a `ChainDefinition`: what has a wrong shape is a problem, and all of it is said at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from catenary.definition import ChainDefinition, Connection, EndpointDefinition, NodeDefinition
from catenary.errors import Problem, Severity
from catenary.load.codes import hint_of, severity_of
from catenary.load.document import Document
from catenary.load.names import closest
from catenary.load.places import same_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json
    from catenary.load.json_text import Parsed
    from catenary.load.places import Path, Place

T = TypeVar("T")

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
    """Takes the known keys out of one mapping, without regard to case; `unknown` is what nobody asked for.

    Each way of taking gives the default when the key is absent, null, or of another kind, which is a problem.
    """

    def __init__(self, envelope: _Envelope, value: Json, path: Path) -> None:
        self.envelope = envelope
        self.path = path
        self.rest: dict[str, Json] = dict(cast("dict[str, Json]", value)) if isinstance(value, dict) else {}
        self.known: list[str] = []

    def text(self, key: str) -> str:
        return self._take(key, str, "")

    def flag(self, key: str) -> bool:
        return self._take(key, bool, False)

    def whole(self, key: str) -> int:
        return self._take(key, int, 0)

    def mapping(self, key: str) -> dict[str, Json]:
        return self._take(key, dict, {})

    def anything(self, key: str) -> Json:
        return self._take(key, object, None)

    def items(self, key: str) -> list[tuple[Path, Json]]:
        """Give the items of a list, each with its path."""
        path = (*self.path, same_key(self.rest, key) or key)
        items: list[Json] = self._take(key, list, [])
        return [((*path, index), item) for index, item in enumerate(items)]

    def inner(self, key: str) -> _Fields:
        """Give the keys of a mapping in this one."""
        path = (*self.path, same_key(self.rest, key) or key)
        return _Fields(self.envelope, self.mapping(key), path)

    def root(self) -> bool | None:
        """Give `root`, which tells absent from false."""
        return self._take("root", bool, None)

    def _take(self, key: str, kind: type, default: Any) -> Any:
        self.known.append(key)
        written = same_key(self.rest, key)
        value = None if written is None else self.rest.pop(written)
        if written is None or value is None:
            return default
        if type(value) is kind or kind is object:
            return value
        hint = "put quotes around it" if kind is str and type(value) in {int, float, bool} else ""
        text = f"{key!r} must be {_KINDS[kind]}, not {kind_of(value)}"
        self.envelope.wrong_shape((*self.path, written), text, hint)
        return default

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
        """Name an item of a list in words: `nodes[2]`."""
        return f"{path[-2]}[{path[-1]}]"

    def document(self) -> Document:
        value: Json = self.parsed.value
        self._check_top(value)
        top = _Fields(self, value, ())
        head, body = top.inner("ruleChain"), top.inner("metadata")
        nodes = self._each(body, "nodes", self._node)
        connections = self._each(body, "connections", self._connection)
        chain_connections = self._each(body, "ruleChainConnections", self._connection)
        endpoints = self._each(body, "endpoints", self._endpoint)
        definition = ChainDefinition(
            id=head.text("id"),
            name=head.text("name"),
            root=head.root(),
            debug_mode=head.flag("debugMode"),
            disabled=head.flag("disabled"),
            configuration=head.mapping("configuration"),
            additional_info=head.mapping("additionalInfo"),
            first_node_index=body.whole("firstNodeIndex"),
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
            sorted(self.problems, key=lambda problem: (problem.line, problem.column)),
            self.file,
            value,
            tuple(path for path, _ in nodes),
            tuple(path for path, _ in (*connections, *chain_connections)),
            tuple(path for path, _ in endpoints),
        )

    def _check_top(self, value: Json) -> None:
        for path, offset in self.parsed.duplicates:
            place = self.parsed.places.at(offset)
            self.add("chain.duplicate-key", path, f"the key {path[-1]!r} is given twice", place=place)
        if value.__class__ is not dict:
            hint = "write ruleChain and metadata; the name of a file ends in .json, .yaml or .yml"
            self.wrong_shape((), f"a chain must be a mapping, not {kind_of(value)}", hint)

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
            id=fields.text("id") or f"node{index}",
            type=fields.text("type"),
            name=fields.text("name"),
            debug_mode=fields.flag("debugMode"),
            configuration=fields.mapping("configuration"),
            additional_info=fields.mapping("additionalInfo"),
            timeout=fields.anything("timeout"),
            retry=fields.anything("retry"),
            templates=fields.text("templates"),
            extra=fields.unknown(),
        )

    def _connection(self, fields: _Fields, index: int) -> Connection:
        del index
        return Connection(
            from_id=fields.text("fromId"),
            to_id=fields.text("toId"),
            type=fields.text("type"),
            label=fields.text("label"),
            extra=fields.unknown(),
        )

    def _endpoint(self, fields: _Fields, index: int) -> EndpointDefinition:
        processors = [item for _, item in fields.items("processors") if isinstance(item, str)]
        return EndpointDefinition(
            id=fields.text("id") or f"endpoint{index}",
            type=fields.text("type"),
            name=fields.text("name"),
            debug_mode=fields.flag("debugMode"),
            configuration=fields.mapping("configuration"),
            additional_info=fields.mapping("additionalInfo"),
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
