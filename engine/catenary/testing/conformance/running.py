"""Runs cases in engines of their own, and sees what comes of it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from catenary.aspects import Aspect
from catenary.component import Component, Config
from catenary.engine import Engine
from catenary.errors import CatenaryError, ChainInvalid, EngineError
from catenary.events import NodeEmitted, NodeFinished, RunStarted
from catenary.message import Message
from catenary.reasons import reason_of
from catenary.registry import Registry
from catenary.relation import SUCCESS
from catenary.testing.conformance.case import PASS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from catenary.chain import Chain
    from catenary.definition import NodeDefinition
    from catenary.events import Event
    from catenary.outcome import Outcome
    from catenary.relation import Relation
    from catenary.testing.conformance.case import Case, Subject

SETTLE_S: Final = 10.0
"""How long an engine has to close, in seconds."""


class Pass(Component[Config]):
    """Do nothing."""

    relations = (SUCCESS,)

    def run(self, ctx: Any, msg: Message) -> Relation:
        del ctx, msg
        return SUCCESS


@dataclass
class Seen:
    """What came of a case.

    Attributes:
        outcomes: How the run of each message ended.
        left_by: All relations by which messages left nodes of the component.
        came: The messages that an endpoint brought in.
        arrived: Set when one comes in.
        events: All events.
        failure: Why it could not be run to its end; empty when it was.
    """

    outcomes: list[Outcome] = field(default_factory=list["Outcome"])
    left_by: set[str] = field(default_factory=set[str])
    came: list[Message] = field(default_factory=list[Message])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    events: list[Event] = field(default_factory=list["Event"])
    failure: str = ""


@contextmanager
def engine_for(subject: Subject, case: Case) -> Generator[Callable[[], Engine]]:
    """Start what a case needs, and give what makes an engine for it."""
    with case.around() as given:
        properties = dict(given or {})

        def make() -> Engine:
            registry = Registry()
            registry.register(PASS, category="test")(Pass)
            if registry.find(subject.name) is not subject.component:
                registry.add(subject.component)
            clock = None if case.clock is None else case.clock()
            engine = Engine(properties, registry=registry, clock=clock)
            case.prepare(engine)
            return engine

        yield make


def run_case(subject: Subject, case: Case) -> Seen:
    """Run a case from beginning to end, in an event loop of its own."""
    seen = Seen()
    with engine_for(subject, case) as make:
        try:
            asyncio.run(_run(subject, case, make(), seen))
        except TimeoutError:
            seen.failure = f"it did not end within {case.timeout_s:g} s"
            if case.drive is not None:
                seen.failure += f", and {len(seen.came)} of {_expected(case)} messages came in by the endpoint"
        except CatenaryError as error:
            seen.failure = told(error)
    return seen


async def _run(subject: Subject, case: Case, engine: Engine, seen: Seen) -> None:
    engine.subscribe(Watched(subject, engine, seen).see)
    try:
        async with asyncio.timeout(case.timeout_s):
            chain = engine.load(subject.chain(case))
            async with engine:
                await drive(subject, case, chain)
                while case.drive is not None and len(seen.came) < _expected(case):
                    seen.arrived.clear()
                    await seen.arrived.wait()
                for message in [] if subject.is_endpoint else messages(case):
                    seen.outcomes.append(await chain.run(message))
    finally:
        await engine.close(grace_s=SETTLE_S)


def _expected(case: Case) -> int:
    """Give how many messages have to come in by an endpoint."""
    return 1 if case.data is None else len(case.data)


async def drive(subject: Subject, case: Case, chain: Chain) -> None:
    """Have a case send its messages in by the endpoint, if it is about one."""
    if case.drive is None:
        return
    endpoints = chain.engine.endpoints
    await endpoints.settled()
    names = [built.definition.id for built in chain.endpoints if type(built.component) is subject.component]
    endpoint = endpoints.find(chain.id, names[0]) if names else None
    if endpoint is None:
        errors = [status.error for status in endpoints.status() if status.error]
        raise EngineError(f"the endpoint does not run: {'; '.join(errors) or 'the chain has none'}")
    try:
        await case.drive(endpoint)
    except Exception as error:
        raise EngineError(f"`drive` failed: {type(error).__name__}: {error}") from error


class Watched(Aspect):
    """Sees by which relations messages leave the nodes of a component, in all chains of an engine, and what comes in.

    It is an aspect to be told of all nodes, also of those in chains that components make for themselves; it is woven
    around none.
    """

    def __init__(self, subject: Subject, engine: Engine, seen: Seen) -> None:
        self._subject = subject
        self._seen = seen
        self._places: set[tuple[str, str]] = set()
        for chain in engine.chains.values():  # those of `prepare`
            for node, component in chain._nodes:
                self.for_node(chain, node, component)
        engine.add_aspect(self)

    def for_node(self, chain: Chain, node: NodeDefinition, component: Component[Any]) -> None:
        """Note where the nodes of the component are."""
        if isinstance(component, self._subject.component):
            self._places.add((chain.id, node.id))

    def see(self, event: Event) -> None:
        """Note one event."""
        self._seen.events.append(event)
        is_subject = (event.chain_id, event.node_id) in self._places
        if is_subject and isinstance(event, NodeFinished):
            self._seen.left_by.update(map(str, event.relations))
        elif is_subject and isinstance(event, NodeEmitted):
            self._seen.left_by.add(str(event.relation))
        elif isinstance(event, RunStarted) and self._subject.is_endpoint:
            self._seen.came.append(event.message)
            self._seen.arrived.set()


def parts_of(subject: Subject, chain: Chain) -> list[Component[Any]]:
    """Give the instances of a component in a chain: nodes, or endpoints."""
    parts: list[Any] = [component for _, component in chain._nodes]
    parts += [built.component for built in chain.endpoints]
    return [part for part in parts if type(part) is subject.component]


def messages(case: Case) -> list[Message]:
    """Give the messages of a case."""
    return [one if isinstance(one, Message) else Message(one) for one in case.inputs]


def told(error: BaseException) -> str:
    """Give the text of an error; of a chain that is invalid, all problems."""
    if isinstance(error, ChainInvalid):
        return "; ".join(problem.text for problem in error.problems)
    return reason_of(error)
