"""Results that are the agent's answer: what the user gets of them, and what the model does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.execute import TOOL_FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.tools.execute import CallResult

WITHHELD: Final = "[The result of {tool} was given to the user as the answer. It is not shown here.]"
_WHOLE: Final = "direct"
"""The member of a result's metadata that has the whole text while the agent is paused."""


def direct_answer(results: Sequence[CallResult]) -> str | None:
    """Give the answer that results make, several of them under the names of their tools; `None` when none is one."""
    direct = [result for result in results if result.is_direct]
    if len(direct) == 1:
        return direct[0].text
    return "\n\n".join(f"## {result.call.name}\n\n{result.text}" for result in direct) or None


def told_to_model(setup: AgentSetup, result: CallResult) -> CallResult:
    """Give a result as the model is told of it: without its text, when that is for the user alone."""
    if setup.tools.direct_results == "told":
        return result
    tool = setup.toolbox.get(result.call.name)
    if result.is_direct:
        return replace(result, text=WITHHELD.format(tool=result.call.name), parts=(), is_cut=True)
    if tool is not None and tool.returns_direct and result.text.startswith(TOOL_FAILED):
        return replace(result, text=TOOL_FAILED)
    return result


def kept_whole(result: CallResult) -> CallResult:
    """Give a result with its whole text beside it, for the time of a pause; only one that is the answer needs that."""
    return replace(result, metadata={**result.metadata, _WHOLE: result.text}) if result.is_direct else result


def whole_text(metadata: Mapping[str, Json], text: str) -> tuple[str, Mapping[str, Json]]:
    """Give the whole text of a result that was kept, and its metadata without that."""
    whole = metadata.get(_WHOLE)
    return (text, metadata) if whole is None else (str(whole), {k: v for k, v in metadata.items() if k != _WHOLE})
