"""What stands in the decoded settings of a node, however deep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catenary.load.places import Path


def settings_that(fits: Callable[[Any], bool], value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Give each value in settings that fits, and where it stands; what is inside of such a value is not looked at.

    Args:
        fits: Tells whether a value is one of them.
        value: The settings, or a part of them.
        path: Where they stand.
    """
    if fits(value):
        yield path, value
        return
    for key, held in _parts(value):
        yield from settings_that(fits, held, (*path, key))


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """Give what a value holds, each with its index, its key, or its name as chains write it."""
    if isinstance(value, list | tuple):
        yield from enumerate(cast("list[Any]", value))
    elif isinstance(value, dict):
        yield from cast("dict[str, Any]", value).items()
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield field.alias or name, getattr(value, name)
