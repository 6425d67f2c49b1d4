"""`Document`: longer text written in Jinja2, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self, cast

from pydantic.alias_generators import to_camel
from pydantic_core import core_schema

from catenary.errors import TemplateError
from catenary.expr.document.go_templates import go_problem
from catenary.expr.environment import Environment
from catenary.expr.files import locate, read_text
from catenary.expr.kinds import EvaluationError
from catenary.expr.templates import Template
from catenary.expr.validation import validator_schema

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema
    from pydantic_core.core_schema import ValidationInfo

    from catenary.expr.document.engine import DocumentEnvironment
    from catenary.jsontext import Json
    from catenary.message import Message

_FORM: Final = 'Write it as text, or as {"template": "prompts/support.j2"}.'
_PLACES: Final = "It is looked for beside the chain, in `global.data_dir`, and in the roots of the engine."
_FILE: Final = "file:"


class Document:
    """Text in Jinja2 with the names and functions of templates: loops, conditions, macros, parts in other files.

    It runs in a sandbox: it sees plain data and changes nothing, and its time, its steps and its length are limited.
    A document that is a file, and every file it includes, is read again when it has changed; one that cannot be
    compiled any more is logged, and its last good version stays in use. Safe to use from many tasks at once.

    Attributes:
        source: What it was compiled from: the text, or `{"template": path}`.
        name: The file it stands in, as it was named; empty for a text.
        fetches: True when it may include web addresses, and rendering may wait for them.
        field: The option it was written in, which errors name; empty when it stands alone.
        node_references: The ids of the nodes whose outputs it reads.
    """

    __slots__ = ("_engine", "_path", "_template", "fetches", "field", "name", "node_references", "source")

    def __init__(
        self, source: Json, engine: DocumentEnvironment, template: JinjaTemplate, name: str, references: frozenset[str]
    ) -> None:
        self.source = source
        self.name = name
        self.fetches = engine.owner.fetch is not None and (isinstance(source, dict) or "include" in str(source))
        self.field = ""
        self.node_references = references
        self._engine = engine
        self._template = template
        self._path = template.name if template.name and isinstance(source, dict) else ""

    @classmethod
    def compile(cls, source: str, environment: Environment | None = None, *, name: str = "") -> Self:
        """Compile a text.

        Args:
            source: The text.
            environment: What it can see; the default one if absent.
            name: What errors call it, such as a file name.

        Raises:
            TemplateError: When it cannot be compiled, or names a document that is not there; with line and cure.
        """
        from catenary.expr.document.compile import CAUGHT, compile_problem, engine_of, references_of

        engine = engine_of(environment or Environment())
        problem = go_problem(source, name)
        if problem is not None:
            raise problem
        try:
            template, facts = engine.compile_text(source, name or None)
            references = references_of(engine, facts)
        except CAUGHT as error:
            raise compile_problem(error, source, name) from None
        return cls(source, engine, template, name, references)

    @classmethod
    def read(cls, path: str, environment: Environment | None = None, *, follows: bool = True) -> Self:
        """Compile a file below the folders that the environment allows.

        Args:
            path: Where it is; relative ones are looked for below each allowed folder.
            environment: What it can see; the default one if absent.
            follows: Whether it is read again when it has changed.

        Raises:
            TemplateError: When it is not there, lies elsewhere, or cannot be compiled.
        """
        from catenary.expr.document.compile import CAUGHT, compile_problem, engine_of, references_of

        used = environment or Environment()
        engine = engine_of(used)
        found, text = _text_of(path, used)
        problem = go_problem(text, path)
        if problem is not None:
            raise problem
        try:
            template = engine.get_template(found)
            references = references_of(engine, engine.facts[found], found)
        except CAUGHT as error:
            raise compile_problem(error, text, path) from None
        return cls({"template": path} if follows else f"{_FILE}{path}", engine, template, path, references)

    def render(self, msg: Message, ctx: object = None) -> str:
        """Give the text for a message. Raises: TemplateError: naming field, file, line and reason."""
        try:
            template = self._engine.get_template(self._path) if self._path else self._template
            return self._engine.render(template, msg, ctx, name=self.name, field=self.field)
        except Exception as error:
            from catenary.expr.document.compile import failure_of

            raise failure_of(error, self.name, self.field, ctx) from error

    def __repr__(self) -> str:
        return f"Document({self.source!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same source."""
        return isinstance(other, Document) and self.source == other.source

    def __hash__(self) -> int:
        return hash(repr(self.source))

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.source)

    @classmethod
    def __get_pydantic_core_schema__(cls, source_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Compile while settings are read, with the environment in the validation context."""
        return core_schema.with_info_after_validator_function(_placed, validator_schema(cls, cls._read_field))

    @classmethod
    def _read_field(cls, value: Json, environment: Environment) -> Self:
        if isinstance(value, str):
            if value.startswith(_FILE):
                path = value.removeprefix(_FILE)
                return cls.read(path.removeprefix("//"), environment, follows=False)
            return cls.compile(value, environment)
        path = _path_in(value)
        if path is None:
            raise TemplateError("a document is written as text", hint=_FORM)
        return cls.read(path, environment)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe a document: text, or the name of a file."""
        return {"anyOf": [{"type": "string"}, _FILE_SCHEMA]}


class Prompt:
    """What annotates a field that is a template, or a document in a file: `Annotated[Template | Document, Prompt]`.

    Text is a template, `{"template": "prompts/support.j2"}` a document.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source_type: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Tell by the shape of the value which of the two it is."""
        return core_schema.with_info_after_validator_function(
            _placed, validator_schema((Template, Document), _read_prompt)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe both forms."""
        return {"anyOf": [{"type": "string"}, _FILE_SCHEMA]}


_FILE_SCHEMA: Final = {
    "type": "object",
    "properties": {"template": {"type": "string", "description": "The file of a Jinja2 document."}},
    "required": ["template"],
    "additionalProperties": False,
}


def _read_prompt(value: Json, environment: Environment) -> Template | Document:
    if not isinstance(value, dict):
        return Template.compile(value, environment)
    path = _path_in(value)
    if path is None:
        raise TemplateError("a document in a file is written with the one key `template`", hint=_FORM)
    return Document.read(path, environment)


def _text_of(path: str, environment: Environment) -> tuple[str, str]:
    """Give the real path and the text of a file. Raises: TemplateError: when it is not there, or lies elsewhere."""
    try:
        found = locate(path, environment)
        if found is not None:
            return str(found), read_text(str(found), environment)
    except EvaluationError as error:
        raise TemplateError(str(error), source=path) from None
    raise TemplateError(f"there is no document {path!r}", source=path, hint=_PLACES)


def _path_in(value: Json) -> str | None:
    """Give the path in `{"template": path}`; `None` for anything else."""
    entries = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    lowered = {key.lower(): entry for key, entry in entries.items()}
    path = lowered.get("template")
    return path if isinstance(path, str) and len(lowered) == 1 else None


def _placed(document: Any, info: ValidationInfo) -> Any:
    document.field = to_camel(info.field_name or "")
    return document
