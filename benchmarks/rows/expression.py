"""X: one compiled expression, against simpleeval with the parsed tree kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from measuring import calling
from simpleeval import EvalWithCompoundTypes
from table import Goal, Row

from catenary import Expression, Message

if TYPE_CHECKING:
    from rows import Bench

SOURCE = "msg.t > 40 && metadata.kind == 'a'"


def rows(bench: Bench) -> list[Row]:
    """Measure the expression on a message that was parsed before."""
    value, metadata = {"t": 45.5}, {"kind": "a"}
    message = Message(value, metadata=metadata)
    call = Expression.compile(SOURCE).call
    reference: Any = EvalWithCompoundTypes(names={"msg": value, "metadata": metadata})
    text = SOURCE.replace("&&", "and")
    tree = reference.parse(text)
    measured = bench.measure(
        {
            "ours": calling(lambda: call(message)),
            "hand": calling(lambda: value["t"] > 40 and metadata["kind"] == "a"),
            "simpleeval": calling(lambda: reference.eval(text, previously_parsed=tree)),
        }
    )
    return [
        measured.row("X", f"`{SOURCE}`", "ours", "hand", goal=Goal(figure=0.3)),
        measured.row("X", "the same", "ours", "simpleeval", against="simpleeval"),
    ]
