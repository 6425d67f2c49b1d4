"""`comment`: a note in a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict

from catenary import SUCCESS
from catenary.component import Component, Config, Context, Example, register

if TYPE_CHECKING:
    from catenary import Message, Relation


class CommentConfig(Config):
    """Settings of one `comment` node: any, and none has an effect."""

    model_config = ConfigDict(extra="allow")


@register("comment", category="common", since="0.1", label="Comment")
class Comment(Component[CommentConfig]):
    """Tell the readers of a chain something; messages pass it by `Success` as they came.

    It may stand unconnected. Whatever its configuration says is kept, and has no effect: a `${global.x}` in it is a
    text like any other, and a node that it names is not run by that.
    """

    relations = (SUCCESS,)
    pure = True
    is_note = True
    examples = (
        Example(
            "the message goes on unchanged",
            config={"text": "alarms begin here"},
            inputs=[{"a": 1}],
            leaves_by=["Success"],
            data=['{"a":1}'],
        ),
    )

    def run(self, ctx: Context, msg: Message) -> Relation:  # noqa: ARG002 - what every component is called with
        return SUCCESS
