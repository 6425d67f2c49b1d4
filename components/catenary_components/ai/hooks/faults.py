"""What hooks do wrong: each error names the hook, where it stands, and the agent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.errors import CatenaryError
from catenary.reasons import reason_of
from catenary_components.ai.hooks.steps import ActingStep, AgentStep, ModelStep, PromptStep, ToolStep

if TYPE_CHECKING:
    from catenary_components.ai.hooks.steps import Step


class HookError(CatenaryError):
    """A hook of an agent raised an error, or put something of a wrong type in the place of what passes.

    Usual cause: A mistake in the hook; or it refuses to go on, and the text is what it says about that.

    Cure: Look at the method that the text names; what the hook raised is the `__cause__`.

    Attributes:
        hook: The name of the hook.
        at: Its method, such as `before_reasoning`.
        agent: The ids of chain and node.
        reason: What is wrong, without these.
    """

    code = "agent.hook-failed"

    def __init__(self, hook: str, at: str, agent: str, reason: str, *, hint: str = "") -> None:
        super().__init__(f"hook {hook} at {at} of agent {agent}: {reason}", hint=hint)
        self.hook = hook
        self.at = at
        self.agent = agent
        self.reason = reason


def wrong_in(step: Step) -> str:
    """Tell which attribute of a step has a value of a wrong type; nothing when none has."""
    for name, kind, is_list, can_be_none in _fields(type(step)):
        value = getattr(step, name)
        if value is None and can_be_none:
            continue
        if is_list and not isinstance(value, (list, tuple)):
            return f"step.{name} is {_a(value)}, not a list"
        values = cast("list[object]", value if is_list else [value])
        for place, one in enumerate(values):
            if not isinstance(one, kind):
                return f"step.{name}{f'[{place}]' if is_list else ''} is {_a(one)}, not {_A[kind]}"
    return ""


def told_of(error: Exception) -> str:
    """Give what a model or an event is told of an error at a hook: what the hook has said, not where it stands."""
    return error.reason if isinstance(error, HookError) else reason_of(error)


def wrong_piece(piece: object, given: object) -> str:
    """Tell that what a hook gave in the place of a piece is none; nothing when it is one."""
    return "" if isinstance(given, type(piece)) else f"it gave {_a(given)} in place of {_A[type(piece)]}"


def _a(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


class _Named(dict[Any, str]):
    def __missing__(self, kind: Any) -> str:
        return f"a {kind.__name__}"


_A: Final = _Named({Mapping: "a mapping"})
"""How types are called in texts."""


@cache
def _fields(kind: type[Step]) -> tuple[tuple[str, type, bool, bool], ...]:
    """Give what steps of a kind have: name, type, whether it is a list of these, and whether it may be `None`."""
    from catenary import Message
    from catenary_components.ai.messages import ChatMessage, ToolCall
    from catenary_components.ai.models.types import Reply, ToolSpec
    from catenary_components.ai.tools.execute import CallResult

    prompt, said = ("system_prompt", str, False, False), ("messages", ChatMessage, True, False)
    fields = {
        AgentStep: (prompt, said, ("message", Message, False, False), ("answer", Message, False, True)),
        ModelStep: (
            prompt,
            said,
            ("tools", ToolSpec, True, False),
            ("tool_choice", str, False, False),
            ("options", Mapping, False, False),
            ("response_schema", Mapping, False, True),
            ("reply", Reply, False, True),
        ),
        PromptStep: (("prompt", str, False, False),),
        ActingStep: (("calls", ToolCall, True, False), ("results", CallResult, True, False)),
        ToolStep: (
            ("call", ToolCall, False, False),
            ("arguments", dict, False, True),
            ("result", CallResult, False, True),
        ),
    }
    return fields[kind]  # type: ignore[index] - each kind of step is there
