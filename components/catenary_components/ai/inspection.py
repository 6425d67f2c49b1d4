"""What can be told of an agent's tools, hooks and rules from their settings alone, each at its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from catenary.load.decode import FieldProblem, decode
from catenary.load.names import closest, did_you_mean, misspelt
from catenary_components.ai.hooks.builtin import BUILTINS as HOOKS
from catenary_components.ai.hooks.builtin import hook_type
from catenary_components.ai.hooks.chains import PLACES
from catenary_components.ai.options.permission import RuleOption
from catenary_components.ai.permission.rules import read_rule
from catenary_components.ai.tools.builtin import BUILTINS as TOOLS
from catenary_components.ai.tools.builtin import builtin_type
from catenary_components.ai.tools.schema import declared

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from catenary.component import Config
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.places import Path
    from catenary.registry import Registry
    from catenary_components.ai.agent import AgentConfig
    from catenary_components.ai.options.hooks import HookConfig
    from catenary_components.ai.tools.listing import ToolConfig

_INVALID: Final = "config.invalid"
_UNKNOWN: Final = "config.unknown-name"


def inspected(config: AgentConfig, registry: Registry, environment: Environment) -> Iterator[FieldProblem]:
    """Give what is wrong, and what is doubtful as a program may still bring what it names."""
    groups = {group.name for group in config.tool_groups}
    for index, tool in enumerate(config.tools):
        if not isinstance(tool, str):
            yield from _below(("tools", index), _of_tool(tool, groups, registry, environment))
    for index, hook in enumerate(config.hooks):
        if isinstance(hook, str):
            yield from _below(("hooks", index), _of_name((), "hook", hook, HOOKS))
        else:
            yield from _below(("hooks", index), _of_hook(hook, registry, environment))
    yield from _of_rules(config)


def _of_tool(
    tool: ToolConfig, groups: set[str], registry: Registry, environment: Environment
) -> Iterator[FieldProblem]:
    if tool.group and tool.group not in groups:
        text = f"the tool {tool.name!r} is of the group {tool.group!r}, which toolGroups does not have"
        yield FieldProblem(("group",), text, did_you_mean(tool.group, groups), code=_INVALID)
    if tool.type == "builtin":
        found = builtin_type(tool.name)
        if found is None:
            yield from _of_name(("name",), "builtin tool", tool.name, TOOLS)
        else:
            yield from _of_settings(f"builtin tool {tool.name}", found.config_type, tool.config, environment)
    elif tool.type == "component":
        yield from _of_component(tool.component, tool.config, registry, environment)
    if tool.type not in ("builtin", "function"):
        try:
            declared(tool.parameters, tool.name)
        except ValueError as error:
            yield FieldProblem(("parameters",), str(error), code=_INVALID)


def _of_hook(hook: HookConfig, registry: Registry, environment: Environment) -> Iterator[FieldProblem]:
    if hook.name in HOOKS:
        yield from _of_settings(f"hook {hook.name}", hook_type(hook.name).config_type, hook.config, environment)
    elif hook.name:
        yield from _of_name(("name",), "hook", hook.name, HOOKS)
    elif hook.at not in PLACES:
        text = f"a chain cannot stand at {hook.at!r}; it can at {', '.join(PLACES)}"
        yield FieldProblem(("at",), text, did_you_mean(hook.at, PLACES), code=_INVALID)
    if hook.component:
        yield from _of_component(hook.component, hook.config, registry, environment)


def _of_rules(config: AgentConfig) -> Iterator[FieldProblem]:
    """Give the rules that are about no tool of the agent, and nearly about one."""
    names = {tool if isinstance(tool, str) else tool.name for tool in config.tools}
    options = config.permission_options
    lists = {"allow": options.allow, "ask": options.ask, "deny": options.deny} if options else {}
    for key, rules in lists.items():
        for index, written in enumerate(rules):
            tool = written.tool if isinstance(written, RuleOption) else read_rule(written).tool
            guess = None if any(map(read_rule(tool).is_about, names)) else closest(tool, names)
            if guess is not None:
                text = f"a rule of permission is about no tool of the agent: {tool}"
                yield FieldProblem(("permission", key, index), text, f"did you mean {guess!r}?", code=_UNKNOWN)


def _of_component(
    name: str, config: Mapping[str, Json], registry: Registry, environment: Environment
) -> Iterator[FieldProblem]:
    found = registry.find(name)
    if found is None:
        text = f"component not found. componentType={name}"
        yield FieldProblem(("component",), text, registry.hint(name), code=_INVALID)
        return
    _, _, unknown = decode(found.config_type(), dict(config), environment)  # errors are told by the chain made of it
    yield from _below(("config",), unknown)


def _of_settings(
    label: str, settings: type[Config], config: Mapping[str, Json], environment: Environment
) -> Iterator[FieldProblem]:
    _, problems, unknown = decode(settings, dict(config), environment)
    for problem in (*problems, *unknown):
        wrong = replace(problem, text=f"{label}: {problem.text}", code=_INVALID, error=None)
        yield from _below(("config",), [wrong])


def _of_name(path: Path, what: str, name: str, known: Collection[str]) -> Iterator[FieldProblem]:
    """Doubt a name that is none of those which come with agents, but nearly one: a program may have it registered."""
    meant = None if name in known else misspelt(name, known)
    if meant is not None:
        yield FieldProblem(
            path, f"{what} {name!r} does not come with agents", f"did you mean {meant!r}?", code=_UNKNOWN
        )


def _below(path: Path, problems: Iterable[FieldProblem]) -> Iterator[Any]:
    for problem in problems:
        yield replace(problem, path=(*path, *problem.path))
