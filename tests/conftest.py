"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Two cores are shared with others: how long an example takes says nothing about it.
settings.register_profile(
    "catenary", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("catenary")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The kernel stands on asyncio."""
    return "asyncio"
