"""The chains of a folder: which files are chains, which of them are in service, and what is wrong with the others."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from catenary.errors import ChainError, EngineError, Problem
from catenary.file_stamps import stamp_of
from catenary.life.chainfiles import chain_files, id_of, is_chain, may_be_chain, noting, problems_of, same_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.chain import Chain
    from catenary.file_stamps import Stamp
    from catenary.life.chains import Chains
    from catenary.load import Document


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What a look at a folder came to. Files are named by their paths, the folder in front.

    Left out are files and folders whose names begin with a dot, tests (`NAME.test.yaml`), links that lead to folders,
    and what has neither `ruleChain` nor `metadata`. A link to a file outside of the folder is a problem.

    Attributes:
        chains: The chains of the folder that are in service, by id.
        loaded: The ids of those that this look has loaded.
        reloaded: The ids of those that it has replaced.
        removed: The ids of those whose files are gone, disabled, or have another id.
        disabled: The files of disabled chains.
        problems: By file, what is wrong with it. When its chain was in service before, the last good version still is.
        names: By file, the id of its chain, for files that are disabled or have problems; the name of the file where it
            cannot be read.
        skipped: The files that are no chains.
        fresh: The files among those with problems that were all right, or had other problems, at the last look.
    """

    chains: dict[str, Chain]
    loaded: tuple[str, ...] = ()
    reloaded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    problems: dict[str, list[Problem]] = field(default_factory=dict[str, list[Problem]])
    names: dict[str, str] = field(default_factory=dict[str, str])
    skipped: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when no file has errors."""
        return not self.problems

    @property
    def has_news(self) -> bool:
        """True when something is other than at the last look."""
        return bool(self.loaded or self.reloaded or self.removed or self.fresh)


@dataclass(slots=True)
class _File:
    """What is known of a file.

    Attributes:
        stamp: What it was like when it was last read; None to read it again.
        name: The id that it gave its chain when it could be read last; empty when it never could.
        chain_id: The chain that is in service for it; None for none.
        problems: What is wrong with it.
        reads: Other files that were read while its chain was made.
    """

    stamp: Stamp | None = None
    name: str = ""
    chain_id: str | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    reads: dict[Path, Stamp | None] = field(default_factory=dict[Path, "Stamp | None"])
    is_chain: bool = True
    is_disabled: bool = False


class Folder:
    """Keeps the chains of an engine as the files of a folder are, each time it is asked to look.

    Args:
        chains: The engine.
        path: The folder.
    """

    def __init__(self, chains: Chains, path: Path) -> None:
        self.path = path
        self._chains = chains
        self._files: dict[Path, _File] = {}
        self._lock = Lock()

    def refresh(self, remove: Callable[[str], None] | None = None) -> FolderReport:
        """Look at the files, and take over what has changed since the last look.

        Args:
            remove: Takes a chain out of service; `Engine.remove` if absent.

        Raises:
            EngineError: When there is no such folder.
        """
        self.check()
        with self._lock:
            look = _Look(self._chains, self.path, self._files)
            report = look.take_over()
            for chain_id in report.removed:
                with suppress(EngineError):  # the host is just stopping it
                    (remove or self._chains.remove)(chain_id)
            return report

    def check(self) -> None:
        """See that the folder is there. Raises: EngineError: when it is not."""
        if not self.path.is_dir():
            raise EngineError(f"there is no folder {str(self.path)!r}", hint="look at the path")

    def file_of(self, chain_id: str) -> Path | None:
        """Give the file of a chain that is in service for this folder; `None` when there is none."""
        return next((path for path, file in list(self._files.items()) if file.chain_id == chain_id), None)

    @property
    def read_folders(self) -> set[Path]:
        """The folders of files that were read while chains were made."""
        return {read.parent for file in self._files.values() for read in file.reads}


class _Look:
    """One look at a folder."""

    def __init__(self, chains: Chains, folder: Path, files: dict[Path, _File]) -> None:
        self.chains = chains
        self.folder = folder
        self.files = files
        self.loaded: list[str] = []
        self.reloaded: list[str] = []
        self.removed: list[str] = []
        self.fresh: list[str] = []

    def take_over(self) -> FolderReport:
        found = list(chain_files(self.folder))
        served = {file.chain_id for file in self.files.values() if file.chain_id is not None}
        for path in [path for path in self.files if path not in set(found)]:
            del self.files[path]
        before = {path: [problem.text for problem in self.files[path].problems] for path in found if path in self.files}
        read = {path: self._read(path) for path in found if self._needs_reading(path)}
        documents = {path: document for path, document in read.items() if document is not None}
        owners = self._owners(found, documents)
        for path, document in documents.items():
            self._serve(path, document, owners, served)
        for path, file in self.files.items():
            if file.chain_id is not None and owners.setdefault(file.chain_id, path) != path:
                file.chain_id = None  # another file has it
            if file.problems and [problem.text for problem in file.problems] != before.get(path):
                self.fresh.append(str(path))
        self.removed += sorted(one for one in served - owners.keys() if one in self.chains.chains)
        return self._report()

    def _needs_reading(self, path: Path) -> bool:
        """Tell whether a file, or one read with it, has changed; one with problems may be right by now."""
        file = self.files.setdefault(path, _File())
        if file.stamp is None or file.problems or file.stamp != stamp_of(path):
            return True
        return any(stamp != stamp_of(read) for read, stamp in file.reads.items())

    def _owners(self, found: list[Path], documents: dict[Path, Document]) -> dict[str, Path]:
        """Give the file of each chain: the one that has had it and still has it, else the first that names it."""
        names = {path: id_of(path, document) for path, document in documents.items()}
        wanted = {path: names.get(path, self.files[path].chain_id) for path in found}
        owners: dict[str, Path] = {}
        for had_it in (True, False):
            for path, chain_id in wanted.items():
                if chain_id is not None and (self.files[path].chain_id == chain_id) is had_it:
                    owners.setdefault(chain_id, path)
        return owners

    def _report(self) -> FolderReport:
        present = self.chains.chains
        names = {str(path): file for path, file in self.files.items()}
        return FolderReport(
            {
                one.chain_id: present[one.chain_id]
                for one in self.files.values()
                if one.chain_id is not None and one.chain_id in present
            },
            tuple(self.loaded),
            tuple(self.reloaded),
            tuple(self.removed),
            tuple(name for name, file in names.items() if file.is_disabled),
            {name: file.problems for name, file in names.items() if file.problems},
            {
                str(path): file.name or id_of(path)
                for path, file in self.files.items()
                if file.problems or file.is_disabled
            },
            tuple(name for name, file in names.items() if not file.is_chain),
            tuple(self.fresh),
        )

    def _read(self, path: Path) -> Document | None:
        """Read a file. Returns: its document, when that is a chain to be in service."""
        from catenary.load import read

        file = self.files[path]
        file.stamp = stamp_of(path)
        file.problems, file.is_chain, file.is_disabled = [], True, False
        try:
            self._check_place(path)
            document = read(path) if may_be_chain(path) else None
        except ChainError as error:
            file.problems = problems_of(error, path)
            return None
        file.is_chain = document is not None and is_chain(document)
        if document is not None and file.is_chain:
            file.name = id_of(path, document)
        if document is not None and file.is_chain and not document.definition.disabled:
            return document
        file.is_disabled = file.is_chain
        if file.is_disabled or file.chain_id is None:
            file.chain_id = None
        else:  # half written, perhaps
            text = f"{path} is no chain any more: it has neither ruleChain nor metadata"
            file.problems = [Problem("chain.shape", text, "delete the file to stop its chain", str(path), 1, 1)]
        return None

    def _serve(self, path: Path, document: Document, owners: dict[str, Path], served: set[str]) -> None:
        """Bring the chain of a file into service."""
        file, chain_id = self.files[path], id_of(path, document)
        if owners[chain_id] != path:
            file.problems = [same_id(chain_id, owners[chain_id], path)]
            return
        is_known = chain_id in served
        reads: dict[Path, Stamp | None] = {}
        try:
            with noting(reads):
                (self.chains.reload if is_known else self.chains.load)(document, id=chain_id)
        except EngineError:
            file.stamp = None  # the chain is just being stopped
        except Exception as error:
            file.problems = problems_of(error, path)
        else:
            file.chain_id = chain_id
            (self.reloaded if is_known else self.loaded).append(chain_id)
        file.reads = reads

    def _check_place(self, path: Path) -> None:
        root = os.path.realpath(self.folder)
        real = os.path.realpath(path)
        if os.path.commonpath([root, real]) != root:
            hint = "put the file itself there, or load it by its own path"
            raise ChainError(f"the link leads out of the folder, to {real}", file=str(path), hint=hint)


def folder_of(chains: Chains, path: str | Path) -> Folder:
    """Give what an engine knows of a folder; the same again for the same folder."""
    folders = chains.folders
    real = Path(os.path.realpath(path))
    if real not in folders:
        folders[real] = Folder(chains, Path(path))
    return folders[real]
