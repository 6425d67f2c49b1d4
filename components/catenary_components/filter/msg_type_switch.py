"""`msgTypeSwitch`: send each message by the relation that has the name of its type."""

from __future__ import annotations

from catenary import DEFAULT, Message
from catenary.component import Component, Config, Context, Example, register

from ._shared import connected_or_default


@register("msgTypeSwitch", category="filter", since="0.1", label="Message type switch")
class MsgTypeSwitch(Component[Config]):
    """Send each message by the relation that has the name of its type, in exactly its spelling.

    A type that is not connected leaves by `Default`, or by the relation that the property `defaultRelationType` names.
    When that is not connected either, the branch ends, with the type as its relation. The message goes on unchanged.
    """

    relations = (DEFAULT,)
    free_relations = True
    pure = True
    examples = (
        Example(
            "each type has a way of its own",
            inputs=[Message({"t": 60}, type="TELEMETRY"), Message({}, type="ALARM")],
            leaves_by=["TELEMETRY", "ALARM"],
        ),
    )

    def run(self, ctx: Context, msg: Message) -> str:
        return connected_or_default(ctx, msg.type)
