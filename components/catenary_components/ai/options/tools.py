"""The settings of how an agent runs its tools."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from catenary.component import Config, option
from catenary_components.ai.setup import CallsPerTurn  # noqa: TC001 - read by pydantic
from catenary_components.ai.tools.listing import ToolConfig, ToolGroupConfig  # noqa: TC001 - read by pydantic

DEFAULT_MAX_TOOL_OUTPUT = 50_000


class ToolOptions(Config):
    """Settings of how an agent runs its tools."""

    tools: list[ToolConfig | str] = option([], help="Tools the model may ask for: names of functions, or objects.")
    tool_groups: list[ToolGroupConfig] = option(
        [], help="Groups of tools that are switched on and off while the agent runs; a session keeps which are on."
    )
    tool_timeout: int = option(
        0,
        ge=0,
        unit="milliseconds",
        help="Longest time of a call of a tool whose own `timeout` is not set; 0 for the tool's usual one.",
    )
    tool_retry: int = option(
        0, ge=0, help="How often a call that fails is tried again, of tools whose own `retry` is not set."
    )
    max_tool_output_length: int = option(
        DEFAULT_MAX_TOOL_OUTPUT, unit="characters", help="Longest tool result given to the model; 0 means 50000."
    )
    tool_output_cut: Literal["end", "middle"] = option(
        "end", help="What is left out of a longer one: its `end`, or its `middle`, with more of the tail if it failed."
    )
    turn_budget: int = option(
        0,
        ge=0,
        unit="characters",
        help="All results of one round together; the longest are cut first, or go to files with the hook `eviction`. "
        "0 for no limit.",
    )
    direct_results: Literal["told", "withheld"] = option(
        "told",
        help="Whether the model is told a result that is the answer (`returnDirect`), in later turns, too; `withheld` "
        "tells it that the user has it, and of a failure no more than that.",
    )
    calls_per_turn: CallsPerTurn = option(
        "all", help="`first` runs the first call of a reply alone; the model is told so for the others."
    )
    max_calls_per_turn: int = option(0, ge=0, help="Most calls of one reply that are run; 0 for all.")
    max_parallel_tools: int = option(16, gt=0, help="Most calls of one reply that run at the same time.")
    max_repeats: int = option(
        2, ge=0, help="How often a tool may be called with the same arguments among the last calls; 0 for no limit."
    )
    repeat_window: int = option(20, gt=0, unit="calls", help="How many of the last calls are looked at for repeats.")
    warn_after_failures: int = option(
        5, ge=0, help="After so many failures in a row the model is warned with each further one; 0 for never."
    )
    fold_repeats: bool = option(
        True, help="Rounds that repeat the same call are sent to the model as the last two of them."
    )

    @property
    def tool_defaults(self) -> dict[str, int]:
        """What holds for tools that do not say it themselves, by the names of their settings."""
        told = {"timeout": self.tool_timeout, "retry": self.tool_retry}
        return {name: value for name, value in told.items() if value}

    @field_validator("max_tool_output_length")
    @classmethod
    def _read_max_tool_output(cls, value: int) -> int:
        return value if value > 0 else DEFAULT_MAX_TOOL_OUTPUT
