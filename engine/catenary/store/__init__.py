"""What outlives a process: files of records, such as the history of runs. Nothing here is opened unless asked for."""

from __future__ import annotations

from catenary.store.places import default_file
from catenary.store.sqlite import Database, Migrations

__all__ = ["Database", "Migrations", "default_file"]
