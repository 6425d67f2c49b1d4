"""The sandbox in which Jinja2 documents are compiled and rendered: plain data only, bounded work, confined files."""

from __future__ import annotations

import logging
import weakref
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, cast

from jinja2 import BaseLoader, Undefined, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError, TemplateError, TemplateNotFound
from jinja2.nodes import Output, TemplateData
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Cycler, Joiner, Namespace

from catenary.expr import operators
from catenary.expr.document.filters import FILTERS
from catenary.expr.document.methods import Method, method_of
from catenary.expr.document.places import place_of
from catenary.expr.document.rewrite import Facts, Known, rewrite
from catenary.expr.document.run import Names, Nil, Run, Work, current_run
from catenary.expr.document.words import document_reason
from catenary.expr.environment import find_path, payload, place_in_chain
from catenary.expr.files import locate, read_text
from catenary.expr.functions.table import functions_of
from catenary.expr.includes import Rendering, rendering
from catenary.expr.kinds import MAX_TEXT, EvaluationError, bounded_text, is_number, kind_of
from catenary.expr.text import text_of
from catenary.file_stamps import stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jinja2 import Environment as JinjaEnvironment
    from jinja2 import Template as JinjaTemplate
    from jinja2 import nodes
    from jinja2.compiler import Frame

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json
    from catenary.message import Message

_log = logging.getLogger(__name__)

MAX_OUTPUT: Final = 10 * MAX_TEXT
"""Characters that a document may render to."""

_RANGE: Final = 100_000
_PLAIN: Final = (str, int, float, bytes, dict, list, tuple, datetime, timedelta)
_OWN: Final = (LoopContext, Macro, BlockReference, TemplateReference, TemplateModule, Cycler, Joiner, Namespace)


class _Lenient(CodeGenerator):
    """Writes a `try` around each `{{ }}`."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802 - Jinja2's own name
        for child in node.nodes:
            single = Output([child], lineno=node.lineno)
            if isinstance(child, TemplateData):
                super().visit_Output(single, frame)
                continue
            self.writeline("try:")
            self.indent()
            super().visit_Output(single, frame)
            self.outdent()
            self.writeline("except Exception as error:")
            self.indent()
            self.writeline("environment.leave_out(error)")
            self.outdent()


class _Files(BaseLoader):
    """Reads documents below the folders that the environment allows; a name is the path of the file."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def get_source(self, environment: JinjaEnvironment, template: str) -> tuple[str, str, Callable[[], bool]]:  # noqa: ARG002 - Jinja2's own signature
        found = locate(template, self.environment)
        if found is None:
            raise TemplateNotFound(template)
        stamp = stamp_of(found)
        source = read_text(str(found), self.environment)
        return source.removesuffix("\n"), str(found), lambda: stamp_of(found) == stamp


class DocumentEnvironment(ImmutableSandboxedEnvironment):
    """Compiles and renders the documents of one environment. Safe to use from many threads."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])
    intercepted_unops = frozenset(["+", "-"])
    context_class = Names

    def __init__(self, environment: Environment) -> None:
        super().__init__(
            loader=_Files(environment),
            undefined=Nil,
            finalize=_printed,
            optimized=False,
            autoescape=False,
            keep_trailing_newline=True,
            extensions=["jinja2.ext.loopcontrols"],
        )
        self.owner = environment
        self._paths: dict[str, str] = {}
        self.facts: dict[str | None, Facts] = {}
        self.lock = Lock()
        self.functions = {
            name: function for name, function in functions_of(environment).items() if _is_callable_here(function)
        }
        self.filters = {**{name: self._as_filter(name) for name in self.functions}, **FILTERS}
        self.filters |= {name: self._counted(filter_) for name, filter_ in FILTERS.items()}
        for name in ("callable", "escaped", "sameas"):
            self.tests.pop(name)
        self.globals.clear()
        objects = {name: value for name, value in environment.functions.items() if not callable(value)}
        self.known = Known(self.functions, self.filters, self.tests, objects)
        if environment.lenient:
            self.code_generator_class = _Lenient

    # Compiling

    def compile_text(self, source: str, name: str | None) -> tuple[JinjaTemplate, Facts]:
        """Compile a text that is no file."""
        with self.lock:
            code = self.compile(source, name)
            return self.template_class.from_code(self, code, {}), self.facts.pop(name)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        tree, self.facts[name] = rewrite(tree, self.known, name or "")
        return tree

    def join_path(self, template: str, parent: str) -> str:
        """Give the path of a document that another names: beside it, else below an allowed folder."""
        if parent and Path(parent).is_absolute():
            beside = str(Path(parent).parent / template)
            try:
                found = locate(beside, self.owner)
            except EvaluationError:
                found = None
            if found is not None:
                return str(found)
        return self._path_of(template)

    def _path_of(self, name: str) -> str:
        """Give the real path of a document; that which it had, when it is gone."""
        if not Path(name).is_absolute():
            found = locate(name, self.owner)
            if found is not None:
                self._paths[name] = str(found)
        return self._paths.get(name, name)

    def _load_template(self, name: str, globals: Any) -> JinjaTemplate:  # noqa: A002 - Jinja2's own name
        """Load a document; when a changed file cannot be compiled, its last good version stays in use."""
        name = self._path_of(name)
        cache = cast("Any", self.cache)
        known = cache.get((weakref.ref(cast("BaseLoader", self.loader)), name))
        try:
            return super()._load_template(name, globals)
        except (TemplateError, EvaluationError) as error:
            if known is None:
                raise
            _log.warning(
                "a changed document cannot be used, its last version stays", extra={"file": name, "reason": str(error)}
            )
            return known

    # Rendering

    def render(
        self, template: JinjaTemplate, message: Message, context: object, *, name: str = "", field: str = ""
    ) -> str:
        """Render a document, which warnings call by `name` and `field`. Raises: Exception: of any kind."""
        token = current_run.set(Run(message, context, self.owner, name, field))
        inner = rendering.set(Rendering(message, context))
        try:
            return self.concat(template.root_render_func(template.new_context()))
        finally:
            rendering.reset(inner)
            current_run.reset(token)

    def concat(self, pieces: Iterable[str]) -> str:  # type: ignore[override]
        """Put the pieces of a document together, as far as it may grow."""
        budget = _budget()
        parts: list[str] = []
        length = 0
        for piece in pieces:
            parts.append(piece)
            length += len(piece)
            if length > MAX_OUTPUT:
                raise EvaluationError(f"the document is longer than {MAX_OUTPUT} characters")
        budget.spend(length >> 6)
        return "".join(parts)

    def leave_out(self, error: Exception) -> None:
        """Pass over a part that failed, in a lenient environment; not when nothing may be used up any more."""
        run = current_run.get()
        if run is None or run.is_spent:
            raise error
        file, line = place_of(error, run.name)
        place = {**place_in_chain(run.context), "field": run.field, "file": file, "line": line}
        _log.warning("a part of a document failed and is left empty", extra={"reason": document_reason(error), **place})

    # What documents call

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - Jinja2's own signature
        """Call a value, when it is one of ours."""
        if not __self.is_safe_callable(__obj):
            raise SecurityError(f"{kind_of(None if isinstance(__obj, Undefined) else __obj)} cannot be called")
        return __context.call(__obj, *args, **kwargs)

    def is_safe_callable(self, obj: Any) -> bool:
        """Tell whether this is a macro, a method of a value, or something of the engine."""
        if isinstance(obj, MethodType):
            return obj.__self__ is self or isinstance(obj.__self__, _OWN)
        return isinstance(obj, (Macro, LoopContext, BlockReference, Joiner, Method))

    def call_function(self, name: str, *arguments: Json, **named: Json) -> Json:
        """Call a function of the language, or one of the few of Jinja2."""
        budget = _budget()
        own = _FUNCTIONS.get(name)
        if own is not None:
            return budget.charge(own(*arguments, **named))
        function = self.functions[name]
        values = [_plain(argument) for argument in arguments]
        if function.counted:
            values.insert(0, budget)
        if function.contextual:
            run = current_run.get()
            values.insert(0, None if run is None else run.context)
        return budget.charge(function.call(*values, **named))

    def call_host_method(self, name: str, method: str, *arguments: Json) -> Json:
        """Call a public method of an object of the host."""
        function = self.functions.get(f"{name}.{method}")
        if function is None:
            raise EvaluationError(f"{name!r} has no method {method!r}")
        return _budget().charge(function.call(*map(_plain, arguments)))

    def _as_filter(self, name: str) -> Callable[..., Json]:
        def call(*arguments: Json) -> Json:
            return self.call_function(name, *arguments)

        return call

    def _counted(self, filter_: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Json, **named: Json) -> Json:
            return _budget().charge(filter_(*arguments, **named))

        if hasattr(filter_, "jinja_pass_arg"):
            call.jinja_pass_arg = filter_.jinja_pass_arg  # type: ignore[attr-defined]
        return call

    def step(self) -> None:
        """Pay for a round of a loop, or for a call of a macro."""
        _budget().step()

    def charge(self, value: Json) -> Json:
        """Pay for a list or map that was made."""
        return _budget().charge(value)

    def join_texts(self, *values: Json) -> str:
        """`~`."""
        texts = [text_of(_plain(value)) for value in values]
        bounded_text(sum(map(len, texts)))
        return str(_budget().charge("".join(texts)))

    def read_payload(self) -> Json:
        """`msg.data`."""
        run = current_run.get()
        return payload(None if run is None else run.message)

    def look_up(self, root: str, path: str) -> Json:
        """`global.a.b`."""
        found, value = find_path(self.owner.root(root), path)
        return value if found else Nil(name=f"{root}.{path}")

    # Access to values

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Give what a map holds, or a method."""
        if isinstance(obj, _OWN):
            return super().getattr(obj, attribute)
        if isinstance(obj, dict) and attribute in obj:
            return cast("dict[str, Json]", obj)[attribute]
        method = method_of(obj, attribute)
        if method is not None:
            return method
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Give what a map or list holds; nil when a key is not there."""
        if isinstance(obj, Nil):
            return obj.fetch(str(argument))
        if isinstance(obj, dict):
            entries = cast("dict[str, Json]", obj)
            return entries[argument] if argument in entries else Nil(name=str(argument))
        if isinstance(argument, slice) and isinstance(obj, (list, tuple, str)):
            return _budget().charge(cast("list[Json]", obj)[argument])
        if isinstance(obj, (list, tuple, str)) and is_number(argument):
            elements = cast("list[Json]", obj)
            place = int(cast("float", argument))
            return elements[place] if -len(elements) <= place < len(elements) else Nil(name=f"[{place}]")
        raise EvaluationError(f"cannot fetch {argument} from {kind_of(obj)}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002 - Jinja2's own signature
        """Work out an operator as expressions do; `+` also puts lists together."""
        if operator == "+" and isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            return _budget().charge([*cast("list[Json]", left), *cast("list[Json]", right)])
        return _budget().charge(_BINARY[operator](_worked(left), _worked(right)))

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:  # noqa: ARG002 - Jinja2's own signature
        """Work out a sign."""
        return (operators.negate if operator == "-" else operators.positive)(_worked(arg))


def _divided_whole(left: Json, right: Json) -> Json:
    if is_number(left) and is_number(right) and right != 0:
        return left // right
    raise EvaluationError("'//' takes two numbers, and not zero on the right")


_BINARY: Final[dict[str, Callable[[Json, Json], Json]]] = {
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "//": _divided_whole,
    "%": operators.modulo,
    "**": operators.power,
}


def _range(*bounds: Json) -> list[int]:
    if not 1 <= len(bounds) <= 3:
        raise EvaluationError(f"range() takes 1 to 3 arguments, not {len(bounds)}")
    if not all(is_number(bound) and float(bound).is_integer() for bound in bounds):
        raise EvaluationError("range() takes whole numbers")
    numbers = range(*map(int, bounds))
    if abs(numbers.stop - numbers.start) // abs(numbers.step) > _RANGE:
        raise EvaluationError(f"range() makes at most {_RANGE} numbers")
    return list(numbers)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "range": _range,
    "dict": dict,
    "namespace": Namespace,
    "cycler": Cycler,
    "joiner": Joiner,
}


def _is_callable_here(function: Any) -> bool:
    """Tell whether a document can call a function: it has no predicates."""
    return not function.counted or function.least == 1


def _budget() -> Work:
    run = current_run.get()
    return Work() if run is None else run.budget


def _plain(value: Any) -> Json:
    return None if isinstance(value, Undefined) else value


def _worked(value: Any) -> Any:
    """Give an operand; what is not there is told by its name."""
    if isinstance(value, Nil):
        value._fail()
    return value


@pass_context
def _printed(_: Context, value: Any) -> str:
    """Give the text of what stands in `{{ }}`."""
    if isinstance(value, Undefined):
        return ""
    if value is not None and not isinstance(value, _PLAIN):
        raise EvaluationError("this has no text; a macro or a method is called with ()")
    return text_of(value)
