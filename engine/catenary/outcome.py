"""What a run came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from catenary.errors import CatenaryError, NodeError, RunCancelled, RunTimeout
from catenary.relation import FAILURE, PAUSES
from catenary.runtime.cancelling import EXPIRED, SUSPENDED
from catenary.runtime.ends import End, answer_of

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.runtime.run import Run

__all__ = ["End", "Outcome", "Status"]

Status: TypeAlias = Literal["completed", "failed", "paused", "cancelled"]


class Outcome:
    """How every branch of a run ended, and what the run as a whole came to.

    Attributes:
        ends: How each branch ended, in the order in which they did.
    """

    __slots__ = ("_message", "_run", "ends")

    def __init__(self, run: Run, message: Message) -> None:
        self._run = run
        self._message = message
        self.ends: list[End] = run.ends

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._run.id

    @property
    def status(self) -> Status:
        """`completed`, `failed`, `paused` or `cancelled`; the worst of what happened, a cancellation before all."""
        if self._run.stopping is not None:
            return "paused" if self._run.stopping == SUSPENDED else "cancelled"
        if self._run.fault is not None or any(end.relation == FAILURE for end in self.ends):
            return "failed"
        return "paused" if any(end.is_paused for end in self.ends) else "completed"

    @property
    def ok(self) -> bool:
        """True when the run completed."""
        return self.status == "completed"

    @property
    def message(self) -> Message:
        """The message of the last end that is no piece of a stream, not late at a join, not gated, and not silent.

        When there is none such, the last end that is not gated, and then the last one that is no piece of a stream;
        when there is no end at all, the message the run began with. What an aspect puts in its place comes before all.
        """
        if self._run.result is not None:
            return self._run.result
        answer = self.answer
        return self._message if answer is None else answer.message

    @property
    def answer(self) -> End | None:
        """The end whose message is the one of the outcome; None when there is no end at all."""
        return answer_of(self.ends) or (self.ends[-1] if self.ends else None)

    @property
    def only_end(self) -> End | None:
        """The end of a run that completed with one branch, and whose message is that of the end; None for any other.

        What it tells is in `ends`, `ok` and `message` as well; looking here costs less.
        """
        run = self._run
        if len(self.ends) != 1 or run.stopping is not None or run.fault is not None or run.result is not None:
            return None
        end = self.ends[0]
        is_plain = end.error is None and not end.gated and end.relation != FAILURE and end.relation not in PAUSES
        return end if is_plain else None

    @property
    def error(self) -> CatenaryError | None:
        """Why the run did not complete: the kernel's own error, else that of the first branch that failed."""
        run = self._run
        if run.stopping == SUSPENDED:
            return None
        if run.stopping is not None:
            kind = RunTimeout if run.stopping == EXPIRED else RunCancelled
            return kind(run.stopping, run_id=run.id)
        if isinstance(run.fault, CatenaryError):
            return run.fault
        for end in self.ends:
            if end.relation == FAILURE:
                return self._node_error(end)
        return None

    def _node_error(self, end: End) -> NodeError:
        step = self._run.compiled.by_id.get(end.node_id)
        node_type = step.node.type if step else ""
        raised = "" if end.error is None else str(end.error)
        cause = raised or str(end.message.metadata.get("errorMsg") or "")
        hint = end.error.hint if isinstance(end.error, CatenaryError) else ""
        if step:
            cause, hint = map(step.owner.engine.masker.text, (cause, hint))
        place = f"node {end.node_id!r} ({node_type}): " if end.node_id else ""  # a chain without nodes fails at none
        error = NodeError(
            f"{place}{cause or 'ended as Failure'}",
            run_id=self.run_id,
            node_id=end.node_id,
            node_type=node_type,
            cause=end.error,
            hint=hint,
        )
        error.__cause__ = end.error
        return error

    def raise_for_error(self) -> Outcome:
        """Give the outcome itself when the run completed or paused. Raises: CatenaryError: its `error` otherwise."""
        error = self.error
        if error is not None:
            raise error
        return self

    def to_dict(self) -> dict[str, Json]:
        """Give the outcome as JSON: `{"runId", "status", "ok", "error", "ends"}`, messages in their wire form."""
        error = self.error
        return {
            "runId": self.run_id,
            "status": self.status,
            "ok": self.ok,
            "error": str(error) if error else None,
            "ends": [
                {
                    "nodeId": end.node_id,
                    "relation": str(end.relation),
                    "error": str(end.error) if end.error is not None else None,
                    "gated": end.gated,
                    "message": end.message.to_dict(),
                }
                for end in self.ends
            ],
        }

    def __repr__(self) -> str:
        ends = ", ".join(f"{end.node_id}-{end.relation}" for end in self.ends[:8])
        return f"Outcome({self.status}, ends=[{ends}])"
