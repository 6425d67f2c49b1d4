"""Read `key=value` and `key:=json` as they are typed on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from catenary.jsontext import Json


def split_pair(pair: str, option: str) -> tuple[str, str]:
    """Split `key=value` at the first `=`. Raises: click.BadParameter: when there is no `=`, or no key."""
    key, sign, value = pair.partition("=")
    if not sign:
        raise bad(option, f"{_shown(key)} has no '='; write {option} key=value")
    if not key.strip():
        raise bad(option, f"there is no key before the '='; write {option} key=value")
    return key.strip(), value


def typed_pair(pair: str, option: str) -> tuple[str, Json]:
    """Split `key=text` or `key:=json`. Raises: click.BadParameter: when it is neither."""
    key, text = split_pair(pair, option)
    if not key.endswith(":"):
        return key, text
    key = key[:-1].strip()
    if not key:
        raise bad(option, f"there is no key before the ':='; write {option} key:=json")
    from catenary.jsontext import loads

    try:
        return key, loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deep
        raise bad(option, f"what follows '{key}:=' is not JSON: {error}; for a plain text write '{key}='") from None


def put(tree: Any, keys: list[str], value: Json, option: str) -> None:
    """Put a value into nested mappings, which are made where they are missing.

    Raises:
        click.BadParameter: When a key is empty, or something on the way is no mapping.
    """
    if not all(keys):
        raise bad(option, f"a part of the dotted key {'.'.join(keys)!r} is empty")
    for depth, key in enumerate(keys[:-1], start=1):
        inner = tree.setdefault(key, {})
        if not isinstance(inner, dict):
            raise bad(
                option, f"{'.'.join(keys[:depth])!r} has a plain value already, so it cannot hold {keys[depth]!r}"
            )
        tree = cast("dict[str, Any]", inner)
    tree[keys[-1]] = value


def bad(option: str, text: str) -> click.BadParameter:
    """Give the error for a wrong value of an option."""
    return click.BadParameter(text, param_hint=f"'{option}'")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
