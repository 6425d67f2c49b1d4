"""Hooks that come with agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.base import AgentHook

BUILTINS: Final[Mapping[str, str]] = {
    "compaction": "compaction.CompactionHook",
    "eviction": "eviction.Eviction",
    "logging": "log.Logging",
    "loop_guard": "loop_guard.LoopGuard",
    "memory": "memory.Memory",
    "reply_cache": "reply_cache.ReplyCache",
    "task_reminder": "task_reminder.TaskReminder",
    "workspace": "workspace.Workspace",
}
"""By the name of a hook, where its class is; it is imported when an agent lists it."""


def hook_type(name: str) -> Any:
    """Give the class of a hook that comes with agents."""
    module, _, class_name = BUILTINS[name].partition(".")
    return getattr(import_module(f"{__name__}.{module}"), class_name)


def make(name: str, config: Mapping[str, Json], ctx: Context) -> AgentHook | None:
    """Make a hook that comes with agents.

    Args:
        name: Its name.
        config: Its settings, as a chain has them; keys count without regard to case.
        ctx: The agent's node.

    Returns:
        `None` when there is no such hook.

    Raises:
        ValueError: When settings are unknown or cannot be used; the text names the hook and each of them.
    """
    from catenary.load.decode import decode

    if name not in BUILTINS:
        return None
    found = hook_type(name)
    settings, problems, unknown = decode(found.config_type, dict(config), ctx.chain.environment)
    if problems or unknown or settings is None:
        raise ValueError(f"hook {name}: " + "; ".join(problem.text for problem in [*problems, *unknown]))
    return found(settings)
