"""What stands in for nodes in a chain test: mocks, and the refusal of calls to the outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from catenary.component import info_of
from catenary.dynamic.component import with_inner
from catenary.errors import ConfigError, Refused, RunTimeout
from catenary.expr import Template
from catenary.relation import Relation, fail
from catenary.replaced import own_chains

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from catenary.chain import Chain
    from catenary.component import Context, Emission
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.runtime.compiled import Step
    from catenary.runtime.ends import Arrival
    from catenary.testing.chains.model import Mock, Sent

    Run = Callable[[Context, Any], Emission | Awaitable[Emission]]

OUTSIDE = frozenset({"external", "ai"})
"""The categories of components that call the outside."""


class StandIn:
    """Does in place of a node what a test says, visit by visit; the last result holds on.

    Args:
        results: What the visits do, in order; not empty.
        environment: What the templates in them are compiled with.
        timeout_s: The limit for a visit of the node.
    """

    def __init__(self, results: Sequence[Mock], environment: Environment, timeout_s: float | None) -> None:
        self._results = [_Result(result, environment) for result in results]
        self._timeout_s = timeout_s
        self._visits = 0

    @property
    def run(self) -> Run:
        """What is called: a plain function as long as no visit takes time, so that branches go in the order written."""
        return self._later if any(result.mock.delay for result in self._results) else self._now

    def _now(self, ctx: Context, message: Message | list[Arrival]) -> Any:
        return self._next().emission(ctx, _first(message))

    async def _later(self, ctx: Context, message: Message | list[Arrival]) -> Any:
        result = self._next()
        limit = self._timeout_s
        if limit is not None and result.mock.delay > limit:
            await ctx.clock.sleep(limit)
            raise RunTimeout(f"took longer than its timeout of {limit:g} s")
        if result.mock.delay:
            await ctx.clock.sleep(result.mock.delay)
        return result.emission(ctx, _first(message))

    def _next(self) -> _Result:
        self._visits += 1
        return self._results[min(self._visits, len(self._results)) - 1]


def _first(message: Message | list[Arrival]) -> Message:
    return message[0].message if isinstance(message, list) else message


class _Result:
    """What one visit does, its templates compiled."""

    def __init__(self, mock: Mock, environment: Environment) -> None:
        self.mock = mock
        self._error = None if mock.error is None else Template.compile(mock.error, environment)
        sent: Sequence[Sent] = [mock] if mock.sends is None else mock.sends
        self._sent = [(one, _compiled([one.data, one.metadata], environment)) for one in sent]

    def emission(self, ctx: Context, message: Message) -> Any:
        if self._error is not None:
            text = self._error.render(message, ctx)
            first, made = self._sent[0]
            return fail(text, self._message(first, made, ctx, message))
        if self.mock.silent:
            return None
        pairs = [(Relation(one.relation), self._message(one, made, ctx, message)) for one, made in self._sent]
        return pairs[0] if len(pairs) == 1 else pairs

    @staticmethod
    def _message(one: Sent, made: Any, ctx: Context, message: Message) -> Message:
        data, metadata = _rendered(made, ctx, message)
        if one.gives("data"):
            message = message.with_data(data)
        if one.data_type is not None:
            message = message.with_data_type(one.data_type)
        if one.type is not None:
            message = message.with_type(one.type)
        return message.put_all(metadata)


def _compiled(value: Json, environment: Environment) -> Any:
    """Give a value with its texts compiled as templates."""
    if isinstance(value, dict):
        return {key: _compiled(item, environment) for key, item in cast("dict[str, Json]", value).items()}
    if isinstance(value, list):
        return [_compiled(item, environment) for item in cast("list[Json]", value)]
    return Template.compile(value, environment) if isinstance(value, str) and "${" in value else value


def _rendered(value: Any, ctx: Context, message: Message) -> Any:
    if isinstance(value, Template):
        return value.value(message, ctx)
    if isinstance(value, dict):
        return {key: _rendered(item, ctx, message) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_rendered(item, ctx, message) for item in cast("list[Any]", value)]
    return value


def refuse(name: str, node_type: str, refused: list[str]) -> Run:
    """Give what stands in for a node that would call the outside; that it was visited goes on the list."""

    def run(_ctx: Context, _message: Any) -> Any:
        text = f"the node {name!r} ({node_type}) would call the outside"
        if text not in refused:
            refused.append(text)
        raise Refused(text, hint="give it a mock, or allow it with `allowExternal`")

    return run


@dataclass(frozen=True)
class StandIns:
    """What stands in for the nodes of the chains of a case.

    Attributes:
        top: The id of the chain under test; nodes of the others are named `chain:node`, and those of a chain that a
            node has made for itself, such as the loop of an agent, `agent/node`.
        mocks: By name of a node, what it does visit by visit.
        allowed: True, or the names of the nodes, that may call the outside.
        is_played: Whether a cassette answers in place of the services of models.
        loaded: The ids of the other chains that are loaded; what is opened besides belongs to a node that may run.
    """

    top: str
    mocks: Mapping[str, Sequence[Mock]]
    allowed: bool | list[str]
    is_played: bool = False
    loaded: set[str] = field(default_factory=set[str])

    def closed(self, chain: Chain) -> list[str]:
        """Give the ids of the nodes that are not opened, as nothing calls them; what others may borrow is got ready."""
        if chain.id != self.top and chain.id not in self.loaded and "#" not in chain.id:
            return []
        return [
            step.node_id
            for step in chain.compiled.steps
            if self._is_replaced(self._name(chain, step), step) and not step.component.opens_first
        ]

    def runs(self, chains: Iterable[Chain], refused: list[str]) -> dict[str, Run]:
        """Give what is called in place of nodes, by name. Refused visits go on the list.

        Raises:
            ConfigError: When the templates of a mock cannot be compiled, or a node has no such node inside.
        """
        runs: dict[str, Run] = {}
        for chain in with_inner(chains):
            for step in chain.compiled.steps:
                name = self._name(chain, step)
                if results := self.mocks.get(name):
                    runs[name] = StandIn(results, chain.environment, step.node.timeout_s).run
                elif self._is_replaced(name, step):
                    runs[name] = refuse(name, step.node.type, refused)
            for place, own in own_chains(chain, self.top):
                for step in own.compiled.steps:
                    name = place + step.node_id
                    if results := self.mocks.get(name):
                        runs[name] = StandIn(results, own.environment, step.node.timeout_s).run
        for name in self.mocks:
            self._check_inside(name, runs)
        return runs

    def _check_inside(self, name: str, runs: Mapping[str, Run]) -> None:
        """See that a mock inside of a node has a place, unless that node is mocked as a whole."""
        node, _, inside = name.partition("/")
        if inside and name not in runs and not self.mocks.get(node):
            text = f"the node {node!r} has no node {inside!r} in a chain of its own"
            raise ConfigError(text, hint=f"look for the name; {node!r} itself has to be in `allowExternal`")

    def _name(self, chain: Chain, step: Step) -> str:
        return step.node_id if chain.id == self.top else f"{chain.id}:{step.node_id}"

    def _is_replaced(self, name: str, step: Step) -> bool:
        if self.mocks.get(name):
            return True
        is_allowed = name in self.allowed if isinstance(self.allowed, list) else self.allowed
        category = info_of(type(step.component)).category
        return not is_allowed and category in OUTSIDE and not (self.is_played and category == "ai")
