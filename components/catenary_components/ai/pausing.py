"""Pauses of an agent: its question outlives the run, and the answer brings the agent back to where it was.

An agent at the top level of its chain leaves by `AwaitConfirm` or `AwaitExternal`; its record is in its session, or
with the engine's pauses. One inside a loop or another chain waits there, in memory.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from catenary import AWAIT_CONFIRM, AWAIT_EXTERNAL
from catenary.errors import AnswererRefused, AnswerInvalid
from catenary.jsontext import dumps
from catenary.message import JSON, metadata_text
from catenary.pauses.answers import NO_DATA
from catenary_components.ai import answers as given
from catenary_components.ai.models.wire import as_list, as_object
from catenary_components.ai.output import summary
from catenary_components.ai.permission.gate import note
from catenary_components.ai.phases._call_events import tell_settled
from catenary_components.ai.records import state_from_json, state_to_json
from catenary_components.ai.replying import (
    Reply,
    ask_of,
    check_held,
    read_reply,
    reply_in,
    shown_question,
    why_nothing,
)
from catenary_components.ai.sessions.node import call_in
from catenary_components.ai.sessions.slot import Fresh, Slot
from catenary_components.ai.state import FinishReason

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from catenary import Message, Relation
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary.pauses import Ask
    from catenary.pauses.parking import Resumed
    from catenary_components.ai.options.permission import PermissionSetting
    from catenary_components.ai.sessions.node import NodeSessions
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Toolbox

PAUSES: Final = {FinishReason.AWAIT_CONFIRM: AWAIT_CONFIRM, FinishReason.AWAIT_EXTERNAL: AWAIT_EXTERNAL}


class Pausing:
    """The pauses of one visit of an agent.

    Args:
        ctx: The context of the visit.
        msg: The message of the visit, with which the agent is run again.
        options: The settings of the agent.
        toolbox: Its tools.

    Attributes:
        reply: The answers that came; `None` when none did.
        slot: The session of the call; `None` without one.
    """

    def __init__(self, ctx: Context, msg: Message, options: PermissionSetting, toolbox: Toolbox) -> None:
        self.reply = reply_in(ctx, msg)
        self._ctx = ctx
        self._msg = msg
        self._options = options
        self._toolbox = toolbox
        self._taken: Resumed | None = None
        self.slot: Slot | None = None
        self._state: AgentState | None = None
        self._came_too_late = False

    @asynccontextmanager
    async def call(self, sessions: NodeSessions | None) -> AsyncGenerator[Slot | Fresh]:
        """Give what accompanies the call: its session, what was kept of it, or nothing."""
        resumed = self.reply.resumed if self.reply else None
        try:
            if sessions is None and resumed is not None:
                self._state = state_from_json(resumed.pause.kept)
                yield Fresh(self._state)
                return
            if sessions is not None and resumed is not None:
                kept = as_object(resumed.pause.kept)
                await sessions.sessions.restore(str(kept.get("session")), kept.get("record"))
            async with call_in(sessions, self._ctx, self._msg) as call:
                self._state = call.state
                self.slot = call if isinstance(call, Slot) else None
                yield call
        finally:
            if self._taken is not None:
                await self._taken.finish(is_late=self._came_too_late)

    # Going on

    async def begin(self, state: AgentState) -> bool:
        """Put the answers into the record, if some came.

        Returns: whether the agent goes on where it was; else it begins with what is said to it.

        Raises:
            AnswerInvalid, AnswererRefused, PauseError: When they are no answers; nothing was changed.
            AnswerMissing: When it waits for answers, and there are none.
            ApprovalExpired: When they come too late.
        """
        if self.reply is not None and self.reply.is_nothing and state.pending and not given.open_calls(state):
            return True
        if self.reply is None:
            return await self._without_answers(state)
        if not given.open_calls(state) and not (self.reply.resumed and state.pending):
            raise AnswerInvalid(why_nothing(self.reply, state))
        if self._is_late(state):
            await self._take(self.reply)
            await self._expire(state)
            raise given.ApprovalExpired(
                "nobody answered in time; the calls that were asked about are not run",
                hint="ask the agent again, or raise approvalTimeout",
            )
        if not given.open_calls(state):  # they were answered in a process that ended in the middle of them
            await self._take(self.reply)
            return True
        answers = self._read(self.reply, state)
        await self._take(self.reply)
        self._apply(state, answers)
        await self._settle_parked(state)
        await self.keep()
        return True

    async def _without_answers(self, state: AgentState) -> bool:
        """Deal with calls that are open still. Returns: whether they are to be run, as the caller says nothing new."""
        waiting = given.open_calls(state)
        if waiting and not self._is_late(state):
            names = ", ".join(f"{call.id} ({call.name})" for call in waiting)
            raise given.AnswerMissing(
                f"the agent waits for answers about the calls {names}",
                hint='send {"answers": [{"toolCallId": ..., "decision": "approve"}]}, or {"cancel": true}; '
                "in Python, `await agent.resume(...)`",
            )
        if waiting:
            await self._expire(state)
        elif state.pending and not self._msg.text.strip():
            return True
        elif state.pending:
            given.close_all(state, given.RECOVERED)
        else:
            return False
        if self.slot is not None:
            self.slot.begin_anew()
        return False

    def _read(self, reply: Reply, state: AgentState) -> given.Answers:
        if reply.resumed is None and self._options.approvers and reply.by not in self._options.approvers:
            raise AnswererRefused(
                f"{reply.by or 'somebody without a name'} may not answer here; these may: "
                f"{', '.join(self._options.approvers)}"
            )
        return read_reply(reply, state, self._toolbox)

    def _apply(self, state: AgentState, answers: given.Answers) -> None:
        """Put answers into the record; the calls that they are about are dealt with in the loop."""
        reply, now = cast("Reply", self.reply), self._ctx.clock.time_ms()
        said: list[Json] = [one.shown() for one in answers.calls]
        told: dict[str, Json] = {"id": state.question.get("id"), "answerer": reply.by}
        state.finish_reason = FinishReason.NORMAL
        given.apply_answers(state, answers, by=reply.by, time_ms=now)
        if answers.is_cancelled:
            state.question["ending"] = str(FinishReason.STOPPED)
        elif self._options.after_denial == "end" and any(one.decision == "deny" for one in answers.calls):
            state.question["ending"] = str(FinishReason.ALL_TOOLS_DENIED)
        for entry in given.log_entries(answers, by=reply.by):
            note(state, {**entry, "time": now})
        self._ctx.notify("approval.resolved", **told, cancelled=answers.is_cancelled, calls=said)

    # Being asked

    async def ask(self, state: AgentState) -> Relation | None:
        """Pause an agent that has asked.

        Returns: the relation by which it leaves; `None` when it waited, and has its answers.
        """
        relation = PAUSES[state.finish_reason]
        pauses = self._ctx.chain.engine.pauses
        if not pauses.is_inside(self._ctx) or self._ctx.is_connected(relation):
            await self._park(state)
            return relation
        answer = await self._wait(state)
        if answer is None:
            await self._expire(state)
            state.finish_reason = FinishReason.NORMAL
            return None
        self.reply = answer
        self._apply(state, read_reply(answer, state, self._toolbox))
        return None

    async def _park(self, state: AgentState) -> None:
        pauses = self._ctx.chain.engine.pauses
        if pauses.is_inside(self._ctx):
            return  # the chain around has connected the relation, and deals with the question
        pause = await pauses.park(self._ctx, self._asked(state), self._msg, self._kept(state))
        state.question["pause"] = [pause.run_id, pause.node_id, pause.visit]

    async def _wait(self, state: AgentState) -> Reply | None:
        pauses = self._ctx.chain.engine.pauses
        asked = self._asked(state, waits=True)
        message = self._msg.with_metadata({})
        check = partial(check_held, state, toolbox=self._toolbox)
        relation, answered = await pauses.wait(self._ctx, asked, message, check)
        if relation == asked.late:
            return None
        data = answered.metadata.get(asked.key, NO_DATA)
        by = metadata_text(answered.metadata.get("_answerer"))
        return Reply(data, relation, by, metadata_text(answered.metadata.get("_answerNote")))

    def _asked(self, state: AgentState, *, waits: bool = False) -> Ask:
        return ask_of(state, self._options.approvers, self._ctx.clock.time_ms(), waits=waits)

    # Writing down

    async def keep(self) -> None:
        """Write the record of the agent down as it is."""
        state = self._state
        if state is None:
            return
        if self.slot is not None:
            await self.slot.save()
        kept = self._kept(state)
        if self._taken is not None and (self.slot is None or "record" in kept):
            await self._taken.keep(kept)

    def _kept(self, state: AgentState) -> dict[str, Json]:
        """Give what a question keeps: the record of the agent, or where it is when it outlives the process there."""
        if self.slot is None:
            return state_to_json(state)
        record = self.slot.record
        return {"session": state.session_id} if record is None else {"session": state.session_id, "record": record}

    async def _take(self, reply: Reply) -> None:
        if reply.resumed is not None:
            await reply.resumed.take()
            self._taken = reply.resumed

    async def _settle_parked(self, state: AgentState) -> None:
        """Close what the engine's pauses have of a question that was answered by a message."""
        place = state.question.pop("pause", None)
        if self._taken is None and place:
            await self._ctx.chain.engine.pauses.settle_parked(cast("tuple[str, str, int]", tuple(as_list(place))))

    # Time

    def _is_late(self, state: AgentState) -> bool:
        if not given.open_calls(state):
            return False
        if self.reply is not None and self.reply.resumed is not None and self.reply.resumed.is_late:
            return True
        expires = state.question.get("expires")
        return isinstance(expires, int) and self._ctx.clock.time_ms() >= expires

    async def _expire(self, state: AgentState) -> None:
        self._came_too_late = True
        self._ctx.notify(
            "approval.expired",
            id=state.question.get("id"),
            calls=[call.id for call in given.open_calls(state)],
        )
        await self._settle_parked(state)
        asked = state.pending
        given.close_all(state, given.EXPIRED)
        tell_settled(self._ctx, self._toolbox, state, asked)
        await self.keep()


def paused_message(msg: Message, state: AgentState, model: str) -> Message:
    """Give the message by which a paused agent leaves: what it asks, as JSON."""
    return msg.with_data(dumps(shown_question(state)), JSON).put_all(summary(state, model))
