"""What an engine calls for every run of its chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary.options import OnCompleted, OnDebug, OnEnd


class Hooks:
    """The callbacks of an engine, each kind in the order of registration.

    Attributes:
        on_end_with_failure: False to gate, in chains with `end` nodes, also the ends by `Failure` elsewhere.
    """

    def __init__(self) -> None:
        self.on_end: list[OnEnd] = []
        self.on_completed: list[OnCompleted] = []
        self.on_debug: list[OnDebug] = []
        self.on_end_with_failure = True
