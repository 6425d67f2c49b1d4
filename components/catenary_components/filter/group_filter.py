"""`groupFilter`: one answer from several filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, FALSE, TRUE
from catenary.component import Component, Config, Context, Example, NodeIds, option, register
from catenary_components._members import DEFAULT_TIMEOUT_S, Result, run_members

if TYPE_CHECKING:
    from catenary import Message, Relation


class GroupFilterConfig(Config):
    """Settings of one `groupFilter` node."""

    all_matches: bool = option(False, help="True when all filters must say `True`; otherwise one is enough.")
    node_ids: NodeIds = option([], help="The filters, nodes of this chain: a list, or `a,b`.", examples=["hot,wet"])
    timeout: float = option(
        DEFAULT_TIMEOUT_S, unit="seconds", help="How long they may take together; 0 or less is the default."
    )


@register("groupFilter", category="filter", since="0.1", label="Group filter")
class GroupFilter(Component[GroupFilterConfig]):
    """Ask several filters at once, and go on by `True` when one of them, or with `allMatches` all, say so.

    Each filter gets the message and runs alone: what it is connected to does not run. The first `True` decides, or
    with `allMatches` the first that says anything else; the filters that are still at work then are stopped. A
    filter that fails counts as not true, and so does an id that names no node. The message goes on unchanged.

    It leaves by `Failure` when no filter is named, or when the time is over before the answer is known (then with
    `context deadline exceeded`). Time stands still as long as a `wait` node that a member is or runs waits for its
    answer.
    """

    relations = (TRUE, FALSE, FAILURE)
    waits = False
    examples = (
        Example(
            "one of two filters is enough; needs those nodes",
            config={"nodeIds": "hot,wet"},
            inputs=[{"t": 60}],
            leaves_by=["True"],
            runs=False,
        ),
        Example("no filter is named", config={"nodeIds": []}, inputs=[{}], leaves_by=["Failure"]),
    )

    async def run(self, ctx: Context, msg: Message) -> Relation:
        config = self.config

        def decides(result: Result) -> bool:
            return (result.relation == TRUE) is not config.all_matches

        results = await run_members(ctx, config.node_ids, msg, wanted=TRUE, timeout_s=config.timeout, is_enough=decides)
        decided = any(map(decides, results))
        return TRUE if decided is not config.all_matches else FALSE
