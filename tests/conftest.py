"""What all tests share: the event loop, and how many cases the property tests generate."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from tests.cases import FACTOR, FACTORS, times
from tests.isolation import own_names

pytest_plugins = ("tests.peers.fixtures",)

# Two cores are shared with others: how long an example takes says nothing about it. The usual cases are the same each
# time, so that a change fails for what it does; the long checks look for others.
settings.register_profile(
    "catenary",
    deadline=None,
    derandomize=FACTORS["long"] > FACTOR,
    max_examples=times(100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("catenary")


def pytest_configure() -> None:
    """Have Ctrl-C mean something to the programs that tests start, also when the tests run in the background.

    A shell without job control has what it starts with `&` ignore it, and that is inherited.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark property tests, so that the long checks can run them alone and with more cases.

    Each does the work of a hundred tests, so it has more time than one, unless the command line gives all another time.
    """
    has_time = config.getoption("timeout") is not None
    for item in items:
        test: Any = getattr(item, "obj", None)
        if test is None or not is_hypothesis_test(test):
            continue
        item.add_marker(pytest.mark.property)
        if not has_time and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(90))


@pytest.fixture(autouse=True)
def _own_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with own_names(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The kernel stands on asyncio."""
    return "asyncio"
