"""Chains in files that the settings of nodes name: what is wrong with them is told with the chain that names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final, cast

from catenary.errors import ChainError, Problem
from catenary.load.names import closest, misspelt
from catenary.load.places import same_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.load.lint import Report
    from catenary.load.places import Path
    from catenary.load.settings import Settings
    from catenary.registry import Registry

_BEGINS: Final = "a path begins at the folder of the chain"
SUFFIXES: Final = (".json", ".yaml", ".yml")
"""How the name of a file ends; another name is the id of a chain."""


class NamedFiles:
    """Looks into the files that the nodes of one chain name, and into those that these name.

    Args:
        report: Gets what is wrong with a name; what is wrong in a file is in `problems`.
        registry: Where node types are looked up.
        settings: What the engine brings.
        around: The files of the chains around this one, the outermost first.
    """

    def __init__(self, report: Report, registry: Registry, settings: Settings, around: tuple[FilePath, ...]) -> None:
        self._report = report
        self._registry = registry
        self._settings = settings
        file = report.document.file
        self._around = (*around, FilePath(file).resolve()) if file else around
        self.problems: list[Problem] = []

    def look(
        self, option: str, own: Sequence[str], values: Json, base: Path, label: str, environment: Environment
    ) -> None:
        """Look into what one option of a node names, unless that is the id of a chain.

        Args:
            option: The option, such as `mode` or `permission.guard`.
            own: Names that it may have besides.
            values: The configuration of the node, with placeholders put in.
            base: The path of the configuration.
            label: The node, as texts name it.
            environment: Which files the node may read.
        """
        for key in option.split("."):
            members = cast("dict[str, Json]", values) if isinstance(values, dict) else {}
            values = members.get(same_key(members, key) or key)
        if not isinstance(values, str) or not values:
            return
        place, name = self._report.document.path_to(base, *option.split(".")), option.rpartition(".")[2]
        if not values.endswith(SUFFIXES):
            if values not in own and (hint := self._meant(values, own, environment)):
                text = f"{label}: {name}: no chain is called {values!r}"
                self._report.add("config.unknown-name", place, text, hint)
            return
        path, wrong, hint = self._located(values, name, environment)
        if wrong:
            self._report.add("config.invalid", place, f"{label}: {name}: {wrong}", hint)
        elif path is not None:
            self.problems += self._inside(path)

    def _located(self, name: str, option: str, environment: Environment) -> tuple[FilePath | None, str, str]:
        """Find a file. Returns: where it is, or what is wrong with its name, and a hint."""
        from catenary.expr.files import locate
        from catenary.expr.kinds import EvaluationError

        try:
            path = locate(name, environment)
        except EvaluationError as error:
            return None, str(error), ""
        if path is None:
            close = closest(name, _files_near(name, environment))
            return (
                None,
                f"there is no file {name!r}",
                _BEGINS if close is None else f"did you mean {close!r}? {_BEGINS}",
            )
        if path in self._around:
            text = f"the chain in {path.name!r} has a node that uses this same chain"
            return None, text, f"give that node another `{option}`"
        return path, "", ""

    def _meant(self, name: str, own: Sequence[str], environment: Environment) -> str:
        """Give what was probably meant by the id of a chain that is not loaded; empty when it may be one."""
        from catenary.expr.files import file_exists

        has_chain = self._settings.has_chain
        if has_chain is not None and has_chain(name):
            return ""
        file = next(
            (name + suffix for suffix in SUFFIXES if "/" in name and file_exists(name + suffix, environment)), ""
        )
        meant = file or misspelt(name, own)
        return f"did you mean {meant!r}?" if meant else ""

    def _inside(self, path: FilePath) -> list[Problem]:
        """Give what is wrong in a file."""
        from catenary.load.build import assemble
        from catenary.load.document import read

        file = self._shown(path)
        try:
            document = read(path, file=file)
        except ChainError as error:
            return [Problem(error.code, str(error), error.hint, file, error.line or 1, error.column or 1)]
        settings = self._settings
        if settings.for_file is not None:
            document, settings = settings.for_file(document)
            settings = replace(settings, has_chain=self._settings.has_chain)
        return assemble(document, self._registry, settings, around=self._around).problems

    def _shown(self, path: FilePath) -> str:
        """Give the name of a file as the chain that names it is called: relative when that is."""
        folder = FilePath(self._report.document.file).parent
        try:
            return str(folder / path.relative_to(folder.resolve()))
        except ValueError:
            return str(path)


def _files_near(name: str, environment: Environment) -> list[str]:
    """Give the names of the files that lie where a file is not, written as its name is."""
    from catenary.expr.files import locate_folder

    folder = locate_folder(str(FilePath(name).parent), environment)
    beside = sorted(folder.iterdir()) if folder else ()
    return [str(FilePath(name).with_name(path.name)) for path in beside if path.suffix in SUFFIXES]
