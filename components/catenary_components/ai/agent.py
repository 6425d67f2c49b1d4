"""`ai/agent`: ask a language model, run the tools it asks for, and give its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import field_validator

from catenary import FAILURE, STREAM, SUCCESS, fail
from catenary.component import Component, Config, Example, option, register
from catenary.errors import CatenaryError, ConfigError
from catenary.expr import Document, Prompt, Template
from catenary.jsontext import Json, loads
from catenary.message import metadata_text
from catenary.relation import NodeFailure
from catenary_components.ai.conversation import PresetMessage, conversation
from catenary_components.ai.models.key import ApiKey  # noqa: TC001 - read by pydantic
from catenary_components.ai.models.wire import as_object
from catenary_components.ai.output import answer_message, failure_message, stream_end
from catenary_components.ai.params import ModelParams
from catenary_components.ai.state import AgentSetup, AgentState, OnLimit, SessionModel
from catenary_components.ai.tools.listing import ToolConfig, toolbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary import Chain, Message
    from catenary.component import Context, Emission, End
    from catenary_components.ai.models.types import ChatModel

_TOPOLOGIES = Path(__file__).parent / "topologies"
_OWN_TOPOLOGIES = ("react",)
DEFAULT_MAX_STEP = 150
_MAX_STEP_BELOW_ONE = 50
_SCHEMES = ("http://", "https://", "mock://")
DEFAULT_MAX_TOOL_OUTPUT = 50_000
DEFAULT_MAX_RETRIES = 3


class AgentConfig(Config):
    """Settings of one `ai/agent` node."""

    url: str = option(
        "",
        help="Base address of an OpenAI-compatible service; `/chat/completions` is appended.",
        examples=["https://api.openai.com/v1"],
    )
    key: ApiKey = option("", help="Sent as bearer token.", secret=True)
    model: str = option("", help="The model; metadata `session_model` chooses another for one message.")
    system_prompt: Annotated[Template | Document, Prompt] = option(
        "",
        help="What the model is told first: a template, or a Jinja2 document in a file; a system message in the input "
        "replaces it.",
        examples=["You work for ${global.site}.", {"template": "prompts/support.j2"}],
    )
    messages: list[PresetMessage] = option([], help="The conversation when the input carries none.")
    tools: list[ToolConfig | str] = option([], help="Tools the model may ask for: names of functions, or objects.")
    params: ModelParams = option(ModelParams(), help="Model parameters; what is not set is not sent.")
    max_step: int = option(
        DEFAULT_MAX_STEP, unit="model calls", help="Most model calls for one message; 1 lets no tool run, 0 means 50."
    )
    on_limit: OnLimit = option(
        "fail", help="What happens at `maxStep`: `fail`, or `answer` by one more model call without tools."
    )
    max_tool_output_length: int = option(
        DEFAULT_MAX_TOOL_OUTPUT, unit="characters", help="Longest tool result given to the model; 0 means 50000."
    )
    max_retries: int = option(
        DEFAULT_MAX_RETRIES, help="Further tries of a model call that failed in passing; below 0 means 3."
    )
    stream_retry_mode: Literal["off", "full"] = option(
        "off",
        help="`off` tries a stream again that breaks at its start, `full` holds each reply back until it is whole.",
    )
    stream_tool_call_check: str = option(
        "", help="Without effect: tool calls are recognised wherever in a stream they come."
    )
    silence_timeout: float = option(
        300.0, gt=0, unit="seconds", help="Longest time in which nothing comes from the service."
    )
    mode: str = option("react", help="The loop the agent runs: `react`, or the id of a chain of phase nodes.")

    @field_validator("url", "model")
    @classmethod
    def _trim(cls, value: str) -> str:
        return value.strip()

    @field_validator("url")
    @classmethod
    def _need_url(cls, value: str) -> str:
        if not value:
            raise ValueError("URL is missing: give the base address of an OpenAI-compatible service")
        if "${" not in value and not value.lower().startswith(_SCHEMES):  # what is not set is told when it is opened
            raise ValueError("must begin with http:// or https://, as in https://api.openai.com/v1")
        return value

    @field_validator("max_step")
    @classmethod
    def _read_max_step(cls, value: int) -> int:
        return value if value > 0 else _MAX_STEP_BELOW_ONE

    @field_validator("max_tool_output_length")
    @classmethod
    def _read_max_tool_output(cls, value: int) -> int:
        return value if value > 0 else DEFAULT_MAX_TOOL_OUTPUT

    @field_validator("max_retries")
    @classmethod
    def _read_max_retries(cls, value: int) -> int:
        return value if value >= 0 else DEFAULT_MAX_RETRIES


@register("ai/agent", category="ai", since="0.1", label="Agent")
class Agent(Component[AgentConfig]):
    """Ask a language model; while it asks for tools, run them and ask again; give its answer.

    **Input.** Text is what the user says. A JSON object with a `messages` list is a conversation; its system messages,
    joined at the front, replace `systemPrompt`. Metadata `session_model` and `session_extra_fields` (a JSON object)
    choose another model for this message and for agents it calls as tools; `stream` = `true` asks for pieces.

    **Output.** `Success` has the answer as text. Metadata has `model`, `steps` (model calls), `tool_calls`, the tokens
    of the run (`prompt_tokens`, `completion_tokens`, `total_tokens`, `cached_tokens`), those of its last model call
    (`last_...`), and `reasoning_content` if there was some.
    `Failure` has the error as data and in `errorMsg`; for one of the model also `status`, `attempts` and `endpoint`.

    **Stream.** First come pieces by `Stream` with `chunk` = `true`: text (`phase` and `step` tell which model call it
    belongs to, for text before a tool call is shown too), and tool events as JSON with `tool_call` = `true`. Then an
    end mark with `stream_completed` = `true`, and last the answer by `Success` with `full_content` = `true`. When it
    fails, the error is the end mark, and goes by `Failure` as well. The next piece is read when the last one has been
    dealt with.

    **Steps.** `maxStep` counts model calls. A model that still asks for tools in the last one gets none of them run:
    with 1, only an answer given at once is a `Success`; 2 are enough for one round of tools and an answer.

    **Tools.** All calls of one reply run at the same time. What goes wrong in one is told to the model; arguments that
    do not fit the schema are told without running the tool. Only what is listed in `tools` can be run.

    **Retries.** 429, 500-599 but 501 and 505, network errors and timeouts: 1 s, doubling up to 30 s, with chance
    between half and one and a half; `Retry-After` up to 60 s counts instead. There is no failover to other services.
    """

    relations = (SUCCESS, STREAM, FAILURE)
    retries = True
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

    def open(self, ctx: Context) -> None:
        """Get the tools and a client. Raises: ConfigError: when address, key, model or a tool cannot be used."""
        from catenary.http import HttpOptions
        from catenary_components.ai.models.session import SessionModels

        self._check_resolved(ctx)
        try:
            self._toolbox = toolbox(self.config.tools, ctx.tools)
        except (TypeError, ValueError) as error:
            raise _config_error(ctx, "tools", str(error)) from error
        self._http = ctx.http.client(HttpOptions(read_timeout_s=self.config.silence_timeout))
        self._clock = ctx.clock
        self._models = SessionModels(self._make_model, self.config.params.body())
        self._topology = self._loop(ctx)

    def _loop(self, ctx: Context) -> Chain | str:
        """Give the chain of the agent's loop, or the id of one, which is looked up when it is run."""
        mode = self.config.mode
        return ctx.chain.engine.make(_TOPOLOGIES / f"{mode}.json") if mode in _OWN_TOPOLOGIES else mode

    def _check_resolved(self, ctx: Context) -> None:
        config = self.config
        missing: list[str] = []
        fields: list[str] = []
        for field, value in (("url", config.url), ("key", config.key.reveal()), ("model", config.model)):
            start = value.find("${")
            if start >= 0:
                placeholder = value[start : value.find("}", start) + 1] or value[start:]
                what = "URL is missing" if field == "url" else f"the {field} is missing"
                missing.append(f"{what}: {placeholder} is not set")
                fields.append(field)
        if missing:
            raise _config_error(ctx, ", ".join(fields), "; ".join(missing))

    def _make_model(self, name: str, parameters: Mapping[str, Json]) -> ChatModel:
        from catenary_components.ai.models.openai import OpenAIModel
        from catenary_components.ai.models.retry import RetryingModel, RetryPolicy

        config, clock = self.config, self._clock
        model = OpenAIModel(self._http, config.url, config.key, name, clock.time_ms, parameters)
        return RetryingModel(model, RetryPolicy(clock.sleep, config.max_retries), config.stream_retry_mode)

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give the first request to the model."""
        from catenary_components.ai.preview import first_request

        return first_request(self.config, ctx, msg)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Answer one message."""
        streamed = metadata_text(msg.metadata.get("stream")) == "true"
        state = AgentState()
        name = self.config.model
        try:
            choice = _session_model(ctx, msg)
            name = choice.name or name
            state.messages = conversation(msg, ctx, self.config.system_prompt, self.config.messages)
            answer = await self._answer(ctx, msg, state, choice, streamed=streamed)
        except Exception as error:
            message = failure_message(msg, error, state, name, streamed=streamed)
            if streamed:
                await ctx.emit(STREAM, message)
            return fail(error, message)
        if streamed:
            await ctx.emit(STREAM, stream_end(msg, state, name))
        return SUCCESS, answer_message(answer, state, name, streamed=streamed)

    async def _answer(
        self, ctx: Context, msg: Message, state: AgentState, choice: SessionModel, *, streamed: bool
    ) -> Message:
        """Run the agent's loop and give the message it ended with."""

        async def pass_on(end: End) -> None:
            if end.relation == STREAM:
                await ctx.emit(STREAM, end.message)

        config = self.config
        setup = AgentSetup(
            model=self._models.get(choice.name or config.model, choice.extra_fields),
            toolbox=self._toolbox,
            max_step=config.max_step,
            max_tool_output_length=config.max_tool_output_length,
            on_limit=config.on_limit,
            streams=streamed,
        )
        ends = await ctx.run_chain(self._topology, msg, each=pass_on, scope=[state, setup, choice])
        return _result(ends)

    async def close(self) -> None:
        """Close the connections."""
        http = getattr(self, "_http", None)
        if http is not None:
            await http.close()


def _result(ends: list[End]) -> Message:
    """Give the message of the branch that ended last. Raises: the error of a branch that failed."""
    last = [end for end in ends if end.relation != STREAM]
    failed = next((end for end in last if end.relation == FAILURE), None)
    if failed is not None:
        raise failed.error or NodeFailure(failed.reason)
    if not last:
        raise CatenaryError("the agent ended without an answer")
    return last[-1].message


def _session_model(ctx: Context, msg: Message) -> SessionModel:
    """Read the model that the message asks for; an agent called as a tool inherits its caller's."""
    inherited = ctx.scope.get(SessionModel) or SessionModel()
    name = metadata_text(msg.metadata.get("session_model")).strip()
    fields = metadata_text(msg.metadata.get("session_extra_fields")).strip()
    if not fields:
        return SessionModel(name or inherited.name, inherited.extra_fields)
    try:
        extra = loads(fields)
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise NodeFailure(f"metadata session_extra_fields is not a JSON object: {fields[:100]}")
    return SessionModel(name or inherited.name, as_object(extra))


def _config_error(ctx: Context, field: str, text: str) -> ConfigError:
    return ConfigError(text, node_id=ctx.node_id, node_type=ctx.node_type, field=field)
