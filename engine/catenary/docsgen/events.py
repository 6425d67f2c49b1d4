"""The page of the events of a run."""

from __future__ import annotations

from dataclasses import fields

from catenary import events
from catenary.docsgen.markdown import code, of_docstring, page, table


def event_page() -> str:
    """Give the page that lists all events and what they carry."""
    common = {field.name for field in fields(events.Event)}
    rows = [
        (_type(kind), code(kind.__name__), of_docstring(kind), _own(kind, common))
        for kind in events.Event.__subclasses__()
        if getattr(events, kind.__name__, None) is kind  # slots make each class twice
    ]
    return page(
        "Events of a run",
        of_docstring(events).partition("\n\n")[2],
        "Get them with `engine.stream(...)`, `engine.run(..., listener=...)` or `engine.subscribe(...)`; "
        "`event.to_dict()` gives the JSON form, with camelCase keys.",
        "## All events\n\n" + table(("Type", "Class in `catenary.events`", "When", "Carries besides"), rows),
        "## What each of them carries\n\n" + of_docstring(events.Event).partition("\n\n")[2],
    )


def _type(kind: type[events.Event]) -> str:
    return "a name of its own" if kind is events.NodeEvent else code(kind.type)


def _own(kind: type[events.Event], common: set[str]) -> str:
    return ", ".join(code(field.name) for field in fields(kind) if field.name not in common)
