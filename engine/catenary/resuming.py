"""Answer a pause wherever its run is: in this engine, in another process, or nowhere any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.answers import Answer

if TYPE_CHECKING:
    from catenary.answers import AnswerParts
    from catenary.engine import Engine
    from catenary.outcome import Outcome


async def answer(engine: Engine, run_id: str, node_id: str, parts: AnswerParts) -> Outcome | None:
    """Answer a pause, see `Engine.answer`."""
    engine.pauses.answer(run_id, node_id, parts.get("visit"), _answer_of(parts))
    return None


def answer_sync(engine: Engine, run_id: str, node_id: str, parts: AnswerParts) -> Outcome | None:
    """Answer a pause, see `Engine.answer_sync`."""
    engine.pauses.answer(run_id, node_id, parts.get("visit"), _answer_of(parts))
    return None


def _answer_of(parts: AnswerParts) -> Answer:
    return Answer.from_dict({name: part for name, part in parts.items() if name != "visit"})
