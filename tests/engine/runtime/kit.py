"""Chains for kernel tests, made from plain functions: `load(engine, {"a": function, ...}, ["a Success b"])`."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from catenary import SUCCESS, Component, Config, option, register
from catenary.component import JoinLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary import Chain, Engine

_functions: dict[int, Callable[..., Any]] = {}
_keys = count()


@dataclass(frozen=True)
class Kind:
    """A node that is more than a function: `Kind("t/join", function)`."""

    type: str
    function: Callable[..., Any] | None = None
    limits: JoinLimits = field(default_factory=JoinLimits)


class KeyConfig(Config):
    """Names the function behind a node."""

    key: int = option(-1, help="The number of the function; -1 passes messages on.")
    timeout_s: float | None = option(None, help="How long a join waits.")
    quorum: int = option(0, help="How many are enough for a join.")
    stop_rest: bool = option(False, help="A join stops the rest.")


class _Scripted(Component[KeyConfig]):
    relations = ()

    def call(self, ctx, msg):
        function = _functions.get(self.config.key)
        return SUCCESS if function is None else function(ctx, msg)


@register("t/def", category="test")
class Plain(_Scripted):
    """Calls a plain function."""

    def run(self, ctx, msg):
        return self.call(ctx, msg)


@register("t/async", category="test")
class Awaited(_Scripted):
    """Awaits a function."""

    async def run(self, ctx, msg):
        emission = self.call(ctx, msg)
        return await emission if inspect.isawaitable(emission) else emission


@register("t/flow", category="test")
class Flow(Awaited):
    """Awaits nothing but the kernel."""

    waits = False


@register("t/blocking", category="test")
class Blocking(Plain):
    """Calls a function in a thread."""

    blocking = True


@register("t/join", category="test")
class Joining(Plain):
    """Calls a function with all arrivals."""

    collects = True


@register("t/limitedJoin", category="test")
class LimitedJoining(Joining):
    """A join that may go on early."""

    def __init__(self, config):
        super().__init__(config)
        self.join_limits = JoinLimits(config.timeout_s, config.quorum, config.stop_rest)


@register("t/again", category="test")
class Repeating(Plain):
    """Calls a plain function that may ask to be called again."""

    repeats = True


@register("t/againAsync", category="test")
class AwaitedRepeating(Awaited):
    """Awaits a function that may ask to be called again."""

    repeats = True


@register("t/againBlocking", category="test")
class BlockingRepeating(Repeating):
    """Calls a function in a thread, which may ask to be called again."""

    blocking = True


@register("t/asyncJoin", category="test")
class AsyncJoining(Awaited):
    """Awaits a function with all arrivals."""

    collects = True


@register("t/flowJoin", category="test")
class FlowJoining(AsyncJoining):
    """Awaits nothing but the kernel, with all arrivals."""

    waits = False


@register("t/end", category="test")
class Ending(Component[Config]):
    """Branches end here."""

    relations = ()
    ends = True

    def run(self, ctx, msg):
        raise AssertionError("the kernel does not call it")


END = Kind("t/end")


def join(function: Callable[..., Any] | None = None) -> Kind:
    """Give a join; without a function it sends on the sorted texts of what arrived."""
    function = function or together
    return Kind("t/asyncJoin" if inspect.iscoroutinefunction(function) else "t/join", function)


def limited(function: Callable[..., Any] | None = None, **limits: Any) -> Kind:
    """Give a join that may go on early, by the limits of `JoinLimits`."""
    return Kind("t/limitedJoin", function or together, JoinLimits(**limits))


def flow(function: Callable[..., Any]) -> Kind:
    """Give a node that awaits nothing but the kernel."""
    return Kind("t/flow", function)


def blocking(function: Callable[..., Any]) -> Kind:
    """Give a node whose function runs in a thread."""
    return Kind("t/blocking", function)


def together(_ctx, arrivals):
    """Send on the sorted texts of all arrivals."""
    texts = sorted(arrival.message.text for arrival in arrivals)
    return SUCCESS, arrivals[0].message.with_data("+".join(texts), "TEXT")


def definition(
    nodes: Mapping[str, Any],
    edges: Iterable[str] = (),
    *,
    id: str = "c",  # noqa: A002 - the field's name in a chain
    keys: Mapping[str, Mapping[str, Any]] | None = None,
    **configuration: Any,
) -> dict[str, Any]:
    """Give a chain as plain values.

    Args:
        nodes: By id a function, a coroutine function, a `Kind`, or `None` for a node that passes messages on.
        edges: `"from Relation to"`, or `"from to"` for `Success`.
        id: The id of the chain.
        keys: More keys of single nodes, such as `retry`.
        **configuration: The chain's own settings.
    """
    written = [{**_node(name, what), **(keys or {}).get(name, {})} for name, what in nodes.items()]
    return {
        "ruleChain": {"id": id, "configuration": configuration},
        "metadata": {"nodes": written, "connections": [_edge(edge) for edge in edges]},
    }


def load(engine: Engine, nodes: Mapping[str, Any], edges: Iterable[str] = (), **more: Any) -> Chain:
    """Load a chain, see `definition`."""
    return engine.load(definition(nodes, edges, **more))


def line(*names: str) -> list[str]:
    """Give the edges of a straight chain."""
    return [f"{one} {other}" for one, other in pairwise(names)]


def ways(outcome: Any) -> list[str]:
    """Give `"node Relation"` of each end, in order."""
    return [f"{end.node_id} {end.relation}" for end in outcome.ends]


def _node(name: str, what: Any) -> dict[str, Any]:
    if not isinstance(what, Kind):
        what = Kind("t/async" if inspect.iscoroutinefunction(what) else "t/def", what)
    if what.function is None:
        return {"id": name, "type": what.type}
    key = next(_keys)
    _functions[key] = what.function
    limits = what.limits
    settings = {"timeoutS": limits.timeout_s, "quorum": limits.quorum, "stopRest": limits.stop_rest}
    return {"id": name, "type": what.type, "configuration": {"key": key, **settings}}


def _edge(edge: str) -> dict[str, str]:
    source, *relation, target = edge.split()
    return {"fromId": source, "type": relation[0] if relation else "Success", "toId": target}


@register("t/slowOpen", category="test")
class SlowOpen(Component[Config]):
    """Opens on an event loop, slowly."""

    opened = 0

    async def open(self, ctx):
        await asyncio.sleep(0.05)
        type(self).opened += 1

    async def run(self, ctx, msg):
        return SUCCESS
