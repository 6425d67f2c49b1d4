"""The setting that says whose defaults hold for an agent."""

from __future__ import annotations

from typing import Any, cast

from pydantic import model_validator

from catenary.component import Config, option
from catenary_components.ai.presets import Preset, with_preset


class PresetSetting(Config):
    """The one option of an agent that chooses the defaults of the others."""

    preset: Preset = option(
        "node",
        help="Whose defaults hold for all that is not set: `node` those written at each option; `python` those of "
        "`Agent(...)`; `agent_api`, `gateway` those of agents that answer as these services do.",
    )

    @model_validator(mode="before")
    @classmethod
    def _lay_over_preset(cls, data: Any) -> Any:
        return with_preset(cast("dict[str, Any]", data)) if isinstance(data, dict) else data
