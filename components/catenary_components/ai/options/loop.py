"""The settings of an agent's loop: which it is, and how long it may go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import field_validator

from catenary.component import Config, option
from catenary_components.ai.setup import OnLimit, ToolPolicy  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from typing import Self

DEFAULT_MAX_STEP = 150
_MAX_STEP_BELOW_ONE = 50

VERIFY_PROMPT = (
    "Check the answer below for coherence, for what was asked and is missing, and for mistakes in facts. Give the "
    "corrected answer in full, or repeat it unchanged when it is right. Give nothing but the answer.\n\n"
)


class LoopOptions(Config):
    """Settings of an agent's loop."""

    mode: str = option(
        "react",
        min_length=1,
        help="The loop the agent runs: `react`, `plain`, `thinking`, `plain_tooling`, `thinking_tooling`, a file "
        "(`.json`, `.yaml`) beside the chain, or the id of a chain of phase nodes.",
    )
    max_step: int = option(
        DEFAULT_MAX_STEP, unit="model calls", help="Most model calls for one message; 1 lets no tool run, 0 means 50."
    )
    max_rounds: int = option(0, ge=0, unit="rounds", help="Most rounds of tools; 0 for no limit of its own.")
    thinking_rounds: int = option(
        0,
        ge=0,
        unit="rounds",
        help="So many rounds more than `maxRounds` for a model that is told to think (`reasoningEffort`, "
        "`thinkingBudget`).",
    )
    on_limit: OnLimit = option(
        "fail", help="What happens at a limit: `fail`, or `answer` by one more model call without tools."
    )
    step_hint: int = option(
        3, ge=0, unit="model calls", help="When at most so many are left, results of tools tell the model; 0 for never."
    )
    budget_notes: bool = option(
        True, help="Whether the model is told when 70 and 90 % of `maxRounds` are used, behind the results of tools."
    )
    same_rounds: int = option(
        0, ge=0, help="So many rounds in a row with the same calls and results are a limit; 0 for any number."
    )
    same_text: int = option(
        0,
        ge=0,
        help="A reply that says one text of 24 to 240 characters so many times in a row is cut, one copy of it is the "
        "answer; 0 for any number, 2 at least.",
    )
    max_thoughts: int = option(
        0,
        ge=0,
        unit="characters",
        help="A streamed reply with so many characters of thoughts and nothing else is cut, and counts as one that "
        "says nothing; 0 for any number.",
    )
    tool_policy: ToolPolicy = option("auto", help="Whether the model may, must or must not ask for a tool.")
    empty_replies: int = option(
        2, ge=0, help="How often a model that says nothing is reminded that an answer is wanted."
    )
    verify: Literal["off", "second_pass"] = option(
        "off", help="`second_pass` has the model check its answer in one more call; only what comes of it is shown."
    )
    verify_prompt: str = option(VERIFY_PROMPT, help="What the model is told then; the answer follows.")
    evidence: Literal["off", "warn"] = option(
        "off",
        help="`warn` puts a warning behind an answer that names source files, or classes written as code, which no "
        "result of a tool has shown.",
    )
    expose_reasoning: bool = option(True, help="Whether those who listen are told what the model thinks.")

    def with_rounds_for(self, *, thinking: bool) -> Self:
        """Give the settings with the rounds that a model has more when it thinks."""
        more = self.thinking_rounds if thinking and self.max_rounds else 0
        return self.model_copy(update={"max_rounds": self.max_rounds + more}) if more else self

    @field_validator("max_step")
    @classmethod
    def _read_max_step(cls, value: int) -> int:
        return value if value > 0 else _MAX_STEP_BELOW_ONE

    @field_validator("same_text")
    @classmethod
    def _need_two_copies(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one text is no repeat of itself: 2 at least, or 0 for any number")
        return value
