"""When a request is sent again, and after how long."""

from __future__ import annotations

import pytest

from catenary.http import retry_after_s, retryable_status, wait_before


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("Thu, 01 Jan 1970 00:01:30 GMT", 30.0),
        ("Thu, 01 Jan 1970 00:01:30 -0000", 30.0),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("Thu, 01 Jan 1970 00:01:30 +9999999999999999", None),
        ("Thu, 01 Jan 99999 00:01:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after_s(header, now_ms=60_000) == seconds


def test_passing_trouble_of_a_server_is_worth_another_try():
    assert [status for status in range(200, 600) if retryable_status(status)] == [
        429,
        *[status for status in range(500, 600) if status not in {501, 505}],
    ]


def test_waits_double_and_vary_up_to_a_half():
    for retry, longest in [(1, 0.2), (2, 0.4), (3, 0.8), (9, 30.0), (10_000, 30.0)]:
        waits = {wait_before(retry, 0.2) for _ in range(50)}
        assert all(longest / 2 <= wait <= longest for wait in waits)
        assert len(waits) > 1


@pytest.mark.parametrize(("asked", "wait"), [(0.0, 0.0), (7.0, 7.0), (3600.0, 60.0)])
def test_what_the_server_asks_for_counts_instead_up_to_a_minute(asked, wait):
    assert wait_before(5, 0.2, asked) == wait
