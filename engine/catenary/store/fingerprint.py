"""The name of a chain as it is written."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from catenary.jsontext import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json


def fingerprint(definition: Mapping[str, Json]) -> str:
    """Name a chain by what is written in it; the order of its keys does not count."""
    try:
        text = dumps(dict(definition))
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(definition, default=repr, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
