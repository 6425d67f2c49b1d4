"""From a document to components: every node is looked up, its placeholders resolved, its configuration decoded."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel

from catenary.errors import ConfigError, ExpressionError, ScriptError, TemplateError
from catenary.load.borrowing import lint_references
from catenary.load.decode import FieldProblem, decode, first_line
from catenary.load.lint import Report, lint
from catenary.load.names import did_you_mean
from catenary.load.node_names import NodeNames
from catenary.load.places import entries, value_at
from catenary.load.settings import Settings, environment_of, read_chain_settings
from catenary.secrets import doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.errors import Problem
    from catenary.expr import Environment, Expression, Template
    from catenary.jsontext import Json
    from catenary.load.document import Document
    from catenary.load.places import Path, Place
    from catenary.load.settings import ChainLimits, ChainSettings
    from catenary.registry import Registry

UNRESOLVED: Final = re.compile(r"\$\{\s*((?:global|vars|secrets)\.[\w.\-]+)\s*\}")
"""A placeholder that the pass over the configuration has left, for nothing is set for it."""

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
    settings = settings or Settings()
    return _Builder(document, registry, settings, kept or {}).build()


class _Builder:
    def __init__(
        self, document: Document, registry: Registry, settings: Settings, kept: Mapping[str, Component[Any]]
    ) -> None:
        self.document = document
        self.kept = kept
        self.registry = registry
        self.settings = settings
        self.report = Report(document)
        self.node_names = NodeNames(self.report, dict.fromkeys(node.id for node in document.definition.nodes))

    def build(self) -> tuple[list[tuple[NodeDefinition, Component[Any]]], list[Problem]]:
        definition = self.document.definition
        own, problems, suspicious = read_chain_settings(definition)
        base = self.document.path_to((), "ruleChain", "configuration")
        for problem in problems:
            self.report.add("chain.setting", (*base, *problem.path), problem.text, problem.hint)
        for problem in suspicious:
            self._add_key("chain.unknown-key", (*base, *problem.path), problem.text, problem.hint)
        self._check_secrets(own, base)
        if own.limits is not None:
            self._check_limits(own.limits, base)
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
            self._check_policies(node, path, component_type)
            component = self._component(node, path, component_type, environment)
            if component is not None:
                built.append((node, component))
        built += self._chain_nodes(environment)
        self.node_names.lint()
        self._check_references(built, components)
        lint(self.report, components, self.settings, own)
        environment.programs.clear()  # each names the environment: a chain that is gone would wait for the collector
        return built, self.report.sorted(strict=self.settings.strict or own.strict)

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
        paths = {node.id: path for path, node in zip(document.node_paths, document.definition.nodes, strict=True)}

        def path_of(node: NodeDefinition) -> Path:
            return document.path_to(paths.get(node.id, ()), "configuration")

        lint_references(self.report, built, path_of, own, self.settings.resources)

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
        return component_type

    def _check_policies(self, node: NodeDefinition, path: Path, component_type: type[Component[Any]]) -> None:
        label = _label(node)
        for code, key in (("chain.timeout", "timeout"), ("chain.retry", "retry")):
            try:
                _ = node.timeout_s if key == "timeout" else node.retry_policy
            except ValueError as error:
                self.report.add(code, self.document.path_to(path, key), f"{label}: {key} {error}")
            else:
                if key == "retry" and node.retry_policy and component_type.retries:
                    text = f"{label}: retry is set, and the component retries by itself"
                    self.report.add("chain.double-retry", self.document.path_to(path, key), text)
        if node.templates not in {"", "strict", "lenient"}:
            text = f"{label}: templates must be 'strict' or 'lenient', not {node.templates!r}"
            hint = did_you_mean(node.templates, ("strict", "lenient"))
            self.report.add("chain.setting", self.document.path_to(path, "templates"), text, hint)

    def _component(
        self, node: NodeDefinition, path: Path, component_type: type[Component[Any]], environment: Environment
    ) -> Component[Any] | None:
        from catenary.expr import resolve_placeholders

        base = self.document.path_to(path, "configuration")
        if base == path:
            base = (*path, "configuration")
        label = _label(node)
        present = self.kept.get(node.id)
        if present is not None:
            self.node_names.add(node.id, label, base, present.config)
            return present
        raw = dict(node.configuration)
        if node.templates:
            environment = replace(environment, lenient=node.templates == "lenient")
        resolved = resolve_placeholders(raw, environment)
        config, problems, unknown = decode(component_type.config_type(), resolved, environment, written=raw)
        for problem in unknown:
            self._add_key(problem.code, (*base, *problem.path), f"{label}: {problem.text}", problem.hint)
        for where, name in _unresolved(resolved):
            text = f"{label}: ${{{name}}} has no value"
            hint = f"set the property {name[7:]!r} (--set {name}=... on the command line)"
            if name.startswith("vars."):
                hint = f"add {name[5:]!r} to ruleChain.configuration.vars"
            elif name.startswith("secrets."):
                hint = f"add {name[8:]!r} to ruleChain.configuration.secrets"
            self.report.add("chain.unresolved-placeholder", (*base, *where), text, hint)
        self.node_names.add(node.id, label, base, config)
        for problem in problems:
            self._add_field_problem(base, label, problem)
        for where, text in _with_unknown(config):
            self._add_doubts((*base, *where), label, text, environment)
        return None if config is None else self._make(component_type, config, base, label)

    def _add_doubts(self, path: Path, label: str, text: Expression | Template, environment: Environment) -> None:
        from catenary.expr import Template
        from catenary.expr.advice import doubtful, doubtful_parts
        from catenary.expr.problems import shorten

        source = str(text.source)
        find = doubtful_parts if isinstance(text, Template) else doubtful
        for doubt in find(source, environment):
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


def _label(node: NodeDefinition) -> str:
    return f"node {node.id!r} ({node.type})"


def _code_of(error: ExpressionError) -> str:
    if isinstance(error, TemplateError):
        return "template.syntax"
    return "script.syntax" if isinstance(error, ScriptError) else "expression.syntax"


def _with_unknown(value: Any, path: Path = ()) -> Iterator[tuple[Path, Expression | Template]]:
    """Give each expression and template in settings that names what is not known, and where it stands."""
    if "catenary.expr.validation" not in sys.modules:  # which no settings with expressions can do without
        return
    from catenary.expr import Expression, Template

    if isinstance(value, Expression | Template):
        if value.has_unknown if isinstance(value, Template) else value.program.has_unknown:
            yield path, value
    elif isinstance(value, list | tuple):
        for index, element in enumerate(cast("list[Any]", value)):
            yield from _with_unknown(element, (*path, index))
    elif isinstance(value, dict):
        for key, held in cast("dict[str, Any]", value).items():
            yield from _with_unknown(held, (*path, key))
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from _with_unknown(getattr(value, name), (*path, field.alias or name))


def _unresolved(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Give each plain placeholder that the init pass left as it was, and where it stands."""
    if isinstance(value, str):
        for match in UNRESOLVED.finditer(value):
            yield path, match.group(1)
    for key, item in entries(value):
        yield from _unresolved(item, (*path, key))
