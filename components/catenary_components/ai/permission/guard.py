"""A guard of the user's own, written as a chain: it looks at each call, and may stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from catenary import FAILURE, Message
from catenary.component import answer_of
from catenary.message import JSON

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.named_chain import NamedChain
    from catenary_components.ai.permission.rules import Behavior
    from catenary_components.ai.permission.subject import Subject
    from catenary_components.ai.state import AgentState

MESSAGE_TYPE: Final = "TOOL_GUARD"


class GuardVerdict(NamedTuple):
    """What the guard says of a call."""

    decision: Behavior
    reason: str


class Guard:
    """Runs a chain with each call: JSON with `tool`, `arguments`, `kind`, `readOnly`, `sessionId` and `userId`.

    The chain answers with JSON: `decision` (`allow`, `ask` or `deny`) and `reason`. It can stop a call and cannot let
    one pass that something else stops. A guard that fails, or gives no such answer, has the call asked about.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: NamedChain) -> None:
        self._chain = chain

    async def judge(self, ctx: Context, state: AgentState, subject: Subject) -> GuardVerdict:
        """Have the chain look at a call."""
        told: dict[str, Json] = {
            "tool": subject.tool.name,
            "arguments": dict(subject.arguments),
            "kind": subject.tool.kind,
            "readOnly": subject.is_read_only,
            "sessionId": state.session_id,
            "userId": state.user_id,
        }
        try:
            ends = await ctx.run_chain(self._chain.chain, Message(told, MESSAGE_TYPE, data_type=JSON))
        except Exception as error:
            return GuardVerdict("ask", f"the guard failed: {error}")
        failed = next((end for end in ends if end.relation == FAILURE), None)
        if failed is not None:
            return GuardVerdict("ask", f"the guard failed: {failed.reason}")
        answer = answer_of(ends)
        return _read(answer.message.value if answer else None)

    async def close(self) -> None:
        """Close the chain."""
        await self._chain.close()


def _read(value: Json) -> GuardVerdict:
    members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    decision = members.get("decision")
    reason = str(members.get("reason") or "the guard says so")
    if decision not in ("allow", "ask", "deny"):
        return GuardVerdict("ask", "the guard gave no decision")
    return GuardVerdict(decision, reason)
