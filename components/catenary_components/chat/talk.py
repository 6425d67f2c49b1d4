"""One conversation: what was said in it, with whom, and what it took."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from catenary import Message
from catenary.errors import AnswerInvalid, CatenaryError
from catenary.events import NodeEvent
from catenary_components.ai.answers import AnswerMissing, open_calls
from catenary_components.ai.calling import AgentCall
from catenary_components.ai.messages import Usage
from catenary_components.ai.replying import ANSWERS
from catenary_components.ai.state import FinishReason
from catenary_components.chat.asking import NOBODY, Asking, asked_in, told_in
from catenary_components.chat.choosing import Choosing
from catenary_components.chat.granting import Granting
from catenary_components.chat.members import OWN, kept, members_of
from catenary_components.chat.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from catenary import Chain, Outcome
    from catenary.events import Event
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ChatMessage, ToolCall
    from catenary_components.ai.sessions.info import SessionInfo
    from catenary_components.ai.state import AgentState

GrantedT = TypeVar("GrantedT")


class Talk:
    """A conversation with the agents of a chain.

    Args:
        chain: Who is talked to.
        session: The session it is kept in.
        runner: Runs its turns.

    Attributes:
        session: The session.
        shows_thinking: Whether what the model thinks is shown.
        yes_to_reads: Whether tools that change nothing may run without being asked about.
        can_ask: Whether somebody is there to be asked; else what is asked about is refused.
        name: Who talks; empty if nobody in particular.
        usage: The tokens of all turns.
        cost: What they cost, in US dollars.
    """

    def __init__(self, chain: Chain, session: str, runner: asyncio.Runner) -> None:
        self.chain = chain
        self.session = session
        self.shows_thinking = False
        self.yes_to_reads = False
        self.can_ask = False
        self.name = ""
        self.usage = Usage()
        self.cost = 0.0
        self._runner = runner
        self._members = members_of(chain)
        self._answering: set[asyncio.Task[None]] = set()

    def say(self, text: str | dict[str, Json]) -> bool:
        """Say something and show the answer; Ctrl-C asks the agent to stop, a second one ends the turn at once.

        Returns: whether there was an answer.
        """
        call, shown = AgentCall(), Shown(thinking=self.shows_thinking)
        try:
            with _interrupting(call, self._runner.get_loop()) as cut:
                outcome = self._runner.run(self._turn(text, call, shown, cut))
        except asyncio.CancelledError:
            shown.tell("interrupted; the turn was ended at once", "yellow")
            return False
        return self._sum_up(text, call, shown, outcome)

    async def _turn(
        self, text: str | dict[str, Json], call: AgentCall, shown: Shown, cut: list[Callable[[], object]]
    ) -> Outcome:
        task = asyncio.current_task()
        assert task is not None
        cut.append(task.cancel)
        metadata: dict[str, Json] = {"sessionKey": self.session, "stream": "true"}
        if self.name:
            metadata |= {"answerer": self.name, "userId": self.name}
        message = Message(text, data_type="TEXT" if isinstance(text, str) else "JSON", metadata=metadata)
        return await self.chain.run(message, scope=[call], listener=partial(self._note, shown))

    def _sum_up(self, said: str | dict[str, Json], call: AgentCall, shown: Shown, outcome: Outcome) -> bool:
        state = call.state
        if state is not None and not open_calls(state):  # what a pause has taken is in what goes on
            self.usage += state.usage
            self.cost += state.cost or 0.0
        if outcome.status == "failed":
            return self._fail(said, state, shown, outcome)
        if state is not None and state.finish_reason is FinishReason.STOPPED:
            shown.tell("interrupted; what was said so far is kept", "yellow")
            return True
        if state is not None and state.finish_reason.is_pause:
            return self._settle(state)
        if outcome.status == "paused":
            shown.tell("the chain waits for an answer that is not the agent's; /clear begins anew", "yellow")
            return False
        shown.answer(outcome.message.text)
        return True

    def _fail(self, said: str | dict[str, Json], state: AgentState | None, shown: Shown, outcome: Outcome) -> bool:
        """Tell of an error. When a question is open, it is asked first, and what was said is said again."""
        error = outcome.error
        cause = (error.__cause__ if error is not None else None) or error
        shown.end_line()
        if state is not None and isinstance(cause, AnswerMissing):
            shown.tell("a question of this session is open", "yellow")
            return self._settle(state) and self.say(said)
        click.echo(f"{click.style('error', fg='red', bold=True)}: {cause}", err=True)
        if state is not None and isinstance(cause, AnswerInvalid) and self.can_ask:
            return self._settle(state)
        hint = getattr(cause, "hint", "")
        if hint:
            click.echo(f"  {hint}", err=True)
        return False

    def _settle(self, state: AgentState) -> bool:
        """Ask about the calls that wait, and go on with the answers. Returns: whether that came to an answer."""
        answers = self._asking().answers(open_calls(state), told_in(state))
        if "cancel" in answers and not self.can_ask:
            click.echo(f"the agent needs results from outside, and {NOBODY}; its question is over", err=True)
        return self.say(answers) and "cancel" not in answers

    def _asking(self) -> Asking:
        return Asking(can_ask=self.can_ask, agrees=self._agrees)

    # Questions of agents inside other chains, which wait there while the turn goes on

    def _note(self, shown: Shown, event: Event) -> None:
        shown.note(event)
        if isinstance(event, NodeEvent) and event.name == "wait.open":
            self._runner.get_loop().call_soon(self._ask_inside, shown, event)

    def _ask_inside(self, shown: Shown, event: NodeEvent) -> None:
        """Ask about the calls of an agent that waits inside; everything else stands still meanwhile."""
        asked = asked_in(event)
        if not asked:
            shown.tell(
                f"the chain waits: {event.data.get('title') or event.node_id}; Ctrl-C twice ends the turn", "yellow"
            )
            return
        shown.end_line()
        with _keys_interrupt():
            answers = self._asking().answers([call for call, _ in asked], {call.id: told for call, told in asked})
        task = self._runner.get_loop().create_task(self._give(shown, event, answers))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _give(self, shown: Shown, event: NodeEvent, answers: dict[str, Json]) -> None:
        parts: Any = {"visit": event.data.get("visit"), "answerer": self.name, "relation": ANSWERS, "data": answers}
        try:
            await self.chain.engine.answer(event.run_id, event.node_id, **parts)
        except CatenaryError as error:
            shown.tell(f"{error}", "yellow")

    def _agrees(self, call: ToolCall) -> bool:
        return self.yes_to_reads and self._is_read_only(call.name)

    def _is_read_only(self, name: str) -> bool:
        found = (member.agent.toolbox.get(name) for member in self._members)
        return any(tool is not None and tool.is_read_only for tool in found)

    def history(self) -> list[ChatMessage]:
        """Give what was said in the session."""
        return self._runner.run(self._read())

    async def _read(self) -> list[ChatMessage]:
        said: list[ChatMessage] = []
        for sessions, key in kept(self._members, self.session):
            state = await sessions.read(key)
            said += state.messages if state else []
        return said

    def clear(self) -> None:
        """Forget what was said in the session."""
        self._runner.run(self._clear())

    async def _clear(self) -> None:
        for sessions, key in kept(self._members, self.session):
            await sessions.clear(key)

    def grant(self, change: Callable[[Granting], Coroutine[Any, Any, GrantedT]]) -> GrantedT:
        """Look at what may run in the session, or change it."""
        return self._runner.run(change(Granting(self._members, self.session)))

    def sessions(self) -> list[SessionInfo]:
        """Give the sessions that the first agent keeps."""
        return self._runner.run(self._sessions())

    async def _sessions(self) -> list[SessionInfo]:
        found: list[SessionInfo] = []
        for sessions, _ in kept(self._members[:1], ""):
            found += await sessions.overview(await sessions.keys())
        return sorted(found, key=lambda one: one.last_ms)

    def entitle(self, title: str) -> None:
        """Give the session a title."""
        self._runner.run(self._entitle(title))

    async def _entitle(self, title: str) -> None:
        for sessions, key in kept(self._members, self.session):
            await sessions.entitle(key, title)

    def begin(self, session: str) -> None:
        """Begin another session, with the model of this one, or go on with one that is there."""
        kept = self._runner.run(self._choosing().model())
        self.session = session
        if kept:
            self._runner.run(self._choosing().begin_with(kept))

    def choose_model(self, name: str) -> None:
        """Go on with another model in this session. Raises: EngineError: when it cannot be asked."""
        self._runner.run(self._choosing().choose("" if name == OWN else name))

    def own_model(self) -> str:
        """Give the model that answers."""
        return self._runner.run(self._choosing().model()) or str(self._members[0].agent.config.model)

    def _choosing(self) -> Choosing:
        return Choosing(self._members, self.session)

    def tools(self) -> list[tuple[str, str]]:
        """Give the tools of the agents, with what each is for."""
        return [(spec.name, spec.description) for member in self._members for spec in member.agent.toolbox.specs()]


@contextlib.contextmanager
def _keys_interrupt() -> Generator[None]:
    """Have Ctrl-C interrupt what is typed while this is open."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _interrupting(call: AgentCall, loop: asyncio.AbstractEventLoop) -> Generator[list[Any]]:
    """Let Ctrl-C ask the agent to stop while this is open; a second one calls what the block has put into the list."""
    cut: list[Callable[[], object]] = []
    if threading.current_thread() is not threading.main_thread():
        yield cut
        return

    def stop(_number: int, _frame: object) -> None:
        if call.stop:
            for end in cut:
                loop.call_soon_threadsafe(end)
        call.stop.set()
        loop.call_soon_threadsafe(lambda: None)  # wakes the loop, which may be waiting for the network

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield cut
    finally:
        signal.signal(signal.SIGINT, before)
