"""What an expression can see besides its message: properties, chain variables, functions, nodes, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003 - the dataclass is looked into at run time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from catenary.expr.kinds import TextMap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.jsontext import Json
    from catenary.message import Message

VARIABLES: Final = frozenset({
    "id", "ts", "data", "msg", "msgType", "type", "dataType", "metadata", "global", "vars", "ruleChain",
})  # fmt: skip
"""The names that are always there; they win over metadata keys and node ids of the same name."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True)
class Environment:
    """What expressions, templates and scripts of a chain can see and may do.

    The mappings are not copied: expressions see later changes of `properties` and `vars`.

    Attributes:
        properties: The engine's properties, under the name `global`.
        vars: The chain's variables.
        secrets: The chain's secrets, decrypted: for `${secrets.x}` in configurations, and no name in expressions.
        rule_chain: The chain itself under the name `ruleChain`: `id`, `name`, `root`, `debugMode`, `disabled`,
            `additionalInfo`, `configuration`.
        functions: The host's own functions, and objects with methods, by name; they take and give JSON values, and win
            over built-in ones.
        script_functions: Those that scripts may call.
        host_scripts: The host's own JavaScript by name, run once in every script context.
        nodes: The ids of the chain's nodes; each is a name for what that node put out.
        roots: Folders below which `include` and `fileExists` may look; none at all by default.
        fetch: Gives the text behind a web address for `include`; `None` when that is off.
        lenient: True renders a failing part of a template as empty text, with a warning in the log.
        script_engine: What runs scripts.
        script_timeout_s: Seconds of processor time of its thread that one call of a script may take; 0 for no limit.
        script_memory_bytes: Bytes that the scripts of one thread may hold together.
        script_host_calls: How often one call of a script may call host functions and `$ctx`.
        cache_waits: True when the caches of `$ctx` wait for another process.
        max_file_bytes: Size of the largest file that `include` reads.
    """

    properties: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)
    vars: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)
    secrets: Mapping[str, Json] = field(default_factory=lambda: _NOTHING, repr=False)
    rule_chain: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)
    functions: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    script_functions: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    host_scripts: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    nodes: frozenset[str] = frozenset()
    roots: tuple[Path, ...] = ()
    fetch: Callable[[str], str] | None = None
    lenient: bool = False
    script_engine: Literal["quickjs", "v8"] = "quickjs"
    script_timeout_s: float = 2.0
    script_memory_bytes: int = 64 * 1024 * 1024
    script_host_calls: int = 1000
    cache_waits: bool = False
    max_file_bytes: int = 1024 * 1024
    programs: dict[Any, Any] = field(default_factory=dict[Any, Any], init=False, repr=False, compare=False)
    """What was compiled already; `compile_program` looks here first."""

    def root(self, name: str) -> Mapping[str, Json]:
        """Give the mapping behind `global`, `vars`, `secrets` or `ruleChain`."""
        if name == "global":
            return self.properties
        if name == "secrets":
            return self.secrets
        return self.vars if name == "vars" else self.rule_chain


def find_path(mapping: Mapping[str, Json], path: str) -> tuple[bool, Json]:
    """Look up a dotted path: a key may itself hold dots, and the longest such key is tried first.

    Returns:
        Whether there is such a value, and the value.
    """
    if path in mapping:
        return True, mapping[path]
    at = path.rfind(".")
    while at > 0:
        inner = mapping.get(path[:at])
        if isinstance(inner, dict):
            found = find_path(cast("dict[str, Json]", inner), path[at + 1 :])
            if found[0]:
                return found
        at = path.rfind(".", 0, at)
    return False, None


def payload(message: Message | None) -> Json:
    """Give what `msg.data` is: the payload's own key `data`, or the raw text when there is none."""
    if message is None:
        return None
    value = message.value
    if isinstance(value, dict) and "data" in value:
        return cast("dict[str, Json]", value)["data"]
    return message.text


def record(message: Message | None) -> Json:
    """Give a message as expressions see the output of a node: a map of its parts; nil when there is none."""
    if message is None:
        return None
    return {
        "id": message.id,
        "ts": message.ts,
        "data": message.text,
        "msg": message.value,
        "msgType": message.type,
        "type": message.type,
        "dataType": message.data_type,
        "metadata": TextMap(message.metadata),
    }


def output_of(ctx: object, node_id: str) -> Message | None:
    """Ask a context for the output of a node; a context that keeps none, or no context, has none."""
    output: Callable[[str], Message | None] | None = getattr(ctx, "output", None)
    return None if output is None else output(node_id)


def place_in_chain(ctx: object) -> dict[str, str]:
    """Give chain and node of a context as fields of a log record; empty texts where there is none."""
    return {"chain_id": getattr(ctx, "chain_id", ""), "node_id": getattr(ctx, "node_id", "")}


def variables(message: Message, ctx: object, environment: Environment, *, with_metadata: bool) -> dict[str, Json]:
    """Give all names an expression can see, as `$env` does."""
    names: dict[str, Json] = dict(message.metadata) if with_metadata else {}
    names |= {node_id: record(output_of(ctx, node_id)) for node_id in environment.nodes}
    names |= record(message)
    names |= {
        "global": TextMap(environment.properties),
        "vars": TextMap(environment.vars),
        "ruleChain": dict(environment.rule_chain),
    }
    return names
