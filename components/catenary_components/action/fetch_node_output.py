"""`fetchNodeOutput`: go on with what an earlier node sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, SUCCESS, fail
from catenary.component import Component, Config, Context, Emission, Example, NodeOutput, option, register

if TYPE_CHECKING:
    from catenary import Message


class FetchNodeOutputConfig(Config):
    """Settings of one `fetchNodeOutput` node."""

    node_id: NodeOutput = option(help="The node, of this chain, whose output to go on with.", examples=["fetch"])


@register("fetchNodeOutput", category="action", since="0.1", label="Fetch node output")
class FetchNodeOutput(Component[FetchNodeOutputConfig]):
    """Go on with the whole message that another node last sent on in this run, in place of the one that came.

    Payload, data type, metadata, type, id and time are those of that message. When that node has sent nothing in
    this run, or there is no such node, the message that came leaves by `Failure`.
    """

    relations = (SUCCESS, FAILURE)
    examples = (
        Example(
            "the order as it was before it was rated; needs that node",
            config={"nodeId": "order"},
            inputs=[{"rating": 3}],
            leaves_by=["Success"],
            runs=False,
        ),
        Example("nothing was sent", config={"nodeId": "absent"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def run(self, ctx: Context, msg: Message) -> Emission:
        output = ctx.output(self.config.node_id)
        return fail(f"node {self.config.node_id} output not found", msg) if output is None else (SUCCESS, output)
