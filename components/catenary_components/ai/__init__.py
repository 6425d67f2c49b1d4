"""AI nodes: the agent, and the phases its loops are made of; and `Agent`, which makes an agent in Python.

What programs need besides is here as well: the parts of messages, what tools and hooks ask for by its type, and errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.lazy_names import lazy_getattr

if TYPE_CHECKING:
    from catenary.errors import AnswerInvalid
    from catenary_components.ai.answers import AnswerMissing
    from catenary_components.ai.budget import Budget, BudgetExceeded, Limits
    from catenary_components.ai.face import Agent, AgentReply, BlockEvent
    from catenary_components.ai.hooks.base import AgentHook
    from catenary_components.ai.hooks.faults import HookError
    from catenary_components.ai.messages import (
        AudioPart,
        ChatMessage,
        DataPart,
        ImagePart,
        TextPart,
        assistant_message,
        user_message,
    )
    from catenary_components.ai.models.types import ModelError
    from catenary_components.ai.runtime_context import RuntimeContext
    from catenary_components.ai.sessions.store import SessionBusy
    from catenary_components.ai.state import AgentState, FinishReason
    from catenary_components.ai.status import AgentStatus
    from catenary_components.ai.tools.injection import Injected
    from catenary_components.ai.tools.live import ToolCallInfo
    from catenary_components.ai.tools.marking import tool

__all__ = [
    "Agent",
    "AgentHook",
    "AgentReply",
    "AgentState",
    "AgentStatus",
    "AnswerInvalid",
    "AnswerMissing",
    "AudioPart",
    "BlockEvent",
    "Budget",
    "BudgetExceeded",
    "ChatMessage",
    "DataPart",
    "FinishReason",
    "HookError",
    "ImagePart",
    "Injected",
    "Limits",
    "ModelError",
    "RuntimeContext",
    "SessionBusy",
    "TextPart",
    "ToolCallInfo",
    "assistant_message",
    "tool",
    "user_message",
]

_HOMES: Final = {  # what is for Python programs, which nodes do without
    "answers": "AnswerInvalid AnswerMissing",
    "budget": "Budget BudgetExceeded Limits",
    "face": "Agent AgentReply BlockEvent",
    "hooks.base": "AgentHook",
    "hooks.faults": "HookError",
    "messages": "AudioPart ChatMessage DataPart ImagePart TextPart assistant_message user_message",
    "models.types": "ModelError",
    "runtime_context": "RuntimeContext",
    "sessions.store": "SessionBusy",
    "state": "AgentState FinishReason",
    "status": "AgentStatus",
    "tools.injection": "Injected",
    "tools.live": "ToolCallInfo",
    "tools.marking": "tool",
}
__getattr__ = lazy_getattr(__name__, {name: home for home, names in _HOMES.items() for name in names.split()})


def __dir__() -> list[str]:
    return __all__
