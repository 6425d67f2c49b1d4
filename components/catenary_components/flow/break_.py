"""`break`: stop the loop around after this round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, register

from ._loop import BREAK, Loop

if TYPE_CHECKING:
    from catenary import Message


@register("break", category="common", since="0.1", label="Break")
class Break(Component[Config]):
    """Stop the loop around, `for` or `while`, once this round is over.

    What follows in the body still runs. The message goes on with `_break` set to `1` in its metadata; the loop removes
    the key. Of nested loops the inner one stops, also when the `break` stands in a chain that the body runs. Outside of
    loops the key just stays. A script that sets `_break` to `1` in the metadata of a branch does the same.
    """

    relations = (SUCCESS,)
    examples = (Example("outside of a loop nothing is stopped", inputs=[{"a": 1}], leaves_by=["Success"]),)

    def run(self, ctx: Context, msg: Message) -> Emission:
        loop = ctx.scope.get(Loop)
        if loop is not None:
            loop.is_broken = True
        return SUCCESS, msg.put(BREAK, "1")
