"""Makes the gate of an agent from its settings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from catenary.load.names import closest
from catenary_components.ai.named_chain import NamedChain
from catenary_components.ai.permission.gate import Gate, Policy
from catenary_components.ai.permission.guard import Guard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.component import Context
    from catenary_components.ai.options.permission import PermissionSetting
    from catenary_components.ai.permission.rules import Rule

_logger = logging.getLogger(__name__)


def gate_of(ctx: Context, setting: PermissionSetting, tools: Iterable[str]) -> Gate:
    """Make the gate of an agent. A rule whose tool is probably misspelled is told in the log, for it guards nothing.

    Args:
        ctx: The context of the agent's node.
        setting: Its options.
        tools: The names of its tools.

    Raises:
        ConfigError, ChainInvalid: When the guard cannot be used.
    """
    environment = ctx.chain.environment
    roots = [str(root) for root in environment.roots]
    base = str(environment.properties.get("data_dir") or "") or (roots[0] if roots else "")
    options = setting.permission_options
    if options is None:
        return Gate(base=base)
    _tell_misspelled(ctx, options.rules, list(tools))
    policy = Policy(
        options.mode,
        options.rules,
        tuple(options.working_directories),
        options.dangers,
        options.all_checks,
        Guard(NamedChain(ctx, "guard", options.guard)) if options.guard else None,
    )
    return Gate(policy, base)


def _tell_misspelled(ctx: Context, rules: Iterable[Rule], tools: list[str]) -> None:
    for rule in rules:
        guess = None if any(map(rule.is_about, tools)) else closest(rule.tool, tools)
        if guess is not None:
            text = "a rule of permission is about no tool of the agent: %s; did you mean %r?"
            _logger.warning(text, rule.text, guess, extra={"chain": ctx.chain_id, "node": ctx.node_id})
