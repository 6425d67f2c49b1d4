"""What a test leaves in its process goes with it: tests run in any order, and none sees another one's names."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from catenary.component import registered
from catenary.http import inprocess
from catenary.promised import promised
from catenary_components.ai.models import registry as models


@contextlib.contextmanager
def own_names(folder: Path) -> Generator[None]:
    """Forget at the end what was registered, what was put on the path, and the modules that lie under `folder`."""
    tables: list[Any] = [models._providers, models._instances, models._makers, inprocess._mocks, sys.path]
    before = [table.copy() for table in tables]
    modules = set(sys.modules)
    yield
    for table, then in zip(tables, before, strict=True):
        if table != then:
            table.clear()
            table.extend(then) if isinstance(table, list) else table.update(then)
    for name in sys.modules.keys() - modules:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


@contextlib.contextmanager
def no_components() -> Generator[None]:
    """Have no component of the process be known meanwhile, neither registered nor promised."""
    tables: list[dict[str, Any]] = [registered, promised]
    before = [table.copy() for table in tables]
    for table in tables:
        table.clear()
    try:
        yield
    finally:
        for table, then in zip(tables, before, strict=True):
            table.clear()
            table.update(then)
