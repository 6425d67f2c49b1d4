"""The options that a node was given, at any depth: as written, after the init pass, and compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from catenary.cli._origins import is_secret_name
from catenary.component import Config, NodeIds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a configuration that has no options inside it.

    Attributes:
        path: Its way from the configuration, such as `messages[0].content`.
        written: As it stands in the chain.
        resolved: The same after the init pass.
        compiled: What the component's settings hold: a template, an expression, a script, a plain value.
        is_secret: True when it must not be shown.
    """

    path: str
    written: Json
    resolved: Json
    compiled: Any
    is_secret: bool = False


def options_of(config: Config, written: Json, resolved: Json) -> Iterator[Option]:
    """Give the options that a configuration sets, in the order written.

    Args:
        config: The settings made of it.
        written: The configuration as it stands in the chain.
        resolved: The same after the init pass.
    """
    yield from _inside(Option("", written, resolved, config))


def _inside(option: Option) -> Iterator[Option]:
    compiled: object = option.compiled
    if isinstance(compiled, Config) and isinstance(option.written, dict):
        yield from _of_config(option, compiled)
    elif isinstance(compiled, dict) and isinstance(option.written, dict):
        yield from _of_mapping(option, cast("dict[Any, Any]", compiled))
    elif isinstance(compiled, (list, tuple)) and not isinstance(compiled, NodeIds):
        yield from _of_list(option, cast("list[Any]", compiled))
    else:
        yield option


def _of_config(option: Option, config: Config) -> Iterator[Option]:
    from catenary.load.decode import extra_of, field_names

    by_name = field_names(type(config))
    seen: set[str] = set()
    for key, written in cast("dict[str, Json]", option.written).items():
        name = by_name.get(key.lower(), ("", 0))[0]
        if not name or written is None or name in seen:
            continue
        seen.add(name)
        field = type(config).model_fields[name]
        inner = replace(
            option,
            path=f"{option.path}.{key}" if option.path else key,
            written=written,
            resolved=option.resolved[key],
            compiled=getattr(config, name),
            is_secret=option.is_secret or bool(extra_of(field, "secret")),
        )
        yield from _inside(inner)


def _of_mapping(option: Option, compiled: dict[Any, Any]) -> Iterator[Option]:
    rows = zip(cast("dict[str, Json]", option.written).items(), option.resolved.items(), compiled.items(), strict=False)
    for (key, written), (_, resolved), (made_key, made) in rows:
        if not isinstance(made_key, str) and "${" in key:
            yield replace(option, path=f"{option.path} (name)", written=key, resolved=key, compiled=made_key)
        yield from _inside(
            Option(f"{option.path}.{key}", written, resolved, made, option.is_secret or is_secret_name(key))
        )


def _of_list(option: Option, compiled: list[Any]) -> Iterator[Option]:
    many = isinstance(option.written, list)
    written = cast("list[Json]", option.written) if many else [option.written]
    resolved = cast("list[Json]", option.resolved) if many else [option.resolved]
    if not written:
        return
    for index, (one, after, made) in enumerate(zip(written, resolved, compiled, strict=False)):
        path = f"{option.path}[{index}]" if many else option.path
        yield from _inside(replace(option, path=path, written=one, resolved=after, compiled=made))
