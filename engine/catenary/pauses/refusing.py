"""Why an answer comes to nothing: the pause that it is for is over, is not there, or is one of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import PauseError
from catenary.runtime.held import ANSWERED, CANCELLED, EXPIRED, Held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.pauses.answers import Pause

    Key = tuple[str, str, int]


def named(key: Key) -> str:
    """Name a pause in an error."""
    run_id, node_id, visit = key
    return f"the pause at node {node_id!r} (visit {visit}) of run {run_id}"


def fate_of(held: Held) -> str:
    """Tell what became of a pause that is over."""
    if held.state is ANSWERED and held.answer is not None:
        return f"was answered already{f' by {held.answer.answerer}' if held.answer.answerer else ''}"
    return {EXPIRED: "is over: nobody answered in time", CANCELLED: "is over: its run was stopped"}.get(
        held.state, "is over: its run was put off"
    )


def over_already(key: Key, fate: str) -> PauseError:
    """Give the error for a pause that is over."""
    return PauseError(f"{named(key)} {fate}", hint="an answer counts once; nothing was changed")


def several(run_id: str, node_id: str, visits: Iterable[int]) -> PauseError:
    """Give the error for a node of which several visits wait."""
    return PauseError(
        f"node {node_id!r} of run {run_id} waits several times: visits {', '.join(map(str, visits))}",
        hint="say which visit is meant (visit=..., on the command line --visit N)",
    )


def unknown(run_id: str, node_id: str, visit: int | None, known: Iterable[Pause]) -> PauseError:
    """Give the error for a pause that is not there."""
    said = f" at its visit {visit}" if visit is not None else ""
    pauses = ", ".join(f"{pause.node_id!r} of run {pause.run_id}" for pause in known) or "none"
    return PauseError(f"node {node_id!r} of run {run_id} does not wait{said}", hint=f"open pauses: {pauses}")
