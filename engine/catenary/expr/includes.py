"""Files that are templates themselves: `include(path, true)` evaluates the `${...}` in what it reads."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

from catenary.errors import TemplateError
from catenary.expr.files import locate, missed, read_text
from catenary.expr.kinds import MAX_TEXT, EvaluationError, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from catenary.expr.environment import Environment
    from catenary.expr.templates import Template
    from catenary.message import Message

AnyT = TypeVar("AnyT")

MAX_DEPTH: Final = 20
"""How deep files may include each other."""

MAX_CHARACTERS: Final = 10 * MAX_TEXT
"""Characters that the files of one rendering may have together."""

_MAX_FILES: Final = 1_000
_MAX_KEPT: Final = 100
_CACHE: Final = "included files"


@dataclass(frozen=True, slots=True)
class Rendering:
    """The message that a template is rendered for, and the files that are being included, the outermost first."""

    message: Message
    context: object
    files: tuple[Path, ...] = ()
    used: list[int] = field(default_factory=lambda: [0, 0])  # files and characters


rendering: Final[ContextVar[Rendering | None]] = ContextVar("template_rendering", default=None)
"""Set while a template with nested includes is rendered."""


def include(path: object, environment: Environment, *, is_evaluated: object = False) -> str:
    """Give the text of a file, its `${...}` evaluated if wanted.

    Raises:
        EvaluationError: As for `read_text`; when a part of the file fails, or files include each other in a circle.
    """
    if is_evaluated is False:
        return read_text(path, environment)
    if is_evaluated is not True:
        raise EvaluationError(f"include() takes true or false as argument 2, not {kind_of(is_evaluated)}")
    present = rendering.get()
    if present is None:
        raise EvaluationError("include(path, true) is for templates; expressions take include(path)")
    found = locate(path, environment)
    if found is None:
        return missed(path, environment)
    inner = _entered(present, found)
    template = _template_of(found, environment)
    _count(present, str(template.source))
    token = rendering.set(inner)
    try:
        return template.render(present.message, present.context)
    except TemplateError as error:
        raise EvaluationError(f"file {found.name!r}: {error}") from error
    finally:
        rendering.reset(token)


def _entered(present: Rendering, found: Path) -> Rendering:
    files = (*present.files, found)
    names = " -> ".join(file.name for file in files)
    if found in present.files:
        raise EvaluationError(f"files include each other in a circle: {names}")
    if len(files) > MAX_DEPTH:
        raise EvaluationError(f"files include each other more than {MAX_DEPTH} deep: {names}")
    return replace(present, files=files)


def _count(present: Rendering, text: str) -> None:
    present.used[0] += 1
    present.used[1] += len(text)
    if present.used[0] > _MAX_FILES or present.used[1] > MAX_CHARACTERS:
        raise EvaluationError(
            f"one rendering may include at most {_MAX_FILES} files, and {MAX_CHARACTERS} characters in all"
        )


def _template_of(found: Path, environment: Environment) -> Template:
    """Compile a file; the same text is compiled once."""
    from catenary.expr.templates import Template

    text = read_text(str(found), environment)
    kept = cast("dict[Path, Template]", environment.programs.setdefault(_CACHE, {}))
    known = kept.get(found)
    if known is not None and known.source == text:
        return known
    try:
        template = Template.compile(text, environment)
    except TemplateError as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise EvaluationError(f"file {found.name!r}: {reason}") from error
    if len(kept) < _MAX_KEPT:
        kept[found] = template
    return template


def nesting(call: Callable[..., AnyT] | None) -> Callable[..., AnyT] | None:
    """Give a function `(msg, ctx)` in which files may be included that are templates; `None` stays `None`."""
    if call is None:
        return None

    def called(msg: Message, ctx: object = None) -> AnyT:
        if rendering.get() is not None:
            return call(msg, ctx)
        token = rendering.set(Rendering(msg, ctx))
        try:
            return call(msg, ctx)
        finally:
            rendering.reset(token)

    return called
