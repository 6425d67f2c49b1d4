"""What is wrong when a model does not answer: a kind for each error, by its status and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catenary_components.ai.models.types import ErrorKind

_LONGEST_READ: Final = 1024

_TOO_LONG: Final = (
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceeds the available context",
    "range of input length",
)
_BAD_KEY: Final = ("unauthorized", "invalid_api_key", "invalid api key", "incorrect api key", "authentication_error")
_RATE: Final = ("rate limit", "rate_limit", "too many requests", "overloaded")
_THINKING: Final = ("thinking block", "`thinking`", "redacted_thinking", "reasoning_content", "signature in thinking")
_BILLING: Final = ("insufficient_quota", "insufficient balance", "quota exceeded", "credit balance", "billing")
_NO_MODEL: Final = ("model_not_found", "model not found", "does not exist", "no such model", "unknown model")


def kind_of(status: int, text: str) -> ErrorKind:
    """Give the kind of an error that a service told.

    Args:
        status: The HTTP status; 0 when there was none.
        text: What it says; the first 1,024 characters are looked at.
    """
    words = text[:_LONGEST_READ].lower()

    def says(signs: tuple[str, ...]) -> bool:
        return any(sign in words for sign in signs)

    kinds: tuple[tuple[ErrorKind, bool], ...] = (
        ("prompt_too_long", status == 413 or says(_TOO_LONG)),
        ("auth", status in (401, 403) or says(_BAD_KEY)),
        ("rate_limit", status in (429, 529) or says(_RATE)),
        ("thinking_block", status == 400 and says(_THINKING)),
        ("billing", status == 402 or says(_BILLING)),
        ("model_not_found", (status == 404 and "model" in words) or says(_NO_MODEL)),
        ("server_error", status >= 500 or status == 408),
        ("client_error", 400 <= status < 500),
    )
    for kind, is_it in kinds:
        if is_it:
            return kind
    return "unknown"
