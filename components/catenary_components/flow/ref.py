"""`ref`: run a node that stands elsewhere, as if it stood here."""

from __future__ import annotations

from catenary import FAILURE, STREAM, Message, Relation, fail
from catenary.component import Component, Config, Context, Emission, End, Example, option, register

from ._target import NodeReference  # noqa: TC001 - read by pydantic


class RefConfig(Config):
    """Settings of one `ref` node."""

    target_id: NodeReference = option(
        help="The node to run, or `CHAIN:NODE` for one of another chain.", examples=["s3", "alarms:notify"]
    )
    tell_chain: bool = option(False, help="Run on from the node to the ends of its branches, instead of it alone.")


@register("ref", category="common", since="0.1", label="Reference")
class Ref(Component[RefConfig]):
    """Run a node that stands elsewhere in this or another chain, as if it stood here.

    What the node sends leaves from here by the same relation, so one node can serve several places with different
    connections behind each. The connections of the node itself are followed with `tellChain` only; then each end of a
    branch leaves from here by its own relation. Pieces of a stream go on as they come, all else when the target is
    done. Another chain is looked up when a message comes, so a reload is seen at once.

    When the target fails, or does not exist, the message leaves by `Failure` as it came in.
    """

    relations = (FAILURE,)
    free_relations = True
    waits = False
    examples = (
        Example(
            "a node `check` of this chain runs, and its answer leaves from here; needs that node",
            config={"targetId": "check"},
            inputs=[{"t": 60}],
            leaves_by=["True"],
            runs=False,
        ),
        Example("there is no such node", config={"targetId": "absent"}, inputs=[{}], leaves_by=["Failure"]),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        async def pass_on(end: End) -> None:
            if end.relation == STREAM and not end.gated:
                await ctx.emit(STREAM, end.message)

        ends = await self.config.target_id.run(ctx, msg, follow=self.config.tell_chain, each=pass_on)
        emissions: list[Relation | str | tuple[Relation | str, Message]] = []
        for end in ends:
            if end.relation == FAILURE:
                emissions.append(fail(end.error or end.reason, msg))
            elif end.is_answer:
                emissions.append((end.relation, end.message))
        return emissions[0] if len(emissions) == 1 else emissions
