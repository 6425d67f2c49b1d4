"""Texts of durations: those of chains, and those of expressions."""

from __future__ import annotations

from typing import Any

import pytest

from catenary.durations import duration_s, go_parts_s


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (5, 5.0),
        (0.5, 0.5),
        ("5", 5.0),
        ("5s", 5.0),
        ("500ms", 0.5),
        ("1m30s", 90.0),
        ("1.5 h", 5400.0),
        ("1d", 86400.0),
    ],
)
def test_durations_are_numbers_of_seconds_or_texts(value: Any, seconds: float) -> None:
    assert duration_s(value) == seconds


@pytest.mark.parametrize(
    "value", ["", "5x", "s", "-5s", -1, True, None, [], float("nan"), float("inf"), "1..5s", 10**400]
)
def test_other_durations_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="number of seconds"):
        duration_s(value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("90s", [90.0]),
        ("1h30m", [3600.0, 1800.0]),
        ("250ms", [0.25]),
        (".5s", [0.5]),
        ("1.s", [1.0]),
        ("1µs1us", [1e-6] * 2),
    ],
)
def test_parts_of_a_duration_are_seconds(text: str, parts: list[float]) -> None:
    assert go_parts_s(text) == parts


@pytest.mark.parametrize("text", ["", "5", "5d", "-5s", "1h 30m", "s", "1" * 100 + "s"])
def test_other_texts_have_no_parts(text: str) -> None:
    assert go_parts_s(text) is None
