"""`log`: write a line about a message to the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Final

from catenary import FAILURE, SUCCESS, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import Script, ScriptFunction
from catenary.jsontext import dumps

if TYPE_CHECKING:
    from catenary import Message

_logger = logging.getLogger("catenary.log")
_CONTROLS: Final = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
    if chr(code) not in "\n\t"
}
"""Characters that a terminal obeys, or a reader of logs takes for the end of a line, and how they are written."""


class LogConfig(Config):
    """Settings of one `log` node."""

    js_script: Annotated[Script, ScriptFunction("ToString")] = option(
        "",
        help="The body of `function ToString(msg, metadata, msgType, dataType)`, which returns the text; "
        "a blank one writes payload and metadata as JSON.",
        examples=["return msgType + ' from ' + metadata.deviceId;"],
    )
    blocking: bool = option(
        False, help="Run the script in a thread, so that a slow one holds up no other message of the event loop."
    )


@register("log", category="action", since="0.1", label="Log")
class Log(Component[LogConfig]):
    """Write a line about a message to the log, at level INFO under the name `catenary.log`.

    The text is what the script returns. Its further lines begin with a tab and control characters are written as
    escapes, so that no message can forge a line of the log; secrets are masked. Without a script it is the payload and
    the metadata as JSON, and no JavaScript is needed. The record has the fields `chain_id` and `node_id`. The message
    goes on unchanged; a script that fails, or returns no string, sends it by `Failure`.
    """

    relations = (SUCCESS, FAILURE)
    examples = (
        Example("payload and metadata", inputs=[{"a": 1}], leaves_by=["Success"]),
        Example(
            "a text of one's own",
            config={"jsScript": "return 'a is ' + msg.a;"},
            inputs=[{"a": 1}],
            leaves_by=["Success"],
        ),
        Example("only a string can be written", config={"jsScript": "return 5;"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def __init__(self, config: LogConfig) -> None:
        super().__init__(config)
        self.blocking = config.blocking and not config.js_script.is_blank

    def run(self, ctx: Context, msg: Message) -> Emission:
        script = self.config.js_script
        if script.is_blank:
            if _logger.isEnabledFor(logging.INFO):
                self._write(ctx, _text_of_all(msg))
            return SUCCESS
        text = script.call(msg, ctx)
        if not isinstance(text, str):
            return fail("return the value is not a string", msg)
        self._write(ctx, text.replace("\r\n", "\n").replace("\n", "\n\t"))
        return SUCCESS

    def _write(self, ctx: Context, text: str) -> None:
        text = ctx.chain.engine.masker.text(text)
        _logger.info("%s", text.translate(_CONTROLS), extra={"chain_id": ctx.chain_id, "node_id": ctx.node_id})


def _text_of_all(msg: Message) -> str:
    return f"Incoming message:\n{dumps(msg.value)}\nIncoming metadata:\n{dumps(dict(msg.metadata))}"
