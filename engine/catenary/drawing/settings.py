"""The configuration of a node as it may be shown: secrets masked."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_args

from catenary.component import Config
from catenary.masking import MASK, Masker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.component import Component
    from catenary.definition import ChainDefinition, EndpointDefinition
    from catenary.jsontext import Json
    from catenary.registry import Registry


def masker_of(definition: ChainDefinition, registry: Registry, secret_key: str | None = None) -> Masker:
    """Give what masks the secrets of a chain wherever they stand: those of its `secrets`, and of secret options.

    Args:
        definition: The chain.
        registry: Tells which options are secret.
        secret_key: Decrypts `secrets`; as they are written they are masked without it.
    """
    from catenary.load import chain_settings
    from catenary.secrets import opened

    masker = Masker()
    secrets = chain_settings(definition).secrets
    if secrets:
        masker.add(*secrets.values(), *opened(secrets, secret_key).values())
    for node in definition.nodes:
        masker.add(*_hidden_values(registry.find(node.type), node.configuration))
    for endpoint in definition.endpoints:
        masker.add(*_hidden_values(registry.find_endpoint(endpoint.type), endpoint.configuration))
        masker.add(*_hidden_values(None, {"routers": [dict(router) for router in endpoint.routers]}))
    return masker


def shown_settings(component: type[Component[Any]] | None, configuration: Mapping[str, Json]) -> Json:
    """Give a configuration with the values of secret options masked; placeholders such as `${global.key}` stay.

    Headers that log in somewhere are masked, and of a type that nobody knows all that is named like a secret.
    """
    return _shown(dict(configuration), _names(component))


def shown_endpoint(endpoint: EndpointDefinition, registry: Registry) -> dict[str, Json]:
    """Give the configuration of an endpoint and its routers, as `shown_settings` does."""
    configuration = shown_settings(registry.find_endpoint(endpoint.type), endpoint.configuration)
    routers = [shown_settings(None, router) for router in endpoint.routers]
    return {"configuration": configuration, "processors": list(endpoint.processors), "routers": routers}


_USUAL = frozenset({"password", "passwd", "secret", "token", "key", "apikey", "api_key"})
_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"})


def _names(component: type[Component[Any]] | None) -> frozenset[str]:
    return _HEADERS | (_secret_names(component.config_type()) if component else _USUAL)


def _shown(value: Json, names: frozenset[str]) -> Json:
    if isinstance(value, list):
        return [_shown(item, names) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Json]", value).items()
    return {key: MASK if _is_hidden(key, item, names) else _shown(item, names) for key, item in items}


def _hidden_values(component: type[Component[Any]] | None, configuration: Mapping[str, Json]) -> Iterator[Json]:
    names = _names(component)
    waiting: list[Json] = [dict(configuration)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += cast("list[Json]", value)
        elif isinstance(value, dict):
            for key, item in cast("dict[str, Json]", value).items():
                if _is_hidden(key, item, names):
                    yield item
                else:
                    waiting.append(item)


def _is_hidden(key: str, value: Json, names: frozenset[str]) -> bool:
    return key.lower() in names and value not in ("", None) and not (isinstance(value, str) and "${" in value)


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
