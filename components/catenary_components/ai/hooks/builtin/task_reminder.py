"""`task_reminder`: a model with a list of tasks is shown it before each step, so that none is forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from catenary.component import Config
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.messages import user_message

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.steps import ModelStep, PromptStep
    from catenary_components.ai.state import AgentState

GROUNDING: Final = (
    "Work of several steps goes on a list of tasks: write it down with the tool `todo` before you begin, and again "
    "whenever a task is begun or done."
)

_OPEN: Final = ("pending", "in_progress")
_HEAD: Final = "Your list of tasks, as it was last written down:"
_TAIL: Final = "Go on with it, and write it down anew when it changes. Say nothing about this reminder."


class TaskReminder(AgentHook):
    """Shows the model the list that the tool `todo` keeps, as long as tasks in it are open.

    It is said in the one request, and is no part of the conversation. Agents without that tool are told nothing.
    """

    order = 85
    config_type = Config

    def __init__(self, config: Config) -> None:
        self._config = config

    def before_system_prompt(self, step: PromptStep) -> None:
        """Say what the list is for."""
        if step.setup.toolbox.get("todo") is not None:
            step.prompt = f"{step.prompt}\n\n{GROUNDING}" if step.prompt else GROUNDING

    def before_reasoning(self, step: ModelStep) -> None:
        """Show the list at the end of the conversation."""
        text = _reminder(step.state)
        if text and step.purpose == "reasoning":
            message = replace(user_message(text, name="system"), metadata={"synthetic": True, "reminder": "todo_state"})
            step.messages.append(message)


def _reminder(state: AgentState) -> str:
    """Give the reminder; empty when no task is open."""
    todos = cast("list[dict[str, Json]]", state.todos)
    if not any(one["status"] in _OPEN for one in todos):
        return ""
    lines = [f"- {one['subject']}: {str(one['status']).replace('_', ' ')}" for one in todos]
    return "\n".join(["<system-reminder>", _HEAD, *lines, _TAIL, "</system-reminder>"])
