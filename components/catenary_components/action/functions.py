"""`functions`: call a function that the host program registered."""

from __future__ import annotations

from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, cast

from catenary import FAILURE, SUCCESS, Template, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register

if TYPE_CHECKING:
    from catenary import Message


class FunctionsConfig(Config):
    """Settings of one `functions` node."""

    function_name: Template = option(
        "test", help="The name the function was registered with.", examples=["${metadata.task}"]
    )
    param: Template = option("", help="The payload the function gets; that of the message if blank.")


@register("functions", category="action", since="0.1", label="Function")
class Functions(Component[FunctionsConfig]):
    """Call a function that the host program registered with `engine.function(name)`.

    The function gets `(ctx, msg)` and returns what a component's `run` may return, so it chooses the relation; it may
    be `async def`. What it raises leaves by `Failure`, and so does a message for a name that nobody registered.
    """

    relations = (SUCCESS, FAILURE)
    free_relations = True
    waits = False
    examples = (
        Example("nobody registered the name", config={"functionName": "absent"}, inputs=[{}], leaves_by=["Failure"]),
        Example(
            "the host's function doubles a number, after `@engine.function('double')`",
            config={"functionName": "double"},
            inputs=["21"],
            leaves_by=["Success"],
            data=["42"],
            runs=False,
        ),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        config = self.config
        name = config.function_name.render(msg, ctx)
        function = ctx.functions.get(name)
        if function is None:
            return fail(f"can not found the function={name}", msg)
        if config.param:
            msg = msg.with_data(config.param.render(msg, ctx))
        result = function(ctx, msg)
        if not isawaitable(result):
            return _sent_with(msg, result)
        try:
            await ctx.need_loop()
        except BaseException:
            if iscoroutine(result):
                result.close()  # it never began, and must not warn of that
            raise
        return _sent_with(msg, await result)


def _sent_with(msg: Message, emission: Any) -> Any:
    """Let bare relations send the message that the function got, which is not always the one that came."""
    if isinstance(emission, str):
        return emission, msg
    if isinstance(emission, list):
        return [(item, msg) if isinstance(item, str) else item for item in cast("list[Any]", emission)]
    return emission
