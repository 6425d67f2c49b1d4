"""What `for` and `while` share: rounds of a body, their results, and when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from catenary import BINARY, FAILURE, JSON, STREAM
from catenary.message import metadata_text

if TYPE_CHECKING:
    from catenary import Message, Relation
    from catenary.component import Context, End
    from catenary.jsontext import Json

    from ._target import Target

BREAK: Final = "_break"
"""The metadata key that stops the loop around when it is `1` at the end of a branch."""

INDEX: Final = "_loopIndex"
"""The metadata key with the number of the round, from 0."""

MODE_HELP: Final = "What becomes of the results: 0 nothing, 1 a list of all, 2 the last one"


class Round(NamedTuple):
    """What one round of a body came to.

    Attributes:
        results: The messages of its branches, in the order in which they ended.
        error: Why the body failed, or None.
        pause: How a branch of the body that is paused would go on, or None.
    """

    results: list[Message]
    error: BaseException | str | None
    pause: tuple[Relation | str, Message] | None


class Loop:
    """A loop at work. It lies in the scope of its body's runs, where `break` finds it.

    Attributes:
        is_broken: True once something in the body has asked the loop to stop.
    """

    __slots__ = ("_body", "_ctx", "_outer", "_place", "is_broken")

    def __init__(self, ctx: Context, body: Target) -> None:
        self._ctx = ctx
        self._body = body
        self._place = (ctx.chain_id, ctx.node_id)
        self._outer = ctx.scope.get(Loop)
        self.is_broken = False

    @property
    def is_inside_itself(self) -> bool:
        """True when the body of this very node has led back to it."""
        outer = self._outer
        while outer is not None and outer._place != self._place:
            outer = outer._outer
        return outer is not None

    def enter(self, message: Message) -> Message:
        """Give the message that the loop begins with; a break that it carries is meant for the loop around."""
        if BREAK not in message.metadata:
            return message
        if self._outer is not None and _asks_to_stop(message):
            self._outer.is_broken = True
        return message.without(BREAK)

    async def round(self, message: Message) -> Round:
        """Run the body once. Pieces of a stream go on by `Stream` as they come, and are no results.

        Raises:
            CatenaryError: When there is no such node or chain, or the kernel gave up.
        """
        ends = await self._body.run(self._ctx, message, each=self._pass_on, scope=(self,))
        results: list[Message] = []
        error: BaseException | str | None = None
        pause: tuple[Relation | str, Message] | None = None
        for end in ends:
            result = end.message
            if BREAK in result.metadata:
                self.is_broken = self.is_broken or _asks_to_stop(result)
                result = result.without(BREAK)
            if end.relation == FAILURE:
                error = (end.error or end.reason) if error is None else error
            elif end.is_paused:
                pause = pause or (end.relation, result)
            elif end.is_answer:
                results.append(result)
        return Round(results, error, pause)

    async def _pass_on(self, end: End) -> None:
        if end.relation == STREAM and not end.gated:
            await self._ctx.emit(STREAM, end.message)


def element_of(message: Message) -> Json:
    """Give a result as an element of a list: a value when it is JSON that parses, else text."""
    if message.data_type != JSON:
        return message.to_dict()["data"] if message.data_type == BINARY else message.text
    value = message.value
    return value if value != {} or message.text.strip() else ""


def _asks_to_stop(message: Message) -> bool:
    return metadata_text(message.metadata.get(BREAK)) == "1"
