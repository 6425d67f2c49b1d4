"""Where an agent is in its life, and how those who listen hear of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from catenary_components.ai.logbook import write

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.state import AgentState


class AgentStatus(StrEnum):
    """Where an agent is in its life.

    `IDLE` waits for work; `RUNNING` asks its model, `EXECUTING` runs tools, `PLANNING` makes a plan;
    `WAITING_USER_INPUT` is paused until somebody answers; `DONE` has answered, after which it is idle; `FAILED` came to
    one of its own limits, or its plan failed; `ERROR` was ended by an error, until the next call.
    """

    IDLE = "idle"
    PLANNING = "planning"
    EXECUTING = "executing"
    RUNNING = "running"
    WAITING_USER_INPUT = "waiting_user_input"
    DONE = "done"
    FAILED = "failed"
    ERROR = "error"


def report(ctx: Context, state: AgentState, status: AgentStatus) -> None:
    """Have the agent be in another status; those who listen hear of it by the event `agent.status`."""
    if state.status is not status:
        state.status = status
        write(ctx, "the agent is %s", str(status))
        ctx.notify("agent.status", status=str(status))
