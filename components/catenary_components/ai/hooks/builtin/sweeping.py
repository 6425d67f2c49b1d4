"""Take old files out of the folder of a memory."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.paths import PathEscape

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary_components.ai.tools.builtin.paths import PathPolicy

SESSIONS: Final = "sessions"
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_EVERY_MS: Final = 6 * 3600 * 1000


@dataclass(slots=True)
class Sweeper:
    """Knows what is old, and when it was looked for last.

    Attributes:
        days: So long the file of a day is kept; 0 for ever.
        session_days: So long a file of messages is kept to which nothing comes; 0 for ever.
    """

    days: int
    session_days: int
    _last_ms: int | None = None

    def is_due(self, now_ms: int) -> bool:
        """Whether it is time to look: at most once in six hours. It counts as looked at."""
        if not (self.days or self.session_days) or (self._last_ms is not None and now_ms < self._last_ms + _EVERY_MS):
            return False
        self._last_ms = now_ms
        return True

    def sweep(self, policy: PathPolicy, folder: str, now_ms: int) -> None:
        """Delete what is old. Files of other names are left alone, and what cannot be deleted stays. It blocks."""
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        if self.days:
            first = now.date() - timedelta(days=self.days)
            _delete(policy, folder, lambda name, _: (day := _day(name)) is not None and day < first)
        if self.session_days:
            oldest = (now - timedelta(days=self.session_days)).timestamp()
            _delete(policy, f"{folder}/{SESSIONS}", lambda name, changed: name.endswith(".jsonl") and changed < oldest)


def _day(name: str) -> date | None:
    found = _DAY.fullmatch(name)
    with suppress(ValueError):
        return date.fromisoformat(found.group(1)) if found else None
    return None


def _delete(policy: PathPolicy, folder: str, is_old: Callable[[str, float], bool]) -> None:
    with suppress(OSError, PathEscape, ToolFailure):
        real = Path(policy.resolve(folder, writes=True))
        names = [path.name for path in real.iterdir()]
        with policy.folder(str(real)) as handle:  # what is deleted is in this folder, whatever becomes of its name
            for name in names:
                _delete_file(name, handle, is_old)


def _delete_file(name: str, handle: int, is_old: Callable[[str, float], bool]) -> None:
    with suppress(OSError):
        if is_old(name, os.stat(name, dir_fd=handle, follow_symlinks=False).st_mtime):
            os.unlink(name, dir_fd=handle)
