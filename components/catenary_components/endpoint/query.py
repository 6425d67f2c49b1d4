"""The query of an address, as metadata and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from catenary.jsontext import dumps
from catenary_components.endpoint.bodies import BodyRefused

if TYPE_CHECKING:
    from catenary.jsontext import Json

_MAX_FIELDS: Final = 1000


def read_query(query: bytes) -> dict[str, list[str]]:
    """Read a query: all values of each name, in the order in which they came.

    Raises:
        BodyRefused: When it has more than 1000 values.
    """
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BodyRefused(400, f"the query has more than {_MAX_FIELDS} values") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def metadata_of(query: dict[str, list[str]]) -> dict[str, Json]:
    """Give a query as metadata: a text; a JSON list of texts where a name is given several times."""
    return {name: values[0] if len(values) == 1 else dumps(values) for name, values in query.items() if name}
