"""`fork`: send a message along several branches at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import SUCCESS
from catenary.component import Component, Config, Context, Example, register

if TYPE_CHECKING:
    from catenary import Message, Relation


@register("fork", category="common", since="0.1", label="Fork")
class Fork(Component[Config]):
    """Send a message along several branches at once: to all nodes connected by `Success`.

    Any node with several connections on one relation does the same; a fork only makes it plain to see. The branches
    run side by side, and what one does to its message the others do not see. A `join` brings them together.
    """

    relations = (SUCCESS,)
    pure = True
    examples = (Example("the message goes on unchanged", inputs=[{"a": 1}], leaves_by=["Success"], data=['{"a":1}']),)

    def run(self, ctx: Context, msg: Message) -> Relation:  # noqa: ARG002 - what every component is called with
        return SUCCESS
