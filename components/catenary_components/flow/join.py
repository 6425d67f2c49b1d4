"""`join`: wait for all branches of a split and put their results together."""

from __future__ import annotations

from typing import Any

from catenary import FAILURE, SUCCESS, fail
from catenary.component import Arrival, Component, Config, Context, Emission, Example, JoinLimits, option, register
from catenary.message import JSON

from ._shared import merged, wrapped

DEFAULT_TIMEOUT_S = 30.0


class JoinConfig(Config):
    """Settings of one `join` node."""

    merge_to_map: bool = option(
        False,
        help="Put the keys of all payloads into one object, instead of listing the messages.",
    )
    timeout: float = option(
        DEFAULT_TIMEOUT_S,
        unit="seconds",
        help="How long to wait after the first branch has arrived; 0 or less is 30.",
    )
    quorum: int = option(0, ge=0, unit="branches", help="Go on as soon as so many branches have arrived; 0 for all.")
    stop_rest: bool = option(
        False,
        help="When the join goes on early, stop the branches that are still on their way to it.",
    )


@register("join", category="common", since="0.1", label="Join")
class Join(Component[JoinConfig]):
    """Wait for all branches of a split and put their results together.

    It goes on once nothing in the run can reach it any more: a branch that ends early or takes another way does not
    hold it up, and is missing in the result.

    It goes on early when so many branches have arrived as `quorum` says, or when the `timeout` is over: then by
    `Failure`, with `context deadline exceeded` and the message that came first. A branch that comes later ends as
    `Late`; with `stopRest` such branches are stopped where they are. In a loop, what comes late counts for the next
    round. Time is only measured while the run waits for something, and stands still as long as a `wait` node from which
    the join can be reached waits for its answer.

    The payload is a JSON list in order of arrival, one `{"msg", "err", "nodeId"}` for each branch, where `nodeId` is
    the node the message came from. With `mergeToMap` it is one object: payloads that are JSON objects give their
    keys (a later one wins), any other payload stands under the id of the node it came from. Type, id and time are
    those of the first arrival, and so is its metadata, with that of all branches that did not fail put over it, a later
    one wins. Payloads that have more than 32 Mi characters together are not listed: that is a `Failure`.

    A branch that arrives by `Failure` makes the result leave by `Failure`, with the errors of all such branches
    as `NodeId=<id>,Err=<text> ` and the payload as usual.
    """

    relations = (SUCCESS, FAILURE)
    collects = True
    pure = True
    examples = (
        Example(
            "one branch is enough",
            config={"mergeToMap": True},
            inputs=[{"a": 1}],
            leaves_by=["Success"],
            data=['{"a":1}'],
        ),
    )

    def __init__(self, config: JoinConfig) -> None:
        super().__init__(config)
        timeout_s = config.timeout if config.timeout > 0 else DEFAULT_TIMEOUT_S
        self.join_limits = JoinLimits(timeout_s, config.quorum, config.stop_rest)

    def run(self, ctx: Context, msg: list[Arrival]) -> Emission:  # noqa: ARG002 - what every component is called with
        first = msg[0].message
        if self.config.merge_to_map:
            payload: Any = merged((arrival.message, arrival.sender) for arrival in msg)
        else:
            payload = wrapped((arrival.message, arrival.reason, arrival.sender) for arrival in msg)
        result = first.with_data(payload, JSON).with_metadata(_metadata_of(msg))
        errors = "".join(f"NodeId={arrival.sender},Err={arrival.reason} " for arrival in msg if arrival.has_failed)
        return fail(errors, result) if errors else (SUCCESS, result)


def _metadata_of(arrivals: list[Arrival]) -> dict[str, Any]:
    metadata = dict(arrivals[0].message.metadata)
    for arrival in arrivals:
        if not arrival.has_failed:
            metadata.update(arrival.message.metadata)
    return metadata
