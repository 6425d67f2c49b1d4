"""The `hooks` of an agent's configuration and those of the engine, as hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.functions import FunctionHook
from catenary_components.ai.hooks.roster import Hooks
from catenary_components.ai.options.hooks import HookConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.component import Context
    from catenary.host import GivenHook


def hooks_of(entries: Iterable[HookConfig | str], ctx: Context) -> Hooks | None:
    """Give the hooks of an agent node: those that all agents have, then those of its configuration.

    Args:
        entries: The configuration, in order; a bare name is short for a hook of that name.
        ctx: The agent's node.

    Returns: `None` when there are none.

    Raises:
        ValueError: When an entry cannot be a hook; the text says which and why.
    """
    given: tuple[GivenHook, ...] = ctx.chain.engine.agent_hooks
    found = [_given(one) for one in given if not one.name]
    for entry in entries:
        config = HookConfig(name=entry) if isinstance(entry, str) else entry
        found.append(_ordered(_hook(config, given, ctx), config.order))
    return Hooks(found, ctx) or None


def _hook(config: HookConfig, given: Iterable[GivenHook], ctx: Context) -> AgentHook:
    if not config.name:
        from catenary_components.ai.hooks.chains import ChainHook

        return ChainHook.of(config.at, config.chain, config.component, config.config, ctx)
    for one in given:
        if one.name == config.name:
            return _given(one)
    from catenary_components.ai.hooks.builtin import BUILTINS, make

    made = make(config.name, config.config, ctx)
    if made is None:
        names = sorted({*BUILTINS, *(one.name for one in given if one.name)})
        raise ValueError(f"hook not found: {config.name}; there are {', '.join(names)}")
    return made


def _given(one: GivenHook) -> AgentHook:
    hook: Any = one.hook
    if one.at:
        return FunctionHook(one.at, hook, 100 if one.order is None else one.order)
    if isinstance(hook, type) and issubclass(hook, AgentHook):
        hook = hook()
    if not isinstance(hook, AgentHook):
        raise ValueError(  # noqa: TRY004 - told as a setting that is wrong
            f"{hook!r} is no hook of agents: give an AgentHook, or say with at= which point the function fills"
        )
    return _ordered(hook, one.order)


def _ordered(hook: AgentHook, order: int | None) -> AgentHook:
    """Give a hook with another order, without changing the one that others may have, too."""
    if order is None or order == hook.order:
        return hook
    import copy

    placed = copy.copy(hook)
    placed.order = order
    return placed
