"""What the model gets of the results of one round: cut to size, and with notes on how long the agent may go on."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from catenary_components.ai.messages import TextPart
from catenary_components.ai.tools.direct import whole_text
from catenary_components.ai.tools.execute import CallResult, truncated
from catenary_components.ai.tools.repetition import fingerprint, warned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.messages import ToolCall, ToolResult
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState

_SHORTEST: Final = 2_000
_ENDING: Final = 2_000
_ERROR: Final = re.compile(r"\b(?:error|exception|traceback|failed|fatal|panic|stack trace|errno)\b", re.IGNORECASE)

_STEPS: Final = "Steps are running out ({steps}/{most}): come to an answer soon."
_GENTLE: Final = "[{rounds} of {most} rounds of tools are used, {left} are left. Plan the rest with care.]"
_STRONG: Final = (
    "[{rounds} of {most} rounds of tools are used, only {left} left. Use no more tools than you must, and answer.]"
)


def texts_for_model(setup: AgentSetup, state: AgentState, results: Sequence[CallResult]) -> list[str]:
    """Give the texts of results, in their order: each within its limit, all of them within that of a round."""
    texts = [cut_to_size(setup, result) for result in results]
    texts = within(texts, setup.tools.turn_budget)
    return [warned(setup, state, result, text) for result, text in zip(results, texts, strict=True)]


def cut_to_size(setup: AgentSetup, result: CallResult) -> str:
    """Give the text of a result within the limit of one result."""
    cut = cut_in_the_middle if setup.tools.tool_output_cut == "middle" else truncated
    return result.text_for_model(setup.tools.max_tool_output_length, cut)


def with_earlier(setup: AgentSetup, state: AgentState, results: Sequence[CallResult]) -> tuple[CallResult, ...]:
    """Give the results of all calls of a round that was paused, in order, so that they are observed together.

    Those that a pause has put into the conversation are taken out of it again.
    """
    place = max(n for n, message in enumerate(state.messages) if message.tool_calls)
    asked, after = state.messages[place], state.messages[place + 1 :]
    earlier = {result.call_id: result for message in after for result in message.results}
    present = {result.call.id: result for result in results}
    state.messages = [*state.messages[: place + 1], *(message for message in after if not message.results)]
    return tuple(present.get(call.id) or _again(setup, call, earlier[call.id]) for call in asked.tool_calls)


def _again(setup: AgentSetup, call: ToolCall, told: ToolResult) -> CallResult:
    tool, went_well = setup.toolbox.get(call.name), told.state == "success"
    text, metadata = whole_text(told.metadata, told.text)
    return CallResult(
        call,
        text,
        "" if went_well else text,
        is_direct=went_well and tool is not None and tool.returns_direct,
        state=told.state,
        metadata=metadata,
        parts=told.parts if any(not isinstance(part, TextPart) for part in told.parts) else (),
        is_cut=metadata is told.metadata,
    )


def cut_in_the_middle(text: str, max_length: int) -> str:
    """Cut a text that is too long: its head and its tail stay; more of the tail when an error is told there."""
    if len(text) <= max_length:
        return text
    head = int(max_length * (0.2 if _ERROR.search(text[-_ENDING:]) else 0.4))
    tail = max_length - head
    return f"{text[:head]}\n...({len(text) - max_length} of {len(text)} characters left out)...\n{text[-tail:]}"


def within(texts: Sequence[str], budget: int) -> list[str]:
    """Cut the longest of several texts until all of them have room; 0 for no limit.

    None gets shorter than 2,000 characters, or than its share if that is less.
    """
    fitting = list(texts)
    if not budget or sum(map(len, fitting)) <= budget:
        return fitting
    floor = min(_SHORTEST, budget // len(fitting))
    for place in sorted(range(len(fitting)), key=lambda one: -len(fitting[one])):
        over = sum(map(len, fitting)) - budget
        if over > 0:
            marked = 60  # characters of the mark
            fitting[place] = cut_in_the_middle(fitting[place], max(floor, len(fitting[place]) - over - marked))
    return fitting


def with_notes(setup: AgentSetup, state: AgentState, texts: Sequence[str]) -> list[str]:
    """Put notes on what is left before and behind the texts of a round."""
    noted = list(texts)
    most, hint = setup.loop.max_step, setup.loop.step_hint
    if noted and most and max(most - hint, 0) <= state.steps < most:
        noted = [f"{_STEPS.format(steps=state.steps, most=most)}\n\n{text}" for text in noted]
    rounds, last = state.rounds, setup.loop.max_rounds
    if noted and last and setup.loop.budget_notes:
        used = 100 * rounds // last
        note = _STRONG if used >= 90 else _GENTLE if used >= 70 else ""
        noted[-1] += f"\n\n{note.format(rounds=rounds, most=last, left=max(last - rounds, 0))}" if note else ""
    return noted


def is_same_again(setup: AgentSetup, state: AgentState, results: Sequence[CallResult]) -> bool:
    """Note what a round called and what came of it; tell whether it is the same as in the rounds right before."""
    most = setup.loop.same_rounds
    if not most:
        return False
    told = "\0".join(f"{fingerprint(result.call)}\0{result.text}" for result in results)
    state.recent_rounds = [*state.recent_rounds, hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()]
    state.recent_rounds = state.recent_rounds[-most:]
    has_text = any(result.text.strip() for result in results)
    return has_text and len(state.recent_rounds) == most and len(set(state.recent_rounds)) == 1
