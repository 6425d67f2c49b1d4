"""`Template`: text with `${...}` parts, compiled once."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic.alias_generators import to_camel
from pydantic_core import core_schema

from catenary.errors import TemplateError
from catenary.expr.environment import Environment, place_in_chain
from catenary.expr.includes import nesting
from catenary.expr.placeholders import split_parts
from catenary.expr.program import compile_program, compile_text_program
from catenary.expr.text import text_of
from catenary.expr.validation import validator_schema
from catenary.text_places import place, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import ValidationInfo

    from catenary.expr.program import Program
    from catenary.jsontext import Json
    from catenary.message import Message

_log = logging.getLogger(__name__)
_NESTING: Final = re.compile(r"\binclude\s*\([^}]*,")


class Part:
    """One `${...}` of a template."""

    __slots__ = ("end", "is_lenient", "owner", "program", "source", "start")

    def __init__(
        self, source: str, start: int, end: int, program: Program, owner: Template, *, is_lenient: bool
    ) -> None:
        self.source = source
        self.owner = owner
        self.start = start
        self.end = end
        self.program = program
        self.is_lenient = is_lenient

    @classmethod
    def compile(cls, source: str, span: Sequence[int], environment: Environment, owner: Template) -> Self:
        """Compile the part between the two offsets of `span`. Raises: TemplateError: when that cannot be done."""
        start, end = span
        program = compile_program(source, environment, start=start, end=end, kind=TemplateError, in_template=True)
        return cls(source, start, end, program, owner, is_lenient=environment.lenient)

    def value(self, msg: Message, ctx: object) -> Json:
        """Give the value; nil for a part that fails in a lenient environment."""
        try:
            return self.program.call(msg, ctx)
        except TemplateError as error:
            if not self.is_lenient:
                raise
            self._warn(error, ctx)
            return None

    def render(self, msg: Message, ctx: object) -> str:
        """Give the value as text."""
        value = self.value(msg, ctx)
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
            self._warn(failure, ctx)
            return ""

    def _warn(self, error: TemplateError, ctx: object) -> None:
        place = {**place_in_chain(ctx), "field": self.owner.field}
        extra = {"reason": str(error), "position": error.position, **place}
        _log.warning("a part of a template failed and is left empty", extra=extra)


class Template:
    """Text with `${...}` parts, or any other JSON value, which is itself. Safe to use from many tasks at once.

    A text that is one `${...}` and nothing else but blanks keeps the kind of its value.

    Attributes:
        source: What it was compiled from.
        fetches: True when it may include web addresses, and rendering may wait for them.
        field: The option it was written in, which errors name; empty when it stands alone.
        is_constant: True when nothing in it depends on the message.
        node_references: The ids of the nodes whose outputs it reads.
        has_unknown: True when it names what nothing, or at most a key of the metadata, is known by.
    """

    __slots__ = (
        "_constant",
        "_render",
        "_value",
        "fetches",
        "field",
        "has_unknown",
        "is_constant",
        "node_references",
        "source",
    )

    def __init__(self, source: Json) -> None:
        self.source = source
        self.fetches = False
        self.field = ""
        self.is_constant = True
        self.node_references = frozenset[str]()
        self.has_unknown = False
        self._constant = ""
        self._render: Callable[..., str] | None = None
        self._value: Callable[..., Json] | None = None

    @classmethod
    def compile(cls, source: Json, environment: Environment | None = None) -> Self:
        """Compile a template; anything but text is a constant.

        Raises:
            TemplateError: When a part cannot be compiled, with position and hint.
        """
        template = cls(source)
        template.fetches = environment is not None and environment.fetch is not None and "include" in str(source)
        pieces = split_parts(source) if isinstance(source, str) and "${" in source else []
        if not isinstance(source, str) or len(pieces) < 2:
            template._constant = text_of(source)
        elif len(pieces) == 2 and not (pieces[0][0] + pieces[1][0]).strip():
            template._use_lone(Part.compile(source, pieces[0][1:], environment or Environment(), template))
        else:
            template._use_parts(source, pieces, environment or Environment())
        if isinstance(source, str) and environment is not None and _NESTING.search(source):
            template._allow_nesting(environment)
        return template

    def _allow_nesting(self, environment: Environment) -> None:
        """Let files that are included be templates: what nodes they name is not known before they are read."""
        if not self.is_constant:
            self._render, self._value = nesting(self._render), nesting(self._value)
            self.node_references |= environment.nodes

    def _use_lone(self, part: Part) -> None:
        self._render, self._value, self.node_references = part.render, part.value, part.program.references
        self.has_unknown = part.program.has_unknown
        self.is_constant = False

    def _use_parts(self, source: str, pieces: list[tuple[str, int, int]], environment: Environment) -> None:
        self.is_constant = False
        if not environment.lenient:
            program = compile_text_program(source, pieces, environment)
            self._render, self.node_references = program.call, program.references
            self.has_unknown = program.has_unknown
            return
        parts = [(text, Part.compile(source, span, environment, self)) for text, *span in pieces[:-1]]
        self.node_references = frozenset[str]().union(*(part.program.references for _, part in parts))
        self.has_unknown = any(part.program.has_unknown for _, part in parts)
        rest = pieces[-1][0]

        def render(msg: Message, ctx: object) -> str:
            return "".join([text + part.render(msg, ctx) for text, part in parts]) + rest

        self._render = render

    def render(self, msg: Message, ctx: object = None) -> str:
        """Give the text for a message. Raises: TemplateError: naming field, expression, position and reason."""
        if self._render is None:
            return self._constant
        try:
            return self._render(msg, ctx)
        except TemplateError as error:
            raise self._placed(error, ctx) from error

    def value(self, msg: Message, ctx: object = None) -> Json:
        """Give the value for a message: of any kind for a lone `${...}` and a source that is no text."""
        if self._value is None:
            return self.source if self._render is None else self.render(msg, ctx)
        try:
            return self._value(msg, ctx)
        except TemplateError as error:
            raise self._placed(error, ctx) from error

    def _placed(self, error: TemplateError, ctx: object) -> TemplateError:
        """Give the error with the option named in which the template is written, and the node."""
        return TemplateError(
            f"{self.field}: {error}" if self.field else str(error),
            source=error.source,
            position=error.position,
            hint=error.hint,
            node_id=getattr(ctx, "node_id", ""),
        )

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
