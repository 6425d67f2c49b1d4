"""F: what costs only those who ask for it: events, a recorder, retry, timeout; and what loading a chain takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import chains
from measuring import awaiting, calling

from catenary import Engine, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from measuring import Cases
    from table import Row

    from catenary.events import Event
    from rows import Bench


def rows(bench: Bench) -> list[Row]:
    """Measure what one more node costs with each of them, and loading."""
    plain, quiet = Engine(), Message(chains.TEXT)
    listened, recorded, written = Engine(), Engine(), Engine()
    listened.subscribe(lambda _event: None)
    recorded.subscribe(_recorder(lambda event: event))
    written.subscribe(_recorder(lambda event: event.to_dict()))
    cases: Cases = {
        **_pair("plain", plain, quiet),
        **_pair("events", listened, quiet),
        **_pair("recorder", recorded, quiet),
        **_pair("written", written, quiet),
        **_pair("timeout", plain, quiet, timeout=5),
        **_pair("retry", plain, quiet, retry=1),
        "load": calling(lambda: plain.make(chains.row_of(50, "bench/pass"))),
        "observed": calling(lambda: plain.make(chains.row_of(50, "bench/pass")).observed),
    }
    measured = bench.measure(cases)
    hop = {
        name: measured.samples.marginal(f"{name} few", f"{name} many", 40)
        for name in ("plain", "events", "recorder", "written", "timeout", "retry")
    }
    titles = {
        "events": "one more node, a listener that does nothing",
        "recorder": "one more node, a recorder that keeps all events",
        "written": "one more node, a recorder that keeps them as JSON values",
        "timeout": "one more node with `timeout`",
        "retry": "one more node with `retry`",
    }
    made = measured.samples["load"]
    both = measured.samples["observed"]
    return [
        *(measured.row("F", title, hop[name], hop["plain"], against="plain node") for name, title in titles.items()),
        measured.row("F", "load a chain of 50 nodes", made),
        measured.row("F", "its observed compilation, once", [two - one for one, two in zip(made, both, strict=True)]),
    ]


def _pair(name: str, engine: Engine, message: Message, **settings: Any) -> Cases:
    few = engine.load(chains.row_of(10, "bench/pass", **settings)).id
    many = engine.load(chains.row_of(50, "bench/pass", **settings)).id
    return {
        f"{name} few": awaiting(lambda: engine.run(few, message)),
        f"{name} many": awaiting(lambda: engine.run(many, message)),
    }


def _recorder(keep: Callable[[Event], object]) -> Callable[[Event], None]:
    """Give a listener that keeps the events of one run, and lets go of them when the next one starts."""
    kept: list[object] = []

    def record(event: Event) -> None:
        if event.seq == 1:
            kept.clear()
        kept.append(keep(event))

    return record
