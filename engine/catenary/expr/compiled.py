"""The lowered tree as Python text.

Operands of the usual kinds are handled in place (`x > 40 if x is a float or an int`), all else by the guarded
operators, so that a closure gives what the reference gives.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from catenary.expr import operators
from catenary.expr.comprehensions import TEXT_MAPS, Comprehensions, local_name
from catenary.expr.environment import find_path, output_of, payload, record, variables
from catenary.expr.inline import bare
from catenary.expr.kinds import EvaluationError, TextMap
from catenary.expr.methods import call_method
from catenary.expr.outline import DEEP, first_operands
from catenary.expr.text import text_of
from catenary.message import UNREAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.functions.function import Function
    from catenary.jsontext import Json
    from catenary.message import Message


def unknown(reason: str) -> Json:
    """Fail: there is no function of this name."""
    raise EvaluationError(reason)


def lookup(environment: Environment, root: str, path: str) -> Json:
    """Give a property or chain variable by its path; empty text when there is none."""
    found, value = find_path(environment.root(root), path)
    return value if found else ""


class Compiler(Comprehensions):
    """Writes one lowered tree as Python text and collects the values which that text names."""

    def __init__(self, environment: Environment, functions: dict[str, Function], *, with_metadata: bool) -> None:
        super().__init__()
        self.environment = environment
        self.functions = functions
        self.with_metadata = with_metadata
        self.uses_value = False
        self._depth = 0
        self._ready: dict[int, str] = {}  # texts of what a long row begins with, by the id of the node

    def rewrite(self, node: ast.expr) -> str:
        """Write one node of the lowered tree and all below it."""
        if self._ready and (ready := self._ready.pop(id(node), None)) is not None:
            return ready
        if self._depth == DEEP:
            return self._outlined(node)
        self._depth += 1
        text = _HANDLERS[node.__class__](self, node)
        self._depth -= 1
        return text

    def _outlined(self, node: ast.expr) -> str:
        """Write a node that lies deep in the tree as a call of a function of its own."""
        depth, self._depth = self._depth, 0
        for level, inner in enumerate(reversed(first_operands(node)), 1):
            text = _HANDLERS[inner.__class__](self, inner)
            self._ready[id(inner)] = text if level % DEEP else self.outline.add(bare(text))
        text = self.outline.add(bare(_HANDLERS[node.__class__](self, node)))
        self._depth = depth
        return text

    def text(self, tree: ast.expr, start: int) -> str:
        """Write a part of a template, which begins at `start`, as text; all parts have one budget."""
        first, one = self.held(self.rewrite(tree))
        text = f"({one} if {first}.__class__ is {self.name_of(str)} else "
        text += f"{self.mark(start)}{self.name_of(text_of)}({one}))"
        return f"{self.mark(start)}{text}"

    # -- names

    def _name(self, node: ast.Name) -> str:
        name = node.id
        if "$" in name:
            return local_name(name)
        if name in _SIMPLE_VARIABLES:
            return _SIMPLE_VARIABLES[name]
        if name == "msg":
            self.uses_value = True
            return f"(value if value is not {self.name_of(UNREAD)} else msg.value)"
        if name == "metadata":
            return f"{self.name_of(TextMap)}(msg._metadata)"
        kind = dict if name == "ruleChain" else TextMap
        return f"{self.name_of(kind)}({self.name_of(self.environment.root(name))})"

    def _text_map(self, node: ast.expr) -> str:
        """Give the text for the mapping itself when the node is `metadata`, `global` or `vars`."""
        if not isinstance(node, ast.Name) or node.id not in TEXT_MAPS:
            return ""
        return "msg._metadata" if node.id == "metadata" else self.name_of(self.environment.root(node.id))

    # -- accesses

    def _attribute(self, node: ast.Attribute) -> str:
        return self._access(node, node.value, node.attr, operators.field)

    def _subscript(self, node: ast.Subscript) -> str:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._access(node, node.value, node.slice.value, operators.item)
        return self.invoke(operators.item, self.rewrite(node.value), self.rewrite(node.slice), at=node)

    def _access(self, node: ast.expr, target: ast.expr, name: str, slow: Callable[..., Json]) -> str:
        mapping = self._text_map(target)
        if mapping:
            return f"{mapping}.get({self.name_of(name)}, '')"
        first, held = self.held(self.rewrite(target))
        failing = self.invoke(slow, held, self.name_of(name), at=node)
        return f"({held}.get({self.name_of(name)}) if {first}.__class__ is {self.name_of(dict)} else {failing})"

    # -- calls

    def _call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Lambda):
            return self._let(node.func, node.args[0])
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        function = self.functions.get(name)
        if function is not None and function.counted and (text := self.loop(name, node)):
            return text
        arguments = [self.rewrite(argument) for argument in node.args]
        operator = operators.OPERATORS.get(name)
        if operator is not None:
            return self.invoke(operator, *arguments, at=node)
        assert function is not None
        if function.counted:
            arguments.insert(0, self.budget())
        if function.contextual:
            arguments.insert(0, "ctx")
        return self.invoke(function.call, *arguments, at=node)

    def _let(self, function: ast.Lambda, value: ast.expr) -> str:
        """Bind names in place: `(a := value, b := value, body)[2]`, or within the test of a condition on nil."""
        bound: list[str] = []
        while True:
            bound.append(f"({local_name(function.args.args[0].arg)} := {bare(self.rewrite(value))})")
            body = function.body
            if not (isinstance(body, ast.Call) and isinstance(body.func, ast.Lambda)):
                break
            function, value = body.func, body.args[0]
        if isinstance(body, ast.IfExp) and isinstance(body.test, ast.Compare) and isinstance(body.test.ops[0], ast.Is):
            last = bound.pop()
            text = f"({self.rewrite(body.body)} if {last} is None else {bare(self.rewrite(body.orelse))})"
        else:
            text = self.rewrite(body)
        return f"({', '.join(bound)}, {bare(text)})[{len(bound)}]" if bound else text

    def _lambda(self, node: ast.Lambda) -> str:
        parameters = ", ".join([local_name(parameter.arg) for parameter in node.args.args])
        return f"(lambda {parameters}: {bare(self.rewrite(node.body))})"

    def _charge(self, node: ast.Call) -> str:
        made = node.args[0]
        if isinstance(made, ast.BinOp) and id(made) not in self._ready:
            return self.binary(made, is_charged=True)
        return self.charged(self.rewrite(made), at=node)

    def _payload(self, node: ast.Call) -> str:
        owner = _text(node.args[0])
        return self.invoke(payload, self._output(owner) if owner else "msg", at=node)

    def _output(self, node_id: str) -> str:
        return f"{self.name_of(output_of)}(ctx, {self.name_of(node_id)})"

    def _node(self, node: ast.Call) -> str:
        return self.invoke(record, self._output(_text(node.args[0])), at=node)

    def _named(self, node: ast.Call) -> str:
        return f"msg._metadata.get({self.rewrite(node.args[0])})"

    def _path(self, node: ast.Call) -> str:
        path_of = partial(lookup, self.environment)
        return self.invoke(path_of, *map(self.rewrite, node.args), at=node)

    def _env(self, node: ast.Call) -> str:
        environment, with_metadata = self.environment, self.with_metadata

        def all_names(msg: Message, ctx: object) -> Json:
            return variables(msg, ctx, environment, with_metadata=with_metadata)

        return self.invoke(all_names, "msg", "ctx", at=node)

    def _unknown(self, node: ast.Call) -> str:
        return self.invoke(unknown, *map(self.rewrite, node.args), at=node)

    def _method(self, node: ast.Call) -> str:
        return self.invoke(call_method, *map(self.rewrite, node.args), at=node)


_SIMPLE_VARIABLES: Final = {
    "id": "msg.id",
    "ts": "msg.ts",
    "data": "msg.text",
    "msgType": "msg._type",
    "type": "msg._type",
    "dataType": "msg._data_type",
}
_HANDLERS: Final[dict[type[ast.expr], Callable[[Compiler, Any], str]]] = {
    ast.Attribute: Compiler._attribute,
    ast.BinOp: Compiler.binary,
    ast.BoolOp: Compiler._boolop,
    ast.Call: Compiler._call,
    ast.Compare: Compiler._compare,
    ast.Constant: Compiler._constant,
    ast.Dict: Compiler._dict,
    ast.IfExp: Compiler._ifexp,
    ast.Lambda: Compiler._lambda,
    ast.List: Compiler._list,
    ast.Name: Compiler._name,
    ast.Subscript: Compiler._subscript,
    ast.UnaryOp: Compiler._unaryop,
}
_SPECIAL: Final[dict[str, Callable[[Compiler, ast.Call], str]]] = {
    "$charge": Compiler._charge,
    "$payload": Compiler._payload,
    "$node": Compiler._node,
    "$named": Compiler._named,
    "$path": Compiler._path,
    "$env": Compiler._env,
    "$unknown": Compiler._unknown,
    "$method": Compiler._method,
}


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)
