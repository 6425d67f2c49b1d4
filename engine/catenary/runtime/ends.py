"""How a branch ends, and what reaches a join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from catenary.message import metadata_text
from catenary.relation import FAILURE, LATE, PAUSES, STREAM, EndHere, Relation

if TYPE_CHECKING:
    from catenary.message import Message

NOTHING: Final = Relation("", help="The node sent nothing on.")
"""The relation of a branch that ended because `run` returned nothing. Its empty name may be that of others, too."""

EXPIRED: Final = Relation("")
"""How the token of a join came whose time was over."""

STOPPED: Final = EndHere("Late")
"""How a branch ends that a join has stopped."""


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """When a join goes on although more could reach it.

    Off a cycle it is closed then: what comes later ends its branch as `Late`. On a cycle it counts for the next round.

    Attributes:
        timeout_s: Seconds after the first arrival; the join leaves by `Failure` then, with the first message.
        quorum: So many arrivals are enough; 0 for all.
        stop_rest: True to stop what could still reach the join; it ends as `Late`.
    """

    timeout_s: float | None = None
    quorum: int = 0
    stop_rest: bool = False


class End(NamedTuple):
    """How one branch of a run ended.

    Attributes:
        node_id: The node at which it ended.
        relation: The relation by which it would have gone on; at an `end` node the one that led there.
        message: The message as it was then.
        error: What was raised, if the branch ended as `Failure`.
        gated: True for an ordinary end in a chain that has `end` nodes: such an end is not an answer. Failures and
            pauses are no ordinary ends.
    """

    node_id: str
    relation: Relation | str
    message: Message
    error: BaseException | None = None
    gated: bool = False

    @property
    def is_silent(self) -> bool:
        """True when the node sent nothing on, so that the message is what came in and no answer."""
        return self.relation is NOTHING

    @property
    def is_late(self) -> bool:
        """True when a join had gone on without the branch; a node's own relation of that name is another one."""
        return self.relation is LATE

    @property
    def is_answer(self) -> bool:
        """True for what a caller asked for: no piece of a stream, not late at a join, not gated, and not silent."""
        return not (self.gated or self.is_silent or self.is_late or self.relation == STREAM)

    @property
    def is_paused(self) -> bool:
        """True when the branch waits for somebody's word, or for a result from elsewhere."""
        return self.relation in PAUSES

    @property
    def reason(self) -> str:
        """Why the branch ended as `Failure`, in words; empty when it did not."""
        return _reason(self.error, self.message) if self.relation == FAILURE else ""


def answer_of(ends: list[End]) -> End | None:
    """Give the last of some ends that is an answer.

    When none is, the last one that is not gated, and then the last one that is no piece of a stream, if there is one.
    """
    whole = [end for end in ends if end.relation != STREAM and not end.is_late]
    open_ends = [end for end in whole if not end.gated]
    answers = [end for end in open_ends if not end.is_silent] or open_ends or whole
    return answers[-1] if answers else None


class Arrival(NamedTuple):
    """One message that reached a join.

    Attributes:
        message: The message.
        sender: The id of the node that sent it; empty for a message the run began with.
        error: The error, when it came by `Failure` and the last hop carried one.
        relation: The relation it came by.
    """

    message: Message
    sender: str
    error: BaseException | None
    relation: Relation | str

    @property
    def has_failed(self) -> bool:
        """True when it came by `Failure`, or with an error."""
        return self.error is not None or self.relation == FAILURE

    @property
    def reason(self) -> str:
        """What went wrong, in words; empty when nothing did."""
        return _reason(self.error, self.message) if self.has_failed else ""


def _reason(error: BaseException | None, message: Message) -> str:
    told = "" if error is None else str(error)
    return told or metadata_text(message.metadata.get("errorMsg")) or "failed"
