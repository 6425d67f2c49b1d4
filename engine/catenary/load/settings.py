"""What loading depends on: the engine's `Settings`, and the `ChainSettings` a chain makes for itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import field_validator

from catenary.component import Config, option
from catenary.durations import duration_s
from catenary.expr import Environment
from catenary.secrets import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.component import Component
    from catenary.definition import ChainDefinition
    from catenary.endpoints import Processors
    from catenary.endpoints.targets import Executor
    from catenary.jsontext import Json
    from catenary.load.decode import FieldProblem
    from catenary.load.document import Document


@dataclass(frozen=True, slots=True)
class Settings:
    """What an engine brings to the loading of each chain.

    Args:
        environment: What expressions, templates and scripts can see and may do in any chain.
        allow_cycle: True to allow cycles in chains that say nothing about them.
        strict: True to make every warning an error.
        secret_key: The key of the chains' secrets; `None` when none is set.
        resources: The kinds of the shared resources that there are, by id.
        processors: What the routers of endpoints may name; those that come with the engine if absent.
        executors: The kinds of targets that the host has added, by name.
        has_chain: Tells whether a chain of that id, or alias, is loaded or about to be; none is if absent.
        for_file: Gives what the engine makes of another file's chain before it is loaded, and its settings; these same
            if absent.
    """

    environment: Environment = field(default_factory=Environment)
    allow_cycle: bool = False
    strict: bool = False
    secret_key: str | None = field(default=None, repr=False)
    resources: Mapping[str, type[Component[Any]]] = field(default_factory=dict[str, "type[Component[Any]]"])
    processors: Processors | None = None
    executors: Mapping[str, Executor] = field(default_factory=dict[str, "Executor"])
    has_chain: Callable[[str], bool] | None = field(default=None, repr=False)
    for_file: Callable[[Document], tuple[Document, Settings]] | None = field(default=None, repr=False)


class ChainLimits(Config):
    """How many messages the chain takes in; `ConcurrencyLimit` and `RateLimit` of `catenary.aspects` do the work."""

    concurrency: int | None = option(None, ge=0, help="How many runs there may be at a time; 0 refuses all.")
    queue: int = option(1000, ge=0, help="How many messages may wait for one of these runs to end; 0 refuses at once.")
    queue_timeout: float | str = option("30s", help="How long a message waits in that queue before it is refused.")
    rate: float | None = option(None, gt=0, help="How many runs may begin in a second, such as `0.5` or `100`.")
    burst: int | None = option(None, ge=1, help="How many may begin at once; absent: the rate, and at least 1.")
    max_wait: float | str = option("0s", help="How long a message may wait for its turn; 0 refuses at once.")
    key: str = option("", help="An expression: each value of it has limits of its own; empty for one for all messages.")

    @field_validator("queue_timeout", "max_wait", mode="after")
    @classmethod
    def _read_duration(cls, value: float | str) -> float:
        try:
            return duration_s(value)
        except ValueError:
            raise ValueError("must be a number of seconds or a text such as '5s' or '500ms'") from None


class ChainSettings(Config):
    """What `ruleChain.configuration` may say; other keys there are for expressions to read."""

    vars: dict[str, Any] = option({}, help="Values that the chain reads as `${vars.x}`.")
    secrets: dict[str, Any] = option({}, help="Encrypted values that the chain reads as `${secrets.x}`.", secret=True)
    allow_cycle: bool | None = option(None, help="Whether connections may lead back; absent: the engine decides.")
    max_visits: int | None = option(None, ge=1, help="How often a node on a cycle may be visited in one run.")
    max_depth: int | None = option(None, ge=1, help="How deep sub-runs and emissions may be nested.")
    max_rounds: int | None = option(
        None, ge=0, help="How many rounds a `while` may make that says nothing about it; 0 for no limit."
    )
    on_failure: Literal["continue", "stop"] = option(
        "continue", help="Whether a branch that ends as `Failure` lets the other branches go on."
    )
    templates: Literal["strict", "lenient"] | None = option(
        None, help="Whether a part of a template that fails makes the node fail, or counts as empty."
    )
    limits: ChainLimits | None = option(
        None, help="How many messages the chain takes in at a time, or in a second; absent: all."
    )
    strict: bool = option(False, help="Whether each warning about the chain is an error.")

    @field_validator("vars", mode="before")
    @classmethod
    def _parse_text(cls, value: Json) -> Json:
        """Take the variables also as one JSON text."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value.strip() else {}
        except json.JSONDecodeError as error:
            raise ValueError(f"is a text that is not JSON: {error}") from None


def read_chain_settings(definition: ChainDefinition) -> tuple[ChainSettings, list[FieldProblem], list[FieldProblem]]:
    """Read the settings of a chain.

    Returns:
        The settings (the defaults when any is wrong), what is wrong, and unknown keys that look like a setting.
    """
    from catenary.load.decode import decode
    from catenary.load.names import closest

    raw = dict(definition.configuration)
    settings, problems, unknown = decode(ChainSettings, raw, None)
    known = (
        "allowCycle",
        "maxVisits",
        "maxDepth",
        "maxRounds",
        "onFailure",
        "templates",
        "limits",
        "strict",
        "secrets",
    )
    suspicious = [one for one in unknown if one.path[1:] or closest(str(one.path[0]), known)]
    return settings or ChainSettings(), problems, suspicious


def chain_settings(definition: ChainDefinition) -> ChainSettings:
    """Give the settings of a chain; the defaults when any of them is wrong."""
    return read_chain_settings(definition)[0]


def rule_chain_values(definition: ChainDefinition) -> dict[str, Json]:
    """Give what expressions see as `ruleChain`; secrets are left out."""
    configuration = {key: value for key, value in definition.configuration.items() if key.lower() != "secrets"}
    return {
        "id": definition.id,
        "name": definition.name,
        "root": definition.is_root,
        "debugMode": definition.debug_mode,
        "disabled": definition.disabled,
        "additionalInfo": definition.additional_info,
        "configuration": configuration,
    }


def environment_of(definition: ChainDefinition, settings: Settings) -> Environment:
    """Give the environment in which the expressions, templates and scripts of a chain are compiled."""
    own = chain_settings(definition)
    return replace(
        settings.environment,
        vars=own.vars,
        secrets=opened(own.secrets, settings.secret_key) if own.secrets else {},
        rule_chain=rule_chain_values(definition),
        nodes=frozenset(node.id for node in definition.nodes),
        lenient=settings.environment.lenient if own.templates is None else own.templates == "lenient",
    )
