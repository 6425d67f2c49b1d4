"""A chain as one step of a data pipeline: no event loop, one call a reading.

python examples/sensor_pipeline.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary import Engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "sensor", "name": "Sort and shape readings"},
    "metadata": {
        "nodes": [
            {"id": "valid", "type": "exprFilter", "configuration": {"expr": "msg.t != nil && msg.t in -60..120"}},
            {
                "id": "level",
                "type": "switch",
                "configuration": {"cases": [{"case": "msg.t > global.limit", "then": "High"}]},
            },
            {
                "id": "alarm",
                "type": "exprTransform",
                "configuration": {"mapping": {"id": "msg.id", "alarm": "true", "over": "msg.t - global.limit"}},
            },
            {
                "id": "plain",
                "type": "exprTransform",
                "configuration": {"mapping": {"id": "msg.id", "alarm": "false"}},
            },
        ],
        "connections": [
            {"fromId": "valid", "type": "True", "toId": "level"},
            {"fromId": "level", "type": "High", "toId": "alarm"},
            {"fromId": "level", "type": "Default", "toId": "plain"},
        ],
    },
}

READINGS = [{"id": "a", "t": 20}, {"id": "b", "t": 71}, {"id": "c"}, {"id": "d", "t": 64}]


def shaped(readings: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give what the chain makes of each valid reading."""
    with Engine({"limit": 60}) as engine:
        chain = engine.load(CHAIN)
        for reading in readings:
            end = chain.run_sync(reading).raise_for_error().ends[0]
            if end.node_id != "valid":  # there the others end
                yield end.message.value


def main() -> None:
    """Print the shaped readings."""
    for row in shaped(READINGS):
        print(row)


if __name__ == "__main__":
    main()
