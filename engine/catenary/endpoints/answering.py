"""From the ends of a run to what is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.jsontext import dumps, loads
from catenary.reasons import reason_of
from catenary.relation import FAILURE, STREAM, NodeFailure

if TYPE_CHECKING:
    from catenary.endpoints.exchange import Answer
    from catenary.errors import CatenaryError
    from catenary.jsontext import Json
    from catenary.masking import Masker
    from catenary.outcome import End, Outcome


def answering(outcome: Outcome) -> list[End]:
    """Give the ends that are answers, in order: no pieces, none that was late at a join, none that is gated."""
    return [end for end in outcome.ends if not (end.gated or end.is_late or end.relation == STREAM)]


def own_error(outcome: Outcome) -> CatenaryError | None:
    """Give why a run as a whole did not complete, when no branch tells: a limit, or a cancellation."""
    if outcome.ok or outcome.status == "paused" or any(end.relation == FAILURE for end in outcome.ends):
        return None
    return outcome.error


def fill(answer: Answer, end: End, masker: Masker) -> None:
    """Put into an answer how a branch ended."""
    answer.message = end.message
    answer.relation = str(end.relation)
    answer.node_id = end.node_id
    if end.relation == FAILURE:
        answer.error = end.error or NodeFailure(end.reason)
        answer.reason = masker.text(end.reason)


def fill_error(answer: Answer, error: BaseException, masker: Masker) -> None:
    """Put into an answer why nothing was run, or why a run did not complete."""
    answer.error = error
    answer.reason = masker.text(reason_of(error))
    answer.relation = str(FAILURE)


def join(answer: Answer, parts: list[Answer]) -> None:
    """Make one answer of those of all ends: a JSON list of their bodies, in the order in which they ended.

    A branch that failed is `{"error", "nodeId"}` in the list; the answer is an error when all of them failed.
    """
    if not parts:
        return
    last = parts[-1]
    answer.relation, answer.node_id = last.relation, last.node_id
    for part in parts:
        answer.headers |= part.headers
    failed = [part for part in parts if part.error is not None]
    if len(failed) == len(parts):
        answer.error, answer.reason, answer.status = failed[0].error, failed[0].reason, failed[0].status
    else:
        answer.status = next((part.status for part in parts if part.error is None), None)
    if last.message is not None:
        answer.message = last.message.with_data([_element(part, from_message=True) for part in parts], "JSON")
    if any(part.body is not None for part in parts):
        answer.body = dumps([_element(part, from_message=False) for part in parts])
        answer.set_header("Content-Type", "application/json")


def _element(part: Answer, *, from_message: bool) -> Json:
    if part.error is not None:
        return {"error": part.reason, "nodeId": part.node_id}
    if from_message:
        return None if part.message is None else part.message.value
    body: Any = part.body
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    kind = next((value for name, value in part.headers.items() if name.lower() == "content-type"), "")
    if body is None or not kind.startswith("application/json"):
        return body
    try:
        return loads(body)
    except ValueError:
        return body
