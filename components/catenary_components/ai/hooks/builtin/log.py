"""`logging`: what an agent does, as lines of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from catenary.component import Config, option
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.logbook import write

if TYPE_CHECKING:
    from catenary_components.ai.hooks.base import Proceed
    from catenary_components.ai.hooks.steps import AgentStep, ModelStep, ToolStep


class LoggingOptions(Config):
    """Settings of the hook `logging`."""

    level: Literal["debug", "info"] = option("debug", help="The level of the lines.")
    max_length: int = option(200, gt=0, unit="characters", help="Arguments and results are cut to this length.")


class Logging(AgentHook):
    """Writes a line to the logger `catenary.agent` for each run, model call and call of a tool.

    Nothing is written where that logger is not switched on; texts of the conversation are never written.
    """

    order = 200
    config_type = LoggingOptions

    def __init__(self, config: LoggingOptions) -> None:
        self._config = config
        self._level = logging.DEBUG if config.level == "debug" else logging.INFO

    def before_agent(self, step: AgentStep) -> None:
        """Write that a run begins."""
        self._write(step, "the agent begins: %d messages", len(step.messages))

    def completed(self, step: AgentStep) -> None:
        """Write how a run ended."""
        state = step.state
        if step.error is None:
            self._write(step, "the agent ends: %s, %d model calls", state.finish_reason, state.steps)
        else:
            self._write(step, "the agent fails after %d model calls: %s", state.steps, self._cut(str(step.error)))

    async def around_model_call(self, step: ModelStep, proceed: Proceed) -> None:
        """Write what a model call took and gave."""
        begun = step.ctx.clock.monotonic()
        await proceed()
        took = step.ctx.clock.monotonic() - begun
        if step.reply is not None:
            names = ", ".join(call.name for call in step.reply.tool_calls) or "no tools"
            length, tokens = len(step.reply.content), step.reply.usage.total
            self._write(step, "model call: %.3f s, %d tokens, %d characters, %s", took, tokens, length, names)

    async def around_tool(self, step: ToolStep, proceed: Proceed) -> None:
        """Write what a tool got and gave."""
        self._write(step, "tool %s: %s", step.call.name, self._cut(step.call.arguments))
        await proceed()
        if step.result is not None:
            self._write(step, "tool %s gives: %s", step.call.name, self._cut(step.result.text))

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._config.max_length else f"{text[: self._config.max_length]}..."

    def _write(self, step: AgentStep | ModelStep | ToolStep, text: str, *values: object) -> None:
        write(step.ctx, text, *values, level=self._level)
