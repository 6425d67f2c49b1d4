"""The files that a file of chain tests names, seen from where it lies: the chain, and what is loaded before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary.life.chainfiles import TEST_SUFFIXES
from catenary.life.parts import Parts, chains_in, split_component

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from catenary.errors import Problem
    from catenary.testing.chains.model import Suite

_CHAIN_SUFFIXES: Final = (".yaml", ".yml", ".json")


class NamedFiles:
    """Looks for the files that a file of chain tests names.

    Args:
        path: The file of chain tests.
        suite: What it says.
        problem: Makes a problem of code, text, steps and hint.

    Attributes:
        problems: Those that are not there.
    """

    def __init__(self, path: Path, suite: Suite, problem: Callable[..., Problem]) -> None:
        self._path = path
        self._suite = suite
        self._problem = problem
        self.problems: list[Problem] = []

    def chain(self) -> Path:
        """Give the file of the chain: the one that is named, else the one beside this file."""
        path, suite = self._path, self._suite
        suffix = next((suffix for suffix in TEST_SUFFIXES if path.name.endswith(suffix)), path.suffix)
        stem = path.name.removesuffix(suffix)
        candidates = [suite.chain] if suite.chain else [stem + suffix for suffix in _CHAIN_SUFFIXES]
        for name in candidates:
            if (path.parent / name).is_file():
                return path.parent / name
        steps = ("chain",) if suite.chain else ()
        text = (
            f"there is no file {candidates[0]}" if suite.chain else f"there is no {' or '.join(candidates)} beside it"
        )
        hint = "name the file of the chain with `chain`, seen from this file"
        self.problems.append(self._problem("test.no-chain", text, *steps, hint=hint))
        return path.parent / candidates[0]

    def parts(self) -> Parts:
        """Give what is loaded before the chain."""
        suite = self._suite
        components = [split_component(given) for given in suite.components]
        files = self._there("components", [file for _, file in components])
        chains = [*self._there("load", suite.load), *self._there("chains", suite.chains, may_be_folder=True)]
        return Parts(
            tuple(zip((name for name, _ in components), files, strict=True)),
            tuple(self._there("shared", suite.shared)),
            tuple(chains),
            tuple(self._there("tools", suite.tools)),
        )

    def _there(self, key: str, names: Iterable[str], *, may_be_folder: bool = False) -> Iterator[Path]:
        for index, name in enumerate(names):
            path = self._path.parent / name
            text = "" if path.is_file() else f"there is no file {name}"
            if may_be_folder and path.is_dir():
                text = "" if chains_in(path) else f"there are no chains in {name}"
            if text:
                hint = f"files under `{key}` are seen from this file"
                self.problems.append(self._problem("test.no-chain", text, key, index, hint=hint))
            yield path


def chain_files_of(parts: Parts, chain: Path) -> tuple[Path, ...]:
    """Give the files of the other chains, each once, without the chain itself."""
    found = {path.resolve(): path for given in parts.chains for path in chains_in(given)}
    found.pop(chain.resolve(), None)
    return tuple(found.values())
