"""What was probably meant: names and keys of a text that nothing is known by, and what is like them.

An unknown name is nil and no error, so chains of the field run unchanged. `doubtful` finds those that are like a name
which is known, for a warning when a chain is loaded; `Advice` looks at the message that an expression failed on.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from catenary.errors import ExpressionError
from catenary.expr import syntax
from catenary.expr.environment import VARIABLES
from catenary.expr.functions.table import functions_of
from catenary.expr.parser import parse
from catenary.expr.placeholders import split_parts
from catenary.expr.shapes import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from catenary.expr.environment import Environment
    from catenary.message import Message

_MOST: Final = 200  # names and keys that are compared with: each takes time


class Doubt(NamedTuple):
    """A name that is not known, where it stands (offset in characters), and the known name that is most like it."""

    name: str
    position: int
    close: str

    def __str__(self) -> str:
        """Tell it in one line."""
        return f"unknown name {self.name!r}; did you mean {self.close!r}?"


class _Path(NamedTuple):
    """`root.a.b`, with the keys that are plain to see."""

    root: str
    keys: tuple[str, ...]


def doubtful_parts(source: str, environment: Environment) -> list[Doubt]:
    """Give the doubtful names of the parts of a template, in the order written.

    A name that stands alone may be a key of the metadata, so only one whose fields are read is given.
    """
    spans = [span for _, *span in split_parts(source) if span[0] >= 0]
    return [doubt for start, end in spans for doubt in doubtful(source, environment, start, end, in_template=True)]


def doubtful(
    source: str, environment: Environment, start: int = 0, end: int | None = None, *, in_template: bool = False
) -> list[Doubt]:
    """Give the unknown names and functions of an expression that are like known ones, in the order written.

    A function that is not known always fails when it is called, so it is given even when nothing is like it; `close`
    is empty then. A text that is no expression has none.
    """
    try:
        nodes = list(_nodes(parse(source, start, end)))
    except ExpressionError:
        return []
    known = _Known(nodes, environment)
    read = {id(node.target) for node in nodes if isinstance(node, syntax.Field | syntax.Index)}
    found: list[Doubt] = []
    dashed = [name for name in environment.nodes if "-" in name]
    told_until = 0
    for node in sorted(nodes, key=lambda node: node.span.start) if dashed else nodes:
        if node.span.start < told_until:
            continue
        if isinstance(node, syntax.Name) and (subtracted := _dashed_at(source, node.span.start, dashed)):
            found.append(Doubt(subtracted, node.span.start, f"$env[{subtracted!r}]"))
            told_until = node.span.start + len(subtracted)
        elif not (in_template and isinstance(node, syntax.Name) and id(node) not in read):
            found += known.doubts(node)
    return sorted(found, key=lambda doubt: doubt.position)


class _Known:
    """What is known by name in an expression: its own names, those of the environment, functions and their objects."""

    def __init__(self, nodes: Iterable[syntax.Node], environment: Environment) -> None:
        self._functions = functions_of(environment)
        self._names = VARIABLES | environment.nodes | {node.name for node in nodes if isinstance(node, syntax.Let)}
        self._objects = {name.partition(".")[0] for name in self._functions if "." in name} - self._names

    def doubts(self, node: syntax.Node) -> Iterator[Doubt]:
        """Give what is doubtful about a node: one name at most."""
        match node:
            case syntax.Name(name=name) if name not in self._names | self._objects:
                if close := _closest(name, self._names):
                    yield Doubt(name, node.span.start, close)
            case syntax.Call(name=name) if name not in self._functions:
                yield Doubt(name, node.span.start, _closest(name, self._functions))
            case syntax.Method(target=syntax.Name(name=root), name=name) if root in self._objects:
                path = f"{root}.{name}"
                if path not in self._functions:
                    yield Doubt(path, node.span.start, _closest(path, self._functions))
            case _:
                pass


def _dashed_at(source: str, start: int, ids: list[str]) -> str:
    """Give the node whose id, with its dashes, stands at a place of a text, where each dash is read as a minus."""
    ids_here = [name for name in ids if source.startswith(f"{name}.", start)]
    return max(ids_here, key=len, default="")


class Advice:
    """What may be told of one stretch of a text when it fails; the text is looked at when that happens first."""

    def __init__(self, source: str, start: int, end: int, environment: Environment) -> None:
        self._stretch = source, start, end
        self._environment = environment
        self._paths: list[_Path] | None = None

    def on(self, message: Message | None) -> str:
        """Give one sentence on the first name or key that the message lacks and has a like of; else empty text."""
        if self._paths is None:
            self._paths = _paths_of(parse(*self._stretch))
        if message is None:
            return ""
        roots: dict[str, Any] = {"msg": message.value, "metadata": dict(message.metadata)}
        for path in self._paths:
            told = _missing_key(roots[path.root], path) if path.root in roots else self._unknown(path.root, roots)
            if told:
                return told
        return ""

    def _unknown(self, name: str, roots: Mapping[str, Any]) -> str:
        known = {known: known for known in [*VARIABLES, *self._environment.nodes]}
        if name in known:
            return ""
        for root, value in roots.items():
            if isinstance(value, dict):
                known |= {key: f"{root}.{key}" for key in cast("dict[Any, Any]", value) if isinstance(key, str)}
        close = name if name in known else _closest(name, known)
        return f"unknown name {name!r}; did you mean {known[close]!r}?" if close else ""


def _missing_key(value: Any, path: _Path) -> str:
    shown = path.root
    for key in path.keys:
        if not isinstance(value, dict):
            return ""
        held = cast("dict[str, Any]", value)
        if key not in held:
            close = _closest(key, held)
            is_payload = key == "data" and shown == "msg"  # which is the raw text
            return f"{shown} has no {key!r}; did you mean {close!r}?" if close and not is_payload else ""
        value, shown = held[key], f"{shown}.{key}"
    return ""


def _closest(name: str, known: Iterable[str]) -> str:
    names = sorted(known)[:_MOST]
    by_lower = {other.lower(): other for other in names if len(other) < 100}
    matches = get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.65)
    return by_lower[matches[0]] if matches else ""


def _nodes(root: syntax.Node) -> Iterator[syntax.Node]:
    """Give all nodes of a tree, of any depth; a row of accesses comes before its parts."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(reversed(cast("tuple[Any, ...]", node)))
        elif is_dataclass(node):
            yield cast("syntax.Node", node)
            stack.extend(getattr(node, part.name) for part in reversed(fields(node)) if part.name != "span")


def _paths_of(root: syntax.Node) -> list[_Path]:
    """Give what is read of each name that no `let` has made."""
    nodes = list(_nodes(root))
    declared = {node.name for node in nodes if isinstance(node, syntax.Let)}
    paths: list[_Path] = []
    inner: set[int] = set()
    for node in nodes:
        if id(node) in inner:
            continue
        keys: list[str] = []
        target = node
        while isinstance(target, syntax.Field | syntax.Index):
            key = key_of(target)
            keys = [key, *keys] if key else []  # what follows a computed key is not known
            target = target.target
            inner.add(id(target))
        if isinstance(target, syntax.Name) and target.name not in declared:
            paths.append(_Path(target.name, tuple(keys)))
    return paths
