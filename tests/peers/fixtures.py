"""The servers as fixtures: one of each kind for a test process, started by the first test that wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import pytest
from tests.peers.mariadb import MariaDb
from tests.peers.nginx import Nginx
from tests.peers.postgres import Postgres
from tests.peers.redis import Redis
from tests.peers.server import Server

ServerT = TypeVar("ServerT", bound=Server)

_SERVERS = frozenset({"postgres", "mariadb", "redis_server", "redis", "nginx_before"})
_TIME_S = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a test that has a server started for it the time for that: to make a cluster takes seconds, and may more."""
    for item in items:
        wanted = set(getattr(item, "fixturenames", ()))
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        wanted.update(value for value in parameters if isinstance(value, str))
        if wanted & _SERVERS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TIME_S))


def serving(server: ServerT) -> Iterator[ServerT]:
    """Give a server that runs, and end it afterwards."""
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.close()


def ready(server: ServerT) -> ServerT:
    """Give a server, started again where a test has killed or frozen it."""
    server.thaw()
    server.start()
    return server


@pytest.fixture(scope="session")
def postgres_of_session() -> Iterator[Postgres]:
    """The one PostgreSQL server of this test process; ask for `postgres`."""
    yield from serving(Postgres())


@pytest.fixture
def postgres(postgres_of_session: Postgres) -> Postgres:
    """A PostgreSQL server that runs; the test may kill it, freeze it and start it again."""
    return ready(postgres_of_session)


@pytest.fixture(scope="session")
def redis_of_session() -> Iterator[Redis]:
    """The one Redis server of this test process; ask for `redis_server`."""
    yield from serving(Redis())


@pytest.fixture
def redis_server(redis_of_session: Redis) -> Redis:
    """A Redis server that runs and is empty; the test may kill it, freeze it and start it again."""
    server = ready(redis_of_session)
    server.cli("FLUSHALL")
    return server


@pytest.fixture(scope="session")
def mariadb_of_session() -> Iterator[MariaDb]:
    """The one MariaDB server of this test process; ask for `mariadb`."""
    yield from serving(MariaDb())


@pytest.fixture
def mariadb(mariadb_of_session: MariaDb) -> MariaDb:
    """A MariaDB server that runs; the test may kill it, freeze it and start it again."""
    return ready(mariadb_of_session)


@pytest.fixture
def nginx_before() -> Iterator[Callable[..., Nginx]]:
    """Start an nginx before another server: `nginx_before("http://127.0.0.1:8080")`; see `Nginx` for more."""
    with ExitStack() as running:

        def start(upstream: str, *, locations: str = "") -> Nginx:
            return running.enter_context(contextmanager(serving)(Nginx(upstream, locations=locations)))

        yield start
