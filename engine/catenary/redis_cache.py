"""`RedisCache`: what chains keep between messages, in a Redis server that several processes may share."""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from catenary.cache import CacheMiss, ttl_seconds
from catenary.errors import ConnectFailed, EngineError, Refused, ResourceError, TooSlow
from catenary.jsontext import dumps, loads

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from concurrent.futures import Future

    from catenary.jsontext import Json

AnyT = TypeVar("AnyT")

_log = logging.getLogger(__name__)
_CHUNK: Final = 500
"""How many keys are asked for, or deleted, at once."""

_CONNECTIONS: Final = 64
_LONGER: Final = 10
"""How many times as long what goes over many keys may take."""

_GLOB: Final = str.maketrans({sign: f"\\{sign}" for sign in "*?[]\\^-"})


def all_below(prefix: str) -> str:
    """Give the pattern of the keys that begin with a text."""
    return prefix.translate(_GLOB) + "*"


class RedisCache:
    """A `Cache` in Redis. Safe to use from many threads and event loops.

    Values are JSON text under `<namespace><key>`; what is there and is no JSON is given as text. Keys with a prefix are
    found with SCAN, which holds nobody up, and come in the order of their names.

    All of it runs on an event loop of its own, in a thread: a call waits in its own thread only, and `awaited` in none.

    Args:
        url: `redis://[[user]:password@]host:port/number`, `rediss://...` for TLS, or `unix://[:password@]path?db=0`.
        namespace: Stands before all keys, so that others may use the same database.
        timeout_s: Longest time for one operation, with connecting; ten times that for those with a prefix. What the
            address says as `?socket_timeout=5` goes before.

    Raises:
        EngineError: When the extra `redis` is not installed, or the address cannot be read.
    """

    def __init__(self, url: str, *, namespace: str = "catenary:", timeout_s: float = 2.0) -> None:
        self._url = url
        self._namespace = namespace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._client: Any = None
        self._lock = Lock()
        self._place, self._secrets = _parts_of(url)
        self._timeout_s = _timeout_in(url) or timeout_s
        self.awaited = AwaitedRedis(self)
        self._redis = _redis()

    def __repr__(self) -> str:
        return f"RedisCache({self._place!r})"

    @property
    def secrets(self) -> list[str]:
        """What must not be seen of the address."""
        return self._secrets

    # What a cache does

    def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value, see `Cache.set`."""
        self.begin(self.store(key, value, ttl)).result()

    def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        return self.begin(self.fetch(key)).result()

    def has(self, key: str) -> bool:
        """Tell whether there is a value under a key."""
        return self.begin(self.exists(key)).result()

    def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        self.begin(self.drop(key)).result()

    def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values whose keys begin with `prefix`, by key, in the order of their names."""
        return self.begin(self.fetch_all(prefix)).result()

    def delete_by_prefix(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`."""
        self.begin(self.drop_all(prefix)).result()

    def drop_soon(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`, without waiting until that is done."""

        def tell(done: Future[None]) -> None:
            error = None if done.cancelled() else done.exception()
            if error is not None:
                _log.warning("what a chain kept stays in the cache", extra={"prefix": prefix, "reason": str(error)})

        self.begin(self.drop_all(prefix)).add_done_callback(tell)

    def close(self) -> None:
        """Close the connections. May be called again; used after that, it connects anew."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    # The same on its own event loop

    async def store(self, key: str, value: Json, ttl: str) -> None:
        if not key:
            raise EngineError("cache: key is empty")
        seconds = ttl_seconds(ttl)
        text = dumps(value)
        await self._asked(
            "set", self._namespace + key, text, px=None if seconds is None else max(1, round(seconds * 1000))
        )

    async def fetch(self, key: str) -> Json:
        found = await self._asked("get", self._namespace + key)
        if found is None:
            raise CacheMiss
        return _value_of(found)

    async def exists(self, key: str) -> bool:
        return bool(await self._asked("exists", self._namespace + key))

    async def drop(self, key: str) -> None:
        await self._asked("unlink", self._namespace + key)

    async def fetch_all(self, prefix: str) -> dict[str, Json]:
        found: dict[str, Json] = {}
        async for keys in self._keys(prefix):
            for key, value in zip(keys, await self._asked("mget", keys), strict=True):
                if value is not None:  # it expired in between
                    found[key.decode()[len(self._namespace) :]] = _value_of(value)
        return dict(sorted(found.items()))

    async def drop_all(self, prefix: str) -> None:
        async for keys in self._keys(prefix):
            await self._asked("unlink", *keys)

    async def ask(self, command: str, *args: Any, **options: Any) -> Any:
        return await self._asked(command, *args, **options)

    async def _keys(self, prefix: str) -> AsyncGenerator[list[bytes]]:
        """Give the keys with a prefix, some at a time; one may come twice."""
        pattern = all_below(self._namespace + prefix)
        cursor, waiting = 0, list[bytes]()
        deadline = asyncio.get_running_loop().time() + self._timeout_s * _LONGER
        while True:
            cursor, keys = await self._asked("scan", cursor, match=pattern, count=_CHUNK)
            waiting += keys
            if waiting and (len(waiting) >= _CHUNK or not cursor):
                yield waiting
                waiting = []
            if not cursor:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise TooSlow(f"the cache at {self._place} has too many keys to go over in time")

    async def _asked(self, command: str, *args: Any, **options: Any) -> Any:
        errors = self._redis.exceptions
        try:
            async with asyncio.timeout(self._timeout_s):
                return await getattr(self._connected(), command)(*args, **options)
        except (TimeoutError, errors.TimeoutError) as error:
            raise TooSlow(f"the cache at {self._place} did not answer in time", retryable=True) from error
        except (errors.AuthenticationError, errors.AuthorizationError, errors.NoPermissionError) as error:
            raise Refused(
                f"the cache at {self._place} refused: {error}", hint="look at its account and password"
            ) from error
        except (OSError, errors.ConnectionError) as error:
            raise ConnectFailed(f"no connection to the cache at {self._place}: {error}", retryable=True) from error
        except errors.RedisError as error:
            raise ResourceError(f"the cache at {self._place}: {error}") from error

    def _connected(self) -> Any:
        if self._client is None:
            asynchronous = self._redis.asyncio
            pool = asynchronous.BlockingConnectionPool.from_url(
                self._url,
                max_connections=_CONNECTIONS,
                timeout=self._timeout_s,
                socket_timeout=self._timeout_s,
                socket_connect_timeout=self._timeout_s,
                # a connection may have died while it was idle; every operation may be done twice
                retry=_retry_once(self._redis),
            )
            self._client = asynchronous.Redis.from_pool(pool)
        return self._client

    async def _close(self) -> None:
        """Let what is under way come to its end, which takes no longer than one operation may."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=self._timeout_s)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    # The loop

    def begin(self, work: Coroutine[Any, Any, AnyT]) -> Future[AnyT]:
        """Have something done on the cache's own event loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="catenary-redis", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)


class AwaitedRedis:
    """The operations of a `RedisCache` for any event loop."""

    def __init__(self, cache: RedisCache) -> None:
        self._cache = cache

    async def set(self, key: str, value: Json, ttl: str = "") -> None:
        """Store a value, see `Cache.set`."""
        await asyncio.wrap_future(self._cache.begin(self._cache.store(key, value, ttl)))

    async def get(self, key: str) -> Json:
        """Give the value under a key. Raises: CacheMiss: when there is none."""
        return await asyncio.wrap_future(self._cache.begin(self._cache.fetch(key)))

    async def has(self, key: str) -> bool:
        """Tell whether there is a value under a key."""
        return await asyncio.wrap_future(self._cache.begin(self._cache.exists(key)))

    async def delete(self, key: str) -> None:
        """Take a value out, if there is one."""
        await asyncio.wrap_future(self._cache.begin(self._cache.drop(key)))

    async def get_by_prefix(self, prefix: str) -> dict[str, Json]:
        """Give all values whose keys begin with `prefix`, by key, in the order of their names."""
        return await asyncio.wrap_future(self._cache.begin(self._cache.fetch_all(prefix)))

    async def delete_by_prefix(self, prefix: str) -> None:
        """Take all values out whose keys begin with `prefix`."""
        await asyncio.wrap_future(self._cache.begin(self._cache.drop_all(prefix)))

    async def ask(self, command: str, *args: Any, **options: Any) -> Any:
        """Send a command by its name in redis-py, such as `eval`; keys are as given, without the namespace.

        It is sent again when the connection breaks, so that it may be done twice.
        """
        return await asyncio.wrap_future(self._cache.begin(self._cache.ask(command, *args, **options)))


def _redis() -> Any:
    try:
        redis = import_module("redis")
        import_module("redis.asyncio")
    except ImportError:
        hint = "pip install 'catenary[redis]'"
        raise EngineError(f"a cache in Redis needs the package redis: {hint}", hint=hint) from None
    return redis


def _retry_once(redis: Any) -> Any:
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return Retry(NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,))


def _parts_of(url: str) -> tuple[str, list[str]]:
    """Give the address without what is secret, and what is secret in it."""
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
    except ValueError:
        hint = "signs such as `@`, `/` and `#` in a password are written as %40, %2F, %23"
        raise EngineError("the address of the cache is no URL", hint=hint) from None
    place = parts.path if parts.scheme == "unix" else f"{parts.hostname or 'localhost'}:{port}{parts.path}"
    password = parts.password or ""
    return place, [url, password, unquote(password)] if password else []


def _timeout_in(url: str) -> float:
    """Give the time limit that an address has among its parameters, in seconds; 0 when it has none."""
    given = parse_qs(urlsplit(url).query).get("socket_timeout", ["0"])[-1]
    try:
        return max(float(given), 0.0)
    except ValueError:
        hint = "write a number of seconds, as in ?socket_timeout=5"
        raise EngineError("socket_timeout in the address of the cache is no number", hint=hint) from None


def _value_of(stored: bytes) -> Json:
    text = stored.decode("utf-8", "replace")
    try:
        return loads(text)
    except ValueError:
        return text
