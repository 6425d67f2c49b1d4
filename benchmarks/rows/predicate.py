"""P: predicates over lists, against comprehensions."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from measuring import calling
from peers.evaluators import Formula
from table import Goal

from catenary import Expression, Message
from rows.formula import against_best

if TYPE_CHECKING:
    from collections.abc import Callable

    from table import Row

    from rows import Bench

FILTER: Final = Formula(
    ours="filter(msg.xs, # > 1)",
    cel="msg.xs.filter(x, x > 1.0)",
    jinja="msg['xs'] | select('gt', 1) | list",
    zen="filter(msg.xs, # > 1)",
    simple="[x for x in msg['xs'] if x > 1]",
)
FURTHER: Final[list[tuple[str, Goal, Callable[[Any], Any]]]] = [
    ("map(msg.xs, # * 2)", Goal(), lambda msg: [x * 2 for x in msg.value["xs"]]),
    ("any(msg.xs, # > 9)", Goal(), lambda msg: any(x > 9 for x in msg.value["xs"])),
    ("sum(msg.items, .price * .count)", Goal(), lambda msg: sum(x["price"] * x["count"] for x in msg.value["items"])),
    (
        "map(filter(msg.items, .count > 1), .name)",
        Goal(),
        lambda msg: [x["name"] for x in [x for x in msg.value["items"] if x["count"] > 1]],
    ),
]


def rows(bench: Bench) -> list[Row]:
    """Measure a filter over short and long lists, and other functions with predicates over short ones."""
    return [*_filter(bench, 10), *_filter(bench, 1_000), *_further(bench)]


def _filter(bench: Bench, count: int) -> list[Row]:
    value = {"xs": [number * 0.5 - 1 for number in range(count)]}
    message = Message(value)
    call = Expression.compile(FILTER.ours).call

    def hand(msg: Any) -> Any:
        return [x for x in msg.value["xs"] if x > 1]

    others = FILTER.cases({"msg": value}) if count == 10 else {}
    assert call(message) == hand(message)
    cases = {"ours": lambda: call(message), "hand": lambda: hand(message), **others}
    measured = bench.measure({name: calling(case) for name, case in cases.items()})
    peers = {name: median(measured.samples[name]) for name in others}
    title = f"`{FILTER.ours}`, {count} elements"
    return [
        measured.row("P", title, "ours", "hand", goal=Goal(ratio=3), peers=peers),
        *against_best(measured, "P", others),
    ]


def _further(bench: Bench) -> list[Row]:
    items = [{"name": f"part {number}", "price": number * 1.5, "count": number % 4} for number in range(10)]
    message = Message({"xs": list(range(10)), "items": items})
    made: list[Row] = []
    for source, goal, hand in FURTHER:
        call = Expression.compile(source).call
        assert call(message) == hand(message), source
        measured = bench.measure(
            {
                "ours": calling(lambda call=call: call(message)),
                "hand": calling(lambda hand=hand: hand(message)),
            }
        )
        made.append(measured.row("P", f"`{source}`, 10 elements", "ours", "hand", goal=goal))
    return made
