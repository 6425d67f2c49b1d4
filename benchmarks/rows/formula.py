"""L: compiled expressions, against lambdas over the same message and against other evaluators."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from measuring import calling, ratio
from peers.evaluators import Formula
from table import Goal

from catenary import Expression, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from measuring import Cases
    from table import Row

    from rows import Bench, Measured

VALUE: Final[dict[str, Any]] = {
    "deviceId": "sensor-17",
    "t": 45.5,
    "a": 3,
    "b": 4.5,
    "ok": True,
    "place": {"room": "7"},
}
METADATA: Final = {"kind": "a"}


def _arithmetic(message: Message) -> Any:
    value: Any = message.value
    return value["a"] * value["b"] + value["a"] - value["b"] / 2


FORMULAS: Final[list[tuple[str, Goal, Callable[[Any], Any], Callable[[Any], Any]]]] = [
    ("msg.t > 40", Goal(ratio=1.5), lambda msg: msg.value["t"] > 40, lambda value: value["t"] > 40),
    (
        "msg.place.room",
        Goal(ratio=1.5),
        lambda msg: msg.value["place"]["room"],
        lambda value: value["place"]["room"],
    ),
    (
        "msg.t * 1.8 + 32",
        Goal(ratio=3),
        lambda msg: msg.value["t"] * 1.8 + 32,
        lambda value: value["t"] * 1.8 + 32,
    ),
    (
        "msg.a * msg.b + msg.a - msg.b / 2",
        Goal(ratio=3),
        _arithmetic,
        lambda value: value["a"] * value["b"] + value["a"] - value["b"] / 2,
    ),
]
COMPOUND: Final = Formula(
    ours="msg.t > 40 && metadata.kind == 'a'",
    cel="msg.t > 40.0 && metadata.kind == 'a'",
    jinja="msg['t'] > 40 and metadata['kind'] == 'a'",
    zen="msg.t > 40 and metadata.kind == 'a'",
    simple="msg['t'] > 40 and metadata['kind'] == 'a'",
)


def rows(bench: Bench) -> list[Row]:
    """Measure each formula on a message that was parsed before."""
    message = Message(VALUE, "telemetry", metadata=METADATA)
    made = [row for formula in FORMULAS for row in _lambdas(bench, message, *formula)]
    return [*made, *_compound(bench, message)]


def _lambdas(
    bench: Bench, message: Message, source: str, goal: Goal, hand: Callable[[Any], Any], bare: Callable[[Any], Any]
) -> list[Row]:
    call = Expression.compile(source).call
    assert call(message) == hand(message) == bare(VALUE), source
    cases: Cases = {
        "ours": calling(lambda: call(message)),
        "hand": calling(lambda: hand(message)),
        "bare": calling(lambda: bare(VALUE)),
    }
    measured = bench.measure(cases)
    return [
        measured.row("L", f"`{source}`", "ours", "hand", goal=goal),
        measured.row("L", "the same", "ours", "bare", against="a lambda over the bare dict"),
    ]


def _compound(bench: Bench, message: Message) -> list[Row]:
    call = Expression.compile(COMPOUND.ours).call
    others = COMPOUND.cases({"msg": VALUE, "metadata": METADATA})
    assert call(message) is True and all(evaluate() for evaluate in others.values())
    cases: Cases = {
        "ours": calling(lambda: call(message)),
        "hand": calling(lambda: message.value["t"] > 40 and message.metadata["kind"] == "a"),
        **{name: calling(evaluate) for name, evaluate in others.items()},
    }
    measured = bench.measure(cases)
    title = f"`{COMPOUND.ours}`"
    peers = {name: median(measured.samples[name]) for name in others}
    return [
        measured.row("L", title, "ours", "hand", goal=Goal(ratio=1.5, figure=0.3), peers=peers),
        *against_best(measured, "L", others, Goal(ratio=0.2)),
    ]


def against_best(measured: Measured, group: str, others: dict[str, Any], goal: Goal | None = None) -> list[Row]:
    """Give the row that compares with the quickest of the other evaluators."""
    if not others:
        return []
    best = min(others, key=lambda name: ratio(measured.samples[name], measured.samples["ours"]))
    return [measured.row(group, "the same", "ours", best, goal=goal, against=best)]
