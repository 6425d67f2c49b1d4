"""The component `shop/doorChange` for catenary; importing this package registers it."""

from __future__ import annotations

from catenary import FALSE, TRUE, Message, Relation, Template
from catenary.component import Component, Config, Context, Example, option, register

__all__ = ["DoorChange", "DoorChangeConfig"]


class DoorChangeConfig(Config):
    """Settings of one `shop/doorChange` node."""

    door: Template = option("${msg.door}", help="The name of the door.")
    state: Template = option("${msg.state}", help="The state it is in.")


@register("shop/doorChange", category="filter", since="0.1")
class DoorChange(Component[DoorChangeConfig]):
    """Let a message through by `True` when its door is in another state than before, else by `False`.

    The first message of a door is a change. The state is kept with the chain, also when the chain is reloaded.
    """

    relations = (TRUE, FALSE)
    examples = (
        Example(
            "the second message that says the same is no change",
            inputs=[{"door": "north", "state": "open"}, {"door": "north", "state": "open"}],
            leaves_by=["True", "False"],
        ),
    )

    def run(self, ctx: Context, msg: Message) -> Relation:
        """Compare the state with the one that was kept, and keep it."""
        key = f"door:{self.config.door.render(msg, ctx)}"
        state = self.config.state.render(msg, ctx)
        if ctx.chain_cache.has(key) and ctx.chain_cache.get(key) == state:
            return FALSE
        ctx.chain_cache.set(key, state)
        return TRUE
