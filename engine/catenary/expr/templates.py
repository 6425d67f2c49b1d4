"""`Template`: text with `${...}` parts, compiled once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from pydantic.alias_generators import to_camel
from pydantic_core import core_schema

from catenary.errors import TemplateError
from catenary.expr.environment import Environment
from catenary.expr.placeholders import split_parts
from catenary.expr.problems import place, shorten
from catenary.expr.program import compile_program
from catenary.expr.text import text_of
from catenary.expr.validation import validator_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import ValidationInfo

    from catenary.expr.program import Program
    from catenary.jsontext import Json
    from catenary.message import Message

_log = logging.getLogger(__name__)


class Part:
    """One `${...}` of a template."""

    __slots__ = ("end", "is_lenient", "program", "source", "start")

    def __init__(self, source: str, start: int, end: int, program: Program, *, is_lenient: bool) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.program = program
        self.is_lenient = is_lenient

    def value(self, msg: Message, ctx: object) -> Json:
        """Give the value; nil for a part that fails in a lenient environment."""
        try:
            return self.program.call(msg, ctx)
        except TemplateError as error:
            if not self.is_lenient:
                raise
            self._warn(error)
            return None

    def render(self, msg: Message, ctx: object) -> str:
        """Give the value as text."""
        return self.text(self.value(msg, ctx))

    def text(self, value: Json) -> str:
        """Give the text of a value of this part."""
        try:
            return text_of(value)
        except Exception as error:
            line, column = place(self.source, self.start)
            failure = TemplateError(
                f"expression {shorten(self.source[self.start : self.end])!r}, line {line}, column {column}: {error}",
                source=self.source,
                position=self.start,
            )
            if not self.is_lenient:
                raise failure from error
            self._warn(failure)
            return ""

    def _warn(self, error: TemplateError) -> None:
        extra = {"reason": str(error), "position": error.position}
        _log.warning("a part of a template failed and is left empty", extra=extra)


class Template:
    """Text with `${...}` parts, or any other JSON value, which is itself. Safe to use from many tasks at once.

    A text that is one `${...}` and nothing else but blanks keeps the kind of its value.

    Attributes:
        source: What it was compiled from.
        field: The option it was written in, which errors name; empty when it stands alone.
        is_constant: True when nothing in it depends on the message.
        node_references: The ids of the nodes whose outputs it reads.
    """

    __slots__ = (
        "_calls", "_constant", "_layout", "_lone", "_parts", "field", "is_constant", "node_references", "source",
    )  # fmt: skip

    def __init__(self, source: Json, pieces: tuple[str | Part, ...]) -> None:
        self.source = source
        self.field = ""
        self._parts = parts = [piece for piece in pieces if isinstance(piece, Part)]
        self._layout = "".join(["%s" if isinstance(piece, Part) else piece.replace("%", "%%") for piece in pieces])
        self._calls = [part.value if part.is_lenient else part.program.call for part in parts]
        self.is_constant = not parts
        is_lone = len(parts) == 1 and all(isinstance(piece, Part) or not piece.strip() for piece in pieces)
        self._lone = parts[0] if is_lone else None
        self._constant = text_of(source) if self.is_constant else ""
        self.node_references = frozenset[str]().union(*(part.program.references for part in parts))

    @classmethod
    def compile(cls, source: Json, environment: Environment | None = None) -> Self:
        """Compile a template; anything but text is a constant.

        Raises:
            TemplateError: When a part cannot be compiled, with position and hint.
        """
        if not isinstance(source, str) or "${" not in source:
            return cls(source, ())
        used = environment or Environment()
        pieces: list[str | Part] = []
        for text, start, end in split_parts(source):
            if text:
                pieces.append(text)
            if start >= 0:
                program = compile_program(source, used, start=start, end=end, kind=TemplateError, in_template=True)
                pieces.append(Part(source, start, end, program, is_lenient=used.lenient))
        return cls(source, tuple(pieces))

    def render(self, msg: Message, ctx: object = None) -> str:
        """Give the text for a message. Raises: TemplateError: naming field, expression, position and reason."""
        if self.is_constant:
            return self._constant
        try:
            if self._lone is not None:
                return self._lone.render(msg, ctx)
            values = [call(msg, ctx) for call in self._calls]
            try:
                return self._layout % tuple([value if value.__class__ is str else text_of(value) for value in values])
            except Exception:  # the part that cannot be written tells it
                return self._layout % tuple([part.text(value) for part, value in zip(self._parts, values, strict=True)])
        except TemplateError as error:
            raise self._placed(error) from error

    def value(self, msg: Message, ctx: object = None) -> Json:
        """Give the value for a message: of any kind for a lone `${...}` and a source that is no text."""
        if self.is_constant:
            return self.source
        if self._lone is None:
            return self.render(msg, ctx)
        try:
            return self._lone.value(msg, ctx)
        except TemplateError as error:
            raise self._placed(error) from error

    def _placed(self, error: TemplateError) -> TemplateError:
        """Give the error with the option named in which the template is written."""
        place = f"{self.field}: " if self.field else ""
        return TemplateError(f"{place}{error}", source=error.source, position=error.position, hint=error.hint)

    def __repr__(self) -> str:
        return f"Template({self.source!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same source."""
        return isinstance(other, Template) and self.source == other.source

    def __hash__(self) -> int:
        return hash(repr(self.source))

    def __bool__(self) -> bool:
        """Tell whether there is anything: false for empty text, an empty list or map, and nothing."""
        return self.source not in ("", None, [], {})

    @classmethod
    def __get_pydantic_core_schema__(cls, source_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Compile while settings are read, with the environment in the validation context."""

        def place_in(template: Self, info: ValidationInfo) -> Self:
            template.field = to_camel(info.field_name or "")
            return template

        return core_schema.with_info_after_validator_function(place_in, validator_schema(cls, cls.compile))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe a template: mostly text, but any value is one."""
        return {}
