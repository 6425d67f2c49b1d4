"""C: what compiling costs: cold, and when code of the same shape is kept already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from measuring import calling
from table import Goal

from catenary import Expression, Script, Template
from catenary.expr import Environment
from catenary.expr.closure import forget_code
from rows.template import SOURCE as TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Row

    from rows import Bench

COMPARISON: Final = "msg.t > 40"
LONG: Final = (
    "msg.t * 1.8 + 32 > 100 && metadata.kind in ['a', 'b'] ? filter(msg.items, .count > 1) : msg.name ?? 'none'"
)
COLD: Final = Goal(figure=1000)


def rows(bench: Bench) -> list[Row]:
    """Measure each in an environment of its own, which knows no compiled text."""

    def expression(source: str) -> Callable[[], object]:
        return lambda: Expression.compile(source, Environment())

    def cold(compile_it: Callable[[], object]) -> Callable[[], object]:
        def compile_cold() -> object:
            forget_code()
            return compile_it()

        return compile_cold

    kinds = {
        f"`{COMPARISON}`": expression(COMPARISON),
        "a long expression": expression(LONG),
        "template of 5 parts": lambda: Template.compile(TEMPLATE, Environment()),
    }
    cases = {f"{title}, its shape is known": case for title, case in kinds.items()}
    cases |= {f"{title}, cold": cold(case) for title, case in kinds.items()}
    cases["script of one line"] = lambda: Script.compile("return msg.t > 40;", Environment())
    measured = bench.measure({title: calling(case) for title, case in cases.items()})
    return [
        measured.row(
            "C", f"compile {title}", title, goal=COLD if title.endswith("cold") and "long" not in title else None
        )
        for title in cases
    ]
