"""From a document to components: every node is looked up, its placeholders resolved, its configuration decoded."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import ConfigError, ExpressionError, ScriptError, TemplateError
from catenary.load.borrowing import lint_references
from catenary.load.decode import FieldProblem, decode, first_line
from catenary.load.lint import Report, lint
from catenary.load.names import UNRESOLVED, did_you_mean
from catenary.load.node_names import NodeNames
from catenary.load.places import value_at
from catenary.load.settings import Settings, environment_of, read_chain_settings
from catenary.load.unknown_names import unknown_names
from catenary.load.unresolved import tell_unresolved
from catenary.secrets import doubts
from catenary.text_places import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path as FilePath

    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.errors import Problem
    from catenary.expr import Environment
    from catenary.expr.advice import Doubt
    from catenary.jsontext import Json
    from catenary.load.document import Document
    from catenary.load.endpoints import BuiltEndpoint
    from catenary.load.places import Path, Place
    from catenary.load.settings import ChainLimits, ChainSettings
    from catenary.registry import Registry

_POSITION: Final = re.compile(r" \(line [0-9]+, column [0-9]+\)$")


def check(document: Document, registry: Registry, settings: Settings | None = None) -> list[Problem]:
    """Give everything that is wrong with a chain, in order of place. Nothing is opened."""
    return build(document, registry, settings)[1]


def build(
    document: Document,
    registry: Registry,
    settings: Settings | None = None,
    kept: Mapping[str, Component[Any]] | None = None,
) -> tuple[list[tuple[NodeDefinition, Component[Any]]], list[Problem]]:
    """Make the components of a chain.

    Args:
        document: The chain.
        registry: Where node types are looked up.
        settings: What the engine brings.
        kept: By node id, components that are there already and are taken as they are.

    Returns:
        Each node with its component, in the order written, and everything that is wrong with the chain, in order of
        place. When any problem is an error, nodes are missing and the chain is not to be run.
    """
    assembly = assemble(document, registry, settings, kept)
    return assembly.nodes, assembly.problems


@dataclass(frozen=True, slots=True)
class Assembly:
    """What was made of a chain.

    Attributes:
        nodes: Each node with its component, in the order written.
        endpoints: The endpoints that could be run; nothing of them is opened.
        problems: Everything that is wrong, in order of place.
    """

    nodes: list[tuple[NodeDefinition, Component[Any]]]
    endpoints: list[BuiltEndpoint]
    problems: list[Problem]


def assemble(
    document: Document,
    registry: Registry,
    settings: Settings | None = None,
    kept: Mapping[str, Component[Any]] | None = None,
    *,
    stands_alone: bool = False,
    around: tuple[FilePath, ...] = (),
) -> Assembly:
    """Make the components of a chain and of its endpoints, see `build`.

    Args:
        document: As for `build`.
        registry: As for `build`.
        settings: As for `build`.
        kept: As for `build`.
        stands_alone: True for endpoints that no chain is around.
        around: The files of the chains whose nodes run this one, the outermost first.
    """
    builder = _Builder(document, registry, settings or Settings(), kept or {})
    builder.stands_alone = stands_alone
    builder.around = around
    nodes, problems = builder.build()
    return Assembly(nodes, builder.endpoints, problems)


class _Builder:
    stands_alone = False
    around: tuple[FilePath, ...] = ()

    def __init__(
        self, document: Document, registry: Registry, settings: Settings, kept: Mapping[str, Component[Any]]
    ) -> None:
        self.document = document
        self.kept = kept
        self.registry = registry
        self.settings = settings
        self.report = Report(document)
        self.endpoints: list[BuiltEndpoint] = []
        self.inside: list[Problem] = []
        self.node_names = NodeNames(self.report, dict.fromkeys(node.id for node in document.definition.nodes))

    def build(self) -> tuple[list[tuple[NodeDefinition, Component[Any]]], list[Problem]]:
        """Make all nodes and endpoints, and look at the chain as a whole. Returns: the nodes, and all that is wrong."""
        definition = self.document.definition
        own = self._read_settings()
        environment = environment_of(definition, self.settings)
        if environment.secrets:
            from catenary.masking import Masker

            self.report.masker = Masker(environment.secrets.values())
        components: dict[str, type[Component[Any]]] = {}
        built: list[tuple[NodeDefinition, Component[Any]]] = []
        for path, node in zip(self.document.node_paths, definition.nodes, strict=True):
            component_type = self._look_up(node, path)
            if component_type is None:
                continue
            components[node.id] = component_type
            self._check_policies(node, path)
            component = self._component(node, path, component_type, environment)
            if component is not None:
                self._check_retries(node, path, component)
                built.append((node, component))
        built += self._chain_nodes(environment)
        if definition.endpoints:
            self.endpoints = self._read_endpoints(environment)
        self.node_names.lint()
        self._check_references(built, components)
        lint(self.report, components, _named_relations(built), self.settings, own)
        environment.programs.clear()  # each names the environment: a chain that is gone would wait for the collector
        return built, [*self.report.sorted(strict=self.settings.strict or own.strict), *self.inside]

    def _read_settings(self) -> ChainSettings:
        own, problems, suspicious = read_chain_settings(self.document.definition)
        base = self.document.path_to((), "ruleChain", "configuration")
        for problem in problems:
            self.report.add("chain.setting", (*base, *problem.path), problem.text, problem.hint)
        for problem in suspicious:
            self._add_key("chain.unknown-key", (*base, *problem.path), problem.text, problem.hint)
        self._check_secrets(own, base)
        if own.limits is not None:
            self._check_limits(own.limits, base)
        return own

    def _read_endpoints(self, environment: Environment) -> list[BuiltEndpoint]:
        from catenary.endpoints import Processors
        from catenary.load.endpoints import EndpointReader

        settings = self.settings
        processors = settings.processors or Processors()
        return EndpointReader(
            self.report,
            self.registry,
            environment,
            self._component,
            processors,
            settings.executors,
            stands_alone=self.stands_alone,
        ).read()

    def _chain_nodes(self, environment: Environment) -> Iterator[tuple[NodeDefinition, Component[Any]]]:
        """Make the nodes that stand for `ruleChainConnections`."""
        definition = self.document.definition
        path = self.document.path_to((), "metadata", "ruleChainConnections")
        for node in definition.with_chain_nodes().nodes[len(definition.nodes) :]:
            component_type = self._look_up(node, path)
            component = component_type and self._component(node, path, component_type, environment)
            if component is not None:
                yield node, component

    def _check_references(
        self, built: list[tuple[NodeDefinition, Component[Any]]], own: Mapping[str, type[Component[Any]]]
    ) -> None:
        document = self.document
        definition = document.definition
        paths = {node.id: path for path, node in zip(document.node_paths, definition.nodes, strict=True)}
        paths |= {one.id: path for path, one in zip(document.endpoint_paths, definition.endpoints, strict=True)}
        named = [("node", node, component) for node, component in built]
        named += [("endpoint", one.definition, one.component) for one in self.endpoints]
        borrowers = [
            (f"{kind} {one.id!r} ({one.type})", document.path_to(paths.get(one.id, ()), "configuration"), component)
            for kind, one, component in named
        ]
        endpoints = {one.definition.id: type(one.component) for one in self.endpoints}
        lint_references(self.report, borrowers, {**endpoints, **own}, self.settings.resources)

    def _check_secrets(self, own: ChainSettings, base: Path) -> None:
        written = next((key for key in self.document.definition.configuration if key.lower() == "secrets"), "secrets")
        for path, problem in doubts(own.secrets, self.settings.secret_key):
            text = f"secret {'.'.join(path)!r} {problem}"
            self.report.add("chain.sealed-secret", (*base, written, *path), text)

    def _check_limits(self, limits: ChainLimits, base: Path) -> None:
        from catenary.aspects.written import doubts

        for code, text, hint in doubts(limits, (node.id for node in self.document.definition.nodes)):
            self.report.add(code, (*base, "limits", "key"), text, hint)

    def _add_key(self, code: str, path: Path, text: str, hint: str) -> None:
        self.report.add(code, path, text, hint, place=self.document.places.of_key(path))

    def _look_up(self, node: NodeDefinition, path: Path) -> type[Component[Any]] | None:
        component_type = self.registry.find(node.type)
        if component_type is None:
            place = self.document.path_to(path, "type")
            text = f"node {node.id!r}: component not found. componentType={node.type}"
            if not node.type:
                text = f"node {node.id!r} has no type"
            self.report.add("chain.unknown-type", place, text, self.registry.hint(node.type))
        elif self.registry.is_endpoint(component_type):
            text = f"node {node.id!r}: {node.type!r} is an endpoint, and no node"
            self.report.add("node.is-endpoint", self.document.path_to(path, "type"), text)
            return None
        return component_type

    def _check_policies(self, node: NodeDefinition, path: Path) -> None:
        label = _label(node)
        for code, key in (("chain.timeout", "timeout"), ("chain.retry", "retry")):
            try:
                _ = node.timeout_s if key == "timeout" else node.retry_policy
            except ValueError as error:
                self.report.add(code, self.document.path_to(path, key), f"{label}: {key} {error}")
        if node.templates not in {"", "strict", "lenient"}:
            text = f"{label}: templates must be 'strict' or 'lenient', not {node.templates!r}"
            hint = did_you_mean(node.templates, ("strict", "lenient"))
            self.report.add("chain.setting", self.document.path_to(path, "templates"), text, hint)

    def _check_retries(self, node: NodeDefinition, path: Path, component: Component[Any]) -> None:
        with suppress(ValueError):  # told by `_check_policies`
            if component.retries and node.retry_policy:
                text = f"{_label(node)}: retry is set, and the component retries by itself"
                self.report.add("chain.double-retry", self.document.path_to(path, "retry"), text)

    def _component(
        self,
        node: NodeDefinition,
        path: Path,
        component_type: type[Component[Any]],
        environment: Environment,
        label: str = "",
    ) -> Component[Any] | None:
        from catenary.expr import resolve_placeholders

        base = self.document.path_to(path, "configuration")
        if base == path:
            base = (*path, "configuration")
        present = None if label else self.kept.get(node.id)
        label = label or _label(node)
        if present is not None:
            self.node_names.add(node.id, label, base, present.config)
            return present
        raw = dict(node.configuration)
        if node.templates:
            environment = replace(environment, lenient=node.templates == "lenient")
        resolved = raw if component_type.is_note else resolve_placeholders(raw, environment)
        config, problems, unknown = decode(component_type.config_type(), resolved, environment, written=raw)
        for problem in unknown:
            self._add_key(problem.code, (*base, *problem.path), f"{label}: {problem.text}", problem.hint)
        if component_type.chain_options:
            self._look_into_files(component_type.chain_options, resolved, base, label, environment)
        if not component_type.is_note:
            tell_unresolved(self.report, base, label, resolved)
        self.node_names.add(node.id, label, base, config)
        for problem in problems:
            self._add_field_problem(base, label, problem)
        for where, source, doubt in unknown_names(config, environment):
            self._add_doubt((*base, *where), label, source, doubt)
        component = None if config is None else self._make(component_type, config, base, label)
        if component is not None:
            self._look(component, environment, base, label)
            if needs := component.needs():
                self._check_needs(needs, path, label)
        return component

    def _look(self, component: Component[Any], environment: Environment, base: Path, label: str) -> None:
        for problem in component.look(self.registry, environment):
            self.report.add(problem.code, (*base, *problem.path), f"{label}: {problem.text}", problem.hint)

    def _look_into_files(
        self, options: Mapping[str, Sequence[str]], values: Json, base: Path, label: str, environment: Environment
    ) -> None:
        from catenary.load.named_files import NamedFiles

        files = NamedFiles(self.report, self.registry, self.settings, self.around)
        for option, own in options.items():
            files.look(option, own, values, base, label, environment)
        self.inside += (problem for problem in files.problems if problem not in self.inside)

    def _check_needs(self, needs: Mapping[str, Sequence[str]], path: Path, label: str) -> None:
        for what_installs, packages in needs.items():
            missing = [name for name in packages if not _is_installed(name)]
            if missing:
                text = f"{label}: needs {' and '.join(missing)}, which is not installed here"
                hint = f"run: pip install '{what_installs}'"
                self.report.add("component.missing-package", self.document.path_to(path, "type"), text, hint)

    def _add_doubt(self, path: Path, label: str, source: str, doubt: Doubt) -> None:
        place = self._place_inside(path, ExpressionError("", source=source, position=doubt.position))
        told = f"{label}: there is no variable or function {doubt.name!r} in {shorten(source)!r}"
        hint = f"did you mean {doubt.close!r}?" if doubt.close else ""
        self.report.add("expression.unknown-name", path, told, hint, place=place)

    def _make(
        self, make: Callable[[Any], Component[Any]], config: Any, base: Path, label: str
    ) -> Component[Any] | None:
        try:
            return make(config)
        except (ValueError, ConfigError, ExpressionError) as error:
            hint = getattr(error, "hint", "")
            found = error if isinstance(error, ExpressionError) else None
            self._add_field_problem(base, label, FieldProblem((), first_line(error), hint, found))
            return None

    def _add_field_problem(self, base: Path, label: str, problem: FieldProblem) -> None:
        path = (*base, *problem.path)
        code = "config.invalid" if problem.error is None else _code_of(problem.error)
        hint = problem.hint
        written = value_at(self.document.value, path)
        if code == "config.invalid" and isinstance(written, str) and (match := UNRESOLVED.search(written)):
            hint = f"set a proper value for {match.group(1)}"
        place = self._place_inside(path, problem.error) if problem.error else None
        text = problem.text if place is None else _POSITION.sub("", problem.text)
        self.report.add(code, path, f"{label}: {text}", hint, place=place)

    def _place_inside(self, path: Path, error: ExpressionError) -> Place | None:
        """Give the place of an error inside a text, when the text stands in the document as it is."""
        from catenary.load.inside import place_inside

        written = value_at(self.document.value, path)
        if not isinstance(written, str) or error.position < 0:
            return None
        return place_inside(self.document.places, path, written, error.source, error.position)


def _named_relations(built: list[tuple[NodeDefinition, Component[Any]]]) -> dict[str, tuple[str, ...]]:
    """Give by node the relations that its settings name, of nodes that leave by no others but their declared ones."""
    free = [(node.id, component) for node, component in built if component.free_relations]
    asked = ((node_id, component.named_relations()) for node_id, component in free)
    return {node_id: tuple(named) for node_id, named in asked if named is not None}


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # it stands in for the package, and says nothing of where it came from
        return True


def _label(node: NodeDefinition) -> str:
    return f"node {node.id!r} ({node.type})"


def _code_of(error: ExpressionError) -> str:
    if isinstance(error, TemplateError):
        return "template.syntax"
    return "script.syntax" if isinstance(error, ScriptError) else "expression.syntax"
