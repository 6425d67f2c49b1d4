"""`end`: the place where the answers of a chain come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.component import Component, Config, Context, Example, register

if TYPE_CHECKING:
    from catenary import Message


@register("end", category="common", since="0.1", label="End")
class End(Component[Config]):
    """End a branch, with the relation by which the message got here.

    In a chain with an `end` node, branches that end elsewhere are no answers: the outcome of the run shows them as
    gated. Only a `Failure` that is not connected counts everywhere. Connections that leave an `end` are ignored.
    """

    relations = ()
    ends = True
    examples = (Example("a branch ends here by the way it came", inputs=[{"a": 1}], leaves_by=[""], data=['{"a":1}']),)

    def run(self, ctx: Context, msg: Message) -> None:
        """Is there for form's sake: the branch ends before it would be called."""
