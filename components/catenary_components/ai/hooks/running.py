"""The hooks during one run of an agent: leads what passes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import Message
from catenary.errors import EngineError
from catenary.message import metadata_text
from catenary_components.ai.hooks.acting import ActingRun
from catenary_components.ai.hooks.steps import AgentStep, ModelStep, PromptStep
from catenary_components.ai.messages import assistant_message, tool_message
from catenary_components.ai.models.types import Piece, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.component import Context, End
    from catenary_components.ai.hooks.roster import Hooks, PointTable
    from catenary_components.ai.models.types import ChatRequest
    from catenary_components.ai.runtime_context import RuntimeContext
    from catenary_components.ai.sessions.slot import Slot
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

    PieceFilter = Callable[[Piece], Awaitable[Piece]]
    ModelCall = Callable[[ChatRequest, PieceFilter | None], Awaitable[Reply]]

COMMAND_REPLY: Final = "_isCommandResponse"
"""Metadata of an answer that no session keeps: `true` when it answers a command and belongs to no conversation."""

NOT_RUN: Final = "[ERROR] Not run: the agent goes back to its task."
_POINT_OF: Final = {"reasoning": "reasoning", "limit": "summary"}
_OWN_PROMPTS: Final = ("compaction", "memory")
"""Purposes of model calls that are no part of the conversation: the agent's system prompt is not theirs."""


class HookRun(ActingRun):
    """The hooks of an agent during one of its runs."""

    __slots__ = ("_step",)

    def __init__(self, hooks: Hooks, state: AgentState, context: RuntimeContext, session: Slot | None = None) -> None:
        super().__init__(hooks, state, context, session)
        self._step: AgentStep | None = None

    @property
    def message(self) -> Message:
        """The message that the agent was given."""
        return self._step.message if self._step is not None else Message("")

    # The whole run

    async def agent(
        self, ctx: Context, msg: Message, setup: AgentSetup, loop: Callable[[Message], Awaitable[Message]]
    ) -> Message:
        """Run the agent. Returns: what it answers."""
        step = self._step = AgentStep(ctx=ctx, state=self.state, setup=setup, run=self, message=msg)
        has_run = False

        async def core() -> None:
            nonlocal has_run
            has_run = True
            _settle_system(self.state)
            step.answer = await loop(step.message)

        try:
            await self.through("agent", step, core, outcome="answer")
            if step.answer is None:
                step.answer = step.message.with_data(self.state.answer, "TEXT")
            if not has_run:
                _say(self.state, step.answer)
        except BaseException as error:
            step.error = error
            raise
        finally:
            for call in self.hooks.completed:
                await self.quietly(call, "completed", step)
            if self.stop_reason is not None and self.state.stop:
                self.state.finish_reason = self.stop_reason
        return step.answer

    def listening(self, pass_on: Callable[[End], Awaitable[None]]) -> Callable[[End], Awaitable[None]]:
        """Give what takes the ends of the loop, with the hooks of what goes out on the way."""
        table = self.hooks.points.get("agent")
        if table is None or not table.chunks:
            return pass_on

        async def listening(end: End) -> None:
            message = await self.through_chunks(table, self._step, end.message)
            await pass_on(end if message is end.message else end._replace(message=message))

        return listening

    # Calls of the model

    async def ask(self, ctx: Context, setup: AgentSetup, request: ChatRequest, purpose: str, call: ModelCall) -> Reply:
        """Call the model. Returns: its reply, or what a hook has put in its place."""
        step = ModelStep(ctx=ctx, state=self.state, setup=setup, run=self, purpose=purpose).read(request)
        point = _POINT_OF.get(purpose, "")

        async def core() -> None:
            step.reply = await self._model_call(step, request, self.hooks.points.get(point), call)

        await self.through(point, step, core, outcome="reply")
        return step.reply or Reply()

    async def _model_call(
        self, outer: ModelStep, request: ChatRequest, table: PointTable | None, call: ModelCall
    ) -> Reply | None:
        if self.state.stop:
            return Reply()
        step = outer.inner()
        if step.purpose not in _OWN_PROMPTS:
            await self._prompt(step)

        async def core() -> None:
            step.reply = Reply() if self.state.stop else await call(step.request(request), self._filter(step, table))

        await self.through("model_call", step, core, outcome="reply")
        return step.reply

    async def _prompt(self, step: ModelStep) -> None:
        table = self.hooks.points.get("system_prompt")
        if table is None:
            return
        prompt = PromptStep(ctx=step.ctx, state=self.state, setup=step.setup, run=self, prompt=step.system_prompt)
        await self.through("system_prompt", prompt, _nothing)
        step.system_prompt = await self.through_chunks(table, prompt, prompt.prompt)

    def _filter(self, step: ModelStep, outer: PointTable | None) -> PieceFilter | None:
        both = (self.hooks.points.get("model_call"), outer)
        tables = [table for table in both if table is not None and table.chunks]
        if not tables:
            return None

        async def filtered(piece: Piece) -> Piece:
            for table in tables:
                piece = await self.through_chunks(table, step, piece)
            return piece

        return filtered

    async def summarize(self, ctx: Context, setup: AgentSetup, shorten: Callable[[], Awaitable[None]]) -> None:
        """Make the conversation shorter."""
        state = self.state
        step = ModelStep(
            ctx=ctx, state=state, setup=setup, run=self, purpose="compaction",
            system_prompt=state.system_prompt, messages=list(state.messages),
        )  # fmt: skip

        async def core() -> None:
            state.messages = list(step.messages)
            if not state.stop:
                await shorten()
            step.messages = list(state.messages)

        await self.through("summary", step, core)
        state.messages = list(step.messages)

    def goes_back(self, ctx: Context) -> bool:
        """Do what a hook has asked for with `goto`; False when none has."""
        messages, self.gone_back = self.gone_back, None
        if messages is None or self.state.stop:
            return False
        state = self.state
        for call in state.pending:
            state.messages.append(tool_message(call.id, NOT_RUN, name=call.name, state="interrupted"))
        state.messages += messages
        ctx.notify("hook.goto", messages=[message.text for message in messages])
        return True


def _settle_system(state: AgentState) -> None:
    """Make the system prompt of system messages that hooks have put into the conversation.

    Raises:
        EngineError: When there is a system prompt already, which a hook has to change where it is.
    """
    systems = [message.text for message in state.messages if message.role == "system"]
    if systems and state.system_prompt:
        raise EngineError(
            "a hook has put a system message into the conversation of an agent that has a system prompt",
            hint="change step.system_prompt instead",
        )
    if systems:
        state.system_prompt = "\n\n".join(systems)
        state.messages = [message for message in state.messages if message.role != "system"]


def _say(state: AgentState, answer: Message) -> None:
    """Put the answer of a hook that answered in the place of the agent into the conversation, for a session to keep."""
    state.answer = answer.text
    if metadata_text(answer.metadata.get(COMMAND_REPLY)) != "true":
        state.messages.append(assistant_message(answer.text))


async def _nothing() -> None:
    """Do nothing: the hooks of the system prompt do all there is to do."""
