"""The syntax tree of an expression, as the parser gives it: each node knows where it stands in the text.

Nodes are never changed; they are not frozen, for that makes them four times slower to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

ItemKind: TypeAlias = Literal["#", "#index", "#acc"]


class Span(NamedTuple):
    """A stretch of the text: offsets in characters, `end` exclusive."""

    start: int
    end: int


@dataclass(slots=True)
class Constant:
    """A literal: `nil`, a bool, a number, text or bytes."""

    span: Span
    value: bool | int | float | str | bytes | None


@dataclass(slots=True)
class Name:
    """A name: a variable of the environment, or one made by `let`."""

    span: Span
    name: str


@dataclass(slots=True)
class AllNames:
    """`$env`: all variables as a map."""

    span: Span


@dataclass(slots=True)
class Item:
    """`#`, `#index` or `#acc` inside a predicate."""

    span: Span
    kind: ItemKind


@dataclass(slots=True)
class ListOf:
    """`[a, b]`."""

    span: Span
    items: tuple[Node, ...]


@dataclass(slots=True)
class MapOf:
    """`{key: value}`; a plain key is a `Constant`."""

    span: Span
    entries: tuple[tuple[Node, Node], ...]


@dataclass(slots=True)
class Unary:
    """`not x`, `-x`, `+x`; the operator is one of `not`, `-`, `+`."""

    span: Span
    operator: str
    operand: Node


@dataclass(slots=True)
class Binary:
    """Two operands; the operator in its long spelling (`**`, never `^`). `negated` for `not in` and its like."""

    span: Span
    operator: str
    left: Node
    right: Node
    negated: bool = False


@dataclass(slots=True)
class Logical:
    """A row of operands joined by one kind of `and` or `or`."""

    span: Span
    operator: Literal["and", "or"]
    operands: tuple[Node, ...]


@dataclass(slots=True)
class Ordering:
    """`a < b <= c`: one more operand than operators; each operand is evaluated once."""

    span: Span
    operators: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(slots=True)
class Conditional:
    """`test ? then : other`, in any of its spellings."""

    span: Span
    test: Node
    then: Node
    other: Node


@dataclass(slots=True)
class Field:
    """`target.name`; `optional` for `target?.name`."""

    span: Span
    target: Node
    name: str
    optional: bool = False


@dataclass(slots=True)
class Index:
    """`target[index]`; `optional` for `target?.[index]`."""

    span: Span
    target: Node
    index: Node
    optional: bool = False


@dataclass(slots=True)
class Slice:
    """`target[low:high]`; a bound that is not written is `None`."""

    span: Span
    target: Node
    low: Node | None
    high: Node | None


@dataclass(slots=True)
class Chain:
    """The whole of a row of accesses of which one is optional: at the first nil there, all of it is nil."""

    span: Span
    body: Node


@dataclass(slots=True)
class Call:
    """`name(arguments)`."""

    span: Span
    name: str
    arguments: tuple[Node, ...]


@dataclass(slots=True)
class Method:
    """`target.name(arguments)`; `optional` for `target?.name(arguments)`."""

    span: Span
    target: Node
    name: str
    arguments: tuple[Node, ...]
    optional: bool = False


@dataclass(slots=True)
class Predicate:
    """What a function such as `filter` evaluates for each element."""

    span: Span
    body: Node


@dataclass(slots=True)
class Let:
    """`let name = value; body`."""

    span: Span
    name: str
    value: Node
    body: Node


@dataclass(slots=True)
class Sequence:
    """`first; second`: both are evaluated, the second is the value."""

    span: Span
    first: Node
    second: Node


Node: TypeAlias = (
    Constant
    | Name
    | AllNames
    | Item
    | ListOf
    | MapOf
    | Unary
    | Binary
    | Logical
    | Ordering
    | Conditional
    | Field
    | Index
    | Slice
    | Chain
    | Call
    | Method
    | Predicate
    | Let
    | Sequence
)
