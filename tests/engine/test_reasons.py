"""What an error says."""

from __future__ import annotations

import pytest

from catenary.reasons import reason_of


class MuteError(Exception):
    """An error that fails at giving its text."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no such file"), "no such file"),
        (ValueError(), "ValueError"),
        (TimeoutError(""), "TimeoutError"),
        (KeyError("k"), "KeyError: 'k'"),
        (MuteError("never shown"), "MuteError"),
        (
            ExceptionGroup("both", [ValueError("one"), MuteError(), ExceptionGroup("in", [KeyError(2)])]),
            "both: one; MuteError; in: KeyError: 2",
        ),
    ],
)
def test_reason_is_the_text_of_an_error_or_the_name_of_its_kind(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
