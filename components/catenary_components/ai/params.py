"""The model parameters of an agent, and what of them is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import WithJsonSchema, field_validator, model_validator

from catenary.component import Config, option
from catenary.jsontext import Json  # noqa: TC001 - read by pydantic
from catenary_components.ai.models.wire import merged, nested, object_from_text

if TYPE_CHECKING:
    from typing import Self


class ModelParams(Config):
    """Model parameters. What is not set is not sent, and the service's own default holds; 0 is sent as 0."""

    temperature: float | None = option(None, ge=0, help="How much chance plays a part; 0 for as little as possible.")
    top_p: float | None = option(None, ge=0, le=1, help="Only the likeliest tokens, up to this sum of probabilities.")
    top_k: int | None = option(None, ge=0, help="Only so many of the likeliest tokens, where the service knows it.")
    presence_penalty: float | None = option(None, ge=-2, le=2, help="Above 0, what was mentioned is avoided.")
    frequency_penalty: float | None = option(None, ge=-2, le=2, help="Above 0, what was repeated is avoided.")
    max_tokens: int | None = option(
        None,
        ge=0,
        unit="tokens",
        help="Longest reply, sent as `max_completion_tokens`, or as the provider names it; 0 sends no limit.",
    )
    stop: list[str] = option([], help="Texts at which the model stops.")
    seed: int | None = option(None, help="Makes chance repeatable, where the service can.")
    reasoning_effort: Literal["", "none", "minimal", "low", "medium", "high", "xhigh"] = option(
        "", help="How much the model thinks, where it can be told."
    )
    thinking_budget: int | None = option(
        None, ge=0, unit="tokens", help="How long the model may think, where it can be told; 0 turns it off there."
    )
    parallel_tool_calls: bool | None = option(None, help="Whether one reply may ask for several tools.")
    cache_control: bool = option(
        False, help="Mark what is the same in each request for the service's cache, where it wants that (Anthropic)."
    )
    response_format: Literal["text", "json_object", "json_schema"] = option(
        "text",
        help="What the answer is: `text`, any JSON object, or JSON that fits `jsonSchema`. JSON is always checked.",
    )
    json_schema: Annotated[dict[str, Json], WithJsonSchema({"type": ["object", "string"]})] = option(
        {}, help="JSON Schema that the answer has to fit, as an object or as text."
    )
    keep_think: bool = option(
        False, help="Leave what stands in `<think>` at the start of a reply in its text; else it counts as reasoning."
    )
    extra_fields: dict[str, Json] = option(
        {},
        help="Further members of the request body; a dotted key makes nested objects.",
        examples=[{"thinking.type": "off"}],
    )
    extra_headers: dict[str, str] = option({}, help="Further headers of the request.", secret=True)
    extra_query: dict[str, str] = option({}, help="Put behind the address.", examples=[{"api-version": "2024-10-21"}])

    @field_validator("json_schema", mode="before")
    @classmethod
    def _read_schema(cls, value: Json) -> Json:
        return object_from_text(value, "the schema of the answer")

    @model_validator(mode="after")
    def _need_schema(self) -> Self:
        if self.response_format == "json_schema" and not self.json_schema:
            raise ValueError("responseFormat json_schema needs a jsonSchema")
        return self

    @property
    def thinks(self) -> bool:
        """Whether the model is told to think."""
        return self.reasoning_effort not in ("", "none") or bool(self.thinking_budget)

    def body(self) -> dict[str, Json]:
        """Give the members of the request body, under the names of the OpenAI wire format where it has one."""
        named = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "max_completion_tokens": self.max_tokens or None,
            "stop": self.stop or None,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort or None,
            "thinking_budget": self.thinking_budget,
            "parallel_tool_calls": self.parallel_tool_calls,
            "cache_control": self.cache_control or None,
        }
        return merged({name: value for name, value in named.items() if value is not None}, nested(self.extra_fields))
