"""Earlier versions of files that were edited, numbered, in the folder `.history` of the work directory."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.files import read_bytes, write_bytes

if TYPE_CHECKING:
    from catenary_components.ai.tools.builtin.paths import PathPolicy

HISTORY_FOLDER: Final = ".history"
"""Where below the work directory they are."""


@dataclass(frozen=True, slots=True)
class Backups:
    """The earlier versions of one file.

    Attributes:
        policy: Opens files.
        real: The real path of the file.
        most: How many are kept.
    """

    policy: PathPolicy
    real: str
    most: int

    @property
    def folder(self) -> str:
        """The real path of the folder they are in."""
        shown = self.policy.shown(self.real).strip("/")
        return self.policy.resolve(f"{self.policy.work}/{HISTORY_FOLDER}/{shown}")

    def versions(self) -> list[int]:
        """Give their numbers, the earliest first."""
        with suppress(FileNotFoundError, NotADirectoryError), self.policy.folder(self.folder) as folder:
            reading = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
            try:
                return sorted(int(name) for name in os.listdir(reading) if name.isascii() and name.isdigit())  # noqa: PTH208
            finally:
                os.close(reading)
        return []

    def add(self, content: bytes) -> int:
        """Keep a version, and forget those that are too many; give its number."""
        if self.most <= 0:
            return 0
        versions = self.versions()
        number = versions[-1] + 1 if versions else 1
        write_bytes(self.policy, f"{self.folder}/{number}", content)
        with self.policy.folder(self.folder) as folder:
            for old in versions[: max(0, len(versions) + 1 - self.most)]:
                with suppress(FileNotFoundError):
                    os.unlink(str(old), dir_fd=folder)
        return number

    def read(self, version: int | None) -> tuple[int, bytes]:
        """Give a version, the latest if none is named. Raises: ToolFailure: when there is none."""
        versions = self.versions()
        if not versions:
            raise ToolFailure(f"No backups - {self.policy.shown(self.real)} was never edited")
        number = versions[-1] if version is None else version
        if number not in versions:
            known = ", ".join(map(str, versions))
            raise ToolFailure(f"No such backup - {Path(self.real).name} has the versions {known}")
        return number, read_bytes(self.policy, f"{self.folder}/{number}")
