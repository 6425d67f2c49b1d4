"""The pytest plugin: fixtures for tests of chains and components, and the tests of chains in files beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from catenary import Engine
    from catenary.testing.api import RecordingApi
    from catenary.testing.clock import FakeClock
    from catenary.testing.model import ScriptedModel

# pytest loads this file in every run, also where no test needs it: so all else is imported by the fixtures.

_CHAIN_TESTS = (".test.yaml", ".test.yml", ".test.json")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project turn the collecting of chain tests off, and say what their chains need."""
    text = "collect the tests of chains in files NAME.test.yaml and NAME.test.json"
    parser.addini("catenary_chain_tests", text, type="bool", default=True)
    parser.addini("catenary_components", "chains that are component types in chain tests: [TYPE=]FILE", type="linelist")
    parser.addini("catenary_shared", "files with shared resources for chain tests", type="paths")
    parser.addini("catenary_chains", "chains, and folders of them, that are loaded before chain tests", type="paths")
    parser.addini("catenary_tools", "Python files whose functions are tools in chain tests", type="paths")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a file of chain tests."""
    if not file_path.name.endswith(_CHAIN_TESTS) or not parent.config.getini("catenary_chain_tests"):
        return None
    from catenary.testing.chains.collecting import ChainTestFile

    return cast("Any", ChainTestFile).from_parent(parent, path=file_path)


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
