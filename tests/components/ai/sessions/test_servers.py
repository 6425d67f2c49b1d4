"""Sessions in databases and in Redis, when those are not as they should be."""

from __future__ import annotations

import asyncio
import json
import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from catenary.errors import ConnectFailed, ResourceError, TooSlow
from catenary.redis_cache import RedisCache
from catenary_components.ai.sessions.redis import SAVE, RedisStore
from catenary_components.ai.sessions.sql import SqlStore
from catenary_components.ai.sessions.store import ANY_VERSION, NEW, DamagedRecord
from catenary_components.external.sql.address import read_address

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.peers.mariadb import MariaDb
    from tests.peers.postgres import Postgres
    from tests.peers.redis import Redis


async def test_a_row_that_is_no_session_is_told(postgres: Postgres) -> None:
    store = SqlStore(read_address(postgres.dsn))
    await store.save("damaged", "1", NEW)
    postgres.sql("UPDATE catenary_sessions SET state = '{' WHERE name = '\"damaged\"'")

    with pytest.raises(DamagedRecord, match="it is no session"):
        await store.load("damaged")
    await store.close()


async def test_a_hash_that_is_no_session_is_told(redis_server: Redis) -> None:
    store = RedisStore(redis_server.url)
    redis_server.cli("HSET", "catenary:session:k", "version", "1", "state", "{")
    redis_server.cli("HSET", "catenary:session:half", "version", "1")

    for key in ("k", "half"):
        with pytest.raises(DamagedRecord, match="it is no session"):
            await store.load(key)
    await store.close()


async def test_who_may_use_the_table_need_not_be_allowed_to_make_it(postgres: Postgres) -> None:
    owner = SqlStore(read_address(postgres.dsn))
    await owner.save("mine", "1", NEW)
    postgres.sql(
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'secret-of-guest'; REVOKE CREATE ON SCHEMA public "
        "FROM PUBLIC; GRANT SELECT, INSERT, UPDATE, DELETE ON catenary_sessions TO guest"
    )
    guest = SqlStore(read_address(postgres.dsn.replace("tester", "guest")))

    assert await guest.load("mine") == (1, 1)
    await guest.close()
    await owner.close()
    postgres.sql("DROP OWNED BY guest; DROP ROLE guest")


async def test_many_who_make_the_table_at_once_all_find_it(postgres: Postgres) -> None:
    postgres.sql("DROP TABLE IF EXISTS catenary_sessions")
    stores = [SqlStore(read_address(postgres.dsn)) for _ in range(5)]

    await asyncio.gather(*(store.save(str(number), "1", NEW) for number, store in enumerate(stores)))

    assert await stores[0].keys() == ["0", "1", "2", "3", "4"]
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_database_that_is_down_is_told_and_found_again(mariadb: MariaDb) -> None:
    store = SqlStore(read_address(mariadb.dsn))
    await store.save("down", "1", NEW)
    mariadb.stop()

    with pytest.raises(ResourceError):
        await store.load("down")
    mariadb.start()

    assert await store.load("down") == (1, 1)
    await store.close()


async def test_a_redis_that_is_down_is_told_and_found_again(redis_server: Redis) -> None:
    store = RedisStore(redis_server.url)
    await store.save("k", "1", NEW)
    redis_server.kill()

    with pytest.raises(ConnectFailed, match="no connection to the sessions at 127") as failed:
        await store.load("k")
    assert redis_server.password not in str(failed.value)
    redis_server.start()

    assert await store.load("k") is None
    await store.close()


@pytest.mark.parametrize("is_connected", [True, False])
async def test_a_database_that_does_not_answer_is_not_waited_for_ever(
    postgres: Postgres, *, is_connected: bool
) -> None:
    store = SqlStore(read_address(postgres.dsn))
    if is_connected:
        await store.save("frozen", "1", ANY_VERSION)
    store.timeout_s = 0.3
    postgres.freeze()
    try:
        with pytest.raises(TooSlow, match=r"did not answer within 0\.3 s"):
            await store.load("frozen")
    finally:
        postgres.thaw()
    await store.close()


async def test_a_redis_that_does_not_answer_is_not_waited_for_ever(redis_server: Redis) -> None:
    store = RedisStore(redis_server.url, timeout_s=0.2)
    redis_server.freeze()
    try:
        with pytest.raises(TooSlow, match=r"the sessions at .* did not answer in time"):
            await store.load("k")
    finally:
        redis_server.thaw()
    await store.close()


async def test_a_save_that_redis_is_sent_twice_counts_once(redis_server: Redis) -> None:
    store = RedisStore(redis_server.url)
    await store.save("k", '"a"', NEW)
    cache = RedisCache(redis_server.url, timeout_s=15)
    command = (SAVE, 1, "catenary:session:k", 1, '"b"', "writer")
    first, again = [await cache.awaited.ask("eval", *command) for _ in range(2)]
    await asyncio.to_thread(cache.close)

    assert first == again == [2, 1]
    assert await store.load("k") == (2, "b")
    await store.close()


@contextmanager
def small_disk(most_bytes: int) -> Generator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_under_sqlite_is_told_and_the_former_record_stays(tmp_path: Path) -> None:
    store = SqlStore(read_address(f"sqlite:///{tmp_path}/s.db"))
    await store.save("k", '"small"', NEW)

    with small_disk(100_000), pytest.raises(ResourceError):
        await store.save("k", json.dumps("x" * 500_000), 1)

    assert await store.load("k") == (1, "small")
    await store.close()


async def test_sessions_of_sqlite_in_memory_are_of_one_store() -> None:
    one, other = SqlStore(read_address(":memory:")), SqlStore(read_address(":memory:"))
    await one.save("k", "1", NEW)

    assert await other.load("k") is None
    assert one.place != other.place
    await one.close()
    await other.close()
