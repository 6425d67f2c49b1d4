"""The pytest plugin: fixtures for tests of chains and components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from catenary import Engine
    from catenary.testing.api import RecordingApi
    from catenary.testing.clock import FakeClock
    from catenary.testing.model import ScriptedModel

# pytest loads this file in every run, also where no test needs it: so all else is imported by the fixtures.


@pytest.fixture
def engine() -> Generator[Engine]:
    """An engine with default settings, closed after the test."""
    from catenary import Engine

    made = Engine()
    yield made
    made.close_sync()


@pytest.fixture
def scripted_model() -> ScriptedModel:
    """A model without a script: `scripted_model.add(...)` adds replies."""
    from catenary.testing.model import ScriptedModel

    return ScriptedModel()


@pytest.fixture
def recording_api() -> RecordingApi:
    """An HTTP API that records requests and answers `ok`."""
    from catenary.testing.api import RecordingApi

    return RecordingApi()


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock that stands still until `advance`."""
    from catenary.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def free_port() -> int:
    """A port of the loopback address on which nothing listens."""
    from catenary.testing.serving import free_port

    return free_port()
