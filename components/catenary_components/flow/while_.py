"""`while`: run a part of the chain again for as long as a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import AWAIT_CONFIRM, AWAIT_EXTERNAL, FAILURE, STREAM, SUCCESS, Expression, Message, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.message import JSON

from ._loop import INDEX, MODE_HELP, Loop, element_of
from ._target import Body  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from catenary.jsontext import Json

IGNORE: Final = 0
MERGE: Final = 1


class WhileConfig(Config):
    """Settings of one `while` node."""

    condition: Expression = option(
        "msg.count==nil || msg.count < 3",
        help="Holds as long as there is to be another round: true, the text `true`, or a number that is not 0.",
        examples=["msg.done != true", "metadata._loopIndex < '5'"],
    )
    do: Body = option(help="The first node of the body, or a chain as `chain:ID`.", examples=["s3", "chain:refine"])
    mode: int = option(2, ge=0, le=2, help=f"{MODE_HELP}.")
    max_rounds: int | None = option(
        None,
        ge=0,
        unit="rounds",
        help="More rounds than this are a `Failure`; 0 for no limit; absent: the chain decides, else the engine.",
    )


@register("while", category="common", since="0.1", label="While")
class While(Component[WhileConfig]):
    """Run a part of the chain again for as long as a condition holds.

    Each round `_loopIndex` in the metadata gets its number, from 0, then the condition is asked, and the body runs from
    the node `do` to the ends of its branches, or the chain `do` as a whole. What ends last is the message of the next
    round. Branches that send nothing on, and pieces of a stream, are no results; pieces go on by `Stream` at once.

    By `Success` leaves, with mode 0, the message as it came in; with mode 1 a JSON list of all results, in the order in
    which they ended, with the metadata of the last; with mode 2 the last result. `_loopIndex` is then the number of
    rounds, or that of the round with the `break`.

    A body that fails, a condition that fails, and more rounds than `maxRounds` end the loop: the message of that round
    leaves by `Failure`. A `Failure` that the body takes care of does not. A branch of the body that is paused (by
    `AwaitConfirm` or `AwaitExternal`, not connected there) ends the loop too: its message leaves by that relation.
    """

    relations = (SUCCESS, STREAM, FAILURE, AWAIT_CONFIRM, AWAIT_EXTERNAL)
    waits = False
    examples = (
        Example(
            "a condition that does not hold at first: the body never runs",
            config={"condition": "msg.count < 3", "do": "s3"},
            inputs=[{"count": 5}],
            leaves_by=["Success"],
            data=['{"count":5}'],
        ),
        Example("there is no such body", config={"do": "absent"}, inputs=[{}], leaves_by=["Failure"]),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        loop = Loop(ctx, self.config.do)
        holds, mode = self.config.condition.call, self.config.mode
        limit = self.config.max_rounds
        if limit is None:
            limit = ctx.chain.compiled.limits.max_rounds
        entered = current = loop.enter(msg)
        collected: list[Json] = []
        index = 0
        while not loop.is_broken:
            current = current.put(INDEX, str(index))
            if not is_true(holds(current, ctx)):
                break
            if limit and index >= limit:
                return fail(f"the condition still holds after {limit} rounds, which is maxRounds", current)
            results, error, pause = await loop.round(current)
            if error is not None:
                return fail(error, current)
            if pause is not None:
                return pause
            if mode == MERGE:
                collected += map(element_of, results)
            if results:
                current = results[-1]
            index += 1
        if mode == IGNORE:
            return SUCCESS, entered
        return SUCCESS, current.with_data(collected, JSON) if mode == MERGE else current


def is_true(value: Json) -> bool:
    """Tell whether a condition with this value holds."""
    if isinstance(value, str):
        return value.lower() == "true"
    return isinstance(value, int | float) and value != 0
