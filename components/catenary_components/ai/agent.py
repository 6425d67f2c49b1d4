"""`ai/agent`: ask a language model, run the tools it asks for, and give its answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from catenary import AWAIT_CONFIRM, AWAIT_EXTERNAL, FAILURE, STREAM, SUCCESS, Relation, fail
from catenary.component import Component, Example, option, register
from catenary.errors import ConfigError
from catenary.expr import Document, Prompt, Template
from catenary.message import metadata_text
from catenary_components.ai import calling
from catenary_components.ai.choosing import chosen, with_kept
from catenary_components.ai.conversation import CallerSystem, PresetMessage, conversation
from catenary_components.ai.hooks.listing import hooks_of
from catenary_components.ai.looping import AgentParts, Visit
from catenary_components.ai.messages import timed_by
from catenary_components.ai.options.budget import BudgetSetting
from catenary_components.ai.options.compaction import CompactionSetting
from catenary_components.ai.options.hooks import HookOptions
from catenary_components.ai.options.loop import LoopOptions
from catenary_components.ai.options.model import ModelOptions
from catenary_components.ai.options.permission import PermissionSetting
from catenary_components.ai.options.preset import PresetSetting
from catenary_components.ai.options.session import SessionSetting
from catenary_components.ai.options.structured import StructuredOptions
from catenary_components.ai.options.tools import ToolOptions
from catenary_components.ai.output import answer_message, end_marks, failure_message, stream_end
from catenary_components.ai.pausing import Pausing, paused_message
from catenary_components.ai.permission.making import gate_of
from catenary_components.ai.phases._call_events import close_announced
from catenary_components.ai.pictures import with_local_pictures, with_pictures
from catenary_components.ai.replying import check_answer
from catenary_components.ai.sessions.node import NodeSessions
from catenary_components.ai.sessions.places import packages_of
from catenary_components.ai.spans import span
from catenary_components.ai.state import AgentState, SessionModel
from catenary_components.ai.tools.listing import toolbox
from catenary_components.ai.tools.tool import Toolbox
from catenary_components.ai.topologies import NAMES, topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catenary import Chain, Message
    from catenary.component import Context, Emission
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.decode import FieldProblem
    from catenary.pauses import Answer, Pause
    from catenary.registry import Registry
    from catenary_components.ai.messages import ChatMessage
    from catenary_components.ai.models.failover import EndpointState
    from catenary_components.ai.models.service import ModelService
    from catenary_components.ai.sessions.hold import Sessions
    from catenary_components.ai.sessions.slot import Fresh, Slot
    from catenary_components.ai.spans import OpenSpan


class AgentConfig(
    PresetSetting,
    BudgetSetting,
    CompactionSetting,
    SessionSetting,
    ModelOptions,
    LoopOptions,
    ToolOptions,
    HookOptions,
    StructuredOptions,
    PermissionSetting,
):
    """Settings of one `ai/agent` node."""

    system_prompt: Annotated[Template | Document, Prompt] = option(
        "",
        help="What the model is told first: a template, or a Jinja2 document in a file; see `callerSystem`.",
        examples=["You work for ${global.site}.", {"template": "prompts/support.j2"}],
    )
    caller_system: CallerSystem = option(
        "replace",
        help="What a system message in the input does: `replace` the prompt, `append` to it, or `reject` the input.",
    )
    messages: list[PresetMessage] = option([], help="The conversation when the input carries none.")
    keep_input: bool = option(
        False, help="Whether a message that leaves by `Failure` has what came in as metadata `input_data`."
    )
    images: list[Template] = option(
        [],
        help="Pictures that go with what the user says: their addresses, or paths of files in the folders that the "
        "chain may read.",
        examples=[["plan.png", "https://example.com/${metadata.photo}"]],
    )


@register("ai/agent", category="ai", since="0.1", label="Agent")
class AgentNode(Component[AgentConfig]):
    """Ask a language model; while it asks for tools, run them and ask again; give its answer.

    **Input.** Text is what the user says. A JSON object with a `messages` list is a conversation; its system messages,
    joined at the front, replace `systemPrompt` unless `callerSystem` says otherwise. Metadata `session_model` and
    `session_extra_fields` (a JSON object) choose another model for this message and for agents it calls as tools; else
    that of the session counts, if it has one. `stream` = `true` asks for pieces.

    **Output.** `Success` has the answer as text. Metadata has `model`, `steps` (model calls), `tool_calls`,
    `finish_reason`, why the last reply ended (`model_finish_reason`, such as `length`), the tokens of the run
    (`prompt_tokens`, `completion_tokens`, `total_tokens`, `cached_tokens`), those of its last model call
    (`last_...`), and `reasoning_content` if there was some.
    `Failure` has the error as data and in `errorMsg`; for one of the model also `status`, `attempts` and `endpoint`.

    **Stream.** First come pieces by `Stream` with `chunk` = `true`: text (`phase` and `step` tell which model call it
    belongs to, for text before a tool call is shown too), and tool events as JSON with `tool_call` = `true`. Then an
    end mark with `stream_completed` = `true`, and last the answer by `Success` with `full_content` = `true`. When it
    fails, the error is the end mark, and goes by `Failure` as well. The next piece is read when the last one has been
    dealt with. An answer that a hook gives without running the loop is the only message: by `Success`, with
    `stream_completed` = `true`.

    **Steps.** `maxStep` counts model calls. A model that still asks for tools in the last one gets none of them run:
    with 1, only an answer given at once is a `Success`; 2 are enough for one round of tools and an answer.

    **Tools.** All calls of one reply run at the same time. What goes wrong in one is told to the model; arguments that
    do not fit the schema are told without running the tool. Only what is listed in `tools` can be run.

    **Retries.** 429, 500-599 but 501 and 505, network errors and timeouts: 1 s, doubling up to 30 s, with chance
    between half and one and a half; `Retry-After` up to 60 s counts instead.

    **Backups.** When all that fails, or the key or the model is refused, the services in `failover` are asked in their
    order; one that could not answer is left alone for a while. A reply that has begun is never begun anew elsewhere.

    **Cost.** Where the price of a model is known, metadata has `cost`: US dollars of the run.

    **Sessions.** With `session` the agent knows what was said before. A session is read when a call begins and written
    once when it ends; of a call that failed, what the user said is kept. Metadata `loadHistory` says for one message
    whether the model sees what was before. When an answer cannot be kept, the message leaves by `Failure`, with
    the answer as metadata `answer`.
    """

    relations = (SUCCESS, STREAM, FAILURE, AWAIT_CONFIRM, AWAIT_EXTERNAL)
    retries = True
    chain_options: ClassVar[Mapping[str, tuple[str, ...]]] = {"mode": NAMES, "permission.guard": ()}
    examples = (
        Example(
            "text is what the user says, and the answer is text",
            config={
                "url": "https://api.openai.com/v1",
                "key": "...",
                "model": "gpt-4o-mini",
                "systemPrompt": "Be short.",
            },
            inputs=["How many bolts are in a box?"],
            leaves_by=["Success"],
            runs=False,
        ),
    )

    def look(self, registry: Registry, environment: Environment) -> Iterable[FieldProblem]:
        """Look at what the tools, the hooks and the rules of permission name, and at their settings."""
        from catenary_components.ai.inspection import inspected

        return inspected(self.config, registry, environment)

    def open(self, ctx: Context) -> None:
        """Get the tools and a client. Raises: ConfigError: when address, key, model or a tool cannot be used."""
        from catenary_components.ai.models.service import ModelService

        self._models = ModelService(ctx, self.config)
        try:
            self._hooks = hooks_of(self.config.hooks, ctx)
        except ValueError as error:
            raise _config_error(ctx, "hooks", str(error)) from error
        brought = self._hooks.tools if self._hooks else {}
        try:
            entries = [*self.config.tools, *brought]
            functions, config = {**ctx.tools, **brought}, self.config
            self._toolbox = toolbox(entries, functions, ctx, config.tool_groups, config.tool_defaults)
        except (TypeError, ValueError) as error:
            raise _config_error(ctx, "tools", str(error)) from error
        self._topology = topology(ctx, self.config.mode)
        self._is_json = self.config.params.response_format != "text"
        self._gate = gate_of(ctx, self.config, self._toolbox.names())
        self._toolbox.hidden = frozenset(filter(self._gate.hides, self._toolbox.names()))
        config = self.config.with_rounds_for(thinking=self.config.params.thinks)
        self._parts = AgentParts(config, self._models, self._toolbox, self._hooks, self._gate, self._topology)
        options = self.config.session_options
        window = self._models.window(SessionModel())
        self._sessions = NodeSessions(options, ctx, window) if options else None

    @property
    def endpoints(self) -> list[EndpointState]:
        """How the services of its models fare, in the order in which they are asked; empty if there is only one."""
        models = getattr(self, "_models", None)
        return [] if models is None else models.endpoints

    @property
    def model_retries(self) -> Mapping[str, int]:
        """How often its models were asked again, by the kind of the error."""
        models = getattr(self, "_models", None)
        return {} if models is None else models.retries

    @property
    def models(self) -> ModelService:
        """Its models."""
        return self._models

    @property
    def toolbox(self) -> Toolbox:
        """Its tools."""
        return self._toolbox

    @property
    def sessions(self) -> Sessions | None:
        """The sessions of the agent, for those who look at them from outside; `None` when it has none."""
        return self._sessions.sessions if self._sessions else None

    @property
    def hooks(self) -> list[dict[str, Any]]:
        """The hooks of this agent as they apply, the outermost first: `name`, `order`, `methods`."""
        return self._hooks.listing() if self._hooks else []

    def check_answer(self, pause: Pause, answer: Answer) -> None:
        """Look at an answer to a question of this agent. Raises: AnswerInvalid: when it is none."""
        check_answer(pause, answer, getattr(self, "_toolbox", None) or Toolbox())

    @property
    def hook_calls(self) -> list[dict[str, Any]]:
        """What of these hooks is called at each point, in order: `at`, such as `before_tool`, and the names `hooks`."""
        return self._hooks.calls() if self._hooks else []

    def needs(self) -> Mapping[str, Sequence[str]]:
        """Give the packages that its sessions need."""
        options = self.config.session_options
        return packages_of(options.store) if options else {}

    def own_chains(self) -> Sequence[Chain]:
        """Give its loop."""
        held = getattr(self, "_topology", None)
        return () if held is None or held.made is None else (held.made,)

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give the first request to the model."""
        from catenary_components.ai.preview import first_request

        return first_request(self.config, ctx, msg)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Answer one message."""
        with timed_by(ctx.clock), span("invoke_agent", ctx, ctx.node_id) as told:
            return await self._run(ctx, msg, told)

    async def _run(self, ctx: Context, msg: Message, told: OpenSpan) -> Emission:
        streamed = metadata_text(msg.metadata.get("stream")) == "true"
        state = AgentState()
        name = self._models.name
        try:
            choice = self._models.usable(ctx, chosen(ctx, msg))
            name = choice.name or name
            pausing = Pausing(ctx, msg, self.config, self._toolbox)
            async with pausing.call(self._sessions) as call:
                state = call.state
                if state.model:
                    choice = self._models.usable(ctx, with_kept(choice, state))
                    name = choice.name or name
                calling.begin(ctx, state)
                goes_on = await pausing.begin(state)
                call.take([] if goes_on else await self._said(ctx, msg, call))
                await call.keep_said()
                visit = Visit(ctx, msg, self._parts, state, choice, pausing, streams=streamed)
                answer = await visit.run()
                calling.conclude(ctx, state)
        except asyncio.CancelledError:
            calling.cut_off(ctx, state)
            raise
        except Exception as error:
            calling.fail(ctx, state, error)
            told.fail(type(error).__name__, str(error))
            message = failure_message(msg, error, state, name, streamed=streamed)
            if self.config.keep_input:
                message = message.put("input_data", msg.text)
            if streamed:
                await ctx.emit(STREAM, message)
            return fail(error, message)
        finally:
            ctx.chain.engine.pauses.coming.settle(ctx)
            if state.announced:
                close_announced(ctx, self._toolbox, state)
        if streamed and visit.has_looped:
            await ctx.emit(STREAM, stream_end(msg, state, name))
        if isinstance(answer, Relation):
            return answer, paused_message(msg, state, name)
        marks = end_marks(streamed=streamed, has_pieces=visit.has_looped)
        return SUCCESS, answer_message(answer, state, name, marks, is_json=self._is_json)

    async def _said(self, ctx: Context, msg: Message, call: Slot | Fresh) -> list[ChatMessage]:
        """Read what is said to the agent, with its pictures; the system prompt goes into the state of the call."""
        config = self.config
        presets = call.presets(config.messages)
        call.state.system_prompt, said = conversation(msg, ctx, config.system_prompt, presets, config.caller_system)
        said = with_pictures(said, [image.render(msg, ctx) for image in config.images])
        return said if config.vision is False else await with_local_pictures(said, ctx.chain.environment)

    async def close(self) -> None:
        """Close the connections, its loop, and what guard, hooks and tools hold."""
        for name in ("_sessions", "_topology", "_gate", "_hooks", "_toolbox", "_models"):
            held = getattr(self, name, None)
            if held is not None:
                await held.close()


def _config_error(ctx: Context, field: str, text: str) -> ConfigError:
    return ConfigError(text, node_id=ctx.node_id, node_type=ctx.node_type, field=field)
