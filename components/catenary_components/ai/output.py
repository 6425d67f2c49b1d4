"""What an agent sends: its answer, the end of its stream, its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.ai.models.types import ModelError

if TYPE_CHECKING:
    from catenary import Message
    from catenary_components.ai.models.types import Usage
    from catenary_components.ai.state import AgentState

_STREAM_OVER = {"stream_completed": "true", "chunk": ""}


def tokens(usage: Usage, prefix: str = "") -> dict[str, str]:
    """Give token counts as metadata; nothing when none were counted."""
    if not usage.total:
        return {}
    counts = {"prompt": usage.prompt, "completion": usage.completion, "total": usage.total, "cached": usage.cached}
    return {f"{prefix}{name}_tokens": str(count) for name, count in counts.items()}


def summary(state: AgentState, model: str) -> dict[str, str]:
    """Give what metadata tells about a run: the model, its steps, the tokens of the run and of its last model call."""
    told = {"model": model, "steps": str(state.steps), "tool_calls": str(state.tool_calls)}
    return {**told, **tokens(state.usage), **tokens(state.last_usage, "last_")}


def answer_message(answer: Message, state: AgentState, model: str, *, streamed: bool) -> Message:
    """Give the message for `Success`: the whole answer, also when it was streamed before."""
    marks = summary(state, model)
    if state.reasoning:
        marks["reasoning_content"] = state.reasoning
    if streamed:
        marks |= {"full_content": "true", **_STREAM_OVER}
    return answer.with_data_type("TEXT").put_all(marks)


def stream_end(msg: Message, state: AgentState, model: str) -> Message:
    """Give the message that ends a stream that went well."""
    return msg.with_data("", "TEXT").put_all({**summary(state, model), **_STREAM_OVER})


def failure_message(msg: Message, error: BaseException, state: AgentState, model: str, *, streamed: bool) -> Message:
    """Give the message for `Failure`, which ends the stream as well: the error as data, and in parts as metadata.

    Of an error of the model, metadata has `status` (absent without an HTTP answer), `attempts` and `endpoint`.
    """
    text = error_text(error)
    marks = {**summary(state, model), "errorMsg": text}
    if isinstance(error, ModelError):
        marks |= {"attempts": str(error.attempts), "endpoint": error.endpoint}
        if error.status:
            marks["status"] = str(error.status)
    if streamed:
        marks |= _STREAM_OVER
    return msg.with_data(text, "TEXT").put_all(marks)


def error_text(error: BaseException) -> str:
    """Give the text of an error; its kind, when it has none."""
    return str(error) or type(error).__name__
