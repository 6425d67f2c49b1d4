"""One rendering of a document: its message, what it may use up, and what names stand for."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from jinja2 import Undefined
from jinja2.runtime import Context

from catenary.expr.budget import FREE_S, Budget
from catenary.expr.environment import VARIABLES, output_of, record
from catenary.expr.kinds import EvaluationError, TextMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.environment import Environment
    from catenary.jsontext import Json
    from catenary.message import Message

SECONDS: Final = 2.0
"""Processor time that a document may take."""

MAX_DEPTH: Final = 20
"""How deep documents may include each other."""

_FILES: Final = "$files"
current_run: ContextVar[Run | None] = ContextVar("document_run", default=None)


class Work(Budget):
    """What one rendering may use up: steps, values that are made, and time."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.deadline = monotonic() + FREE_S

    def step(self) -> None:
        """Pay for a round of a loop. Raises: EvaluationError: when nothing is left, or no time."""
        self.spend(1)
        if monotonic() > self.deadline:
            self.prolong(SECONDS, "document")

    def charge(self, value: Json) -> Json:
        """Pay for a value that was made, at any depth, and give it back."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                inside = list(cast("dict[str, Json]", one).values())
            elif isinstance(one, (list, tuple)):
                inside = cast("list[Json]", one)
            else:
                self.charge_shallow(one)
                continue
            self.spend(1 + len(inside))
            waiting += [entry for entry in inside if isinstance(entry, (dict, list, tuple))]
        return value


class Run:
    """One rendering: the message, what it may use up, and the names that were looked up already.

    `name` and `field` are what warnings call the document.
    """

    __slots__ = ("budget", "context", "environment", "field", "message", "name", "names")

    def __init__(
        self, message: Message, context: object, environment: Environment, name: str = "", field: str = ""
    ) -> None:
        self.message, self.context, self.environment = message, context, environment
        self.name, self.field = name, field
        self.budget = Work()
        self.names: dict[str, Json] = {"nil": None, "null": None}

    def look_up(self, name: str, missing: object) -> Json:
        """Give what a name stands for: variables win over nodes, and nodes over metadata keys."""
        if name not in self.names:
            self.names[name] = self._found(name, missing)
        return self.names[name]

    def _found(self, name: str, missing: object) -> Json:
        if name == "metadata":
            return TextMap(self.message.metadata)
        if name in {"global", "vars", "ruleChain"}:
            return TextMap(self.environment.root(name))
        if name in VARIABLES:
            return _VARIABLES[name](self.message)
        if name in self.environment.nodes:
            return record(output_of(self.context, name))
        return self.message.metadata.get(name, missing)

    @property
    def is_spent(self) -> bool:
        """True when nothing may be used up any more."""
        try:
            self.budget.step()
        except EvaluationError:
            return True
        return False


_VARIABLES: Final[dict[str, Callable[[Message], Json]]] = {
    "id": lambda message: message.id,
    "ts": lambda message: message.ts,
    "data": lambda message: message.text,
    "msg": lambda message: message.value,
    "msgType": lambda message: message.type,
    "type": lambda message: message.type,
    "dataType": lambda message: message.data_type,
}


class Nil(Undefined):
    """What is not there: it prints as nothing and is empty; to work with it is an error."""

    __slots__ = ()

    def _fail(self, *_: Any, **__: Any) -> NoReturn:
        name = self._undefined_name
        raise EvaluationError(f"{name!r} is nil, and cannot be worked with" if name else "nil cannot be worked with")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fail
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __pos__ = __neg__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __complex__ = __call__ = __getitem__ = _fail
    _fail_with_undefined_error = _fail

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        self.fetch(name)

    def fetch(self, name: str) -> NoReturn:
        """Say that nil holds nothing, not even what Python gives every object."""
        raise EvaluationError(f"cannot fetch {name} from nil{self._told}")

    @property
    def _told(self) -> str:
        return f" ({self._undefined_name} is not there)" if self._undefined_name else ""

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, Undefined)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(None)


class Names(Context):
    """Looks names up in the rendering; documents that include each other too deeply are refused."""

    def __init__(self, environment: Any, parent: dict[str, Any], name: str | None, *rest: Any, **more: Any) -> None:
        files = (*parent.get(_FILES, ()), name or "the document")
        if len(files) > MAX_DEPTH:
            shown = " -> ".join(Path(file).name for file in files[-4:])
            raise EvaluationError(f"documents include each other more than {MAX_DEPTH} deep: ... -> {shown}")
        super().__init__(environment, {**parent, _FILES: files}, name, *rest, **more)

    def resolve_or_missing(self, key: str) -> Any:
        found = super().resolve_or_missing(key)
        run = current_run.get()
        return run.look_up(key, found) if run is not None and found is _MISSING else found


_MISSING: Final = Context.resolve_or_missing(cast("Context", type("Empty", (), {"vars": {}, "parent": {}})()), "")
