"""What flow components share: cases to choose among, and results of several branches put into one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from catenary import JSON, Expression
from catenary.component import Config, option
from catenary.jsontext import dumps_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary import Message
    from catenary.jsontext import Json

MAX_TOGETHER: Final = 32 * 2**20
"""Characters that the payloads in one list may have."""


class Case(Config):
    """A condition, and the way that it opens."""

    case: Expression = option(help="The condition.", examples=["msg.temperature > 50"])
    then: str = option(min_length=1, help="The relation to leave by when it holds.", examples=["Hot"])


class CasesConfig(Config):
    """Settings of nodes that choose among cases."""

    cases: list[Case] = option(
        [
            {"case": "msg.temperature>=20 && msg.temperature<=50", "then": "Case1"},
            {"case": "msg.temperature>50", "then": "Case2"},
        ],
        help=(
            "The cases, tried in this order. If absent, `Case1` is for a `msg.temperature` from 20 to 50 and `Case2`"
            " for more; an empty list has none."
        ),
    )


def wrapped(branches: Iterable[tuple[Message, str, str]]) -> str:
    """Give the JSON text of a list with one object for each branch.

    Each is `{"msg": {"ts", "id", "dataType", "type", "data", "metadata"}, "err", "nodeId"}`, its keys in this order;
    `data` is text (bytes as lower-case hex), `metadata` is empty.

    Args:
        branches: `(message, error text, node id)` of each.

    Raises:
        ValueError: When the payloads are too large together. Lists within lists double their backslashes at each
            level, so that a chain which runs itself would soon fill any memory.
    """
    entries: list[dict[str, Json]] = [
        {"msg": message.with_metadata({}).to_dict(), "err": error, "nodeId": node_id}
        for message, error, node_id in branches
    ]
    length = sum(len(entry["msg"]["data"]) for entry in entries)
    if length > MAX_TOGETHER:
        raise ValueError(
            f"the results have {length} characters together, and at most {MAX_TOGETHER} can be listed;"
            " look for a chain that runs itself"
        )
    return dumps_in_order(entries)


def merged(branches: Iterable[tuple[Message, str]]) -> dict[str, Json]:
    """Give one object: the keys of payloads that are JSON objects, a later one wins; any other under its node id.

    Args:
        branches: `(message, node id)` of each.
    """
    result: dict[str, Json] = {}
    for message, node_id in branches:
        value = message.value if message.data_type == JSON else message.to_dict()["data"]
        if isinstance(value, dict):
            result.update(cast("dict[str, Json]", value))
        else:
            result[node_id] = value
    return result
