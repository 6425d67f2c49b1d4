"""Limits that chains set for themselves in `ruleChain.configuration.limits`, as aspects of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from catenary.aspects.keys import Key
from catenary.aspects.limits import ConcurrencyLimit, RateLimit
from catenary.aspects.roster import ChainAspects
from catenary.errors import ExpressionError
from catenary.load.settings import chain_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from catenary.aspects.base import Aspect
    from catenary.chain import Chain
    from catenary.definition import ChainDefinition
    from catenary.load.settings import ChainLimits


class WrittenConcurrency(ConcurrencyLimit):
    """The limit of runs at a time that a chain sets for itself."""


class WrittenRate(RateLimit):
    """The limit of runs in a second that a chain sets for itself."""


def with_limits(aspects: Sequence[Aspect], definition: ChainDefinition, before: Chain | None) -> Sequence[Aspect]:
    """Give the aspects of a chain with those that its own limits make; those that stay as they were go on counting."""
    limits = chain_settings(definition).limits
    if limits is None:
        return aspects
    pairs = list(aspects.pairs) if isinstance(aspects, ChainAspects) else [(one, one) for one in aspects]
    kept = _made(limits)
    if before is not None and chain_settings(before.definition).limits == limits:
        kept = [one for one in before.aspects if isinstance(one, WrittenConcurrency | WrittenRate)]
    return ChainAspects([*pairs, *((one, one) for one in kept)])


def _made(limits: ChainLimits) -> list[Aspect]:
    key = limits.key.strip() or None
    made: list[Aspect] = []
    if limits.concurrency is not None:
        wait_s = cast("float", limits.queue_timeout)
        made.append(WrittenConcurrency(limits.concurrency, queue=limits.queue, queue_timeout_s=wait_s, key=key))
    if limits.rate is not None:
        wait_s = cast("float", limits.max_wait)
        made.append(WrittenRate(limits.rate, burst=limits.burst, max_wait_s=wait_s, key=key))
    return made


def doubts(limits: ChainLimits, node_ids: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Give code, text and hint of what is wrong with the key of the limits of a chain."""
    key = limits.key.strip()
    try:
        named = Key(key, "limits").reads(node_ids) if key else ()
    except ExpressionError as error:
        yield "expression.syntax", f"limits.key: {error}", error.hint
        return
    for node_id in sorted(named):
        text = f"limits.key reads what node {node_id!r} sends, and is asked for before the first node"
        yield "chain.setting", text, "take the key from msg or metadata"
