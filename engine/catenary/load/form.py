"""The form of a component, as editors read it: its options with kind, default, label and rules."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from pydantic import TypeAdapter
from pydantic_core import PydanticUndefined

from catenary.component import Config, info_of
from catenary.load.decode import dsl_name, extra_of, members

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from catenary.component import Component
    from catenary.jsontext import Json


def form(component: type[Component[Any]]) -> dict[str, Json]:
    """Give the form of a component.

    Returns:
        `{type, aliases, category, label, desc, icon, order, version, disabled, componentKind, relationTypes, fields,
        router}`. `relationTypes` is empty when the chain's author names the relations; `componentKind` is `nc`
        (written in Python), `dc` (a chain) or `ec` (an endpoint). Each field has `{name, type, defaultValue, label,
        desc, validate, rules, fields, component, required, ref, group, unit}`; `ref` is `primary` for an address that
        may be `ref://ID`, and `shared` for what the owner of a shared connection brings along. `router` has the fields
        of a router of an endpoint, and is `None` for a node.
    """
    info = info_of(component)
    free = component.free_relations or not component.relations
    return {
        "type": info.type,
        "aliases": list(info.aliases),
        "category": info.category,
        "label": label_of(component),
        "desc": summary(component),
        "icon": info.icon,
        "order": info.order,
        "version": info.since,
        "disabled": info.disabled,
        "componentKind": "ec" if component.brings_in or info.category == "endpoint" else info.kind,
        "relationTypes": [] if free or component.brings_in else [str(relation) for relation in component.relations],
        "fields": _fields(component.config_type()),
        "router": _router() if component.brings_in else None,
    }


def summary(component: type[Component[Any]]) -> str:
    """Give the first sentence of a component's docstring."""
    return (inspect.getdoc(component) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")


def label_of(component: type[Component[Any]]) -> str:
    """Give the short name of a component for editors."""
    info = info_of(component)
    return info.label or words(info.type.rsplit("/", maxsplit=1)[-1])


def words(name: str) -> str:
    """Make words of a name: `restApiCall` and `rest_api_call` become `Rest api call`."""
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").lower()
    return parts[:1].upper() + parts[1:]


def default_of(field: FieldInfo) -> Json:
    """Give the default of an option as JSON; `None` when it has none."""
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return None
    return TypeAdapter(Any).dump_python(value, mode="json", by_alias=True, fallback=str)


def deprecation_of(field: FieldInfo) -> str:
    """Give the sentence about a deprecated option; empty for any other."""
    instead = extra_of(field, "deprecated")
    return f"Deprecated: {instead}." if instead else ""


def _router() -> list[dict[str, Any]]:
    from catenary.load.endpoints import RouterConfig

    return _fields(RouterConfig)


def _fields(config_type: type[Config]) -> list[dict[str, Any]]:
    return [form_field(name, field) for name, field in config_type.model_fields.items()]


def form_field(name: str, field: FieldInfo) -> dict[str, Any]:
    """Give one field of settings, as in `form`."""
    kind = members(field.annotation)[0]
    nested = _nested(kind)
    return {
        "name": dsl_name(name, field),
        "type": _type(kind),
        "defaultValue": default_of(field),
        "label": extra_of(field, "label") or words(name),
        "desc": " ".join(part for part in (field.description, deprecation_of(field)) if part),
        "validate": "",
        "rules": _rules(kind, field),
        "fields": _fields(nested) if nested else [],
        "component": _component(kind, field),
        "required": field.is_required(),
        "ref": extra_of(field, "ref") or "",
        "group": extra_of(field, "group") or "",
        "unit": extra_of(field, "unit") or "",
    }


_RULES: Final = (
    ("ge", "min", "Must be at least {}"),
    ("le", "max", "Must be at most {}"),
    ("gt", "exclusiveMin", "Must be more than {}"),
    ("lt", "exclusiveMax", "Must be less than {}"),
    ("min_length", "min", "Must have at least {} in it"),
    ("max_length", "max", "Must have at most {} in it"),
    ("pattern", "pattern", "Must match {}"),
)


def _rules(kind: Any, field: FieldInfo) -> list[Json]:
    """Give what an editor can check by itself; loading checks the same, and more."""
    rules: list[Json] = []
    if field.is_required():
        rules.append({"required": True, "message": "This field is required"})
    for limit in field.metadata:
        for name, rule, message in _RULES:
            value = getattr(limit, name, None)
            if value is not None:
                shape = "number" if _type(kind) in {"int", "float"} else _type(kind)
                rules.append({"type": shape, rule: value, "message": message.format(value)})
    return rules


def _type(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if _nested(kind) is origin:
        return "struct"
    for known, name in ((bool, "bool"), (int, "int"), (float, "float"), (dict, "map")):
        if origin is known:
            return name
    return "array" if origin in {list, tuple, set, frozenset} else "string"


def _nested(kind: Any) -> type[Config] | None:
    """Give the `Config` that a kind is, or that its items are."""
    for candidate in (kind, *(plain for item in get_args(kind) for plain in members(item))):
        if isinstance(candidate, type) and issubclass(candidate, Config):
            return candidate
    return None


def _component(kind: Any, field: FieldInfo) -> dict[str, Json] | None:
    """Give the hint which control an editor may use; `None` for a plain input."""
    from catenary.expr import Expression, PythonExpression, Script

    if get_origin(kind) is Literal:
        return {"type": "select", "options": [{"label": str(choice), "value": choice} for choice in get_args(kind)]}
    if kind is Script:
        return {"type": "codeEditor", "language": "javascript"}
    if kind is Expression:
        return {"type": "codeEditor", "language": "expr"}
    if kind is PythonExpression:
        return {"type": "codeEditor", "language": "python"}
    return {"type": "password"} if extra_of(field, "secret") else None
