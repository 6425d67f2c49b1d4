"""The engine: many chains by id, and what they share."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from catenary.aspects.host import AspectHost
from catenary.clock import SystemClock
from catenary.component_host import ComponentHost
from catenary.defaults import ChainDefaults
from catenary.events import Bus
from catenary.hooks import Hooks
from catenary.host import EXPRESSIONS, SCRIPTS, FunctionHost, HostLibrary
from catenary.life.chains import Chains
from catenary.life.pool import ChainPool
from catenary.life.stopping import GRACE_S
from catenary.masking import Masker
from catenary.run_host import RunHost
from catenary.runtime.loops import Loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catenary.aspects import Aspect
    from catenary.cache import Cache
    from catenary.clock import Clock
    from catenary.endpoints import Endpoint
    from catenary.endpoints.pool import Endpoints
    from catenary.events import Listener
    from catenary.http import HttpClients, WebTexts
    from catenary.jsontext import Json
    from catenary.load import Document, Settings
    from catenary.pauses.waiting import Pauses
    from catenary.recording import Recorder
    from catenary.registry import Registry
    from catenary.remote_cache import RemoteCache
    from catenary.shared import SharedResources
    from catenary.store import History


class Engine(Chains, RunHost, ComponentHost, FunctionHost, AspectHost):
    """Loads chains and runs messages through them.

    Safe to use from many tasks of one event loop; `run_sync` may be called from many threads.

    Args:
        properties: What chains see as `global`; shared, not copied.
        host_functions: Functions, and objects with methods, that expressions, templates and scripts may call, by name.
        roots: Folders below which templates may read files, besides each chain's own folder and `global.data_dir`.
        defaults: What holds for chains that do not say otherwise.
        allowed_hosts: When given, the only hosts that chains may call by HTTP.
        allow_link_local: True to let chains call link-local addresses and metadata services.
        allow_web_includes: True to let `include` of templates fetch http addresses; the first message that names one
            waits for it, at most 10 seconds.
        secret_key: The key of the chains' secrets, or the path of a file that has it; what the environment variables
            `CATENARY_SECRET_KEY` or `CATENARY_SECRET_KEY_FILE` say if absent.
        connect_at_load: True to have connections made when a chain is loaded, and a chain refused whose connection
            fails; else they are made at first use. An `async def connect` inside an event loop waits for
            `async with engine`.
        check_connections_s: Seconds between two looks at the connections that chains share and own, inside
            `async with engine`; those that are broken are made again. Nothing is looked at if 0.
        registry: Where node types are looked up; all installed components if absent.
        aspects: What is woven around nodes, runs and the loading of chains; `add_aspect` adds more.
        clock: What tells the time; a fake one in tests.
        cache: Where chains keep values between messages, or the address of a Redis that other processes may share,
            such as `redis://127.0.0.1:6379/0`; a store in memory if absent.
        history: Where all runs are recorded, or the path of the file; True for that of the user's data folder. A
            `History` stays open when the engine is closed, and has all runs by then. Nothing is recorded if absent.
        endpoints: False to have the endpoints of chains checked and not started.
        environ: The environment variables that nodes may ask for, such as the key of a model; those of the process if
            absent.
    """

    def __init__(  # noqa: PLR0913 - all but the first by name
        self,
        properties: Mapping[str, Json] | None = None,
        *,
        host_functions: Mapping[str, Any] | None = None,
        roots: Iterable[str | Path] = (),
        defaults: ChainDefaults | None = None,
        allowed_hosts: Sequence[str] = (),
        allow_link_local: bool = False,
        allow_web_includes: bool = False,
        secret_key: str | Path | None = None,
        connect_at_load: bool = False,
        check_connections_s: float = 0.0,
        registry: Registry | None = None,
        aspects: Iterable[Aspect] = (),
        clock: Clock | None = None,
        cache: Cache | str | None = None,
        history: History | str | Path | bool | None = None,
        endpoints: bool = True,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.properties: Mapping[str, Json] = properties if properties is not None else {}
        self.functions = {}
        self.tools = {}
        self.clock: Clock = clock or SystemClock()
        self.loops = Loops()
        self._host = HostLibrary(host_functions or {})
        self._roots = tuple(Path(root) for root in roots)
        self.defaults = defaults or ChainDefaults()
        self._allowed_hosts = tuple(allowed_hosts)
        self._allow_link_local = allow_link_local
        self._allow_web_includes = allow_web_includes
        self._web_texts: WebTexts | None = None
        self._secret_key = secret_key
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self._shared: SharedResources | None = None
        self._endpoints: Endpoints | None = None
        self._starts_endpoints = endpoints
        self._is_entered = False
        self.connects_at_load = connect_at_load
        self._check_connections_s = check_connections_s
        self._registry = registry
        self._http: HttpClients | None = None
        self._owns_cache = isinstance(cache, str)
        self._cache = _opened(cache) if isinstance(cache, str) else cache
        self._pauses: Pauses | None = None
        self.bus = Bus()
        self.masker = Masker(getattr(self._cache, "secrets", ()))
        self._history = self._recording_to(history) if history else None
        self._pool = ChainPool(self)
        for aspect in aspects:
            self.add_aspect(aspect)
        self.folders = {}

    # What chains share

    @property
    def registry(self) -> Registry:
        """Where node types are looked up."""
        if self._registry is None:
            from catenary.registry import Registry

            self._registry = Registry()
        return self._registry

    @property
    def http(self) -> HttpClients:
        """The factory of all HTTP clients of this engine."""
        if self._http is None:
            from catenary.http import HttpClients

            self._http = HttpClients(allowed_hosts=self._allowed_hosts, allow_link_local=self._allow_link_local)
        return self._http

    @property
    def cache(self) -> Cache:
        """What all chains keep between messages; a chain's own part is `ctx.chain_cache`."""
        if self._cache is None:
            from catenary.cache import MemoryCache

            self._cache = MemoryCache(self.clock)
        return self._cache

    @property
    def pauses(self) -> Pauses:
        """The nodes that wait for an answer, in the order in which they began to: `for pause in engine.pauses`."""
        if self._pauses is None:
            from catenary.pauses.waiting import Pauses

            self._pauses = Pauses(self)
        return self._pauses

    @property
    def shared(self) -> SharedResources:
        """The connections that chains borrow with `ref://ID`."""
        if self._shared is None:
            from catenary.shared import SharedResources

            self._shared = SharedResources(self)
            self._pool.remakes.append(self._shared.remake)
        return self._shared

    @property
    def endpoints(self) -> Endpoints:
        """What brings messages in: the endpoints of chains, and those that stand alone."""
        if self._endpoints is None:
            from catenary.endpoints.pool import Endpoints

            loop = self._pool.loop if self._is_entered else None
            self._endpoints = Endpoints(
                self, loop if self._starts_endpoints else None, is_enabled=self._starts_endpoints
            )
            self._pool.drain = self._endpoints.stop
            self._pool.remakes.append(self._endpoints.remake)
        return self._endpoints

    def endpoint_named(self, name: str, chain_id: str) -> Endpoint[Any, Any] | None:
        """Give the endpoint that runs under an id: one of the chain, else one that stands alone; `None` for none."""
        if self._endpoints is None:
            return None
        return self._endpoints.find(chain_id, name) or self._endpoints.find("", name)

    def stands_alone(self, name: str) -> bool:
        """Tell whether there is an endpoint outside of chains under an id, running or not."""
        return self._endpoints is not None and name in self._endpoints.kinds()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have all events of all runs from now on handed to `listener`, in the task that makes them.

        Returns:
            A function that takes the listener off again.
        """
        return self.bus.subscribe(listener)

    @property
    def hooks(self) -> Hooks:
        """What is called for every run: `engine.hooks.on_debug.append(callback)`."""
        if self.bus.hooks is None:
            self.bus.hooks = Hooks()
        return self.bus.hooks

    def record(self, recorder: Recorder) -> Callable[[], None]:
        """Have all runs that begin from now on recorded: `engine.record(MemoryRecorder())`.

        Returns:
            A function that takes the recorder off again; runs that it knows are recorded to their end.
        """
        return self.bus.record(recorder)

    @property
    def history(self) -> History | None:
        """Where all runs are recorded; `None` when nobody asked for that."""
        return self._history

    def _recording_to(self, history: History | str | Path | bool) -> History:
        from catenary.store import History

        self._owns_history = not isinstance(history, History)
        if not isinstance(history, History):
            history = History(None if history is True else str(history))
        self.bus.record(history)
        return history

    # Chains

    def settings_for(self, document: Document) -> Settings:
        """Give what this engine brings to the loading of a chain."""
        from catenary.expr import Environment
        from catenary.load import Settings

        defaults = self.defaults
        environment = Environment(
            properties=self.properties,
            functions=self._host.functions_for(EXPRESSIONS),
            script_functions=self._host.functions_for(SCRIPTS),
            host_scripts=self._host.scripts,
            roots=self._roots_of(document),
            fetch=self._fetch if self._allow_web_includes else None,
            lenient=defaults.lenient_templates,
            script_engine=defaults.script_engine,
            script_timeout_s=defaults.script_timeout_s,
            script_memory_bytes=defaults.script_memory_bytes,
            script_host_calls=defaults.script_host_calls,
            cache_waits=hasattr(self._cache, "awaited"),
        )
        from catenary.secrets import find_key

        key = find_key(self._secret_key, self.environ)
        resources = {} if self._shared is None else self._shared.kinds()
        settings = Settings(
            environment,
            defaults.allow_cycle,
            defaults.strict,
            key,
            resources,
            has_chain=self._pool.has,
            for_file=self._pool.prepared,
        )
        if self._endpoints is None:
            return settings
        settings = replace(settings, resources=self._endpoints.kinds() | resources)
        return replace(settings, processors=self._endpoints.processors, executors=self._endpoints.executors)

    def clear_cache(self, chain_id: str) -> None:
        """Drop what a chain keeps between messages; in a cache outside of the process it outlives the engine."""
        if self._cache is not None:
            from catenary.cache import ChainCache

            cache = ChainCache(self._cache, chain_id)
            drop_soon = getattr(self._cache, "drop_soon", None)
            if drop_soon is None:
                cache.delete_by_prefix("")
            elif not self._pool.closed:
                drop_soon(cache.prefix)

    def allow_folder(self, folder: str | Path) -> None:
        """Let chains that are loaded from then on read, and keep things, below a folder, as `roots` does."""
        self._roots = (*self._roots, Path(folder))

    def _roots_of(self, document: Document) -> tuple[Path, ...]:
        roots = list(self._roots)
        if document.file:
            roots.append(Path(document.file).resolve().parent)
        data_dir = self.properties.get("data_dir")
        if isinstance(data_dir, str) and data_dir:
            roots.append(Path(data_dir))
        return tuple(roots)

    def _fetch(self, address: str) -> str:
        if self._web_texts is None:
            from catenary.http import WebTexts

            self._web_texts = WebTexts(self.http.guard)
        return self._web_texts(address)

    # Life

    async def close(self, *, grace_s: float = GRACE_S) -> None:
        """Stop all chains, and close them and what they share. May be awaited again; a second one waits for the first.

        Args:
            grace_s: Seconds that runs in flight have to finish; then they are cancelled, see `stop`.
        """
        await self._close_all(grace_s)
        if self.loops.are_kept:
            await asyncio.to_thread(self.loops.close)  # a loop cannot be closed where another one runs

    def close_sync(self, *, grace_s: float = GRACE_S) -> None:
        """Close the engine where no event loop runs, see `close`. May be called again.

        Raises:
            EngineError: Inside a running event loop.
        """
        self.loops.run_outside("close", self._close_all(grace_s))
        self.loops.close()

    async def _close_all(self, grace_s: float) -> None:
        if self._endpoints is not None:
            self._endpoints.refuse_all()
        if self._pauses is not None:
            await self._pauses.put_off()
        if self._endpoints is not None:
            await self._endpoints.close(grace_s)
        await self._pool.close(grace_s)
        if self._pauses is not None:
            await self._pauses.close()
        if self._shared is not None:
            await self._shared.close()
        if self._http is not None:
            await self._http.close()
        if self._owns_cache:
            await asyncio.to_thread(cast("RemoteCache", self._cache).close)
        if self._history is not None:
            await asyncio.to_thread(self._history.close if self._owns_history else self._history.flush)

    async def __aenter__(self) -> Self:
        if self._shared is not None:
            await self._shared.connect_waiting()
        if self._check_connections_s > 0:
            self.shared.check_every(self._check_connections_s)
        self._pool.loop = asyncio.get_running_loop()
        for chain in list(self._pool.present.values()):
            await chain.open_rest()
        self._is_entered = True
        if self._endpoints is not None:
            await self._endpoints.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()


def _opened(url: str) -> RemoteCache:
    from catenary.remote_cache import open_cache

    return open_cache(url)
