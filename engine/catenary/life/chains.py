"""The part of an engine that is about its chains: loading, replacing and stopping them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from catenary.life.notices import added
from catenary.life.stopping import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from pathlib import Path

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.errors import Problem
    from catenary.jsontext import Json
    from catenary.life.folder import Folder, FolderReport
    from catenary.life.pool import ChainPool, Source
    from catenary.life.watching import FolderWatch, OnChange
    from catenary.runtime.loops import Loops


class Chains:
    """The chains of an engine, by id and by alias.

    When a chain is kept under another id than its own, the own one is an alias: chains and callers may use it, unless
    it is the id of another chain.
    """

    _pool: ChainPool
    loops: Loops
    folders: dict[Path, Folder]

    # Looking up

    def get(self, chain_id: str) -> Chain:
        """Give the present version of a chain, by id or alias.

        Raises:
            EngineError: When there is no such chain, or when several have the alias.
        """
        return self._pool.get(chain_id)

    @property
    def chains(self) -> Mapping[str, Chain]:
        """The present version of each chain, by id."""
        return dict(self._pool.present)

    def check(self, source: Source, *, beside: Container[str] = ()) -> list[Problem]:
        """Give everything that is wrong with a chain, warnings included, in order of place; nothing is opened.

        Args:
            source: The chain.
            beside: The ids of chains that are to be loaded beside it, and of those that are loaded already.

        Raises:
            ChainSyntaxError: When the text is neither JSON nor YAML.
        """
        return self._pool.check(source, beside)

    @property
    def is_closing(self) -> bool:
        """True once the engine is being closed: it takes in no more chains."""
        return self._pool.closed

    # Loading

    def load(self, source: Source, *, id: str | None = None) -> Chain:  # noqa: A002 - the field's name in a chain
        """Load a chain: check it, make its components, and keep it under its id.

        Several threads may load; of those that load the same one, each gets the same chain.

        Args:
            source: A path, the text of a chain (JSON or YAML), the chain as plain values, or what `load.read` gave.
            id: The id to keep it under; that of the chain if absent.

        Raises:
            ChainSyntaxError: When the text is neither JSON nor YAML.
            ChainInvalid: When the chain has errors; it lists all of them. A disabled chain counts as one.
            ChainError: When another chain has the id. The same text again gives the chain that is there.
        """
        return self._pool.load(source, id)

    def reload(self, source: Source, *, id: str | None = None) -> Chain:  # noqa: A002 - the field's name in a chain
        """Replace a chain by another version, or load it when it is not there yet. Nobody waits.

        Messages in flight finish on the version they began on; new ones take the new one. When the new version has
        errors, the present one stays in service. The chain keeps its id when the new text has another one.

        Args:
            source: As for `load`.
            id: Which chain to replace, by id or alias; the one that the text names if absent.

        Raises:
            ChainError: As for `load`.
            EngineError: When the chain is just being stopped.
        """
        return self._pool.reload(source, id)

    def reload_all(self) -> list[Chain]:
        """Make another version of every chain from its present definition: after properties have changed.

        Shared resources and endpoints that stand alone are made anew, too. One whose settings are the same as before
        stays as it is; a connection that somebody uses at this moment is closed when it is given back.

        Raises:
            ChainInvalid: When some cannot be made that way; they stay as they are, and all others are replaced.
        """
        return self._pool.reload_all()

    def reload_node(self, chain_id: str, node: dict[str, Json] | str) -> Chain:
        """Replace one node of a chain. All other components are those of the version before, open as they are.

        The chain is checked as a whole. The replaced component is closed when the runs on it are over.

        Args:
            chain_id: The chain, by id or alias.
            node: The node as it is written in a chain, with its id; as plain values, or as JSON or YAML text.

        Raises:
            EngineError: When there is no such chain, or no such node in it.
            ChainError: As for `load`; the present version stays in service.
        """
        return self._pool.reload_node(chain_id, node)

    def make(self, source: Source, *, inside: str = "") -> Chain:
        """Make a chain without keeping it under its id: for a component that runs a chain of its own and closes it.

        Args:
            source: As for `load`.
            inside: The id of the chain with that component: what this one keeps in its cache is dropped with that one.

        Raises:
            ChainError: As for `load`.
        """
        return self._pool.make(source, inside)

    def load_folder(self, folder: str | Path) -> FolderReport:
        """Load all chains in a folder and the folders below it; one that is broken does not keep the others out.

        Called again, it takes over what has changed in the folder since: see `watch` for that as it happens.
        Chains are the files `*.json`, `*.yaml` and `*.yml` that have `ruleChain` or `metadata`; see `FolderReport` for
        what is left out. A chain without id gets the name of its file.

        Raises:
            EngineError: When there is no such folder.
        """
        from catenary.life.folder import folder_of

        return folder_of(self, folder).refresh()

    def watch(
        self, folder: str | Path, *, on_change: OnChange | None = None, grace_s: float = GRACE_S, settle_s: float = 0.1
    ) -> FolderWatch:
        """Keep the chains of a folder as its files are: `async with engine.watch("chains") as watch: ...`.

        Entering loads the folder. A changed file reloads its chain, a new one loads, a deleted one stops; a broken one
        leaves the last good version in service and is reported.

        Args:
            folder: As for `load_folder`.
            on_change: Called with each `FolderReport` in which something happened.
            grace_s: Seconds for the runs on a chain whose file is gone.
            settle_s: Seconds without another change after which changes are looked at.

        Raises:
            EngineError: On entering, when there is no such folder, or the extra `watch` is not installed.
        """
        from catenary.life.watching import FolderWatch

        return FolderWatch(cast("Engine", self), folder, on_change, grace_s, settle_s)

    # Stopping

    def remove(self, chain_id: str) -> None:
        """Take a chain out of service at once; runs on it finish.

        Raises:
            EngineError: When there is no such chain.
        """
        self._pool.remove(chain_id)

    async def sweep(self) -> None:
        """Close earlier versions that nobody is on and whose components have to be awaited.

        That happens by itself where an event loop runs; call it after reloads in a thread without one.
        """
        await self._pool.sweep()

    async def stop(self, chain_id: str, *, grace_s: float = GRACE_S) -> None:
        """Stop a chain and take it out of service. Whoever stops it meanwhile waits for the same end.

        New messages are refused with `engine is shutting down`. Runs in flight have `grace_s` seconds to finish, then
        they are cancelled. Its components are closed, and what it keeps in its cache is dropped.

        Raises:
            EngineError: When there is no such chain.
        """
        await self._pool.stops.stop([self._pool.get(chain_id)], grace_s)

    def stop_sync(self, chain_id: str, *, grace_s: float = GRACE_S) -> None:
        """Stop a chain where no event loop runs, see `stop`. Raises: EngineError: inside a running event loop."""
        self.loops.run_outside("stop", self.stop(chain_id, grace_s=grace_s))

    # Being told

    def on_new(self, callback: Callable[[Chain], object]) -> Callable[[], None]:
        """Have each chain that is loaded handed to `callback`, once. Returns: what takes it off again."""
        return added(self._pool.notices.new, callback)

    def on_updated(self, callback: Callable[[Chain, str], object]) -> Callable[[], None]:
        """Have each new version handed to `callback`, with the id of the node if only that was replaced.

        Returns:
            What takes it off again.
        """
        return added(self._pool.notices.updated, callback)

    def on_deleted(self, callback: Callable[[str], object]) -> Callable[[], None]:
        """Have the id of each chain that goes out of service handed to `callback`. Returns: what takes it off again."""
        return added(self._pool.notices.deleted, callback)
