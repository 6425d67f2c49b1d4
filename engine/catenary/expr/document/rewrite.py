"""The pass over the tree of a Jinja2 document before it is compiled: checks what can be checked, and puts guards in.

Calls of functions, `~`, lists, maps and rounds of loops go through the environment, which counts what they use up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jinja2 import nodes
from jinja2.exceptions import TemplateAssertionError
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.expr.functions.function import Function

_ROOTS: Final = frozenset({"global", "vars"})
JINJA_FUNCTIONS: Final = frozenset({"range", "dict", "namespace", "cycler", "joiner"})
_NOT_THERE: Final = {
    "e": "`html` escapes for HTML, `escape` for text in quotes",
    "safe": "nothing is escaped unless you say so; leave it out",
    "attr": "write `value.name`, or `value['name']`",
    "lipsum": "it is not available in documents",
}


@dataclass(slots=True)
class Facts:
    """What was found out about one document.

    Attributes:
        names: Names it reads that it does not set itself.
        parts: Documents it names as `(name, kind, line)`; `kind` is `include`, `import` or `extends`, and the name is
            empty where it is worked out while rendering.
    """

    names: set[str] = field(default_factory=set[str])
    parts: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])


@dataclass(frozen=True, slots=True)
class Known:
    """What documents may use: `functions` by name, the names of `filters` and `tests`, and host `objects`."""

    functions: Mapping[str, Function]
    filters: Mapping[str, Any]
    tests: Mapping[str, Any]
    objects: Mapping[str, Any]


def rewrite(tree: nodes.Template, known: Known, name: str) -> tuple[nodes.Template, Facts]:
    """Check a tree and put the guards in.

    Raises:
        TemplateAssertionError: For functions, filters and tests that are not there, and wrong numbers of arguments.
    """
    rewriter = _Rewriter(known, name, _set_names(tree))
    return rewriter.visit(tree), rewriter.facts


def _set_names(tree: nodes.Template) -> set[str]:
    """Give the names that a document sets anywhere: variables, macros, imports, parameters."""
    found = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
    found |= {node.name for node in tree.find_all(nodes.Macro)} | {node.target for node in tree.find_all(nodes.Import)}
    for node in tree.find_all(nodes.FromImport):
        found |= {entry if isinstance(entry, str) else entry[1] for entry in node.names}
    return found


class _Rewriter(NodeTransformer):
    def __init__(self, known: Known, name: str, own: set[str]) -> None:
        self.known, self.name, self.own = known, name, own
        self.facts = Facts()

    def get_visitor(self, node: nodes.Node) -> Any:
        """Give what rewrites a node of this kind; `None` when only what is inside it is looked at."""
        visitor = _VISITORS.get(type(node))
        return None if visitor is None else partial(visitor, self)

    def problem(self, text: str, node: nodes.Node) -> TemplateAssertionError:
        return TemplateAssertionError(text, node.lineno, self.name)

    # Names and paths

    def _name(self, node: nodes.Name) -> nodes.Node:
        if node.ctx == "load" and node.name not in self.own:
            self.facts.names.add(node.name)
        return node

    def _getattr(self, node: nodes.Getattr) -> nodes.Node:
        return self._property(node) or self._payload(node, node.attr) or self.generic_visit(node)

    def _getitem(self, node: nodes.Getitem) -> nodes.Node:
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
        return self._payload(node, key) or self.generic_visit(node)

    def _is_variable(self, node: nodes.Node, names: frozenset[str]) -> bool:
        return isinstance(node, nodes.Name) and node.name in names and node.name not in self.own

    def _property(self, node: nodes.Getattr) -> nodes.Node | None:
        """Read `global.a.b` as a path: keys of properties may hold dots."""
        names: list[str] = []
        target: nodes.Node = node
        while isinstance(target, nodes.Getattr):
            names.append(target.attr)
            target = target.node
        if not isinstance(target, nodes.Name) or not self._is_variable(target, _ROOTS):
            return None
        return _call("look_up", node, nodes.Const(target.name), nodes.Const(".".join(reversed(names))))

    def _payload(self, node: nodes.Getattr | nodes.Getitem, key: object) -> nodes.Node | None:
        if key == "data" and self._is_variable(node.node, frozenset({"msg"})):
            return _call("read_payload", node)
        return None

    # Calls

    def _call(self, node: nodes.Call) -> nodes.Node:
        if isinstance(node.node, nodes.Getattr):  # a method: the path ends before its name
            inner = node.node.node
            if isinstance(inner, nodes.Name) and inner.name in self.known.objects and inner.name not in self.own:
                method = [nodes.Const(inner.name), nodes.Const(node.node.attr)]
                node.node, node.args = _attribute("call_host_method", node), [*method, *node.args]
            else:
                node.node.node = self.visit(inner)
            return self._arguments(node)
        if not isinstance(node.node, nodes.Name) or node.node.name in self.own | {"loop", "caller", "super", "self"}:
            return self.generic_visit(node)
        name = node.node.name
        self._check_call(name, node)
        if name == "include" and (len(node.args) != 1 or node.dyn_args is not None):
            self.facts.parts.append(("", "include", node.lineno))  # a file whose names are not known yet
        node.node, node.args = _attribute("call_function", node), [_at(nodes.Const(name), node), *node.args]
        return self._arguments(node)

    def _arguments(self, node: nodes.Call) -> nodes.Node:
        node.args = [self.visit(argument) for argument in node.args]
        node.kwargs = [self.visit(argument) for argument in node.kwargs]
        node.dyn_args = self.visit(node.dyn_args) if node.dyn_args else None
        node.dyn_kwargs = self.visit(node.dyn_kwargs) if node.dyn_kwargs else None
        return node

    def _check_call(self, name: str, node: nodes.Call) -> None:
        if name in JINJA_FUNCTIONS:
            return
        function = self.known.functions.get(name)
        if function is None:
            raise self.problem(f"there is no function {name!r}{_advice(name, self.known.functions)}", node)
        given = len(node.args)
        is_open = node.dyn_args is not None or node.kwargs or node.dyn_kwargs is not None
        if not is_open and (given < function.least or (function.most is not None and given > function.most)):
            least, most = function.least, function.most
            span = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
            raise self.problem(f"{name}() takes {span} argument{'' if span == '1' else 's'}, not {given}", node)

    def _filter(self, node: nodes.Filter) -> nodes.Node:
        if node.name not in self.known.filters:
            raise self.problem(f"there is no filter {node.name!r}{_advice(node.name, self.known.filters)}", node)
        return self.generic_visit(node)

    def _test(self, node: nodes.Test) -> nodes.Node:
        if node.name not in self.known.tests:
            raise self.problem(f"there is no test {node.name!r}{_advice(node.name, self.known.tests)}", node)
        return self.generic_visit(node)

    # What makes values, and what repeats

    def _charged(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        is_target = isinstance(node, nodes.Tuple) and node.ctx != "load"
        return node if is_target else _call("charge", node, node)

    def _concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _call("join_texts", node, *node.nodes)

    def _for(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _at(nodes.ExprStmt(_call("step", node)), node))
        return node

    def _macro(self, node: nodes.Macro) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _at(nodes.ExprStmt(_call("step", node)), node))
        return node

    # Other documents

    def _include(self, node: nodes.Include) -> nodes.Node:
        self._note("" if node.ignore_missing else "include", node)
        return self.generic_visit(node)

    def _extends(self, node: nodes.Extends) -> nodes.Node:
        self._note("extends", node)
        return self.generic_visit(node)

    def _import(self, node: nodes.Import | nodes.FromImport) -> nodes.Node:
        self._note("import", node)
        node.with_context = True  # else Jinja2 would keep what the macros saw of the first message
        return self.generic_visit(node)

    def _note(self, kind: str, node: Any) -> None:
        name = node.template
        is_fixed = isinstance(name, nodes.Const) and isinstance(name.value, str)
        if kind:
            self.facts.parts.append((name.value if is_fixed else "", kind, node.lineno))
        if not is_fixed or not kind:
            self.facts.parts.append(("", "include", node.lineno))

    def _refuse_escaping(self, node: nodes.Node) -> nodes.Node:
        raise self.problem("`autoescape` is not available; escape each value, as in `{{ x | html }}`", node)


_VISITORS: Final[dict[type[nodes.Node], Callable[..., nodes.Node]]] = {
    nodes.Call: _Rewriter._call,
    nodes.Concat: _Rewriter._concat,
    nodes.Dict: _Rewriter._charged,
    nodes.EvalContextModifier: _Rewriter._refuse_escaping,
    nodes.Extends: _Rewriter._extends,
    nodes.Filter: _Rewriter._filter,
    nodes.For: _Rewriter._for,
    nodes.FromImport: _Rewriter._import,
    nodes.Getattr: _Rewriter._getattr,
    nodes.Getitem: _Rewriter._getitem,
    nodes.Import: _Rewriter._import,
    nodes.Include: _Rewriter._include,
    nodes.List: _Rewriter._charged,
    nodes.Macro: _Rewriter._macro,
    nodes.Name: _Rewriter._name,
    nodes.ScopedEvalContextModifier: _Rewriter._refuse_escaping,
    nodes.Test: _Rewriter._test,
    nodes.Tuple: _Rewriter._charged,
}


def _advice(name: str, known: Mapping[str, Any]) -> str:
    if name in _NOT_THERE:
        return f"; {_NOT_THERE[name]}"
    close = get_close_matches(name, [*known, *JINJA_FUNCTIONS], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _attribute(name: str, node: nodes.Node) -> Any:
    return _at(nodes.EnvironmentAttribute(name), node)


def _call(name: str, node: nodes.Node, *arguments: nodes.Expr) -> nodes.Call:
    """Write a call of a method of the environment."""
    return _at(nodes.Call(_attribute(name, node), list(arguments), [], None, None), node)


def _at(made: Any, node: nodes.Node) -> Any:
    """Say where a node that was put in stands."""
    made.set_lineno(node.lineno)
    made.set_environment(node.environment)
    return made
