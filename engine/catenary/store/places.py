"""Where the user's data is kept when nobody names a place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

DATA_DIR: Final = "CATENARY_DATA_DIR"
"""The environment variable that names the folder."""

STORE: Final = "CATENARY_STORE"
"""The environment variable that names the file itself."""

FILE_NAME: Final = "catenary.db"


def data_dir() -> Path:
    """Give the user's data folder, which may not exist yet.

    `CATENARY_DATA_DIR` names it; else it is `catenary` in the folder that the system has for such data:
    `$XDG_DATA_HOME` or `~/.local/share`, `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on Windows.

    It has nothing to do with `global.data_dir`, below which chains may read files: chains must not read records.
    """
    named = os.environ.get(DATA_DIR)
    return Path(named).expanduser() if named else _system_dir() / "catenary"


def default_file() -> Path:
    """Give the file of records: `CATENARY_STORE` when that is set, else `catenary.db` in the data folder."""
    named = os.environ.get(STORE)
    return Path(named).expanduser() if named else data_dir() / FILE_NAME


def _system_dir() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "share"
