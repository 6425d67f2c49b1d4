"""A: JSON text -> exprFilter -> exprTransform -> end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import by_hand
import chains
from measuring import awaiting, calling
from table import Goal, Row

from catenary import Message, jsontext

if TYPE_CHECKING:
    from rows import Bench

GOALS = {"orjson": Goal(ratio=4, figure=3), "json": Goal(ratio=3, figure=5)}


def has_orjson() -> bool:
    """Tell whether orjson is there, which catenary uses then."""
    return jsontext.loads.__name__ != "_stdlib_loads"


def rows(bench: Bench) -> list[Row]:
    """Measure the chain with the JSON library that is there: awaited, without an event loop, and with text out."""
    library, plain_loads = _json_library()
    engine, text = bench.engine, chains.TEXT
    chain_id = bench.load(chains.message_chain())
    chain = engine.get(chain_id)

    async def with_text_out() -> object:
        outcome = await engine.run(chain_id, Message(text, "telemetry", metadata={"kind": "a"}))
        return outcome.ok and outcome.message.data

    measured = bench.measure(
        {
            "ours": awaiting(lambda: engine.run(chain_id, Message(text))),
            "sync": calling(lambda: chain.run_sync(Message(text))),
            "out": awaiting(with_text_out),
            "hand": awaiting(lambda: by_hand.handle_message(text, plain_loads)),
            "hand sync": calling(lambda: by_hand.handle_message_sync(text, plain_loads)),
        },
        ["message"],
    )
    return [
        measured.row("A", f"JSON text to end, {library}", "ours", "hand", goal=GOALS[library], peer="message"),
        measured.row("A", f"the same by `run_sync`, {library}", "sync", "hand sync"),
        measured.row("A", f"the same with metadata, outcome and text out, {library}", "out"),
    ]


def _json_library() -> tuple[str, by_hand.Loads]:
    if has_orjson():
        import orjson

        return "orjson", orjson.loads
    return "json", json.loads
