"""A Python expression to a closure: every node is checked against what is allowed, and written anew.

Nothing of the author's tree is compiled as it stands. Attributes become keys of maps, methods and functions are looked
up in tables, operators that can take for ever are guarded, and no name of the author is a name of the closure.
"""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from catenary.expr.environment import find_path
from catenary.expr.python import operators as guards
from catenary.expr.python.methods import QUICK, call_method
from catenary.expr.python.names import PythonNames, load
from catenary.expr.python.syntax import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.jsontext import Json

_SMALL: Final = 2**62
_SPEC: Final = re.compile(r"(.?[<>=^])?[-+ ]?#?0?[0-9]{0,3}[,_]?(\.[0-9]{1,3})?[bcdeEfFgGosxX%]?", re.DOTALL)
_PLAIN_OPERATORS: Final = (ast.Sub, ast.Div, ast.FloorDiv, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_GUARDED: Final[dict[type[ast.operator], Callable[..., Any]]] = {
    ast.Add: guards.add,
    ast.Mult: guards.multiply,
    ast.Mod: guards.modulo,
    ast.Pow: guards.power,
    ast.LShift: guards.shift_left,
}
_NAMED: Final[dict[type[ast.AST], str]] = {
    ast.Lambda: "a lambda", ast.NamedExpr: "':='", ast.Await: "'await'", ast.Yield: "'yield'",
    ast.YieldFrom: "'yield'", ast.Starred: "'*' in front of a value",
}  # fmt: skip


def find_property(mapping: Any, path: str) -> Json:
    """Give a property or chain variable; its key may hold dots. Raises: KeyError: when there is none."""
    found, value = find_path(mapping, path)
    if not found:
        raise KeyError(path)
    return value


class PythonCompiler(PythonNames):
    """Writes one expression anew."""

    def rewrite(self, node: ast.expr) -> ast.expr:
        """Check one node and all below it, and give what is compiled in its place."""
        handler = _HANDLERS.get(node.__class__)
        if handler is None:
            what = _NAMED.get(node.__class__, node.__class__.__name__)
            raise self.source.refuse(node, f"{what} cannot be used in an expression")
        return ast.copy_location(handler(self, node), node)

    # -- accesses

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        name = "global" if node.attr == GLOBAL else node.attr
        if name.startswith("_"):
            hint = f"A key of a map is read with `[{name!r}]`."
            raise self.source.refuse(node, f"a name after a dot cannot begin with '_', as {name!r} does", hint)
        owner = self.payload_owner(node.value) if name == "data" else None
        if owner is not None:
            return self.payload_of(owner, node)
        path = self._property_path(node)
        if path is not None:
            return self.invoke(find_property, path[0], ast.Constant(path[1]), at=node)
        mapping = self.mapping_of(node.value)
        if mapping is not None:
            return ast.Subscript(mapping, ast.Constant(name), ast.Load())
        target = self.rewrite(node.value)
        held = self.held(target)
        if held is None:
            return self.invoke(guards.attribute, target, ast.Constant(name), at=node)
        first, again = held
        quick = ast.copy_location(ast.Subscript(again, ast.Constant(name), ast.Load()), node)
        return ast.IfExp(
            self.is_kind(first, dict), quick, self.invoke(guards.attribute, again, ast.Constant(name), at=node)
        )

    def _property_path(self, node: ast.Attribute) -> tuple[ast.expr, str] | None:
        """Give the mapping and `a.b` for `global.a.b`: keys of properties may hold dots."""
        names: list[str] = []
        target: ast.expr = node
        while isinstance(target, ast.Attribute):
            names.append(target.attr)
            target = target.value
        root = self.variable(target, frozenset({"global", "vars"}))
        if not root or len(names) < 2 or any(name.startswith("_") for name in names):
            return None
        return self.constant_of(self.environment.root(root)), ".".join(reversed(names))

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        index = node.slice
        if isinstance(index, ast.Constant) and index.value == "data":
            owner = self.payload_owner(node.value)
            if owner is not None:
                return self.payload_of(owner, node)
        target = self.mapping_of(node.value) or self.rewrite(node.value)
        if not isinstance(index, ast.Slice):
            return ast.Subscript(target, self.rewrite(index), ast.Load())
        bounds = [None if bound is None else self.rewrite(bound) for bound in (index.lower, index.upper, index.step)]
        return self.charged(ast.Subscript(target, ast.Slice(*bounds), ast.Load()), node)

    # -- calls

    def _call(self, node: ast.Call) -> ast.expr:
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_"):
                raise self.source.refuse(keyword.value, "'**' cannot be used in a call")
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name):
            raise self.source.refuse(node.func, "only functions and methods can be called")
        name = node.func.id
        function = self.functions.get(name)
        if function is None:
            close = get_close_matches(name, self.functions, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "docs/reference/functions.md lists them"
            raise self.source.refuse(node, f"there is no function {name!r}", hint)
        arguments = self._arguments(node)
        if function.contextual:
            arguments.insert(0, load("ctx"))
        made = ast.Call(self.constant_of(function.call), arguments, self._keywords(node))
        return self.charged(ast.copy_location(made, node), node)

    def _arguments(self, node: ast.Call) -> list[ast.expr]:
        """Write the arguments of a call; a generator gives all it has."""
        return [
            self.rewrite(ast.copy_location(ast.ListComp(argument.elt, argument.generators), argument))
            if isinstance(argument, ast.GeneratorExp)
            else self.rewrite(argument)
            for argument in node.args
        ]

    def _keywords(self, node: ast.Call) -> list[ast.keyword]:
        return [ast.keyword(keyword.arg, self.rewrite(keyword.value)) for keyword in node.keywords]

    def _method(self, node: ast.Call, access: ast.Attribute) -> ast.expr:
        name = access.attr
        host = self._host_method(access)
        if host is not None:
            made = ast.Call(self.constant_of(host), self._arguments(node), self._keywords(node))
            return self.charged(ast.copy_location(made, node), node)
        if name.startswith("_"):
            raise self.source.refuse(access, f"there is no method {name!r}")
        arguments, keywords = self._arguments(node), self._keywords(node)
        mapping = self.mapping_of(access.value)
        if mapping is not None and name == "get" and not keywords:
            return ast.Call(ast.Attribute(mapping, "get", ast.Load()), arguments, [])
        target = mapping or self.rewrite(access.value)
        kind = QUICK.get(name)
        held = self.held(target) if kind and not keywords and _are_simple(arguments) else None
        if held is None or kind is None:
            made = self.invoke(call_method, target, ast.Constant(name), *arguments, at=node)
            made.keywords = keywords
            return self.charged(made, node)
        first, again = held
        quick = ast.copy_location(ast.Call(ast.Attribute(again, name, ast.Load()), arguments, []), node)
        slow = self.invoke(call_method, again, ast.Constant(name), *arguments, at=node)
        made = ast.copy_location(ast.IfExp(self.is_kind(first, kind), quick, slow), node)
        return made if name == "get" else self.charged(made, node)

    def _host_method(self, access: ast.Attribute) -> Callable[..., Any] | None:
        """Give a method of an object that the host lends, by its name."""
        name = access.value.id if isinstance(access.value, ast.Name) else ""
        owner = self.environment.functions.get(name)
        if owner is None or callable(owner) or any(name in scope for scope in self.scopes):
            return None
        method = self.functions.get(f"{name}.{access.attr}")
        if method is None:
            raise self.source.refuse(access, f"{name!r} has no method {access.attr!r}")
        return method.call

    # -- operators

    def _binop(self, node: ast.BinOp) -> ast.expr:
        left, right = self.rewrite(node.left), self.rewrite(node.right)
        if isinstance(node.op, _PLAIN_OPERATORS):
            return self.charged(ast.BinOp(left, node.op, right), node)
        guard = _GUARDED.get(node.op.__class__)
        if guard is None:
            raise self.source.refuse(node, "'@' cannot be used in an expression")
        held = self.held(left) if isinstance(right, ast.Name | ast.Constant) else None
        test = None if held is None else self._is_plain_number(node.op, held, right)
        if test is None or held is None:
            return self.charged(self.invoke(guard, left, right, at=node), node)
        quick = ast.copy_location(ast.BinOp(held[1], node.op, right), node)
        return ast.IfExp(test, quick, self.charged(self.invoke(guard, held[1], right, at=node), node))

    def _is_plain_number(
        self, operator: ast.operator, left: tuple[ast.expr, ast.expr], right: ast.expr
    ) -> ast.expr | None:
        """Give the test whether Python's own operator does no harm; `None` when there is none so simple."""
        first, again = left
        is_float, is_int = self.is_kind(first, float), self.is_kind(again, int)
        if isinstance(operator, ast.Add | ast.Mod):
            return ast.BoolOp(ast.Or(), [is_float, is_int])
        if not isinstance(operator, ast.Mult):
            return None
        if isinstance(right, ast.Name):
            return ast.BoolOp(ast.And(), [is_float, self.is_kind(right, float)])
        value: Any = right.value if isinstance(right, ast.Constant) else None
        if value.__class__ not in {int, float} or abs(value) > _SMALL:
            return None
        is_small = ast.Compare(ast.Constant(-_SMALL), [ast.Lt(), ast.Lt()], [again, ast.Constant(_SMALL)])
        return ast.BoolOp(ast.Or(), [is_float, ast.BoolOp(ast.And(), [is_int, is_small])])

    def _unaryop(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(node.op, self.rewrite(node.operand))

    def _boolop(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, [self.rewrite(value) for value in node.values])

    def _ifexp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.rewrite(node.test), self.rewrite(node.body), self.rewrite(node.orelse))

    def _compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        made: list[ast.expr] = []
        for index, operand in enumerate(operands):
            is_container = index > 0 and isinstance(node.ops[index - 1], ast.In | ast.NotIn)
            made.append((self.mapping_of(operand) if is_container else None) or self.rewrite(operand))
        for index, operation in enumerate(node.ops):
            if isinstance(operation, ast.Is | ast.IsNot) and not any(map(_is_singleton, operands[index : index + 2])):
                raise self.source.refuse(node, "'is' compares with None, True and False only", "Compare with `==`.")
        return ast.Compare(made[0], node.ops, made[1:])

    # -- what is made of several values

    def _display(self, node: ast.List | ast.Tuple | ast.Set) -> ast.expr:
        items = [
            ast.copy_location(ast.Starred(self.rewrite(item.value), ast.Load()), item)
            if isinstance(item, ast.Starred)
            else self.rewrite(item)
            for item in node.elts
        ]
        made = ast.Set(items) if isinstance(node, ast.Set) else node.__class__(items, ast.Load())
        return self.charged(ast.copy_location(made, node), node)

    def _dict(self, node: ast.Dict) -> ast.expr:
        keys = [None if key is None else self.rewrite(key) for key in node.keys]
        made = ast.Dict(keys, [self.rewrite(value) for value in node.values])
        return self.charged(ast.copy_location(made, node), node)

    def _joinedstr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                conversion = "" if part.conversion < 0 else chr(part.conversion)
                spec = self._spec(part)
                value = self.rewrite(part.value)
                parts.append(
                    self.invoke(guards.formatted, value, ast.Constant(conversion), ast.Constant(spec), at=part)
                )
            else:
                parts.append(self.rewrite(part))
        return self.charged(self.invoke(guards.joined, ast.List(parts, ast.Load()), at=node), node)

    def _spec(self, part: ast.FormattedValue) -> str:
        pieces = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
        spec = "".join(str(piece.value) for piece in pieces if isinstance(piece, ast.Constant))
        if len(spec) > 20 or not all(isinstance(piece, ast.Constant) for piece in pieces) or not _SPEC.fullmatch(spec):
            raise self.source.refuse(part, "the format after ':' cannot be used", "It is such as `.2f`, `>8` or `,`.")
        return spec

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp) -> ast.expr:
        self.uses_budget = True
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        walk = guards.elements if all(map(_is_cheap, [*values, *node.generators])) else guards.steps
        scope: dict[str, str] = {}
        generators: list[ast.comprehension] = []
        is_repeated = self.repeated
        for generator in node.generators:
            if generator.is_async:
                raise self.source.refuse(generator.target, "'async' cannot be used in an expression")
            self.in_iterable += 1
            iterable = self.rewrite(generator.iter)
            self.in_iterable -= 1
            if not generators:
                self.scopes.append(scope)
                self.repeated += 1
            target = self._target(generator.target, scope)
            paid = self.invoke(walk, load("work"), iterable, at=generator.iter)
            generators.append(ast.comprehension(target, paid, [self.rewrite(test) for test in generator.ifs], 0))
        made = [self.rewrite(value) for value in values]
        self.scopes.pop()
        self.repeated = is_repeated
        whole = ast.DictComp(*made, generators) if len(made) == 2 else type(node)(made[0], generators)  # type: ignore[arg-type, call-arg]
        return self.charged(ast.copy_location(whole, node), node)

    def _target(self, node: ast.expr, scope: dict[str, str]) -> ast.expr:
        if isinstance(node, ast.Tuple | ast.List):
            return ast.copy_location(ast.Tuple([self._target(one, scope) for one in node.elts], ast.Store()), node)
        if not isinstance(node, ast.Name):
            raise self.source.refuse(node, "only names can stand between 'for' and 'in'")
        self.count += 1
        name = scope.setdefault(node.id, f"v{self.count}")
        return ast.copy_location(ast.Name(name, ast.Store()), node)


_HANDLERS: Final[dict[type[ast.expr], Callable[[PythonCompiler, Any], ast.expr]]] = {
    ast.Attribute: PythonCompiler._attribute,
    ast.BinOp: PythonCompiler._binop,
    ast.BoolOp: PythonCompiler._boolop,
    ast.Call: PythonCompiler._call,
    ast.Compare: PythonCompiler._compare,
    ast.Constant: PythonCompiler.constant,
    ast.Dict: PythonCompiler._dict,
    ast.DictComp: PythonCompiler._comprehension,
    ast.IfExp: PythonCompiler._ifexp,
    ast.JoinedStr: PythonCompiler._joinedstr,
    ast.List: PythonCompiler._display,
    ast.ListComp: PythonCompiler._comprehension,
    ast.Name: PythonCompiler.name,
    ast.Set: PythonCompiler._display,
    ast.SetComp: PythonCompiler._comprehension,
    ast.Subscript: PythonCompiler._subscript,
    ast.Tuple: PythonCompiler._display,
    ast.UnaryOp: PythonCompiler._unaryop,
}


def _are_simple(arguments: list[ast.expr]) -> bool:
    return all(isinstance(argument, ast.Name | ast.Constant) for argument in arguments)


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


_CHEAP: Final = (
    ast.Name, ast.Constant, ast.Attribute, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.List, ast.Tuple, ast.Set, ast.Dict,
    ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop, ast.operator,
)  # fmt: skip
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


def _is_cheap(node: ast.AST) -> bool:
    """Tell whether one round takes next to no time, whatever the values: then the clock need not be looked at."""
    if isinstance(node, ast.comprehension):
        return all(map(_is_cheap, node.ifs))
    for part in ast.walk(node):
        if isinstance(part, ast.Compare):
            is_cheap = all(isinstance(one, _ORDER) for one in part.ops) and any(
                isinstance(one, ast.Constant) for one in (part.left, *part.comparators)
            )
        elif isinstance(part, ast.BinOp):
            is_cheap = any(isinstance(one, ast.Constant) for one in (part.left, part.right))
        elif isinstance(part, ast.Subscript):
            is_cheap = isinstance(part.slice, ast.Constant)
        elif isinstance(part, ast.Call):
            is_cheap = isinstance(part.func, ast.Attribute) and part.func.attr == "get"
        else:
            is_cheap = isinstance(part, _CHEAP)
        if not is_cheap:
            return False
    return True
