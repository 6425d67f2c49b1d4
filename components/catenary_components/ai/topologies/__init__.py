"""The loops of agents: chains of phase nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.load.names import did_you_mean
from catenary_components.ai.named_chain import NamedChain

if TYPE_CHECKING:
    from catenary.component import Context

_HERE: Final = Path(__file__).parent
NAMES: Final = tuple(sorted(path.stem for path in _HERE.glob("*.json")))
"""The loops that come with this package."""


def topology(ctx: Context, mode: str) -> NamedChain:
    """Give the loop of an agent.

    Args:
        ctx: The context of the agent's node.
        mode: A name of `NAMES`, a file beside the agent's chain, or the id of a chain.

    Raises:
        ChainInvalid, ConfigError, EvaluationError: As for `NamedChain`.
    """
    own = _HERE / f"{mode}.json" if mode in NAMES else None
    otherwise = f"give {', '.join(NAMES)}, a file, or the id of a chain that is loaded"
    return NamedChain(ctx, "mode", mode, hint=did_you_mean(mode, NAMES, otherwise), own=own)
