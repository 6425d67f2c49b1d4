"""`jsSwitch`: let a JavaScript function name the relations a message leaves by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

from catenary import DEFAULT, FAILURE, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import Script, ScriptFunction, text_of

from ._shared import connected_default, connected_or_default

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json


class JsSwitchConfig(Config):
    """Settings of one `jsSwitch` node."""

    js_script: Annotated[Script, ScriptFunction("Switch")] = option(
        "return ['msgType1','msgType2'];",
        help="The body of `function Switch(msg, metadata, msgType, dataType)`, which returns a list of relations.",
        examples=["return msg.temperature > 50 ? ['Hot', 'Log'] : ['Log'];", "return [metadata.site];"],
    )
    blocking: bool = option(
        False, help="Run the script in a thread, so that a slow one holds up no other message of the event loop."
    )


@register("jsSwitch", category="filter", since="0.1", label="Script switch")
class JsSwitch(Component[JsSwitchConfig]):
    """Let a JavaScript function name the relations a message leaves by.

    The function returns a list; the message leaves once for each element, in this order, by the relation of that name
    (numbers and booleans as text, nothing as empty text). Where no connection has the name it leaves by `Default`, or
    by what the engine's property `defaultRelationType` says; where that is not connected either, the branch ends with
    the returned name. An empty list leaves by the default relation if it is connected, else the branch ends.

    A script that throws, or returns no list, sends the message by `Failure`. The message goes on unchanged, and what
    the script writes to its arguments stays in it.
    """

    relations = (DEFAULT, FAILURE)
    free_relations = True
    examples = (
        Example(
            "the script names the way",
            config={"jsScript": "return [msg.temperature > 50 ? 'Hot' : 'Cold'];"},
            inputs=[{"temperature": 60}, {"temperature": 40}],
            leaves_by=["Hot", "Cold"],
        ),
        Example(
            "only a list names relations",
            config={"jsScript": "return 'Hot';"},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: JsSwitchConfig) -> None:
        super().__init__(config)
        self.blocking = config.blocking
        self._call = config.js_script.call

    def run(self, ctx: Context, msg: Message) -> Emission:
        returned = self._call(msg, ctx)
        if not isinstance(returned, list):
            return fail("return the value is not an array", msg)
        names = [connected_or_default(ctx, text_of(element)) for element in cast("list[Json]", returned)]
        if not names and (default := connected_default(ctx)):
            return default
        return names[0] if len(names) == 1 else [*names]
