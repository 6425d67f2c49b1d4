"""Error texts quote what is written, not what came in its place by a placeholder, which may be a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from catenary.load.places import entries, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json


def as_written(text: str, resolved: Json, written: Json) -> str:
    """Give a text in which every value that came in by a placeholder stands as it was written."""
    for value, source in sorted(_replaced(resolved, written), key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", lambda _, source=source: source, text)
    return text


def _replaced(resolved: Json, written: Json) -> Iterator[tuple[str, str]]:
    """Give the texts that placeholders have changed, each with what was written."""
    if isinstance(resolved, str) and isinstance(written, str):
        if resolved != written and resolved.strip():
            yield resolved.strip(), written.strip()
        return
    if isinstance(resolved, dict | list):
        for key, value in entries(cast("Json", resolved)):
            yield from _replaced(value, value_at(written, (key,)))
