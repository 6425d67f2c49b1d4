"""A client for the tests of the servers for tests, over a socket and in this process."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from catenary.http import HttpClients
from catenary.testing import mock, serve


@pytest.fixture
async def client():
    clients = HttpClients()
    yield clients.client()
    await clients.close()


@contextmanager
def over_socket(app):
    with serve(app) as server:
        yield server.url


@contextmanager
def in_process(app):
    with mock("app", app) as url:
        yield url


@pytest.fixture(params=[over_socket, in_process])
def serving(request):
    """How an application is reached: both ways behave alike."""
    return request.param
