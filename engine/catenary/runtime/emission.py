"""What a node's `run` gave back, made into relations and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from catenary.message import Message
from catenary.relation import NodeFailure, fail

if TYPE_CHECKING:
    from catenary.relation import Relation
    from catenary.runtime.compiled import Step
    from catenary.runtime.context import Context
    from catenary.runtime.ends import Arrival
    from catenary.runtime.tokens import Core, Ready


def failure(
    error: BaseException, message: Message | list[Arrival], ctx: Context | None = None
) -> tuple[Relation, Message]:
    """Give the emission for an error that a node raised; a join goes on with the first message of its list.

    Args:
        error: The error.
        message: What the node got.
        ctx: That of the visit: secrets of its engine are masked in the error.
    """
    masker = None if ctx is None else ctx._step.owner.engine.masker
    if masker:
        error = masker.error(error)
    if isinstance(error, NodeFailure) and isinstance(error.message, Message):
        return fail(error, error.message)
    return fail(error, first_of(message))


def malformed(emission: object, message: Message | list[Arrival]) -> tuple[Relation, Message]:
    """Give the `Failure` for something that is no emission."""
    try:
        shown = repr(emission)
    except Exception:
        shown = f"an object of type {type(emission).__name__}"
    if len(shown) > 80:
        shown = f"{shown[:80]}..."
    advice = "return a relation, (relation, message), a list of these, or None"
    if type(emission).__name__ == "Again":
        advice = "a component that may return `Again` says so by `repeats = True`"
    return fail(TypeError(f"run returned {shown}, which is no emission; {advice}"), first_of(message))


def first_of(message: Message | list[Arrival]) -> Message:
    """Give the message itself; of what arrived at a join, the first message."""
    return message if isinstance(message, Message) else message[0].message


def spread(core: Core, step: Step, emission: Any, message: Message, ready: Ready) -> None:
    """Send all emissions of a list in the order written, then let the token end."""
    pairs = pairs_of(emission, message)
    if not pairs:
        core.finish(step, first_of(message))
        return
    batches: list[Ready] = []
    for relation, sent in pairs:
        batch: Ready = []
        core.emit(step, relation, sent, batch)
        batches.append(batch)
    for batch in reversed(batches):
        ready.extend(batch)
    if core.due:
        core.fire_due(ready)
    core.finish(step)


def pairs_of(emission: Any, message: Message) -> list[tuple[Relation | str, Message]]:
    """Give what a node returned as `(relation, message)` pairs; the one of a `Failure` when it is no emission."""
    if emission is None:
        return []
    if isinstance(emission, str):  # a subclass of `str` that is not one of ours, for one
        return [(emission, message)]
    if is_pair(emission):
        return [emission]
    if not issubclass(emission.__class__, list):
        return [malformed(emission, message)]
    pairs: list[Any] = [(item, message) if isinstance(item, str) else item for item in emission]
    return pairs if all(map(is_pair, pairs)) else [malformed(emission, message)]


def completed(emission: Any, message: Message) -> Any:
    """Give an emission whose bare relations have this message with them."""
    if isinstance(emission, str):
        return emission, message
    if isinstance(emission, list):
        items = cast("list[Any]", emission)
        return [(item, message) if isinstance(item, str) else item for item in items]
    return emission


def is_pair(item: Any) -> bool:
    """Tell whether something is `(relation, message)`."""
    return item.__class__ is tuple and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Message)
