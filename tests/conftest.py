"""What all tests share: the event loop, and how many cases the property tests generate."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from tests.cases import times

# Two cores are shared with others: how long an example takes says nothing about it.
settings.register_profile(
    "catenary",
    deadline=None,
    max_examples=times(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("catenary")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark property tests, so that the long checks can run them alone and with more cases."""
    for item in items:
        test: Any = getattr(item, "obj", None)
        if test is None or not is_hypothesis_test(test):
            continue
        item.add_marker(pytest.mark.property)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The kernel stands on asyncio."""
    return "asyncio"
