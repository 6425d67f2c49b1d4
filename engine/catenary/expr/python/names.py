"""What names mean in a Python expression, and the small parts of which its closure is written."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.environment import VARIABLES, output_of, payload
from catenary.expr.kinds import MAX_TEXT
from catenary.expr.lower import FREE_WEIGHT, MAKER_WEIGHT
from catenary.expr.python import operators as guards
from catenary.expr.python.syntax import GLOBAL, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.python.builtins import Callee

_MAPPINGS: Final = frozenset({"metadata", "global", "vars"})
_SPELLINGS: Final = {"true": "True", "false": "False", "null": "None", "nil": "None", "undefined": "None"}


class PythonNames:
    """The part of the compiler below the operators.

    Attributes:
        namespace: The values of the engine that the closure uses, by name.
        used: The variables of the message that it reads.
        references: The ids of the nodes whose output it reads, each with its name in the closure.
        uses_budget: True when something is made again and again.
        scopes: The names that the open comprehensions bind, each with its name in the closure.
    """

    def __init__(self, source: Source, environment: Environment, functions: dict[str, Callee]) -> None:
        self.source = source
        self.environment = environment
        self.functions = functions
        self.namespace: dict[str, Any] = {}
        self.used: set[str] = set()
        self.references: dict[str, str] = {}
        self.uses_budget = False
        self.made = 0  # the weight of what was made outside of comprehensions
        self.scopes: list[dict[str, str]] = []
        self._names: dict[int, str] = {}
        self.count = 0
        self.repeated = 0  # above 0: what is made here may be made many times
        self.in_iterable = 0  # above 0: Python allows no ':=' here

    # -- small parts

    def constant_of(self, value: Any) -> ast.expr:
        """Name a value of the engine."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"g{len(self._names)}"
            self.namespace[name] = value  # which keeps the value, and so its id, alive
        return load(name)

    def invoke(self, function: Callable[..., Any], *arguments: ast.expr, at: ast.AST) -> ast.Call:
        """Call a function of the engine."""
        return ast.copy_location(ast.Call(self.constant_of(function), list(arguments), []), at)

    def charged(self, made: ast.expr, at: ast.AST) -> ast.expr:
        """Let a value that was made be paid for, where that may happen many times, or many such stand in one text."""
        is_written = isinstance(made, ast.List | ast.Tuple | ast.Set | ast.Dict)  # no longer than the text
        if not is_written:
            self.made += MAKER_WEIGHT if isinstance(made, ast.Call) else 1
        if not self.repeated and (is_written or self.made <= FREE_WEIGHT):
            return made
        self.uses_budget = True
        return self.invoke(guards.charge, load("work"), made, at=at)

    def held(self, made: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Give what stands for a value at its first use, and later; `None` where it cannot be held."""
        if isinstance(made, ast.Name | ast.Constant):
            return made, made
        if self.in_iterable:
            return None
        self.count += 1
        name = f"t{self.count}"
        return ast.copy_location(ast.NamedExpr(ast.Name(name, ast.Store()), made), made), load(name)

    def is_kind(self, value: ast.expr, kind: type) -> ast.expr:
        """Test the exact kind of a value."""
        return ast.Compare(ast.Attribute(value, "__class__", ast.Load()), [ast.Is()], [self.constant_of(kind)])

    # -- values and names

    def constant(self, node: ast.Constant) -> ast.expr:
        """Write a literal. Raises: ExpressionError: when no value of a message is of its kind."""
        if node.value.__class__ not in {str, int, float, bool, type(None)}:
            raise self.source.refuse(node, f"{type(node.value).__name__} cannot be written in an expression")
        if isinstance(node.value, str) and len(node.value) > MAX_TEXT:
            raise self.source.refuse(node, "the text is too long")
        return ast.Constant(node.value)

    def name(self, node: ast.Name) -> ast.expr:
        """Write a name. Raises: ExpressionError: when nothing has it."""
        name = node.id
        for scope in reversed(self.scopes):
            if name in scope:
                return load(scope[name])
        if name == GLOBAL:
            name = "global"
        if name in VARIABLES:
            self.used.add(name)
            return load(f"u_{name}")
        if name in self.environment.nodes:
            return load(self.references.setdefault(name, f"n{len(self.references)}"))
        raise self._unknown_name(node, name)

    def _unknown_name(self, node: ast.Name, name: str) -> Exception:
        if name in self.functions:
            return self.source.refuse(node, f"{name!r} is a function", f"Call it: `{name}(...)`.")
        known = [*VARIABLES, *self.environment.nodes, *(one for scope in self.scopes for one in scope)]
        close = [_SPELLINGS[name]] if name in _SPELLINGS else get_close_matches(name, known, n=1)
        hint = "A value of the payload is written as `msg.name`."
        return self.source.refuse(node, f"unknown name {name!r}", f"did you mean {close[0]!r}?" if close else hint)

    def variable(self, node: ast.expr, names: frozenset[str]) -> str:
        """Give which of these variables a node is; "" for none."""
        if not isinstance(node, ast.Name) or any(node.id in scope for scope in self.scopes):
            return ""
        name = "global" if node.id == GLOBAL else node.id
        return name if name in names else ""

    def mapping_of(self, node: ast.expr) -> ast.expr | None:
        """Give the mapping itself when a node is `metadata`, `global` or `vars`, which need no copy to be read."""
        name = self.variable(node, _MAPPINGS)
        if not name:
            return None
        if name == "metadata":
            return ast.Attribute(load("message"), "_metadata", ast.Load())
        return self.constant_of(self.environment.root(name))

    def payload_owner(self, node: ast.expr) -> str | None:
        """Give "" when a node is `msg`, the id of another node when it is the `msg` of its output."""
        if self.variable(node, frozenset({"msg"})):
            return ""
        if isinstance(node, ast.Attribute) and node.attr == "msg":
            return self.variable(node.value, self.environment.nodes - VARIABLES) or None
        return None

    def payload_of(self, owner: str, at: ast.AST) -> ast.expr:
        """Write `msg.data`, of this message or of a node's output."""
        if not owner:
            return self.invoke(payload, load("message"), at=at)
        self.references.setdefault(owner, f"n{len(self.references)}")
        output = self.invoke(output_of, load("ctx"), ast.Constant(owner), at=at)
        return self.invoke(payload, output, at=at)


def load(name: str) -> ast.expr:
    """Read a name of the closure."""
    return ast.Name(name, ast.Load())
