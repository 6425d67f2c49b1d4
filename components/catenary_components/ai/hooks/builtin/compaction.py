"""`compaction`: a conversation that is too long is made shorter before the model is asked, whatever loop it is in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from catenary_components.ai.compaction import Compactor
from catenary_components.ai.estimate import tokens_of_tools
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.options.compaction import CompactionOptions

if TYPE_CHECKING:
    from catenary_components.ai.hooks.base import Proceed
    from catenary_components.ai.hooks.steps import ModelStep
    from catenary_components.ai.messages import ChatMessage


class CompactionHook(AgentHook):
    """Does what the option `compaction` does, for loops that have no phase for it.

    A service that says that a conversation is too long is asked once more when it is shorter.
    """

    order = 10
    config_type = CompactionOptions

    def __init__(self, config: CompactionOptions) -> None:
        self._config = config

    async def around_reasoning(self, step: ModelStep, proceed: Proceed) -> None:
        """Make the conversation shorter, and ask."""
        compactor = self._compactor(step)
        if compactor.is_due(step.state):
            await _shorten(step, compactor)
        try:
            await proceed()
        except ModelError as error:
            if not compactor.rescues(step.state, error):
                raise
            await _shorten(step, compactor)
            await proceed()

    def _compactor(self, step: ModelStep) -> Compactor:
        """Give what shortens the conversation of this run."""
        key = f"hook.compaction.{step.ctx.node_id}.{id(step.run)}"
        found = step.context.get(Compactor, key)
        if found is None:
            found = Compactor(self._config, beside=tokens_of_tools(step.setup.toolbox.specs(step.state)))
            step.context.put(found, key=key)
        return found


async def _shorten(step: ModelStep, compactor: Compactor) -> None:
    sent = _conversation(step)
    own = step.messages[len(sent) :] if step.messages[: len(sent)] == sent else []
    shorten = partial(compactor.shorten, step.ctx, step.run.message, step.setup, step.state)
    await step.run.summarize(step.ctx, step.setup, shorten)
    step.messages = [*_conversation(step), *own]


def _conversation(step: ModelStep) -> list[ChatMessage]:
    """Give the conversation as a request has it, without what is said in one call only."""
    from catenary_components.ai.phases._turn import Turn, request_of

    request = request_of(step.setup, step.state, Turn(is_kept=False))
    return [message for message in request.messages if message.role != "system"]
