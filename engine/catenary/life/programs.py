"""Programs of the user: the names and the functions that are written in a Python file."""

from __future__ import annotations

import importlib
import inspect
import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable


def names_of(place: str) -> dict[str, Any]:
    """Run a Python file, or import a module, and give its names; what lies beside the file can be imported in it.

    Raises:
        EngineError: When it cannot be run, or fails; the text says on which of its lines.
    """
    try:
        return _run(Path(place)) if place.endswith(".py") else vars(importlib.import_module(place))
    except (ImportError, OSError) as error:
        raise EngineError(f"{place!r} cannot be imported: {error}") from None
    except SyntaxError as error:
        raise EngineError(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        raise EngineError(f"{place!r} cannot be imported: {where}: {type(error).__name__}: {error}") from None


def functions_in(file: Path) -> list[Callable[..., Any]]:
    """Give the functions that are written in a Python file, but those whose names begin with `_`.

    Raises:
        EngineError: When it cannot be run, or there are none.
    """
    if file.suffix != ".py":
        raise EngineError(f"{str(file)!r} is no Python file", hint="give a file FILE.py with functions in it")
    found = [value for name, value in names_of(str(file)).items() if not name.startswith("_") and _is_of(value, file)]
    if not found:
        raise EngineError(f"there are no functions in {str(file)!r}", hint="each function in it is a tool")
    return found


def _is_of(value: object, file: Path) -> bool:
    return inspect.isfunction(value) and value.__module__ == file.stem


def _run(file: Path) -> dict[str, Any]:
    folder = str(file.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return runpy.run_path(str(file), run_name=file.stem)
