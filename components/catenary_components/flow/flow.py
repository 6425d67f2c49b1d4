"""`flow`: run another chain as one step of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from catenary import AWAIT_CONFIRM, AWAIT_EXTERNAL, FAILURE, SUCCESS, fail
from catenary.component import Component, Config, Context, Emission, End, Example, option, register
from catenary.message import JSON

from ._shared import wrapped

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json


class FlowConfig(Config):
    """Settings of one `flow` node."""

    target_id: str = option(min_length=1, help="The id of the chain to run.")
    extend: bool = option(
        False,
        help="Pass every end of the chain on by its own relation, instead of listing them all in one message.",
    )

    @field_validator("target_id", mode="before")
    @classmethod
    def _without_blanks(cls, value: Json) -> Json:
        if isinstance(value, str) and not value.strip():
            raise ValueError("is empty; name the chain to run")
        return value.strip() if isinstance(value, str) else value


@register("flow", category="flow", since="0.1", label="Sub-chain")
class Flow(Component[FlowConfig]):
    """Run another chain as one step of this one.

    The chain is looked up when a message comes, so a reload is seen at once. It runs as a part of this run: it sees
    the values in the run's scope, and is cancelled with it.

    Without `extend` the node waits for all ends. The payload is then a JSON list in the order in which they came, one
    `{"msg", "err", "nodeId"}` for each, where `nodeId` is the node at which the branch ended; the metadata of the
    ends is put together, a later one wins; type, id and time stay. If an end was a `Failure`, the list leaves by
    `Failure` with the last such error; else, if one is paused, by its `AwaitConfirm` or `AwaitExternal`.

    With `extend` every end goes on at once, by its own relation and with its own message, so the node may have any
    relations. Where a node of the chain sent nothing on, nothing goes on here; when nothing did at all, the branch
    ends here. Ends that an `end` node of the chain gates, and branches that came too late at a join of
    it, are left out.
    """

    relations = (SUCCESS, FAILURE)
    free_relations = True
    waits = False
    examples = (
        Example(
            "a chain `cool` runs and its ends come back as a list; needs that chain",
            config={"targetId": "cool"},
            inputs=[{"t": 60}],
            leaves_by=["Success"],
            runs=False,
        ),
        Example("there is no such chain", config={"targetId": "absent"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def named_relations(self) -> list[str] | None:
        # Of the ends of an extended chain nobody knows before it runs.
        return None if self.config.extend else [SUCCESS, AWAIT_CONFIRM, AWAIT_EXTERNAL]

    async def run(self, ctx: Context, msg: Message) -> Emission:
        target = self.config.target_id
        if not self.config.extend:
            ends = await ctx.run_chain(target, msg)
            return _together([end for end in ends if not (end.gated or end.is_late)], msg)

        async def pass_on(end: End) -> None:
            if not (end.gated or end.is_silent or end.is_late):
                await ctx.emit(*(fail(end.error, end.message) if end.error else (end.relation, end.message)))

        await ctx.run_chain(target, msg, each=pass_on)
        return None


def _together(ends: list[End], msg: Message) -> Emission:
    failed = [end for end in ends if end.relation == FAILURE]
    metadata = dict(msg.metadata)
    for end in ends:
        if end.relation != FAILURE:
            metadata.update(end.message.metadata)
    payload = wrapped((end.message, end.reason, end.node_id) for end in ends)
    result = msg.with_data(payload, JSON).with_metadata(metadata)
    if failed:
        return fail(failed[-1].error or failed[-1].reason, result)
    return next((end.relation for end in ends if end.is_paused), SUCCESS), result
