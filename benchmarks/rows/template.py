"""T: a template of five parts, against an f-string and against the same pieces joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from measuring import calling
from table import Goal

import catenary.expr
from catenary import Message, Template

if TYPE_CHECKING:
    from collections.abc import Callable

    from measuring import Cases
    from table import Row

    from rows import Bench

SOURCE: Final = "${msg.name} in ${msg.place.room}: ${msg.t} at ${metadata.site}, ${msgType}"
DOCUMENT: Final = "{{ msg.name }} in {{ msg.place.room }}: {{ msg.t }} at {{ metadata.site }}, {{ msgType }}"


def rows(bench: Bench) -> list[Row]:
    """Measure a template, and the same as a document where there are documents."""
    value = {"name": "boiler", "place": {"room": "7"}, "t": 45.5}
    message = Message(value, "telemetry", metadata={"site": "north"})
    render = Template.compile(SOURCE).render
    lone = Template.compile("${msg.t}").value
    assert render(message) == _joined(message) == _formatted(message)
    cases: Cases = {
        "template": calling(lambda: render(message)),
        "joined": calling(lambda: _joined(message)),
        "formatted": calling(lambda: _formatted(message)),
        "lone": calling(lambda: lone(message)),
        "member": calling(lambda: message.value["t"]),
    }
    document = _document()
    if document is not None:
        cases["document"] = calling(lambda: document(message))
    measured = bench.measure(cases)
    made = [
        measured.row("T", "template of 5 parts", "template", "formatted", goal=Goal(ratio=3), against="an f-string"),
        measured.row("T", "the same", "template", "joined", against="pieces joined"),
        measured.row("T", "value of a lone `${msg.t}`", "lone", "member"),
    ]
    if document is not None:
        made.append(measured.row("T", "document (Jinja2) of the same 5 parts", "document", "formatted"))
    return made


def _joined(msg: Any) -> str:
    value = msg.value
    pieces = [value["name"], " in ", value["place"]["room"], ": ", str(value["t"]), " at "]
    return "".join([*pieces, msg.metadata["site"], ", ", msg.type])


def _formatted(msg: Any) -> str:
    value = msg.value
    return f"{value['name']} in {value['place']['room']}: {value['t']} at {msg.metadata['site']}, {msg.type}"


def _document() -> Callable[[Message], str] | None:
    kind: Any = getattr(catenary.expr, "Document", None)
    return None if kind is None else kind.compile(DOCUMENT, catenary.expr.Environment()).render
