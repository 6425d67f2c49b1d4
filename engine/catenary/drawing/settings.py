"""The configuration of a node as it may be shown: secrets masked."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_args

from catenary.component import Config
from catenary.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Component
    from catenary.jsontext import Json


def shown_settings(component: type[Component[Any]] | None, configuration: Mapping[str, Json]) -> Json:
    """Give a configuration with the values of secret options masked; placeholders such as `${global.key}` stay.

    Of a type that nobody knows, options that are named like secrets are masked.
    """
    names = _secret_names(component.config_type()) if component else _USUAL
    return _shown(dict(configuration), names)


_USUAL = frozenset({"password", "passwd", "secret", "token", "key", "apikey", "api_key", "authorization"})


def _shown(value: Json, names: frozenset[str]) -> Json:
    if isinstance(value, list):
        return [_shown(item, names) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Json]", value).items()
    return {key: _hidden(item) if key.lower() in names else _shown(item, names) for key, item in items}


def _hidden(value: Json) -> Json:
    return value if value in ("", None) or (isinstance(value, str) and "${" in value) else MASK


@cache
def _secret_names(settings: type[Config]) -> frozenset[str]:
    """Give all names by which settings, and settings in them, take secrets; in lower case."""
    found: set[str] = set()
    waiting: list[Any] = [settings]
    seen: set[Any] = set()
    while waiting:
        kind: Any = waiting.pop()
        waiting += get_args(kind)
        if not isinstance(kind, type) or kind in seen or not issubclass(kind, Config):
            continue
        seen.add(kind)
        for name, field in kind.model_fields.items():
            waiting.append(field.annotation)
            extra = cast("dict[str, Any]", field.json_schema_extra or {})
            if extra.get("x-secret"):
                found.update(one.lower() for one in (name, field.alias or name, *extra.get("x-also", ())))
    return frozenset(found)
