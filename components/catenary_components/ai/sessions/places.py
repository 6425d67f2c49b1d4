"""From an address to what keeps sessions there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.errors import ConfigError
from catenary.expr import Environment
from catenary.expr.files import locate_folder
from catenary.expr.operators import EvaluationError
from catenary.message import metadata_text
from catenary_components.ai.trusted import is_trusted

if TYPE_CHECKING:
    from catenary import Chain, Engine
    from catenary_components.ai.sessions.store import SessionStore

PROPERTY: Final = "session_store"
_FILES: Final = "files:"
_SQLITE_ROOT: Final = "sqlite:////"
_REDIS: Final = ("redis://", "rediss://", "unix://")


def check_address(address: str) -> None:
    """Look whether an address can be one, without opening anything. Raises: ValueError: when it cannot."""
    address = address.strip()
    if address in {"", "memory"} or address.startswith(_FILES) or address.lower().startswith(_REDIS):
        return
    from catenary_components.external.sql.address import read_address

    try:
        read_address(address)
    except ValueError as error:
        text = str(error).replace("dsn", "the address")
        raise ValueError(f"is none of memory, files:FOLDER, Redis and a database: {text}") from None


def packages_of(address: str) -> dict[str, tuple[str, ...]]:
    """Give the packages that a store at an address needs, by what installs them."""
    address = address.strip()
    if address in {"", "memory"} or address.startswith((_FILES, "${")):
        return {}
    if address.lower().startswith(_REDIS):
        return {"catenary[redis]": ("redis",)}
    from catenary_components.external.sql.packages import PACKAGES

    return {"catenary[sql]": PACKAGES}


def open_store(address: str, chain: Chain) -> SessionStore:
    """Give the store at an address, for a chain. Nothing is connected yet.

    Args:
        address: See the option `store` of sessions; empty for what the engine's properties say, or else the memory.
        chain: Its folders are those that files may be in, unless the program has named the address itself.

    Raises:
        ConfigError: When there is no such store, or the chain may not use it.
        EngineError: When a package is missing.
    """
    address = address.strip() or metadata_text(chain.environment.properties.get(PROPERTY)).strip()
    engine: Engine = chain.engine
    environment = _anywhere(address) if is_trusted(engine, address) else chain.environment
    if address in {"", "memory"}:
        from catenary_components.ai.sessions.memory import memory_of

        return memory_of(engine)
    if address.startswith(_FILES):
        from catenary_components.ai.sessions.files import FileStore

        return FileStore(_folder(address.removeprefix(_FILES), environment))
    if address.lower().startswith(_REDIS):
        from catenary_components.ai.sessions.redis import RedisStore

        redis = RedisStore(address)
        engine.masker.add(*redis.secrets)
        return redis
    from catenary_components.ai.sessions.sql import open_database

    return open_database(address, environment, engine.masker)


def _anywhere(address: str) -> Environment:
    """Give what lets a file lie where an address says, seen from the current folder."""
    is_absolute = address.startswith(_SQLITE_ROOT) or Path(address.removeprefix(_FILES)).is_absolute()
    return Environment(roots=(Path("/") if is_absolute else Path.cwd(),))


def _folder(path: str, environment: Environment) -> Path:
    """Give the real path of a folder below those that a chain may use; it may be made yet, in one that is there."""
    name = Path(path).name
    try:
        found = locate_folder(path, environment)
        if found is None and name not in {"", ".."}:
            parent = locate_folder(str(Path(path).parent), environment)
            found = parent and parent / name
    except EvaluationError as error:
        hint = "a chain may use its own folder, `global.data_dir`, and the roots of the engine"
        raise ConfigError(f"store: {error}", hint=hint) from error
    if found is None or (found.exists() and not found.is_dir()) or found.is_symlink():
        raise ConfigError(f"store: there is no folder for {path!r}", hint="make the folder that it is to be in")
    return found
