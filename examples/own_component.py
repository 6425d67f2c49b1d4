"""A node type of one's own, used in a chain, with the time set by hand.

python examples/own_component.py
"""

from __future__ import annotations

from typing import Any

from catenary import SUCCESS, Engine, Message, Relation
from catenary.component import Component, Config, Context, Example, option, register
from catenary.testing import FakeClock

CHANGED = Relation("Changed", help="The value is another one than before; the metadata `before` has the last one.")
STUCK = Relation("Stuck", help="The value has not changed for too long.")


class WatchValueConfig(Config):
    """Settings of one `watchValue` node."""

    field: str = option("value", min_length=1, help="The key of the payload that is watched.")
    stuck_after_s: float = option(60.0, gt=0, unit="seconds", help="How long a value may stay the same.")


@register("watchValue", category="filter", since="1.0")
class WatchValue(Component[WatchValueConfig]):
    """Tell values that change from those that do not, and find sensors that are stuck."""

    relations = (SUCCESS, CHANGED, STUCK)
    examples = (
        Example(
            "a new value is told",
            config={"field": "level"},
            inputs=[{"level": 1}, {"level": 1}, {"level": 2}],
            leaves_by=["Success", "Success", "Changed"],
        ),
    )

    def open(self, ctx: Context) -> None:
        self._last: Any = None
        self._since = ctx.clock.monotonic()

    def run(self, ctx: Context, msg: Message) -> Relation | tuple[Relation, Message]:
        now = ctx.clock.monotonic()
        value = msg.value[self.config.field]  # without the key: a KeyError, and so Failure
        if value == self._last:
            return STUCK if now - self._since > self.config.stuck_after_s else SUCCESS
        before, self._last, self._since = self._last, value, now
        return SUCCESS if before is None else (CHANGED, msg.put("before", str(before)))


CHAIN: dict[str, Any] = {
    "ruleChain": {"id": "tank"},
    "metadata": {
        "nodes": [
            {"id": "watch", "type": "watchValue", "configuration": {"field": "level", "stuckAfterS": 30}},
            {
                "id": "tell",
                "type": "exprTransform",
                "configuration": {"expr": "'from ' + metadata.before + ' to ' + string(msg.level)"},
            },
        ],
        "connections": [{"fromId": "watch", "type": "Changed", "toId": "tell"}],
    },
}


def main() -> None:
    """Print how three readings leave, half a minute apart."""
    clock = FakeClock()
    with Engine(clock=clock) as engine:
        chain = engine.load(CHAIN)
        for level in (4, 5, 5):
            end = chain.run_sync({"level": level}).ends[0]
            print(end.node_id, end.relation, end.message.text)
            clock.advance(31)


if __name__ == "__main__":
    main()
