"""Ties an endpoint to the engine: each of its routers gets the plan by which its messages are handled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catenary.definition import NodeDefinition
from catenary.endpoints.plan import Plan
from catenary.endpoints.targets import COMPONENT, FixedChain, NamedChain, PrivateChain, Unavailable, has_key, read_path
from catenary.errors import CatenaryError
from catenary.runtime.compiled import Step
from catenary.runtime.context import opening_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.chain import Chain
    from catenary.endpoints.base import Endpoint
    from catenary.endpoints.router import Router
    from catenary.endpoints.targets import Finder
    from catenary.engine import Engine
    from catenary.load.endpoints import BuiltEndpoint
    from catenary.shared.resource import ConnectionStatus

    OnState = Callable[[Endpoint[Any, Any], ConnectionStatus], None]
    OnWayFree = Callable[[Endpoint[Any, Any]], None]


class Binding:
    """What one version of a chain gives to one of its endpoints.

    Attributes:
        context: What the endpoint gets when it is opened.
    """

    def __init__(
        self, engine: Engine, built: BuiltEndpoint, chain: Chain, on_state: OnState, on_way_free: OnWayFree
    ) -> None:
        self._engine = engine
        self._built = built
        self._chain_id = chain.id
        self._private: list[Chain] = []
        component = built.component
        self.context = opening_context(Step(chain, _node(built), component, -1))
        component.bind(engine, chain.id, built.definition.id, lambda status: on_state(component, status))
        component.on_way_free = lambda: on_way_free(component)
        component.routers = {router.id: self._with_plan(router) for router in built.routers.values()}

    def _with_plan(self, router: Router) -> Router:
        engine = self._engine
        processors = engine.endpoints.processors
        names = (*self._built.processors, *router.processors)
        place = read_path(router.to.path, engine.endpoints.executors)
        executor = engine.endpoints.executors.get(place.executor)
        plan = Plan(
            engine,
            router,
            incoming=[processors.get_incoming(name) for name in names],
            outgoing=[processors.get_outgoing(name) for name in router.to.processors],
            find=self._finder(router) if executor is None else None,
            executor=executor,
            endpoint=self._built.component,
            debug=self._built.definition.debug_mode,
        )
        bound = replace(router, plan=plan)
        plan.router = bound
        return bound

    def _finder(self, router: Router) -> Finder:
        engine = self._engine
        place = read_path(router.to.path, {})
        if place.executor == COMPONENT:
            return self._private_chain(router, place.name)
        if has_key(router.to.path):
            return NamedChain(engine, place, self._chain_id)
        return FixedChain(engine, place.name or self._chain_id, place.node)

    def _private_chain(self, router: Router, type_name: str) -> Finder:
        name = f"{self._chain_id}#{self._built.definition.id}:{router.id}"
        node = {"id": "component", "type": type_name, "configuration": dict(router.to.configuration)}
        source = {"ruleChain": {"id": name}, "metadata": {"nodes": [node], "connections": []}}
        try:
            chain = self._engine.make(source, inside=self._chain_id)
        except CatenaryError as error:
            return Unavailable(error)
        self._private.append(chain)
        return PrivateChain(chain)

    def release(self) -> None:
        """Let go of what was made for the routers; messages in hand still have it."""
        for chain in self._private:
            chain.retire()
        self._private.clear()


def _node(built: BuiltEndpoint) -> NodeDefinition:
    """Give an endpoint as a context shows it."""
    endpoint = built.definition
    return NodeDefinition(endpoint.id, endpoint.type, endpoint.name, configuration=endpoint.configuration)
