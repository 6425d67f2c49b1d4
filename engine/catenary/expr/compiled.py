"""The lowered tree as a Python closure: the quick evaluator.

Operands of the usual kinds are handled in place (`x > 40 if x is a float or an int`), all else by the guarded
operators, so that the closure gives what the reference gives.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from catenary.expr import inline, operators
from catenary.expr.budget import Budget
from catenary.expr.environment import find_path, output_of, payload, record, variables
from catenary.expr.methods import call_method
from catenary.expr.operators import EvaluationError, TextMap
from catenary.message import _UNREAD  # what a message not yet parsed holds

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.expr.function import Function
    from catenary.jsontext import Json
    from catenary.message import Message

FILE: Final = "<expression>"


def unknown(reason: str) -> Json:
    """Fail: there is no function of this name."""
    raise EvaluationError(reason)


def lookup(environment: Environment, root: str, path: str) -> Json:
    """Give a property or chain variable by its path; empty text when there is none."""
    found, value = find_path(environment.root(root), path)
    return value if found else ""


class Compiler(inline.Inline):
    """Rewrites one lowered tree and collects what the closure needs."""

    def __init__(self, environment: Environment, functions: dict[str, Function], *, with_metadata: bool) -> None:
        super().__init__()
        self.environment = environment
        self.functions = functions
        self.with_metadata = with_metadata

    def rewrite(self, node: ast.expr) -> ast.expr:
        """Rewrite one node of the lowered tree and all below it."""
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise AssertionError(f"a lowered tree has no {type(node).__name__}")
        rewritten: ast.expr = handler(node)
        return rewritten if hasattr(rewritten, "lineno") else ast.copy_location(rewritten, node)

    # -- names

    def _name(self, node: ast.Name) -> ast.expr:
        if "$" in node.id:
            return node
        if node.id in _SIMPLE_VARIABLES:
            return self.template(_SIMPLE_VARIABLES[node.id], node)
        if node.id == "msg":
            name = self.temporary()
            self.need("$unread", _UNREAD)
            return self.template(
                "(V if (V := msg._value) is not UNREAD else msg.value)", node, V=name, UNREAD="$unread"
            )
        self.need("$textmap", TextMap)
        if node.id == "metadata":
            return self.template("TEXTMAP(msg._metadata)", node, TEXTMAP="$textmap")
        self.need(f"${node.id}", self.environment.root(node.id))
        if node.id == "ruleChain":
            self.need("$dict", dict)
            return self.template("DICT(ROOT)", node, DICT="$dict", ROOT="$ruleChain")
        return self.template("TEXTMAP(ROOT)", node, TEXTMAP="$textmap", ROOT=f"${node.id}")

    def _text_map_source(self, node: ast.expr) -> str:
        """Give the expression of the mapping itself when the node is `metadata`, `global` or `vars`."""
        if not isinstance(node, ast.Name) or node.id not in {"metadata", "global", "vars"}:
            return ""
        if node.id == "metadata":
            return "msg._metadata"
        self.need(f"${node.id}", self.environment.root(node.id))
        return "ROOT"

    # -- accesses

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        return self._access(node, node.value, node.attr, operators.field)

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self._access(node, node.value, node.slice.value, operators.item)
        target, index = self.rewrite(node.value), self.rewrite(node.slice)
        return self.invoke("$item", operators.item, target, index, at=node)

    def _access(self, node: ast.expr, target: ast.expr, name: str, slow: Callable[..., Json]) -> ast.expr:
        source = self._text_map_source(target)
        if source:
            root = f"${target.id}" if isinstance(target, ast.Name) else ""
            return self.template(f"{source}.get({name!r}, '')", node, ROOT=root)
        held = self.rewrite(target)
        self.need(f"${slow.__name__}", slow)
        self.need("$dict", dict)
        held, name_of_value = self.held(held)
        return self.template(
            f"(V.get({name!r}) if HELD.__class__ is DICT else SLOW(V, {name!r}))",
            node, V=name_of_value, HELD=held, DICT="$dict", SLOW=f"${slow.__name__}",
        )  # fmt: skip

    # -- calls

    def _call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Lambda):
            return self._let(node.func, node.args[0])
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        if name in operators.OPERATORS:
            return self.invoke(name, operators.OPERATORS[name], *map(self.rewrite, node.args), at=node)
        function = self.functions[name]
        arguments = [self.rewrite(argument) for argument in node.args]
        if function.counted:
            arguments.insert(0, self.budget(node))
        return self.invoke(f"call {name}", function.call, *arguments, at=node)

    def _let(self, function: ast.Lambda, value: ast.expr) -> ast.expr:
        """Bind a name in place: `(name := value, body)[1]`, or within the test of a condition on nil."""
        name = function.args.args[0].arg
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        bound = ast.copy_location(ast.NamedExpr(target, self.rewrite(value)), value)
        body = function.body
        if isinstance(body, ast.IfExp) and isinstance(body.test, ast.Compare) and isinstance(body.test.ops[0], ast.Is):
            test = ast.copy_location(ast.Compare(bound, [ast.Is()], body.test.comparators), body.test)
            return ast.IfExp(test, self.rewrite(body.body), self.rewrite(body.orelse))
        pair = ast.copy_location(ast.Tuple([bound, self.rewrite(body)], ast.Load()), function)
        return ast.Subscript(pair, ast.copy_location(ast.Constant(1), function), ast.Load())

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        return ast.Lambda(node.args, self.rewrite(node.body))

    def _charge(self, node: ast.Call) -> ast.expr:
        charge = ast.copy_location(ast.Attribute(self.budget(node), "charge", ast.Load()), node)
        return ast.Call(charge, [self.rewrite(node.args[0])], [])

    def _payload(self, node: ast.Call) -> ast.expr:
        owner = _text(node.args[0])
        message = self._output(owner, node) if owner else ast.copy_location(ast.Name("msg", ast.Load()), node)
        return self.invoke("$payload", payload, message, at=node)

    def _output(self, node_id: str, at: ast.expr) -> ast.expr:
        self.need("$output", output_of)
        return self.template(f"OUTPUT(ctx, {node_id!r})", at, OUTPUT="$output")

    def _node(self, node: ast.Call) -> ast.expr:
        return self.invoke("$record", record, self._output(_text(node.args[0]), node), at=node)

    def _named(self, node: ast.Call) -> ast.expr:
        return self.template(f"msg._metadata.get({_text(node.args[0])!r})", node)

    def _path(self, node: ast.Call) -> ast.expr:
        environment = self.environment

        def path_of(root: str, path: str) -> Json:
            return lookup(environment, root, path)

        return self.invoke("$path", path_of, *node.args, at=node)

    def _env(self, node: ast.Call) -> ast.expr:
        environment, with_metadata = self.environment, self.with_metadata

        def all_names(msg: Message, ctx: object) -> Json:
            return variables(msg, ctx, environment, with_metadata=with_metadata)

        self.need("$env", all_names)
        return self.template("ENV(msg, ctx)", node, ENV="$env")

    def _unknown(self, node: ast.Call) -> ast.expr:
        return self.invoke("$unknown", unknown, *node.args, at=node)

    def _method(self, node: ast.Call) -> ast.expr:
        return self.invoke("$method", call_method, *map(self.rewrite, node.args), at=node)


_SIMPLE_VARIABLES: Final = {
    "id": "msg.id",
    "ts": "msg.ts",
    "data": "msg.text",
    "msgType": "msg._type",
    "type": "msg._type",
    "dataType": "msg._data_type",
}
_SPECIAL: Final[dict[str, Callable[[Compiler, ast.Call], ast.expr]]] = {
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


def compile_closure(
    tree: ast.expr,
    environment: Environment,
    functions: dict[str, Function],
    explain: Callable[[dict[str, Any], BaseException], BaseException],
    *,
    with_metadata: bool = False,
) -> Callable[..., Json]:
    """Compile a lowered tree to a function `(msg, ctx=None) -> value`.

    Args:
        tree: The lowered tree.
        environment: What it can see.
        functions: What it may call.
        explain: Makes the error to raise from one that came out; gets the globals by which the frames of this
            closure can be told from others.
        with_metadata: Whether metadata keys are names.
    """
    compiler = Compiler(environment, functions, with_metadata=with_metadata)
    body = compiler.rewrite(tree)
    namespace: dict[str, Any] = {"__builtins__": {"Exception": Exception}, **compiler.namespace}
    namespace["$explain"] = partial(explain, namespace)
    module = ast.parse(_FRAME.replace("BUDGET", "budget = Budget()" if compiler.uses_budget else "pass"))
    namespace["Budget"] = Budget
    inline.fill(module, {"VALUE": body, "EXPLAIN": "$explain"})
    exec(compile(ast.fix_missing_locations(module), FILE, "exec"), namespace)
    closure: Callable[..., Json] = namespace["expression"]
    return closure


_FRAME: Final = """
def expression(msg, ctx=None):
    BUDGET
    try:
        return VALUE
    except Exception as error:
        raise EXPLAIN(error) from error
"""
