"""What an agent sends: its answer, the end of its stream, its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.jsontext import dumps
from catenary.reasons import reason_of
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.sessions.store import NotSaved
from catenary_components.ai.structured import StructuredOutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary import Message
    from catenary_components.ai.messages import Usage
    from catenary_components.ai.state import AgentState

_STREAM_OVER = {"stream_completed": "true", "chunk": ""}


def tokens(usage: Usage, prefix: str = "") -> dict[str, str]:
    """Give token counts as metadata; nothing when none were counted."""
    if not usage.total:
        return {}
    counts = {"prompt": usage.prompt, "completion": usage.completion, "total": usage.total, "cached": usage.cached}
    return {f"{prefix}{name}_tokens": str(count) for name, count in counts.items()}


def summary(state: AgentState, model: str) -> dict[str, str]:
    """Give what metadata tells about a run: the model that answered last, steps, tokens in all and of the last call.

    And what it cost, if a price is known; and the tokens of each model, if several answered.
    """
    told = {
        "model": state.answered_by or model,
        "steps": str(state.steps),
        "tool_calls": str(state.tool_calls),
        "finish_reason": str(state.finish_reason),
    }
    if state.service_reason:
        told["model_finish_reason"] = state.service_reason
    if state.unverified:
        told["verify_error"] = state.unverified
    if state.cost is not None:
        told["cost"] = money(state.cost)
    if len(state.usage_by_model) > 1:
        told["usage_by_model"] = dumps({name: tokens(usage) for name, usage in state.usage_by_model.items()})
    return {**told, **tokens(state.usage), **tokens(state.last_usage, "last_")}


def money(dollars: float) -> str:
    """Give a sum without more digits than it has: a millionth of a cent counts."""
    return f"{dollars:.8f}".rstrip("0").rstrip(".")


def end_marks(*, streamed: bool, has_pieces: bool) -> dict[str, str]:
    """Give what marks an answer that ends a stream; one of which there were pieces is told once more, in full."""
    if not streamed:
        return {}
    return {"full_content": "true", **_STREAM_OVER} if has_pieces else _STREAM_OVER


def answer_message(
    answer: Message, state: AgentState, model: str, marks: Mapping[str, str], *, is_json: bool = False
) -> Message:
    """Give the message for `Success`: the whole answer, also when it was streamed before; as text, or as it is."""
    told = {**summary(state, model), **marks}
    if state.reasoning:
        told["reasoning_content"] = state.reasoning
    return (answer if is_json else answer.with_data_type("TEXT")).put_all(told)


def stream_end(msg: Message, state: AgentState, model: str) -> Message:
    """Give the message that ends a stream that went well."""
    return msg.with_data("", "TEXT").put_all({**summary(state, model), **_STREAM_OVER})


def failure_message(msg: Message, error: BaseException, state: AgentState, model: str, *, streamed: bool) -> Message:
    """Give the message for `Failure`, which ends the stream as well: the error as data, and in parts as metadata.

    Of an error of the model, metadata has `status` (absent without an HTTP answer), `attempts` and `endpoint`; of an
    answer that could not be kept, `answer`.
    """
    text = reason_of(error)
    marks = {**summary(state, model), "errorMsg": text}
    if isinstance(error, ModelError):
        marks |= {"attempts": str(error.attempts), "endpoint": error.endpoint}
        if error.status:
            marks["status"] = str(error.status)
    if isinstance(error, NotSaved | StructuredOutputError):
        marks["answer"] = error.answer
    if streamed:
        marks |= _STREAM_OVER
    return msg.with_data(text, "TEXT").put_all(marks)
