"""`for`: run a part of the chain once for each item."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import field_validator

from catenary import (
    AWAIT_CONFIRM,
    AWAIT_EXTERNAL,
    FAILURE,
    STREAM,
    SUCCESS,
    DepthLimitReached,
    EngineError,
    Expression,
    Message,
    fail,
)
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import text_of
from catenary.jsontext import loads
from catenary.message import JSON

from ._loop import INDEX, MODE_HELP, Loop, element_of
from ._target import Body  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from catenary.jsontext import Json

MERGE: Final = 1
REPLACE: Final = 2
ASYNC: Final = 3

NO_LIST: Final = "must array slice or struct type"


class ForConfig(Config):
    """Settings of one `for` node."""

    range: Expression | None = option(
        "1..3",
        help="What to go through: a list, a map, or a range of whole numbers; the payload when blank.",
        examples=["1..3", "msg.items", "msg.rooms"],
    )
    do: Body = option(
        "s3", help="The first node of the body, or a chain as `chain:ID`.", examples=["s3", "chain:order"]
    )
    mode: int = option(
        0,
        ge=0,
        le=3,
        help=f"{MODE_HELP}; 3 does not wait: the message goes on at once, and the items run beside it.",
    )
    concurrency: int = option(100, ge=1, unit="items", help="How many items run at the same time with mode 3.")

    @field_validator("range", mode="before")
    @classmethod
    def _blank_is_the_payload(cls, value: Json) -> Json:
        return None if isinstance(value, str) and not value.strip() else value


@register("for", category="common", since="0.1", label="For")
class For(Component[ForConfig]):
    """Run a part of the chain once for each item of a list or map, one after the other.

    The body runs from the node `do` to the ends of its branches, or the chain `do` as a whole, before the next item is
    taken. It gets the item as its payload (text as it is, all else as JSON, null as nothing); for a range of whole
    numbers such as `1..5` it gets the payload that came in. With mode 2 it gets, after the first round, the payload of
    the round before. In the metadata it finds `_loopIndex` (from 0), `_loopItem` and, for a map, `_loopKey`. What its
    branches put into the metadata is there in the next round, and after the loop.

    By `Success` leaves, with mode 0, the payload that came in; with mode 1 a JSON list with one element for each branch
    of each round, in the order in which they ended; with mode 2 the last result. Branches that send nothing on, and
    pieces of a stream, are no results; pieces go on by `Stream` at once. A `break` in the body stops the loop after its
    round.

    A body that fails stops the loop: the item leaves by `Failure`. A `Failure` that the body takes care of does not.
    A branch of the body that is paused (by `AwaitConfirm` or `AwaitExternal`, not connected there) stops the loop too:
    its message leaves by that relation.

    With mode 3 the message goes on by `Success` at once, and the items run beside it and each other, on copies whose
    metadata does not come back. What fails or is paused leaves the same way, and the other items go on. The run, and a
    join behind this node, wait for all of them.
    """

    relations = (SUCCESS, STREAM, FAILURE, AWAIT_CONFIRM, AWAIT_EXTERNAL)
    waits = False
    examples = (
        Example(
            "each item goes to the node `double`; needs that node",
            config={"range": "msg", "do": "double", "mode": 1},
            inputs=[[1, 2]],
            leaves_by=["Success"],
            data=["[2,4]"],
            runs=False,
        ),
        Example(
            "of nothing comes an empty list",
            config={"range": "msg.items", "mode": 1},
            inputs=[{"items": []}],
            leaves_by=["Success"],
            data=["[]"],
        ),
        Example("a text is no list", config={"range": "'abc'"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def __init__(self, config: ForConfig) -> None:
        super().__init__(config)
        self._keeps_payload = config.range is not None and config.range.is_range

    async def run(self, ctx: Context, msg: Message) -> Emission:
        # The rounds are here, and not in a method of their own: a frame for each level of loops in loops.
        keys, items = self._items(ctx, msg)
        loop = Loop(ctx, self.config.do)
        last = entered = loop.enter(msg)
        mode = self.config.mode
        if mode == ASYNC and items:
            await self._side_by_side(ctx, loop, entered, self._copies(entered, keys, items), len(items))
            return None
        if mode == ASYNC:
            return SUCCESS, entered
        metadata = dict(entered.metadata)
        collected: list[Json] = []
        for index, item in enumerate(items):
            handed = self._handed(last, index, item, keys, metadata)
            results, error, pause = await loop.round(handed)
            for result in results:
                metadata.update(result.metadata)
            if error is not None:
                return fail(error, handed.with_metadata(metadata))
            if pause is not None:
                return pause
            if mode == MERGE:
                collected += map(element_of, results)
            elif mode == REPLACE:
                last = results[-1] if results else handed
            if loop.is_broken:
                break
        return SUCCESS, (last.with_data(collected, JSON) if mode == MERGE else last).with_metadata(metadata)

    def _handed(
        self, last: Message, index: int, item: Json, keys: Sequence[str] | None, metadata: dict[str, Json]
    ) -> Message:
        """Give what the body gets for an item, and note its place in the metadata of the loop."""
        text = text_of(item)
        metadata.update(_place(index, text, keys))
        is_kept = self._keeps_payload or (self.config.mode == REPLACE and index)
        return (last if is_kept else last.with_data(text)).with_metadata(metadata)

    async def _side_by_side(
        self, ctx: Context, loop: Loop, msg: Message, copies: Iterator[Message], count: int
    ) -> None:
        errors: list[Exception] = []

        async def work() -> None:
            for handed in copies:
                _, error, pause = await loop.round(handed)
                if isinstance(error, DepthLimitReached):
                    raise error
                if error is not None:
                    await ctx.emit(*fail(error, handed))
                elif pause is not None:
                    await ctx.emit(*pause)
                if loop.is_broken or errors:
                    break

        async def guarded(task: Awaitable[None]) -> None:
            try:
                await task
            except Exception as error:  # raised below: what has begun comes to its end before
                errors.append(error)

        await ctx.need_loop()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(guarded(ctx.emit(SUCCESS, msg)))
            # Inside itself it goes deep before it goes wide, and so meets the limit before the memory is full.
            for _ in range(1 if loop.is_inside_itself else min(self.config.concurrency, count)):
                tasks.create_task(guarded(work()))
        if errors:
            raise errors[0]

    def _copies(self, msg: Message, keys: Sequence[str] | None, items: Sequence[Json]) -> Iterator[Message]:
        for index, item in enumerate(items):
            text = text_of(item)
            copy = msg if self._keeps_payload else msg.with_data(text)
            yield copy.put_all(_place(index, text, keys))

    def _items(self, ctx: Context, msg: Message) -> tuple[Sequence[str] | None, Sequence[Json]]:
        """Give the items, and their keys when they stand in a map."""
        expression = self.config.range
        value: Any = _payload(msg) if expression is None else expression.call(msg, ctx)
        if isinstance(value, Mapping):
            held = cast("Mapping[Any, Json]", value)
            return [text_of(key) for key in held], list(held.values())
        if isinstance(value, list | tuple):
            return None, cast("list[Json]", value)
        source = "the payload" if expression is None else f"range {expression.source!r}"
        raise EngineError(NO_LIST, hint=f"{source} gave {value!r:.60}, and a list, a map or a range 1..5 is asked for")


def _payload(msg: Message) -> Json:
    try:
        return msg.value if msg.data_type == JSON else loads(msg.text)
    except ValueError:
        return msg.text


def _place(index: int, text: str, keys: Sequence[str] | None) -> dict[str, Json]:
    place: dict[str, Json] = {INDEX: str(index), "_loopItem": text}
    if keys is not None:
        place["_loopKey"] = keys[index]
    return place
