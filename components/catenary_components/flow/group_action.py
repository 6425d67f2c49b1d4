"""`groupAction`: several actions at once, as one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, NodeIds, option, register
from catenary.message import JSON
from catenary_components._members import DEFAULT_TIMEOUT_S, Result, run_members

from ._shared import merged, wrapped

if TYPE_CHECKING:
    from catenary import Message


class GroupActionConfig(Config):
    """Settings of one `groupAction` node."""

    match_relation_type: str = option(
        "Success", help="The relation by which a node counts as done; blank is `Success`."
    )
    match_num: int = option(
        0, unit="nodes", help="How many nodes must be done; 0, less, or more than there are, means all."
    )
    node_ids: NodeIds = option([], help="The nodes, of this chain: a list, or `a,b`.", examples=["mail,store"])
    timeout: float = option(
        DEFAULT_TIMEOUT_S, unit="seconds", help="How long they may take together; 0 or less is the default."
    )
    merge_to_map: bool = option(
        False, help="Put the keys of all payloads into one object, instead of listing the messages."
    )


@register("groupAction", category="common", since="0.1", label="Group action")
class GroupAction(Component[GroupActionConfig]):
    """Run several nodes at once and put their results together, when enough of them are done.

    Each node gets the message and runs alone: what it is connected to does not run. As soon as `matchNum` of them
    have left by `matchRelationType`, the result leaves by `Success`; nodes that are still at work then are stopped.
    When all are over and it were not enough, the result leaves by `Failure`.

    The result has the nodes that were over by then, in the order of `nodeIds`. It is a JSON list, one
    `{"msg", "err", "nodeId"}` for each; the data type stays what it was. An id that names no node has an entry too,
    with the error and the id of the group itself. With `mergeToMap` the result is one JSON object: payloads that are
    JSON objects give their keys (a later one wins), any other payload stands under the id of its node. Type, id and
    time stay; the metadata of all nodes that did not fail is put together, a later one wins.

    It leaves by `Failure`, with the message as it came, when no node is named or when the time is over (then with
    `context deadline exceeded`). Time stands still as long as a `wait` node that a member is or runs waits for its
    answer.
    """

    relations = (SUCCESS, FAILURE)
    waits = False
    examples = (
        Example(
            "a mail is sent and a record stored at the same time; needs those nodes",
            config={"nodeIds": ["mail", "store"]},
            inputs=[{"t": 60}],
            leaves_by=["Success"],
            runs=False,
        ),
        Example("no node is named", config={"nodeIds": ""}, inputs=[{}], leaves_by=["Failure"]),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        config = self.config
        wanted = config.match_relation_type.strip() or SUCCESS
        count = len(config.node_ids)
        missing = config.match_num if 0 < config.match_num <= count else count

        def is_enough(result: Result) -> bool:
            nonlocal missing
            missing -= result.relation == wanted
            return not missing

        results = await run_members(
            ctx,
            config.node_ids,
            msg,
            wanted=wanted,
            timeout_s=config.timeout,
            is_enough=is_enough,
        )
        return FAILURE if missing else SUCCESS, self._together(results, msg)

    def _together(self, results: list[Result], msg: Message) -> Message:
        metadata = dict(msg.metadata)
        for result in results:
            if result.relation != FAILURE:
                metadata.update(result.message.metadata)
        msg = msg.with_metadata(metadata)
        if self.config.merge_to_map:
            return msg.with_data(merged((one.message, one.node_id) for one in results if one.is_answer), JSON)
        return msg.with_data(wrapped((one.message, one.error, one.node_id) for one in results))
