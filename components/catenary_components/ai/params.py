"""The model parameters of an agent, and what of them is sent."""

from __future__ import annotations

from catenary.component import Config, option
from catenary.jsontext import Json  # noqa: TC001 - read by pydantic
from catenary_components.ai.models.wire import merged, nested


class ModelParams(Config):
    """Model parameters. What is not set is not sent, and the service's own default holds; 0 is sent as 0."""

    temperature: float | None = option(None, ge=0, help="How much chance plays a part; 0 for as little as possible.")
    top_p: float | None = option(None, ge=0, le=1, help="Only the likeliest tokens, up to this sum of probabilities.")
    presence_penalty: float | None = option(None, ge=-2, le=2, help="Above 0, what was mentioned is avoided.")
    frequency_penalty: float | None = option(None, ge=-2, le=2, help="Above 0, what was repeated is avoided.")
    max_tokens: int | None = option(
        None, ge=0, unit="tokens", help="Longest reply, sent as `max_completion_tokens`; 0 sends no limit."
    )
    stop: list[str] = option([], help="Texts at which the model stops.")
    extra_fields: dict[str, Json] = option(
        {},
        help="Further members of the request body; a dotted key makes nested objects.",
        examples=[{"thinking.type": "off"}],
    )

    def body(self) -> dict[str, Json]:
        """Give the members of the request body."""
        named = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "presence_penalty": self.presence_penalty,
            "frequency_penalty": self.frequency_penalty,
            "max_completion_tokens": self.max_tokens or None,
            "stop": self.stop or None,
        }
        return merged({name: value for name, value in named.items() if value is not None}, nested(self.extra_fields))
