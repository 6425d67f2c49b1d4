"""From the endpoints of a chain to their components and routers; what is wrong with them is told with its place."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from catenary.component import Config, option
from catenary.definition import NodeDefinition
from catenary.errors import CatenaryError
from catenary.load.decode import decode
from catenary.load.names import did_you_mean
from catenary.load.places import ABSENT, value_at
from catenary.load.quoting import as_written
from catenary.load.unresolved import tell_unresolved

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from catenary.component import Component
    from catenary.definition import EndpointDefinition
    from catenary.endpoints import Endpoint, Processors, Router
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.lint import Report
    from catenary.load.places import Path
    from catenary.registry import Registry


class FromConfig(Config):
    """Which messages a router takes in, and what is done with them first."""

    path: str = option("", help="A path, a topic, a cron expression, by the type of the endpoint.")
    configuration: dict[str, Any] = option({}, help="Settings of the router, by the type of the endpoint.")
    processors: list[str] = option([], help="Names of what is called with each message, in order.")


class ToConfig(Config):
    """Where the messages of a router go, and what is done with the answers."""

    path: str = option(
        "",
        help="`chain:ID` or `ID`, each with `:NODE` to start there, or `component:TYPE`; empty: the chain that the "
        "endpoint is in. `${key}` in a chain's is the metadata value of that key.",
        examples=["chain:orders", "orders:check", "component:log"],
    )
    wait: bool = option(False, help="Whether to answer when the chain has ended, or with nothing at once.")
    processors: list[str] = option([], help="Names of what is called with each answer, in order.")
    configuration: dict[str, Any] = option({}, help="Settings of a component target.")
    answer: Literal["last", "first", "list"] = option(
        "last", help="Which end is the answer when several branches end: the last, the first, or a list of all."
    )


class RouterConfig(Config):
    """One way of messages through an endpoint."""

    id: str = option("", help="Unique in the endpoint; made from method, path or number if absent.")
    params: list[Any] = option([], help="The method for `http`; by the type of the endpoint.")
    source: FromConfig = option(FromConfig(), alias="from", help="Which messages it takes in.")
    to: ToConfig = option(ToConfig(), help="Where they go.")
    additional_info: dict[str, Any] = option({}, help="Free.")


@dataclass(frozen=True, slots=True)
class BuiltEndpoint:
    """An endpoint that could be run.

    Attributes:
        definition: As written.
        component: Its component, not started.
        processors: What is called with each message before those of its router, placeholders resolved.
        routers: By id, placeholders resolved.
        fingerprint: The same for two endpoints that differ in their routers at most.
    """

    definition: EndpointDefinition
    component: Endpoint[Any, Any]
    processors: tuple[str, ...]
    routers: Mapping[str, Router]
    fingerprint: str = field(repr=False)

    @property
    def component_types(self) -> list[str]:
        """The types of the components that its routers send to."""
        from catenary.endpoints.targets import COMPONENT, read_path

        places = [read_path(router.to.path, {}) for router in self.routers.values()]
        return [place.name for place in places if place.executor == COMPONENT]


@dataclass(frozen=True, slots=True)
class EndpointReader:
    """Reads the endpoints of one chain.

    Attributes:
        report: What is wrong is added to it.
        registry: Where types are looked up.
        environment: In which placeholders are resolved.
        make: Makes a component: gets a node, its path, its class, the environment and a label.
        processors: The processors that may be named.
        executors: The kinds of targets that the host has added.
        stands_alone: True when there is no chain around them.
    """

    report: Report
    registry: Registry
    environment: Environment
    make: Callable[..., Component[Any] | None]
    processors: Processors
    executors: Mapping[str, Any]
    stands_alone: bool = False

    def read(self) -> list[BuiltEndpoint]:
        """Give the endpoints that can be made."""
        document = self.report.document
        built: list[BuiltEndpoint] = []
        for path, endpoint in zip(document.endpoint_paths, document.definition.endpoints, strict=True):
            label = f"endpoint {endpoint.id!r} ({endpoint.type})"
            processors = self._processors(endpoint, path, label)
            component_type = self._look_up(endpoint, path)
            component = None
            if component_type is not None:
                node = NodeDefinition(endpoint.id, endpoint.type, configuration=endpoint.configuration)
                made = self.make(node, path, component_type, self.environment, label)
                component = cast("Endpoint[Any, Any] | None", made)
            checker = component or _with_defaults(component_type)
            routers = self._routers(path, checker, label)
            if component is not None:
                fingerprint = fingerprint_of(component, endpoint.configuration, self.environment)
                built.append(BuiltEndpoint(endpoint, component, processors, routers, fingerprint))
        return built

    def _look_up(self, endpoint: EndpointDefinition, path: Path) -> type[Component[Any]] | None:
        place = self.report.document.path_to(path, "type")
        if not endpoint.type:
            self.report.add("chain.unknown-type", place, f"endpoint {endpoint.id!r} has no type")
            return None
        component_type = self.registry.find_endpoint(endpoint.type)
        if component_type is not None:
            return component_type
        text = f"endpoint {endpoint.id!r}: component not found. componentType={endpoint.type}"
        if self.registry.find(endpoint.type) is not None:
            text = f"endpoint {endpoint.id!r}: {endpoint.type!r} is a node, and no endpoint"
            self.report.add("endpoint.is-node", place, text)
        else:
            self.report.add("chain.unknown-type", place, text, self.registry.endpoint_hint(endpoint.type))
        return None

    def _processors(self, endpoint: EndpointDefinition, path: Path, label: str) -> tuple[str, ...]:
        from catenary.expr import resolve_placeholders

        written = list(endpoint.processors)
        names = cast("list[str]", resolve_placeholders(cast("Json", written), self.environment))
        before = len(self.report.problems)
        place = self.report.document.path_to(path, "processors")
        self._check_processors(tuple(names), self.processors.incoming, place, label)
        self._quote_as_written(before, cast("Json", names), cast("Json", written))
        tell_unresolved(self.report, place, label, cast("Json", names))
        return tuple(names)

    # Routers

    def _routers(self, path: Path, component: Endpoint[Any, Any] | None, label: str) -> dict[str, Router]:
        from catenary.expr import resolve_placeholders

        routers: dict[str, Router] = {}
        taken: dict[Hashable, str] = {}
        for base, written in self._written(path):
            before = len(self.report.problems)
            raw = cast("dict[str, Json]", resolve_placeholders(written, self.environment))
            router = self._router(raw, written, base, component, label)
            if router is not None and router.id in routers:
                text = f"{label}: two routers have the id {router.id!r}"
                place = self.report.document.path_to(base, "id")
                self.report.add("endpoint.duplicate-router", place, text, "give each router an id of its own")
            elif router is not None and component is not None and not self._is_refused(before):
                self._tell_same(router, taken, component.takes(router), base, label)
            if router is not None:
                routers[router.id] = router  # one with errors, too: then nothing of the chain is run
            self._quote_as_written(before, raw, written)
            self._tell_unresolved(raw, base, label)
        return routers

    def _is_refused(self, before: int) -> bool:
        """Tell whether its endpoint has found something wrong with a router, after so many problems before it."""
        return any(problem.code == "endpoint.router" for problem in self.report.problems[before:])

    def _tell_same(
        self, router: Router, taken: dict[Hashable, str], takes: Hashable | None, base: Path, label: str
    ) -> None:
        """Tell of a router to which no message would come, as another one takes them all."""
        other = taken.setdefault(takes, router.id)
        if takes is not None and other != router.id:
            place = self.report.document.path_to(base, "from", "path")
            text = f"{label}: the routers {other!r} and {router.id!r} take in the same"
            self.report.add("endpoint.router", place, text, "remove one, or give it something else to take in")

    def _tell_unresolved(self, raw: dict[str, Json], base: Path, label: str) -> None:
        """Warn of placeholders without a value; those of a component target are told with its settings."""
        to = self.report.document.path_to(base, "to")
        settings = self.report.document.path_to(to, "configuration")
        tell_unresolved(self.report, base, label, raw if settings == to else _without(raw, [settings[len(base) :]]))

    def _quote_as_written(self, before: int, raw: Json, written: Json) -> None:
        problems = self.report.problems
        problems[before:] = [replace(one, text=as_written(one.text, raw, written)) for one in problems[before:]]

    def _written(self, path: Path) -> Iterator[tuple[Path, dict[str, Json]]]:
        base = self.report.document.path_to(path, "routers")
        listed = value_at(self.report.document.value, base)
        if base == path or not isinstance(listed, list):
            return
        for index, raw in enumerate(cast("list[Json]", listed)):
            if isinstance(raw, dict):
                yield (*base, index), cast("dict[str, Json]", raw)

    def _router(
        self,
        raw: dict[str, Json],
        written: dict[str, Json],
        base: Path,
        component: Endpoint[Any, Any] | None,
        label: str,
    ) -> Router | None:
        """Make a router; all that is wrong with it is told. Of one with errors, it is what can be read."""
        from catenary.endpoints import Router, Target

        config = self._router_config(raw, written, base, label)
        if config is None:
            return None
        params, path = tuple(config.params), config.source.path
        to = config.to
        router = Router(
            id=config.id or (component.id_of(params, path) if component is not None else path),
            params=params,
            path=path,
            configuration=config.source.configuration,
            processors=tuple(config.source.processors),
            to=Target(to.path, to.wait, tuple(to.processors), to.configuration, to.answer),
            additional_info=config.additional_info,
        )
        self._check_router(router, base, component, f"{label}, router {router.id!r}")
        return router

    def _router_config(
        self, raw: dict[str, Json], written: dict[str, Json], base: Path, label: str
    ) -> RouterConfig | None:
        config, problems, unknown = decode(RouterConfig, raw, None, written=written)
        for problem in unknown:
            place = self.report.document.places.of_key((*base, *problem.path))
            self.report.add(problem.code, (*base, *problem.path), f"{label}: {problem.text}", problem.hint, place=place)
        for problem in problems:
            self.report.add("config.invalid", (*base, *problem.path), f"{label}: {problem.text}", problem.hint)
        if config is None:  # all that is wrong with the rest of it is told, too
            config, _, _ = decode(RouterConfig, _without(raw, [problem.path for problem in problems]), None)
        return config

    def _check_router(self, router: Router, base: Path, component: Endpoint[Any, Any] | None, label: str) -> None:
        to = self.report.document.path_to
        source, target = to(base, "from"), to(base, "to")
        self._check_processors(router.processors, self.processors.incoming, to(source, "processors"), label)
        self._check_processors(router.to.processors, self.processors.outgoing, to(target, "processors"), label)
        self._check_target(router, base, label)
        for text in component.check_router(router) if component is not None else ():
            self.report.add("endpoint.router", to(source, "path"), f"{label}: {text}")

    def _check_processors(self, names: tuple[str, ...], known: Mapping[str, Any], path: Path, label: str) -> None:
        for index, name in enumerate(names):
            if name not in known:
                hint = did_you_mean(name, known, "the processors here are: " + ", ".join(sorted(known)))
                text = f"{label}: processor not found: {name}"
                self.report.add("endpoint.unknown-processor", (*path, index), text, hint)

    def _check_target(self, router: Router, base: Path, label: str) -> None:
        from catenary.endpoints.targets import COMPONENT, has_key, read_path

        document = self.report.document
        path = document.path_to(base, "to", "path")
        try:
            place = read_path(router.to.path, self.executors)
        except ValueError as error:
            self.report.add("endpoint.target", path, f"{label}: the target {router.to.path!r} {error}")
            return
        if place.executor == COMPONENT:
            self._check_component(router, place.name, base, label)
        elif place.executor != "chain" or has_key(router.to.path):
            return
        elif not place.name and self.stands_alone:
            text = f"{label}: the target is empty, and the endpoint is in no chain"
            self.report.add("endpoint.target", path, text, "name the chain: chain:ID")
        elif place.node and not self.stands_alone and place.name in {"", document.definition.id}:
            ids = [node.id for node in document.definition.nodes]
            if place.node not in ids:
                text = f"{label}: the chain has no node {place.node!r} to start at"
                self.report.add("endpoint.target", path, text, did_you_mean(place.node, ids))

    def _check_component(self, router: Router, type_name: str, base: Path, label: str) -> None:
        document = self.report.document
        found = self.registry.find(type_name)
        path = document.path_to(base, "to", "path")
        if found is None:
            text = f"{label}: component not found. componentType={type_name}"
            self.report.add("chain.unknown-type", path, text, self.registry.hint(type_name))
        elif self.registry.is_endpoint(found):
            self.report.add("node.is-endpoint", path, f"{label}: {type_name!r} is an endpoint, and no node")
        else:
            to = document.path_to(base, "to")
            node = NodeDefinition(router.id, type_name, configuration=router.to.configuration)
            self.make(node, to, found, self.environment, f"{label}, component {type_name!r}")


def fingerprint_of(component: Component[Any], configuration: Mapping[str, Json], environment: Environment) -> str:
    """Give what is the same for two components that do the same: their settings, and the variables that these read."""
    from catenary.expr import resolve_placeholders

    resolved = resolve_placeholders(dict(configuration), environment)
    seen = environment.vars if _has_formulas(component.config) else None
    return repr((type(component), resolved, seen))


def _with_defaults(component_type: type[Component[Any]] | None) -> Endpoint[Any, Any] | None:
    """Make an endpoint whose settings are those of none, to check the routers of one that could not be made."""
    try:
        return None if component_type is None else cast("Any", component_type)(component_type.config_type()())
    except (CatenaryError, ValueError):  # it has no defaults
        return None


def _without(raw: Json, paths: list[Path]) -> Json:
    """Give a value without what is at some paths."""
    left = copy.deepcopy(raw)
    for path in paths:
        holder: Any = value_at(left, path[:-1])
        if path and value_at(left, path) is not ABSENT:
            holder[path[-1]] = None
    return left


def _has_formulas(value: Any) -> bool:
    """Tell whether settings hold expressions, templates or scripts, which may read the variables of the chain."""
    if isinstance(value, list | tuple):
        return any(map(_has_formulas, cast("list[Any]", value)))
    if isinstance(value, dict):
        return any(map(_has_formulas, cast("dict[str, Any]", value).values()))
    if isinstance(value, Config):
        return any(_has_formulas(getattr(value, name)) for name in type(value).model_fields)
    return type(value).__module__.startswith("catenary.expr")
