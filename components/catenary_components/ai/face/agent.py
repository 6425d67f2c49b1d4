"""`Agent`: an agent in a few lines of Python. It is a chain with one `ai/agent` node, and can be saved as one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args, overload

from catenary import Engine
from catenary.errors import ConfigError, EngineError
from catenary_components.ai.face import definition
from catenary_components.ai.face.blocks import Blocks
from catenary_components.ai.face.calls import Running, at_work, call_options, context_of, refuse_loop
from catenary_components.ai.face.reply import AgentReply, answer_in, raise_failure
from catenary_components.ai.face.said import answered, chat_messages, message_of
from catenary_components.ai.face.told import told
from catenary_components.ai.messages import timed_by
from catenary_components.ai.permission.granted import SessionPermissions
from catenary_components.ai.state import AgentState, SessionModel
from catenary_components.ai.status import AgentStatus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from catenary import Chain, Message, Outcome
    from catenary.events import Event
    from catenary.jsontext import Json
    from catenary_components.ai.agent import AgentNode
    from catenary_components.ai.calling import AgentCall
    from catenary_components.ai.face.blocks import BlockEvent
    from catenary_components.ai.face.said import Answers, Said
    from catenary_components.ai.presets import Preset
    from catenary_components.ai.sessions.hold import Sessions

Vocabulary = Literal["events", "blocks"]


class Agent:
    """An agent: asks its model, runs the tools that it asks for, remembers what was said.

    Safe to use from many tasks. It closes its own engine with `await agent.close()`, or as `async with`; without an
    event loop with `agent.close_sync()`, or as `with`.

    Args:
        name: Its name; the chain's id is made of it.
        system_prompt: What the model is told first: a template.
        model: `provider:name`, such as `openai:gpt-4o`, with the key from the provider's environment variable.
        tools: Functions, those with settings (`tool(look, read_only=True)`), names of functions or built-in tools, and
            objects as in a chain. Calls of tools that may change something have to be approved, unless `permission`
            says otherwise.
        preset: Whose defaults hold for all that is not set here, see the option of the node.
        max_iters: Most rounds of tools, by default 10; then the model has to answer without them.
        check_running: Whether a call fails at once while another uses its session, which it does by default; else it
            waits.
        store: Where sessions are kept, see the option `session`; `None` for an agent that does not remember. Files may
            lie anywhere, seen from the current folder.
        folder: Where built-in tools work, and where results of tools of more than 80,000 characters are put, of which
            the model gets a preview; an engine that is given must allow it by its `roots`. Without one, tools for files
            and commands cannot be had, and long results are cut.
        engine: The engine it runs in; one of its own if absent.
        **options: Any other option of the node `ai/agent`, in snake_case. `hooks` may be objects.

    Attributes:
        functions: The functions in `tools`.

    Raises:
        TypeError: When there is no such option.
        EngineError: When something in `tools` is no tool.
    """

    def __init__(  # noqa: PLR0913 - all but the first by name
        self,
        name: str,
        *,
        system_prompt: str = "",
        model: str = "",
        tools: Iterable[Any] = (),
        preset: Preset = "python",
        max_iters: int | None = None,
        check_running: bool | None = None,
        store: str | None = "memory",
        folder: str = "",
        engine: Engine | None = None,
        **options: Any,
    ) -> None:
        self.name = name
        self._own_engine = engine is None
        self.engine = engine or Engine(roots=[folder] if folder else ())
        self.functions: list[Callable[..., Any]] = []
        entries = definition.tool_entries(tools, self.functions)
        options["hooks"] = definition.hook_entries(options.get("hooks"), self.engine)
        given = {"system_prompt": system_prompt or None, "model": model or None, "tools": entries or None, **options}
        own = definition.own_settings(name, preset, max_iters, check_running=check_running, store=store)
        self._settings = definition.with_eviction(
            definition.laid_over(own, definition.settings_of(given)), preset, folder
        )
        definition.check_names(self._settings)
        self._id = definition.chain_id_of(name)
        self._chain: Chain | None = None
        self._calls: dict[AgentCall, str] = {}
        self._status = AgentStatus.IDLE

    # What it is

    def chain(self) -> dict[str, Json]:
        """Give the agent as the definition of a chain, to save as a file. Functions are named in it, not contained:
        whoever runs the file registers them with `engine.tool`.
        """
        return definition.chain_of(self._id, self.name, self._settings)

    @property
    def status(self) -> AgentStatus:
        """Where the agent is in its life; of several calls at once, the one that began last."""
        running = next((call.state for call in reversed(self._calls) if call.state is not None), None)
        return self._status if running is None else running.status

    # Calls

    async def call(
        self,
        messages: Said = "",
        *,
        session: str = "",
        user: str = "",
        attributes: Mapping[str, Json] | None = None,
        scope: Iterable[Any] = (),
        model: str = "",
    ) -> AgentReply:
        """Say something and give the answer.

        Args:
            messages: A text, a `ChatMessage`, an object as in the OpenAI format, or a list of these.
            session: Whose conversation it belongs to; the agent's own if empty.
            user: Who says it.
            attributes: Metadata of the message, which templates and tools can read.
            scope: Values that tools and hooks find by their type: `ctx.scope[Type]`, or a parameter of that type.
            model: Another model for this call.

        Raises:
            CatenaryError: When there is no answer: `ModelError`, `SessionBusy`, `BudgetExceeded` and others.
        """
        message = self._message(messages, session, user, attributes, model)
        values = context_of(scope, session or self.name, user, attributes)
        with self._begin(session) as call:
            outcome = await self._loaded.run(message, scope=[call, *values])
        return self._reply(call, outcome, session)

    def call_sync(self, messages: Said = "", *, session: str = "", **options: Any) -> AgentReply:
        """Say something where no event loop runs, and give the answer; see `call`.

        Raises:
            EngineError: Inside a running event loop.
        """
        refuse_loop()
        scope = options.pop("scope", ())
        message = self._message(messages, session, **call_options(options))
        values = context_of(scope, session or self.name, options.get("user", ""), options.get("attributes"))
        with self._begin(session) as call:
            outcome = self._loaded.run_sync(message, scope=[call, *values])
        return self._reply(call, outcome, session)

    async def execute(self, goal: Said, **options: Any) -> AgentReply:
        """Reach a goal, and give what came of it; for an agent that reasons and acts, the same as `call`."""
        return await self.call(goal, **options)

    @overload
    def stream(
        self, messages: Said = "", *, vocabulary: Literal["events"] = "events", session: str = "", **options: Any
    ) -> AsyncGenerator[Event]: ...
    @overload
    def stream(
        self, messages: Said = "", *, vocabulary: Literal["blocks"], session: str = "", **options: Any
    ) -> AsyncGenerator[BlockEvent]: ...
    async def stream(
        self, messages: Said = "", *, vocabulary: Vocabulary = "events", session: str = "", **options: Any
    ) -> AsyncGenerator[Any]:
        """Say something and give what happens as it happens; the last event tells how it ended, also when it failed.

        Leaving the loop early cancels the call.

        Args:
            messages: As for `call`.
            vocabulary: `events`: those of the engine, such as `content.delta`; `blocks`: `TEXT_BLOCK_DELTA` and the
                like, each block with a start and an end.
            session: As for `call`.
            **options: As for `call`.
        """
        if vocabulary not in get_args(Vocabulary):
            raise TypeError(f"there is no vocabulary {vocabulary!r}; it is 'events' or 'blocks'")
        scope = options.pop("scope", ())
        message = self._message(messages, session, **call_options(options)).put_all({"stream": "true"})
        values = context_of(scope, session or self.name, options.get("user", ""), options.get("attributes"))
        with self._begin(session) as call:
            events = self._loaded.stream(message, scope=[call, *values])
            blocks = Blocks(self.name, session or self.name, call) if vocabulary == "blocks" else None
            async with aclosing(events):
                async for event in told(events) if blocks is None else blocks.of(events):
                    yield event

    async def resume(
        self,
        answers: Answers = (),
        *,
        text: str = "",
        cancel: bool = False,
        session: str = "",
        **options: Any,
    ) -> AgentReply:
        """Go on after a pause, with answers to the calls that wait. What is not answered stays open.

        Args:
            answers: For each call an object, in a list unless it is the only one: `toolCallId` and `decision`
                (`approve` or `deny`), perhaps with `input`, `acceptRules` and `note`; or, for what is done outside,
                `output` and perhaps `isError`.
            text: What the user says besides; it follows the results.
            cancel: Take the question back: none of its calls is run.
            session: The session that is paused.
            **options: As for `call`.

        Raises:
            AnswerInvalid: When an answer is wrong, or was given before; nothing was changed.
        """
        return await self.call(answered(answers, text, cancel=cancel), session=session, **options)

    def resume_stream(
        self,
        answers: Answers = (),
        *,
        text: str = "",
        cancel: bool = False,
        vocabulary: Vocabulary = "events",
        session: str = "",
        **options: Any,
    ) -> AsyncGenerator[Any]:
        """Do the same as `resume`, and give what happens as it happens, as `stream` does."""
        stream: Any = self.stream
        return stream(answered(answers, text, cancel=cancel), vocabulary=vocabulary, session=session, **options)

    async def observe(self, messages: Said, *, session: str = "") -> None:
        """Put messages into the conversation; the model is not asked. Raises: EngineError: without sessions."""
        sessions = self._sessions()
        with timed_by(sessions.clock):
            said = chat_messages(messages)
        await sessions.observe(session or self.name, said)

    def interrupt(self, message: str = "", *, session: str = "") -> bool:
        """Ask calls that run to stop: at once where they wait, and with what they have said so far as the answer.

        May be called from any thread. A call that waits for its turn is not stopped.

        Args:
            message: Is said in the conversation after that.
            session: Only the call in this session; all if empty.

        Returns:
            Whether there was one.
        """
        calls = at_work(list(self._calls.items()), session)
        for call in calls:
            call.stop.set(message)
        return bool(calls)

    async def state(self, session: str = "") -> AgentState:
        """Give the record of the agent in a session: as it is, when a call runs, else as it was last kept.

        Raises:
            RecordError: When the record is damaged.
        """
        key = session or self.name
        for call, owner in self._calls.items():
            if owner == key and call.state is not None:
                return call.state
        if self._node.sessions is None:
            return AgentState()
        return await self._node.sessions.read(key) or AgentState(session_id=key)

    def permissions(self, session: str = "") -> SessionPermissions:
        """Give the permissions of a session, to look at and change. Raises: EngineError: without sessions."""
        return SessionPermissions(self._sessions(), session or self.name)

    async def choose_model(self, model: str, *, session: str = "") -> None:
        """Choose the model of a session; an empty text for the agent's own.

        Raises:
            EngineError: When the agent has no sessions, or may not or cannot ask that model; nothing was changed.
        """
        sessions, choice = self._sessions(), SessionModel(model)
        try:
            self._node.models.get(choice)
        except (ConfigError, ValueError) as error:
            raise EngineError(str(error)) from error
        await sessions.choose_model(session or self.name, choice)

    async def clear(self, session: str = "") -> None:
        """Forget what was said in a session. Raises: EngineError: without sessions."""
        await self._sessions().clear(session or self.name)

    # Life

    async def close(self) -> None:
        """Close the connections; an engine that was given stays open, without the agent's chain."""
        chain, self._chain = self._chain, None
        if self._own_engine:
            await self.engine.close()
        elif chain is not None:
            self.engine.remove(chain.id)

    def close_sync(self) -> None:
        """Do the same as `close`, without an event loop; so does leaving `with Agent(...) as agent`."""
        chain, self._chain = self._chain, None
        if self._own_engine:
            self.engine.close_sync()
        elif chain is not None:
            self.engine.remove(chain.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close_sync()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # Inside

    @property
    def _loaded(self) -> Chain:
        if self._chain is None:
            for function in self.functions:
                self.engine.tool(function)
            definition.trust_files(self.engine, self._settings)
            self._chain = self.engine.load(self.chain())
        return self._chain

    @property
    def _node(self) -> AgentNode:
        from catenary_components.ai.agent import AgentNode

        components = (one.component for one in self._loaded.instances)
        return next(one for one in components if isinstance(one, AgentNode))

    def _sessions(self) -> Sessions:
        sessions = self._node.sessions
        if sessions is None:
            raise EngineError(f"the agent {self.name!r} does not remember", hint="give it a store: store='memory'")
        return sessions

    def _message(
        self,
        said: Said,
        session: str,
        user: str = "",
        attributes: object = None,
        model: str = "",
    ) -> Message:
        if attributes is not None and not isinstance(attributes, Mapping):
            raise TypeError(f"attributes are texts by name, such as {{'shop': 'Hull'}}, not {attributes!r}")
        metadata = dict(cast("Mapping[str, Json]", attributes or {}))
        metadata["sessionKey"] = session or self.name
        if user:
            metadata["userId"] = user
        if model:
            metadata["session_model"] = model
        return message_of(said, metadata)

    def _note(self, status: AgentStatus) -> None:
        self._status = status

    def _begin(self, session: str) -> Running:
        return Running(self._calls, self._note, session or self.name)

    def _reply(self, call: AgentCall, outcome: Outcome, session: str) -> AgentReply:
        raise_failure(outcome)
        state = call.state or AgentState()
        answer = answer_in(state, "" if outcome.status == "paused" else outcome.message.text)
        key = (session or self.name) if self._node.sessions is not None else ""
        return AgentReply(answer, state.finish_reason, key, state, outcome)
