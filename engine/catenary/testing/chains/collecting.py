"""Tests of chains as pytest sees them: a file, and in it the cases."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from catenary.errors import CatenaryError, ChainError, ChainInvalid
from catenary.life.parts import Parts, split_component
from catenary.testing.chains.reading import read_suite
from catenary.testing.chains.running import run_case, skipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catenary.testing.chains.reading import PlacedCase, SuiteFile
    from catenary.testing.chains.running import CaseResult


class CaseFailed(Exception):  # noqa: N818 - never seen outside pytest, which shows what it holds
    """A case of a chain test did not come out as expected."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__(result.text())
        self.result = result


class ChainTestFile(pytest.File):
    """A file of chain tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give the cases. Raises: ChainError: when the file cannot be read."""
        suite = read_suite(self.path, _parts(self.config))
        for placed in suite.cases:
            yield cast("Any", ChainTestItem).from_parent(self, name=placed.name, suite=suite, placed=placed)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Tell what is wrong with the file, without a stack trace."""
        error = excinfo.value
        return _told(error) if isinstance(error, CatenaryError) else super().repr_failure(excinfo)


class ChainTestItem(pytest.Item):
    """A case."""

    def __init__(self, *, suite: SuiteFile, placed: PlacedCase, **known: Any) -> None:
        cast("Any", super()).__init__(**known)
        self._suite = suite
        self._placed = placed
        reason = skipped(suite, placed)
        if reason:
            self.add_marker(pytest.mark.skip(reason=reason))

    def runtest(self) -> None:
        """Run the case. Raises: CaseFailed: when it does not come out as expected."""
        result = asyncio.run(run_case(self._suite, self._placed))
        if result.problems:
            raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Tell what was not as expected, without a stack trace."""
        error = excinfo.value
        if isinstance(error, CaseFailed):
            return f"{self._suite.path}:{self._placed.line}: {self.name}\n{error}"
        return _told(error) if isinstance(error, ChainError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Give where the case stands."""
        return self.path, self._placed.line - 1, self.name


def _parts(config: pytest.Config) -> Parts:
    """Give what the settings of pytest name, seen from their file."""
    folder = config.inipath.parent if config.inipath else config.rootpath
    components = map(split_component, config.getini("catenary_components"))
    return Parts(
        tuple((type_name, folder / file) for type_name, file in components),
        tuple(config.getini("catenary_shared")),
        tuple(config.getini("catenary_chains")),
        tuple(config.getini("catenary_tools")),
    )


def _told(error: CatenaryError) -> str:
    if isinstance(error, ChainInvalid):
        lines = [str(problem) + (f"\n  hint: {problem.hint}" if problem.hint else "") for problem in error.problems]
        return "\n".join(lines)
    place = f"{error.file}:{error.line}:{error.column}: " if isinstance(error, ChainError) and error.line else ""
    return place + str(error) + (f"\n  hint: {error.hint}" if error.hint else "")
