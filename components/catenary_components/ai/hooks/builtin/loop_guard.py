"""`loop_guard`: ends a run that goes in circles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from catenary.component import Config, option
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.messages import user_message
from catenary_components.ai.state import FinishReason
from catenary_components.ai.tools.repetition import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.hooks.steps import ModelStep
    from catenary_components.ai.messages import ChatMessage, ToolCall


class LoopGuardOptions(Config):
    """Settings of the hook `loop_guard`."""

    rounds: int = option(
        3, gt=1, unit="rounds", help="How often in a row the model may ask for just the same before something is done."
    )
    then: Literal["remind", "stop"] = option(
        "remind", help="`remind` tells the model to try something else, and stops when that does not help; or `stop`."
    )


REMINDER: Final = (
    "You have asked for the same thing several times in a row, and it will not give anything else. Go about it in "
    "another way, or answer with what you know."
)


class LoopGuard(AgentHook):
    """Looks for replies that ask for exactly the same calls as those before, and ends such a circle.

    It looks at whole replies: single calls that repeat are refused by the agent itself (`maxRepeats`).
    """

    order = 80
    config_type = LoopGuardOptions

    def __init__(self, config: LoopGuardOptions) -> None:
        self._config = config

    def after_reasoning(self, step: ModelStep) -> None:
        """Count how often in a row the model has asked for the same."""
        if step.reply is None or not step.reply.tool_calls:
            return
        count, reminded = _circle(step.state.messages, step.reply.tool_calls)
        if count < self._config.rounds:
            return
        step.publish("loop.detected", rounds=count, calls=[call.name for call in step.reply.tool_calls])
        if self._config.then == "stop" or reminded:
            step.stop("the agent asks for the same again and again", FinishReason.INCOMPLETE)
        else:
            self._remind(step)

    def _remind(self, step: ModelStep) -> None:
        step.goto(replace(user_message(REMINDER, name="system"), metadata={"reminder": "loop_guard"}))


def _circle(messages: Sequence[ChatMessage], calls: Sequence[ToolCall]) -> tuple[int, bool]:
    """Give how often in a row just these calls were asked for, and whether the model was told so already."""
    wanted = [fingerprint(call) for call in calls]
    count, reminded = 1, False
    for message in reversed(messages):
        if message.metadata.get("reminder") == "loop_guard":
            reminded = True
        elif message.role == "user":
            break
        elif message.role == "assistant":
            if [fingerprint(call) for call in message.tool_calls] != wanted:
                break
            count += 1
    return count, reminded
