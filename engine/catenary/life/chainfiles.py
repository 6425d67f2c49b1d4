"""Files that are chains: finding them in a folder, and telling what is wrong with them."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.errors import ChainError, ChainInvalid, Problem
from catenary.file_stamps import stamp_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from catenary.file_stamps import Stamp
    from catenary.jsontext import Json
    from catenary.load import Document

SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
TEST_SUFFIXES: Final = (".test.yaml", ".test.yml", ".test.json")
"""How the names of files of chain tests end."""


def chain_files(folder: Path) -> Iterator[Path]:
    """Give the files in a folder, and below it, that may be chains, by name; their contents are not looked at."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or name.lower().endswith(TEST_SUFFIXES):
                continue
            path = Path(where, name)
            if path.suffix.lower() in SUFFIXES and _may_be_read(path):
                yield path


def _may_be_read(path: Path) -> bool:
    """Tell whether something in a folder is no pipe, socket or device: reading one might never end."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True  # reading it says what is wrong


def may_be_chain(path: Path) -> bool:
    """Tell whether a file is worth being read as a chain: one that is large and something else takes time to parse."""
    try:
        content = path.read_bytes().lower()
    except OSError:
        return True  # reading it says what is wrong
    return b"rulechain" in content or b"metadata" in content


def is_chain(document: Document) -> bool:
    """Tell whether a document is meant to be a chain."""
    from catenary.load.places import same_key

    if not isinstance(document.value, dict):
        return False
    value: dict[str, Json] = document.value  # type: ignore[assignment]
    return any(same_key(value, key) is not None for key in ("ruleChain", "metadata"))


def same_ids(folder: Path) -> list[Problem]:
    """Give a problem for each file whose chain has the id of another one in the folder."""
    from catenary.load import read

    first: dict[str, Path] = {}
    problems: list[Problem] = []
    for path in chain_files(folder):
        try:
            document = read(path) if may_be_chain(path) else None
        except ChainError:
            continue
        if document is not None and is_chain(document) and not document.definition.disabled:
            owner = first.setdefault(id_of(path, document), path)
            if owner != path:
                problems.append(same_id(id_of(path, document), owner, path))
    return problems


def problems_of(error: Exception, path: Path) -> list[Problem]:
    """Give an error as problems of a file."""
    if isinstance(error, ChainInvalid):
        return [problem for problem in error.problems if problem.severity == "error"]
    code, hint = getattr(error, "code", "chain.error"), getattr(error, "hint", "")
    line, column = getattr(error, "line", 0) or 1, getattr(error, "column", 0) or 1
    return [Problem(code, str(error), hint, str(path), line, column)]


def id_of(path: Path, document: Document | None = None) -> str:
    """Give the id of the chain in a file: its own, else the name of the file."""
    own = "" if document is None else document.definition.id
    return own or path.name.partition(".")[0]


def same_id(chain_id: str, owner: Path, path: Path) -> Problem:
    """Give the problem of a file whose chain has the id of one in another file."""
    text = f"the chain {chain_id!r} is in {owner} already, and also in {path}"
    return Problem("chain.duplicate-id", text, "give one of the two another id", str(path), 1, 1)


@contextmanager
def noting(reads: dict[Path, Stamp | None]) -> Generator[None]:
    """Note which files templates read meanwhile, each as it was before: what changes it from then on is news."""
    from catenary.expr.files import read_files

    def note(path: Path) -> None:
        if path not in reads:
            reads[path] = stamp_of(path)

    token = read_files.set(note)
    try:
        yield
    finally:
        read_files.reset(token)
