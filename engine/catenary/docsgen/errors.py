"""The pages of the errors: one for each code, of an error class or of a problem that loading finds."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from catenary import errors
from catenary.docsgen.markdown import code, file_name, of_docstring, page, table
from catenary.load import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.load import Code


def error_pages() -> dict[str, str]:
    """Give a page for each code, by file name, and the list of all as `README.md`."""
    classes = list(_classes(errors.CatenaryError))
    by_code = {kind.code: kind for kind in classes}
    found = {file_name(name): _page(name, by_code.get(name), CODES.get(name)) for name in sorted({*by_code, *CODES})}
    return {"README.md": _overview(classes), **found}


def _classes(kind: type[errors.CatenaryError]) -> Iterator[type[errors.CatenaryError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _classes(below)


def _overview(classes: list[type[errors.CatenaryError]]) -> str:
    tree = inspect.cleandoc(errors.__doc__ or "").partition("\n\n")[2]
    raised = [(_link(kind.code), code(kind.__name__), _first_sentence(kind)) for kind in classes]
    problems = [(_link(entry.name), entry.severity, entry.meaning) for entry in CODES.values()]
    return page(
        "Errors",
        "Every error has a `code`, which never changes its meaning, and a `hint` that says what to do.",
        tree,
        "## Classes\n\n" + table(("Code", "Class", "Meaning"), raised),
        "## Problems of a chain\n\nLoading a chain raises `ChainInvalid` with all of its problems, and "
        "`catenary check` prints them. Warnings count as errors in a chain that is `strict`.\n\n"
        + table(("Code", "Severity", "Meaning"), problems),
    )


def _link(name: str) -> str:
    return f"[`{name}`]({file_name(name)})"


def _first_sentence(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]


def _page(name: str, kind: type[errors.CatenaryError] | None, problem: Code | None) -> str:
    parts: list[str] = []
    if problem is not None:
        shown = "A problem" if problem.severity == "error" else "A warning"
        parts.append(f"{shown} of a chain that loading and `catenary check` report.")
        parts += [f"**Meaning.** {problem.meaning}", f"**Usual cause.** {problem.cause}", f"**Cure.** {problem.cure}"]
    if kind is not None:
        base = kind.__mro__[1]
        above = f", a {code(base.__name__)}" if issubclass(base, errors.CatenaryError) else ""
        parts.append(f"Raised as `catenary.{kind.__name__}`{above}.")
        parts += _paragraphs(kind, advice=problem is None)
    return page(code(name), *parts)


def _paragraphs(kind: type, *, advice: bool) -> Iterator[str]:
    """Give the paragraphs of a docstring; those with advice only where no problem has given better advice."""
    for paragraph in of_docstring(kind).split("\n\n"):
        label, separator, text = paragraph.partition(": ")
        if not separator or label not in {"Usual cause", "Cure"}:
            yield paragraph
        elif advice:
            yield f"**{label}.** {text}"
