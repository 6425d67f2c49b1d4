"""What stands behind the API: the engine, what clients have started, and the state of the server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from catenary_server.keys import Keys
from catenary_server.live import LiveRuns
from catenary_server.traffic import Traffic

if TYPE_CHECKING:
    from pathlib import Path

    from catenary.engine import Engine
    from catenary.life.folder import Folder, FolderReport
    from catenary.pauses.answers import Pause
    from catenary.store.pauses import PauseStore

State: TypeAlias = Literal["starting", "ready", "draining"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How the API behaves.

    Attributes:
        keys: The keys, one of which every client needs; none are needed when there are none.
        hosts: The names by which the server may be called while it needs no key; any when absent. It keeps web pages
            from calling a server of this machine under a name that they have made lead here.
        read_only: True to keep clients from changing chains.
        max_body_bytes: How large a body may be.
        max_in_flight: How many runs that clients have started may be on at once.
        heartbeat_s: After how many seconds without an event a stream has a comment, which keeps it open.
        access_log: True to log each request.
    """

    keys: Keys = field(default_factory=Keys)
    hosts: frozenset[str] | None = None
    read_only: bool = False
    max_body_bytes: int = 10 * 2**20
    max_in_flight: int = 1000
    heartbeat_s: float = 15.0
    access_log: bool = False


class Service:
    """What the handlers of the API work on.

    Attributes:
        engine: The engine.
        settings: How the API behaves.
        folder: The folder of chains, when there is one.
        report: What the last look at the folder came to.
        state: Whether the server is up.
        runs: The runs that clients have started.
        traffic: What is counted of requests.
        started: When the service was made, in seconds since 1970.
    """

    def __init__(self, engine: Engine, settings: ServiceSettings | None = None, *, folder: Path | None = None) -> None:
        self.engine = engine
        self.settings = settings or ServiceSettings()
        self.folder_path = folder
        self.report: FolderReport | None = None
        self.state: State = "ready"
        self.runs = LiveRuns(engine, self.settings.max_in_flight)
        self.traffic = Traffic()
        self.started = time.time()

    @property
    def folder(self) -> Folder | None:
        """The folder of chains, as the engine knows it; `None` when there is none."""
        if self.folder_path is None:
            return None
        from catenary.life.folder import folder_of

        return folder_of(self.engine, self.folder_path)

    async def pauses_of(self, run_id: str = "") -> list[Pause]:
        """Give the open questions, or those of a run; those of runs whose process is gone are among them."""
        pauses = self.engine.pauses
        found = {pause.key: pause for pause in pauses if run_id in {"", pause.run_id}}
        store = await asyncio.to_thread(self.pause_store)
        if store is not None:
            for stored in await asyncio.to_thread(store.waiting):
                if run_id in {"", stored.pause.run_id}:
                    found.setdefault(stored.pause.key, stored.pause)
        return list(found.values())

    def pause_store(self) -> PauseStore | None:
        """Give the file in which open questions are kept, when there is one; it blocks."""
        pauses = self.engine.pauses
        return pauses.store if pauses.is_kept else None

    def endpoint_paths(self) -> dict[str, Any]:
        """Give the OpenAPI paths of all http endpoints; those that listen elsewhere name their server."""
        from catenary_components.endpoint.listening import listeners_of

        listeners = listeners_of(self.engine)
        paths: dict[str, Any] = {path: dict(methods) for path, methods in listeners.host.openapi().items()}
        for listener in listeners:
            servers = [{"url": listener.url}]
            for path, methods in listener.openapi().items():
                known = paths.setdefault(path, {})
                for method, operation in methods.items():
                    known.setdefault(method, {**operation, "servers": servers})
        return paths
