"""Where the files of SQLite may be: below the folders that a chain may use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from catenary.errors import ConfigError
from catenary.expr.files import locate, locate_folder
from catenary.expr.kinds import EvaluationError

if TYPE_CHECKING:
    from catenary.expr import Environment
    from catenary_components.external.sql.address import Address


def confined(address: Address, environment: Environment) -> Address:
    """Give an address with the real path of its file, which may be made yet; other databases stay as they are.

    Raises:
        ConfigError: When the file is outside of the folders that the chain may use, or its folder is not there.
    """
    path = address.database
    if address.dialect != "sqlite" or path == ":memory:":
        return address
    try:
        found = locate(path, environment)
        if found is None:
            folder = locate_folder(str(Path(path).parent), environment)
            found = folder and folder / Path(path).name
    except EvaluationError as error:
        hint = "a chain may use its own folder, `global.data_dir`, and the roots of the engine"
        raise ConfigError(f"dsn: {error}", hint=hint) from error
    if found is None or found.is_symlink():
        raise ConfigError(f"dsn: there is no folder for {path!r}", hint="make the folder")
    return replace(address, database=str(found))
