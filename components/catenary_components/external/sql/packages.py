"""What has to be installed for databases: the extra `sql`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from catenary.errors import EngineError

PACKAGES: Final = ("sqlalchemy", "aiosqlite", "asyncpg", "aiomysql")


def need_packages(who: str) -> None:
    """Look whether the extra is installed. Raises: EngineError: when it is not; it says that `who` needs it."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        hint = "pip install 'catenary[sql]'"
        raise EngineError(f"{who} needs the package {missing[0]}: {hint}", hint=hint)
