"""Endpoints that stand alone: outside of any chain, added and removed while the engine runs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ChainInvalid, EngineError
from catenary.load.places import value_at

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from catenary.chain import Chain
    from catenary.definition import EndpointDefinition
    from catenary.endpoints.base import Endpoint
    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.jsontext import Json
    from catenary.life.pool import Uses
    from catenary.load.document import Document
    from catenary.load.endpoints import BuiltEndpoint

    Source: TypeAlias = str | Path | dict[str, Json]


@dataclass(frozen=True, slots=True)
class Alone:
    """One endpoint that stands alone.

    Attributes:
        built: The endpoint.
        holder: A chain without nodes, which stands for one around it.
        value: It as plain values.
        head: What stands before it in its source, such as variables, as plain values.
        file: Where it came from.
    """

    built: BuiltEndpoint
    holder: Chain
    value: dict[str, Json]
    head: Json
    file: str

    @property
    def id(self) -> str:
        """Its id."""
        return self.built.definition.id


class StandAlone:
    """The part of the endpoints of an engine that is about those outside of chains.

    Each is written like one of a chain: `{id, type, configuration, processors, routers}`; its routers name their
    chains. All may be called from any thread: one change is made after the other.
    """

    _engine: Engine
    _turn: threading.RLock
    _alone: dict[str, Alone]

    def _sync_where_they_run(self, chain_id: str) -> None:
        raise NotImplementedError

    def add(self, source: Source) -> str:
        """Add an endpoint; it is started where the endpoints of the engine run, else when they are.

        Args:
            source: A path, the text of the endpoint (JSON or YAML), or plain values.

        Returns:
            Its id.

        Raises:
            ChainInvalid: When it has errors; it lists all of them.
            EngineError: When there is an endpoint with the id already, which `reload` replaces, or a shared resource.
        """
        alone = self._read(source)
        with self._turn:
            if alone.id in self._alone:
                hint = "use engine.endpoints.reload(...) to replace it"
                raise EngineError(f"duplicate endpoint id:{alone.id}", hint=hint)
            self._refuse_shared(alone.id)
            self.put(alone)
        return alone.id

    def _refuse_shared(self, name: str) -> None:
        """Refuse an id of a shared node: `ref://ID` must not mean two things."""
        if self._engine.shared.find(name) is not None:
            raise EngineError(f"duplicate node id:{name}", hint="a shared resource has it; take another id")

    def reload(self, source: Source) -> str:
        """Replace an endpoint, or add it when it is not there yet: as `add`.

        With the same configuration it goes on running, and only its routers are exchanged; with another one it is
        restarted. When the source has errors, everything stays as it is.
        """
        with self._turn:
            alone = self._read(source)
            self._refuse_shared(alone.id)
            self.put(alone)
        return alone.id

    def remove(self, id: str) -> None:  # noqa: A002 - the field's name
        """Take an endpoint out; it is drained and stopped. Raises: EngineError: when there is none."""
        with self._turn:
            self._get(id)
            del self._alone[id]
            self._sync_where_they_run("")

    def kinds(self) -> dict[str, type[Endpoint[Any, Any]]]:
        """Give the component classes of the endpoints that stand alone, by id."""
        return {name: type(alone.built.component) for name, alone in list(self._alone.items())}

    def get(self, id: str) -> EndpointDefinition:  # noqa: A002 - the field's name
        """Give an endpoint as it is written. Raises: EngineError: when there is none."""
        return self._get(id).built.definition

    def add_router(self, id: str, router: Mapping[str, Json]) -> str:  # noqa: A002 - the field's name
        """Add a router to an endpoint, which goes on running.

        Returns:
            The id of the router.

        Raises:
            ChainInvalid: When it has errors, or there is one with its id already.
            EngineError: When there is no such endpoint.
        """
        with self._turn:
            alone = self._get(id)
            return self._with_routers(alone, [*_routers(alone), dict(router)])[-1]

    def replace_router(self, id: str, router_id: str, router: Mapping[str, Json]) -> str:  # noqa: A002
        """Put a router in the place of another one. Raises: as `add_router`, and when there is no such router.

        Returns:
            The id of the router.
        """
        with self._turn:
            alone = self._get(id)
            index = _index(alone, router_id)
            routers = _routers(alone)
            routers[index] = dict(router)
            return self._with_routers(alone, routers)[index]

    def remove_router(self, id: str, router_id: str) -> None:  # noqa: A002 - the field's name
        """Take a router out of an endpoint; messages in hand are answered.

        Raises:
            EngineError: When there is no such endpoint, or no such router.
        """
        with self._turn:
            alone = self._get(id)
            routers = _routers(alone)
            del routers[_index(alone, router_id)]
            self._with_routers(alone, routers)

    def _with_routers(self, alone: Alone, routers: list[Json]) -> list[str]:
        """Exchange the routers of an endpoint. Returns: the ids of all of them, in order."""
        value = {key: part for key, part in alone.value.items() if key.lower() != "routers"}
        changed = self._made_again(alone, {**value, "routers": cast("Json", routers)})
        self.put(changed)
        return list(changed.built.routers)

    def _get(self, name: str) -> Alone:
        alone = self._alone.get(name)
        if alone is None:
            known = ", ".join(self._alone) or "none"
            raise EngineError(f"endpoint id={name} not found", hint=f"the endpoints that stand alone are: {known}")
        return alone

    def put(self, *alone: Alone) -> None:
        """Have endpoints stand alone from now on, in the place of those with their ids."""
        with self._turn:
            self._alone.update((one.id, one) for one in alone)
            self._sync_where_they_run("")

    def remake(self, uses: Uses | None = None) -> list[Problem]:
        """Make the endpoints that stand alone anew, see `Engine.reload_all`; those with errors stay as they are.

        Args:
            uses: Tells by the types of components that routers send to which ones; all if absent.

        Returns:
            What is wrong with those that could not be made.
        """
        problems: list[Problem] = []
        with self._turn:
            for alone in list(self._alone.values()):
                if uses is not None and not uses(alone.built.component_types):
                    continue
                try:
                    self.put(self._made_again(alone, alone.value))
                except ChainInvalid as error:
                    problems += error.problems
        return problems

    def _made_again(self, alone: Alone, value: dict[str, Json]) -> Alone:
        from catenary.load import read

        source: Json = {"ruleChain": alone.head, "metadata": {"endpoints": [value]}}
        return self._made(read(cast("dict[str, Json]", source), file=alone.file))

    def _read(self, source: Source) -> Alone:
        from catenary.load.document import read_endpoint

        return self._made(read_endpoint(source))

    def _made(self, document: Document) -> Alone:
        from catenary.load import assemble

        engine = self._engine
        made = assemble(document, engine.registry, engine.settings_for(document), stands_alone=True)
        problems = [problem for problem in made.problems if problem.code != "chain.no-nodes"]
        if any(problem.severity == "error" for problem in problems):
            raise ChainInvalid(problems, file=document.file)
        (alone,) = self.made_of(document, made.endpoints)
        return alone

    def made_of(self, document: Document, endpoints: Iterable[BuiltEndpoint]) -> list[Alone]:
        """Let the endpoints of a document stand alone: each gets what stands for a chain around it."""
        from catenary.chain import Chain
        from catenary.load import environment_of
        from catenary.masking import secrets_in

        engine = self._engine
        definition = replace(
            document.definition, nodes=(), connections=(), rule_chain_connections=(), first_node_index=0
        )
        environment = environment_of(definition, engine.settings_for(document))
        limits = engine.defaults.limits_of(definition)
        made: list[Alone] = []
        for built in endpoints:
            engine.masker.add(*secrets_in([built.component.config]))
            around = Chain(engine, "", replace(definition, endpoints=(built.definition,)), [], environment, limits)
            made.append(Alone(built, around, *_written(document, built.definition), document.file))
        return made


def _written(document: Document, endpoint: EndpointDefinition) -> tuple[dict[str, Json], Json]:
    """Give an endpoint, and what stands before it, as plain values."""
    path = document.endpoint_paths[document.definition.endpoints.index(endpoint)]
    head = document.path_to((), "ruleChain")
    value = cast("dict[str, Json]", copy.deepcopy(value_at(document.value, path)))
    return value, copy.deepcopy(value_at(document.value, head)) if head else {}


def _routers(alone: Alone) -> list[Json]:
    return [copy.deepcopy(dict(router)) for router in alone.built.definition.routers]


def _index(alone: Alone, router_id: str) -> int:
    ids = list(alone.built.routers)
    if router_id not in ids:
        raise EngineError(f"router id={router_id} not found", hint="the routers are: " + (", ".join(ids) or "none"))
    return ids.index(router_id)
