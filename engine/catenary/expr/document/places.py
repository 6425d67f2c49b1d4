"""Where in a document an error was raised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate


def place_of(error: BaseException, name: str) -> tuple[str, int]:
    """Give file and line of the innermost document in which an error was raised."""
    file, line = name, 0
    if isinstance(error, TemplateSyntaxError):
        return Path(error.name or name).name, error.lineno
    traceback = error.__traceback__
    while traceback is not None:
        template: JinjaTemplate | None = traceback.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(traceback.tb_lineno)
            own = Path(template.name or "")
            file = own.name if own.is_absolute() and own.name != Path(name).name else name
        traceback = traceback.tb_next
    return file, line
