"""What names mean in a text, and what reading its expressions has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.expr.functions.function import Function


@dataclass(slots=True)
class Scope:
    """What names mean in a text.

    Attributes:
        nodes: Node ids.
        functions: What may be called.
        metadata_names: True when metadata keys are names too (in templates).
        references: The node ids found so far.
        made: The weight of what was made so far outside of predicates and `let`, in all parts of a text together.
        has_unknown: True when a name was found that nothing, or at most a key of the metadata, is known by, or an
            unknown function.
    """

    nodes: frozenset[str]
    functions: Mapping[str, Function]
    metadata_names: bool = False
    references: set[str] = field(default_factory=set[str])
    made: int = 0
    has_unknown: bool = False
