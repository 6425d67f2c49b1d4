"""What agents do, as lines of the logger `catenary.agent`; nothing is done where that is not switched on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_logger: Final = logging.getLogger("catenary.agent")


def write(ctx: Context, text: str, *values: object, level: int = logging.DEBUG) -> None:
    """Write a line; secrets in its values are masked."""
    if _logger.isEnabledFor(level):
        masker = ctx.chain.engine.masker
        masked = [masker.text(value) if isinstance(value, str) else value for value in values]
        _logger.log(level, text, *masked, extra={"node": ctx.node_id, "chain": ctx.chain.id})


def write_decision(ctx: Context, state: AgentState, setup: AgentSetup, relation: object) -> None:
    """Write by which relation a phase of the loop goes on, and in which round."""
    if not _logger.isEnabledFor(logging.DEBUG):
        return
    most = setup.loop.max_rounds
    place = f"{state.rounds}/{most}" if most else str(state.rounds)
    write(ctx, "Iteration %s, model call %d: %s goes on by %s", place, state.steps, ctx.node_id, str(relation))
