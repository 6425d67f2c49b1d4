"""What outlives a process: files of records, such as the history of runs. Nothing here is opened unless asked for."""

from __future__ import annotations

from catenary.store.history import History
from catenary.store.places import default_file
from catenary.store.runs import Limits, Query, RunStore, RunSummary
from catenary.store.sqlite import Database, Migrations

__all__ = [
    "Database",
    "History",
    "Limits",
    "Migrations",
    "Query",
    "RunStore",
    "RunSummary",
    "default_file",
]
