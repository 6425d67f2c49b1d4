"""The settings of an agent's model: which it is, how it is asked, and what happens when it does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import ValidationInfo, field_validator

from catenary.component import Config, option
from catenary_components.ai.models.key import ApiKey  # noqa: TC001 - read by pydantic
from catenary_components.ai.models.registry import is_known, where_is
from catenary_components.ai.params import ModelParams

if TYPE_CHECKING:
    from catenary_components.ai.models.types import ErrorKind

_SCHEMES = ("http://", "https://", "mock://")
DEFAULT_MAX_RETRIES = 3
DEFAULT_COOLDOWN_S = 60


def _checked_address(address: str) -> str:
    """Give an address of a service as it is. Raises: ValueError: when it is none; one with `${` is told when opened."""
    if not address or "${" in address:
        return address
    if not address.lower().startswith(_SCHEMES):
        raise ValueError("must begin with http:// or https://, as in https://api.openai.com/v1")
    try:
        host = urlsplit(address).netloc
    except ValueError as error:
        raise ValueError(f"cannot be read: {error}") from None
    if not host:
        raise ValueError("names no host; write it as in https://api.openai.com/v1")
    return address


class FailoverEndpoint(Config):
    """A service that is asked when the ones before it cannot answer; what is empty is that of the node."""

    url: str = option("", help="Its base address.")
    key: ApiKey = option("", help="Its key.", secret=True)
    model: str = option("", help="The model there, also when a message chooses another one; `provider:model` will do.")
    params: ModelParams | None = option(None, help="Model parameters in place of all those of the node.")

    @field_validator("url", "model")
    @classmethod
    def _trim(cls, value: str) -> str:
        return value.strip()

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        return _checked_address(value)


class RetriesByError(Config):
    """How often a call is tried again after errors of one kind; what is absent is `maxRetries`."""

    rate_limit: int | None = option(None, ge=0, help="After 429, 529 and the like.")
    server_error: int | None = option(None, ge=0, help="After 500 to 599 but 501 and 505.")
    network: int | None = option(None, ge=0, help="After a connection that was refused or broke, and after a timeout.")

    def by_kind(self) -> dict[ErrorKind, int]:
        """Give the numbers that are set, by the kind of the error."""
        counts: dict[ErrorKind, int | None] = {
            "rate_limit": self.rate_limit,
            "server_error": self.server_error,
            "network": self.network,
        }
        return {kind: count for kind, count in counts.items() if count is not None}


class ModelOptions(Config):
    """Settings of an agent's model."""

    model: str = option(
        "",
        help="The model: `provider:name` (openai, anthropic, gemini, dashscope, bailian, siliconflow, deepseek, glm, "
        "kimi, minimax, ollama, vllm, llamacpp, mock), with the key from the provider's environment variable; or the "
        "name that the service at `url` knows. Metadata `session_model` chooses another for one message.",
        examples=["openai:gpt-4o-mini", "ollama:qwen3:8b"],
    )
    url: str = option(
        "",
        help="Base address of an OpenAI-compatible service, to which `/chat/completions` is appended; or another "
        "address of the provider that `model` names.",
        examples=["https://api.openai.com/v1"],
    )
    endpoint_path: str = option(
        "",
        help="What is appended to the address in place of the usual path of a chat call.",
        examples=["/api/v3/chat"],
    )
    key: ApiKey = option("", help="Sent as bearer token, or as the provider wants it.", secret=True)
    params: ModelParams = option(ModelParams(), help="Model parameters; what is not set is not sent.")
    vision: bool | None = option(
        None, help="Whether the model sees pictures: false sends their addresses as text; absent, they are sent."
    )
    read_calls_in_text: bool = option(
        False, help="Read a call of a tool that the model writes as JSON in its answer, as small models do."
    )
    allowed_models: list[str] = option(
        [], help="Models that messages may choose, `*` for any characters; absent, any.", examples=[["gpt-4o*"]]
    )
    max_retries: int = option(
        DEFAULT_MAX_RETRIES, help="Further tries of a model call that failed in passing; below 0 means 3."
    )
    stream_retry_mode: Literal["off", "full"] = option(
        "off",
        help="`off` tries a stream again that breaks at its start, `full` holds each reply back until it is whole.",
    )
    retries_by_error: RetriesByError = option(
        RetriesByError(),
        help="Further tries by what went wrong, where that is not `maxRetries`.",
        examples=[{"rateLimit": 2, "serverError": 5}],
    )
    retry_wait: float = option(
        1.0, ge=0, unit="seconds", help="Wait before a call is tried again; doubles each time, with some chance in it."
    )
    retry_longest_wait: float = option(30.0, ge=0, unit="seconds", help="Longest such wait.")
    retry_after_limit: float = option(
        60.0, ge=0, unit="seconds", help="Longest wait that a service may ask for by `Retry-After`."
    )
    stream_probe: int = option(
        3,
        ge=1,
        help="How many pieces a stream must have given before a break is passed on with `off`. What comes before is "
        "held back until then; 1 holds nothing back.",
    )
    stream_tool_call_check: str = option(
        "", help="Without effect: tool calls are recognised wherever in a stream they come."
    )
    connect_timeout: float = option(10.0, gt=0, unit="seconds", help="Longest time to get a connection.")
    first_byte_timeout: float = option(
        0.0, ge=0, unit="seconds", help="Longest time until the first piece of a reply comes; 0 for `silenceTimeout`."
    )
    silence_timeout: float = option(
        300.0, gt=0, unit="seconds", help="Longest time in which nothing comes from the service."
    )
    total_timeout: float = option(
        0.0, ge=0, unit="seconds", help="Longest time of one try of a model call; 0 for no limit."
    )
    failover: list[FailoverEndpoint] = option(
        [], help="Services asked in this order when the one before cannot answer after all its retries."
    )
    circuit_cooldown_sec: float = option(
        DEFAULT_COOLDOWN_S,
        unit="seconds",
        help="How long a service that could not answer is left alone first; 0 means 60. It doubles up to 600.",
    )
    fallback_model: str = option(
        "",
        help="A model that is asked when there is no answer from any other, whatever the reason, as long as nothing "
        "was said yet.",
        examples=["openai:gpt-4o-mini"],
    )
    prices: str = option(
        "", help="A file of prices (YAML) that count before those that are known; CATENARY_PRICES names one for all."
    )

    @field_validator("url", "model", "fallback_model")
    @classmethod
    def _trim(cls, value: str) -> str:
        return value.strip()

    @field_validator("fallback_model")
    @classmethod
    def _know_fallback(cls, value: str) -> str:
        if value and "${" not in value and not is_known(value):
            raise ValueError(where_is(value))
        return value

    @field_validator("url")
    @classmethod
    def _need_url(cls, value: str, info: ValidationInfo) -> str:
        model: str = info.data.get("model", "")
        if not value and "${" not in model and not is_known(model):
            raise ValueError(where_is(model))
        return _checked_address(value)

    @field_validator("max_retries")
    @classmethod
    def _read_max_retries(cls, value: int) -> int:
        return value if value >= 0 else DEFAULT_MAX_RETRIES

    @field_validator("circuit_cooldown_sec")
    @classmethod
    def _read_cooldown(cls, value: float) -> float:
        return value if value > 0 else DEFAULT_COOLDOWN_S
