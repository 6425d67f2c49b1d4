"""The page of the chain language: every key, from the models that a chain is read into."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

from pydantic.alias_generators import to_camel

from catenary.defaults import ChainDefaults
from catenary.definition import ChainDefinition, Connection, EndpointDefinition, NodeDefinition, Retry
from catenary.docsgen.markdown import code, fenced, json_code, page, table
from catenary.load.endpoints import FromConfig, RouterConfig, ToConfig
from catenary.load.form import form_field
from catenary.load.settings import ChainLimits, ChainSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.component import Config
    from catenary.jsontext import Json

_HEAD: Final = ("Key", "Type", "Default", "Effect", "Example")
_TIME: Final = "number of seconds, or text such as `5s`, `500ms`, `1m30s`"
_BODY: Final = ("first_node_index", "nodes", "connections", "endpoints", "rule_chain_connections")
_KINDS: Final = {
    "str": "text",
    "string": "text",
    "bool": "`true` or `false`",
    "int": "whole number",
    "float": "number",
    "array": "list",
}

# What a field of a model does, an example, and its type and default where the model has another form of them.
_Row = tuple[str, Any] | tuple[str, Any, str] | tuple[str, Any, str, str]
_DISPLAY: Final = "For display; nothing depends on it."
_DEBUG: Final = "Whether events and logs tell what goes in and out of the node."
_CHAIN: Final[Mapping[str, _Row]] = {
    "id": ("The name by which programs and other chains call the chain; the host may give another.", "door-alarm"),
    "name": (_DISPLAY, "Door alarm"),
    "root": ("Whether the chain may have endpoints.", True, _KINDS["bool"], "whether it has endpoints"),
    "debug_mode": ("Whether every node is in debug mode; `false` leaves it to each node.", True),
    "disabled": ("Whether loading the chain is refused.", True),
    "configuration": ("Variables, secrets and settings, see below; other keys are for expressions to read.", {}),
    "additional_info": ("Free, for editors and hosts; some keys have a meaning, see below.", {"author": "Ann"}),
    "first_node_index": ("The index into `nodes` of the node that messages enter by.", 0),
    "nodes": ("The nodes.", [], "list of nodes", "`[]`"),
    "connections": ("What follows which node.", [], "list of connections", "`[]`"),
    "endpoints": ("What brings messages into the chain.", [], "list of endpoints", "`[]`"),
    "rule_chain_connections": (
        "Connections from a node to a whole chain: each is a `flow` node with `extend`; `toId` is the id of the chain.",
        [{"fromId": "hot", "toId": "alarm", "type": "True"}],
        "list of connections",
        "`[]`",
    ),
}
_NODE: Final[Mapping[str, _Row]] = {
    "id": (
        "Unique in the chain; connections, expressions and logs name the node by it.",
        "hot",
        "text",
        "`node<index>`",
    ),
    "type": ("The component, by its type or one of its aliases; upper and lower case count.", "exprFilter"),
    "name": (_DISPLAY, "Hot?"),
    "debug_mode": (_DEBUG, True),
    "configuration": ("The options of the component: its page lists them.", {"expr": "msg.t > 30"}),
    "additional_info": ("Free, for editors.", {"description": "too hot", "layoutX": 100, "layoutY": 80}),
    "timeout": ("How long one visit may take; then it leaves by `Failure`. 0 is no limit.", "5s", _TIME, "no limit"),
    "retry": ("How a visit that failed is tried again, see below.", 3, "number of retries, or a mapping", "none"),
    "templates": (
        "What a part of a `${...}` text that fails does: `strict` fails the node, `lenient` gives empty text.",
        "lenient",
        "`strict` or `lenient`",
        "the chain decides",
    ),
}
_RETRY: Final[Mapping[str, _Row]] = {
    "max_retries": ("Tries after the first one; 0 is none.", 5, "whole number", "`3`"),
    "delay_s": ("The wait before the first retry.", "500ms", _TIME),
    "max_delay_s": ("The longest wait.", "1m", _TIME),
    "backoff": ("By what each wait is longer than the one before, 1 to 100.", 2),
    "jitter": ("Up to which part of itself a wait is made longer at random, 0 to 1.", 0.2),
}
_CONNECTION: Final[Mapping[str, _Row]] = {
    "from_id": ("The node that messages leave.", "hot"),
    "to_id": ("The node that they go to.", "alarm"),
    "type": ("The relation by which they leave; upper and lower case count.", "True"),
    "label": (_DISPLAY, "too hot"),
}
_ENDPOINT: Final[Mapping[str, _Row]] = {
    "id": ("Unique in the chain.", "in", "text", "`endpoint<index>`"),
    "type": ("The component of the endpoint.", "endpoint/http"),
    "name": (_DISPLAY, "HTTP"),
    "debug_mode": ("Whether the runs that it begins are in debug mode.", True),
    "configuration": ("The options of the endpoint.", {"server": ":9090"}),
    "additional_info": ("Free, for editors.", {"layoutX": 10}),
    "processors": ("Names of functions that each message goes through.", ["setJsonDataType"], "list of texts", "`[]`"),
    "routers": ("Which message goes where.", [], "list", "`[]`"),
}
_INFO: Final = (
    ("runLogMode", "`off`, `summary` or `detail`", "the engine decides", "How much of each run is logged.", "detail"),
    (
        "category",
        "text",
        "`custom`",
        "As a [component](writing-a-component.md#a-chain-as-a-component): where it is.",
        "heat",
    ),
    ("icon", "text", "`custom-node`", "As a component: its picture in editors.", "sun"),
    ("description", "text", "the chain's name", "As a component: what it does.", "Tell what is too hot."),
    ("version", "text", "", "As a component: its version.", "2.1"),
    ("relationTypes", "list, or text with commas", "any", "As a component: the ends it may have.", "Success,False"),
    (
        "inputSchema",
        "JSON Schema of an object",
        "what `${vars.x}` names",
        "As a component: its options.",
        {"type": "object"},
    ),
)
_ROUTER: Final[Mapping[str, Json]] = {
    "id": "new-order",
    "params": ["POST"],
    "from": {"path": "/orders"},
    "to": {"path": "chain:orders", "wait": True},
    "additionalInfo": {"description": "from the shop"},
}
_SOURCE: Final[Mapping[str, Json]] = {
    "path": "/orders/:id",
    "configuration": {},
    "processors": ["headersToMetadata"],
}
_TARGET: Final[Mapping[str, Json]] = {
    "path": "chain:orders:check",
    "processors": ["responseToBody"],
    "configuration": {},
    "answer": "list",
}
_SETTINGS: Final[Mapping[str, Json]] = {
    "vars": {"limit": 30},
    "secrets": {"pin": "0d1336a7..."},
    "onFailure": "stop",
    "templates": "lenient",
    "limits": {"concurrency": 4},
    "concurrency": 4,
    "queueTimeout": "5s",
    "rate": 20,
    "burst": 40,
    "maxWait": "1s",
    "key": "metadata.tenant",
}
_PARTS: Final = {
    "metadata": "The body.",
    "ruleChain": "The head.",
}
_EXAMPLE: Final = """\
ruleChain:
  id: door-alarm
  name: Door alarm
  configuration:
    vars: {limit: 30}
    onFailure: stop
metadata:
  nodes:
    - id: hot
      type: exprFilter
      configuration: {expr: "msg.t > ${vars.limit}"}
    - id: say
      type: exprTransform
      timeout: 5s
      retry: {maxRetries: 2, delay: 500ms}
      configuration: {mapping: {text: "'too hot: ' + string(msg.t)"}}
  connections:
    - {fromId: hot, toId: say, type: "True"}
"""


def chain_page() -> str:
    """Give the page; a field of a model about which nothing is said here would be an error."""
    return page(
        "The keys of a chain",
        "[Authoring a chain](authoring-a-chain.md) teaches what is listed here. Chains are JSON or YAML with the same "
        "keys. Keys of the document and of configurations are read without regard to case; those that nobody knows "
        "are a warning, and are kept when the chain is written back. `null` counts as absent.",
        fenced(_EXAMPLE, "yaml"),
        *_about_the_chain(),
        *_about_nodes(),
        *_about_endpoints(),
        *_about_placeholders(),
    )


def _about_the_chain() -> tuple[str, ...]:
    return (
        "## The document",
        table(("Key", "What it is"), [(code(key), _PARTS[key]) for key in ChainDefinition().to_dict()]),
        "## `ruleChain`",
        _table(ChainDefinition, _CHAIN, leave=_BODY),
        "## `ruleChain.configuration`",
        table(_HEAD, _settings(ChainSettings)),
        "## `ruleChain.configuration.limits`",
        (
            "Messages that are refused end as `Failure` with `concurrency limit reached` or `rate limit reached`,"
            " and no node is visited. A run inside a run of the same chain goes along with it. After a reload "
            "with the same limits runs in flight go on counting; limits that have changed count anew. The program"
            " around the chain may set [more limits](aspects.md#limits)."
        ),
        table(_HEAD, _settings(ChainLimits)),
        "## `ruleChain.additionalInfo`",
        table(_HEAD, [(code(k), kind, default, text, json_code(one)) for k, kind, default, text, one in _INFO]),
        "## `metadata`",
        _table(ChainDefinition, _CHAIN, only=_BODY),
    )


def _about_nodes() -> tuple[str, ...]:
    return (
        "## `nodes[]`",
        _table(NodeDefinition, _NODE),
        "## `nodes[].retry`",
        "A number stands for `maxRetries`. Failures that no other try can mend are not tried again.",
        _table(Retry, _RETRY),
        "## `connections[]`",
        _table(Connection, _CONNECTION),
    )


def _about_endpoints() -> tuple[str, ...]:
    return (
        "## `endpoints[]`",
        "[Endpoints](endpoints.md) explains them. `endpoint/` in front of the type may be left out.",
        _table(EndpointDefinition, _ENDPOINT),
        "## `endpoints[].routers[]`",
        table(_HEAD, _settings(RouterConfig, _ROUTER)),
        "## `endpoints[].routers[].from`",
        table(_HEAD, _settings(FromConfig, _SOURCE)),
        "## `endpoints[].routers[].to`",
        table(_HEAD, _settings(ToConfig, _TARGET)),
    )


def _about_placeholders() -> tuple[str, ...]:
    return (
        "## Placeholders",
        (
            "Texts in `configuration` are filled in when the chain is loaded, at any depth. What is not there "
            "stays as it is, with a warning."
        ),
        table(
            ("Placeholder", "Stands for"),
            [
                ("`${global.x}`", "a property of the program"),
                ("`${vars.x}`", "a variable of the chain"),
                ("`${secrets.x}`", "a secret of the chain, decrypted; see [security](security.md#secrets)"),
                ("`${ruleChain.x}`", "a part of the head: `id`, `name`, `root`, `additionalInfo.x`, `configuration.x`"),
            ],
        ),
        (
            "Any other `${...}` in an option that takes a template is an [expression](language.md), worked out "
            "for each message."
        ),
    )


def _table(model: type, rows: Mapping[str, _Row], *, only: tuple[str, ...] = (), leave: tuple[str, ...] = ()) -> str:
    return table(_HEAD, _rows(model, rows, only, leave))


def _rows(model: Any, rows: Mapping[str, _Row], only: tuple[str, ...], leave: tuple[str, ...]) -> Iterator[list[str]]:
    for field in fields(model):
        if field.name.endswith("extra") or field.name in leave or (only and field.name not in only):
            continue
        effect, example, *more = rows[field.name]
        kind = more[0] if more else _KINDS.get(str(field.type), "mapping")
        default = more[1] if len(more) > 1 else _default(field)
        yield [code(_key(field.name)), kind, default, effect, json_code(example)]


def _key(name: str) -> str:
    return to_camel(name.removesuffix("_s"))


def _default(field: Any) -> str:
    if field.default is not MISSING:
        return json_code(field.default)
    return "required" if field.default_factory is MISSING else json_code(field.default_factory())


def _settings(model: type[Config], examples: Mapping[str, Json] = _SETTINGS) -> Iterator[list[str]]:
    """Give a row for each setting of a chain, of its limits, or of a router."""
    for name, field in model.model_fields.items():
        shown = form_field(name, field)
        control: dict[str, Any] = shown["component"] or {}
        choices = [choice["value"] for choice in control.get("options", ())]
        kind = " or ".join(json_code(choice) for choice in choices) or _KINDS.get(shown["type"], "mapping")
        usual: dict[str, Json] = {"bool": True, "int": 100}
        if isinstance(shown["defaultValue"], str) and shown["type"] == "float":
            kind = _TIME
        example = examples.get(shown["name"], usual.get(shown["type"]))
        yield [
            code(shown["name"]),
            kind,
            "see below" if shown["fields"] and shown["defaultValue"] else _setting_default(name, shown["defaultValue"]),
            shown["desc"],
            json_code(example),
        ]


def _setting_default(name: str, own: Json) -> str:
    if own is not None:
        return json_code(own)
    of_engine = {field.name: field.default for field in fields(ChainDefaults)} | {"templates": "strict"}
    return f"the engine's: {json_code(of_engine[name])}" if name in of_engine else "none"
