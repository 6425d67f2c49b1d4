"""Stores of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from catenary_components.ai.sessions.files import FileStore
from catenary_components.ai.sessions.memory import MemoryStore
from catenary_components.ai.sessions.redis import RedisStore
from catenary_components.ai.sessions.sql import SqlStore
from catenary_components.external.sql.address import read_address

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.peers.mariadb import MariaDb
    from tests.peers.postgres import Postgres
    from tests.peers.redis import Redis

    from catenary_components.ai.sessions.store import SessionStore


@pytest.fixture(params=["memory", "files", "sqlite", "postgres", "mariadb", "redis"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[SessionStore]:
    """Give an empty store of each kind; the servers are real ones."""
    made = made_store(request, tmp_path)
    yield made
    await made.close()


def made_store(request: pytest.FixtureRequest, folder: Path) -> SessionStore:
    match request.param:
        case "memory":
            return MemoryStore()
        case "files":
            return FileStore(folder / "sessions")
        case "sqlite":
            return SqlStore(read_address(f"sqlite:///{folder}/sessions.db"))
        case "postgres":
            postgres: Postgres = request.getfixturevalue("postgres")
            postgres.sql("DROP TABLE IF EXISTS catenary_sessions")
            return SqlStore(read_address(postgres.dsn))
        case "mariadb":
            mariadb: MariaDb = request.getfixturevalue("mariadb")
            mariadb.sql("DROP TABLE IF EXISTS catenary_sessions")
            return SqlStore(read_address(mariadb.dsn))
        case _:
            server: Redis = request.getfixturevalue("redis_server")
            return RedisStore(server.url)
