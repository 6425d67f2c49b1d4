"""What is tested, and the cases in which it is run."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catenary.component import info_of
from catenary.load.decode import dsl_name, other_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from catenary.clock import Clock
    from catenary.component import Component, Example
    from catenary.endpoints import Endpoint
    from catenary.engine import Engine
    from catenary.jsontext import Json

NODE = "node"
"""The id of the node, or the endpoint, that is tested."""

SENDER = "sender"
"""The id of a node in front of a join."""

RECEIVER = "receiver"
"""The id of a node behind one that has to lead on."""


def _no_peer() -> AbstractContextManager[Mapping[str, Json] | None]:
    return nullcontext()


def _nothing(engine: Engine) -> None:
    del engine


@dataclass(frozen=True)
class Case:
    """One way to run a component.

    Args:
        text: What it shows.
        config: The settings of the node. `${global.x}` is what `around` gives as `x`.
        inputs: The data of the messages sent in, one after the other (a `Message` to give more than data).
        leaves_by: The relation each message leaves by; not looked at if absent.
        data: What the data of each message is afterwards, or as it comes in by an endpoint; not looked at if absent.
        chain: A whole chain in which the component is used, where one node is not enough; `config` is not used then.
            All nodes of its type count, in whatever chain they run.
        routers: The routers of an endpoint.
        drive: Called with the endpoint when it runs: sends messages in as a client does, or moves its clock.
        prepare: Called with the engine before the chain is loaded: to register functions, or to load other chains.
        clock: Makes the clock of the engine; that of the machine if absent.
        around: Gives a context manager that starts what the component talks to, and gives properties of the engine.
        timeout_s: How long it may take in truth, in seconds.
    """

    text: str
    config: Mapping[str, Json] = field(default_factory=dict[str, Any])
    inputs: Sequence[Json] = ({},)
    leaves_by: Sequence[str] | None = None
    data: Sequence[Json] | None = None
    chain: Mapping[str, Json] | None = None
    routers: Sequence[Mapping[str, Json]] = ()
    drive: Callable[[Endpoint[Any, Any]], Awaitable[object]] | None = None
    clock: Callable[[], Clock] | None = None
    prepare: Callable[[Engine], object] = _nothing
    around: Callable[[], AbstractContextManager[Mapping[str, Json] | None]] = _no_peer
    timeout_s: float = 10.0

    @classmethod
    def of(cls, example: Example) -> Case:
        """Make a case of an example of a component."""
        return cls(
            f"example: {example.text}", example.config, example.inputs, leaves_by=example.leaves_by, data=example.data
        )


@dataclass(frozen=True)
class Subject:
    """A component, and what its author says about it.

    Args:
        component: The class; it has to be registered.
        given: The cases of the author.
        needs: Settings without which it cannot be loaded, though no single one of them is required.
        unreached: Relations that no case can reach, each with the reason.
        public: Options that look like secrets and are none.
    """

    component: type[Component[Any]]
    given: Sequence[Case] = ()
    needs: Mapping[str, Json] = field(default_factory=dict[str, Any])
    unreached: Mapping[str, str] = field(default_factory=dict[str, str])
    public: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The type of the component."""
        return info_of(self.component).type

    @property
    def is_endpoint(self) -> bool:
        """Whether it brings messages in."""
        return self.component.brings_in

    def cases(self) -> list[Case]:
        """Give all cases that can be run: the examples that need nothing, and those of the author."""
        examples = [] if self.is_endpoint else [Case.of(one) for one in self.component.examples if one.runs]
        return [*examples, *self.given]

    def defaults(self, inputs: Sequence[Json] = ({},)) -> Case:
        """Give a case with the fewest settings, which has as long as those of the author have."""
        time_limits = [case.timeout_s for case in self.given]
        return Case("the defaults", self.least() or {}, inputs, timeout_s=max(time_limits, default=Case.timeout_s))

    def least(self) -> dict[str, Json] | None:
        """Give the fewest settings with which it can be loaded; `None` when nothing says what is required."""
        required = [
            (dsl_name(name, info), {name.lower(), dsl_name(name, info).lower(), *map(str.lower, other_names(info))})
            for name, info in self.component.config_type().model_fields.items()
            if info.is_required()
        ]
        found: dict[str, Json] = dict(self.needs)
        for option, names in required:
            values = [value for config in self._configs() for key, value in config.items() if key.lower() in names]
            if not values:
                return None
            found[option] = values[0]
        return found

    def _configs(self) -> Iterator[Mapping[str, Json]]:
        for example in self.component.examples:
            yield example.config
        for case in self.given:
            yield case.config

    def chain(self, case: Case) -> dict[str, Json]:
        """Give the chain of a case."""
        if case.chain is not None:
            return dict(case.chain)
        return self.around(case.config, case.routers)

    def around(self, config: Mapping[str, Json], routers: Sequence[Mapping[str, Json]] = ()) -> dict[str, Json]:
        """Give a chain with the component as its only node, or its only endpoint, and what that needs."""
        placed: dict[str, Json] = {"id": NODE, "type": self.name, "configuration": dict(config)}
        nodes: list[Json] = [placed]
        parts: dict[str, Json] = {"nodes": nodes, "connections": []}
        if self.is_endpoint:
            nodes[0] = {"id": SENDER, "type": PASS}
            parts["endpoints"] = [{**placed, "routers": [dict(router) for router in routers]}]
        elif self.component.collects:
            nodes.insert(0, {"id": SENDER, "type": PASS})
            parts["connections"] = [{"fromId": SENDER, "toId": NODE, "type": "Success"}]
        elif self.component.onward:
            nodes.append({"id": RECEIVER, "type": PASS})
            ways = map(str, self.component.onward)
            parts["connections"] = [{"fromId": NODE, "toId": RECEIVER, "type": relation} for relation in ways]
        return {"ruleChain": {"id": "conformance", "root": True}, "metadata": parts}


PASS = "conformance/pass"
"""The type of a node that does nothing; the suite has it in the engines that it makes."""
