"""`jsFilter`: let a message choose between `True` and `False` by a JavaScript function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, FALSE, TRUE, Script
from catenary.component import Component, Config, Context, Example, option, register

if TYPE_CHECKING:
    from catenary import Message, Relation


class JsFilterConfig(Config):
    """Settings of one `jsFilter` node."""

    js_script: Script = option(
        "return msg.temperature > 50;",
        help="The body of `function Filter(msg, metadata, msgType, dataType)`; a blank one is never true.",
        examples=["return msg.temperature > 50;", "return msgType === 'alarm' && metadata.site !== undefined;"],
    )
    blocking: bool = option(
        False, help="Run the script in a thread, so that a slow one holds up no other message of the event loop."
    )


@register("jsFilter", category="filter", since="0.1", label="Script filter")
class JsFilter(Component[JsFilterConfig]):
    """Let a message choose between `True` and `False` by a JavaScript function.

    `True` is chosen only when the function returns the boolean true; anything else is `False`. What it throws leaves
    by `Failure`, and so does a script that runs longer or takes more memory than it may. `msg` is the parsed payload,
    `msg.data` its raw text (unless the payload has a key `data`). What the script writes to its arguments stays in it.
    Numbers are JavaScript's: integers beyond 2^53 lose digits inside the script, never in the message.
    """

    relations = (TRUE, FALSE, FAILURE)
    pure = True
    examples = (
        Example(
            "messages part at a limit",
            config={"jsScript": "return msg.temperature > 50;"},
            inputs=[{"temperature": 60}, {"temperature": 40}],
            leaves_by=["True", "False"],
        ),
        Example(
            "the raw payload is msg.data",
            config={"jsScript": "return JSON.parse(msg.data).action !== undefined;"},
            inputs=['{"action": "on"}', '{"answer": "hello"}'],
            leaves_by=["True", "False"],
        ),
        Example("what is thrown is a failure", config={"jsScript": "throw 'no';"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def __init__(self, config: JsFilterConfig) -> None:
        super().__init__(config)
        self.blocking = config.blocking
        self._call = config.js_script.call

    def run(self, ctx: Context, msg: Message) -> Relation:
        return TRUE if self._call(msg, ctx) is True else FALSE
