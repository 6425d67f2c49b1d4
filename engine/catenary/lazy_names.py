"""Names of a package that are imported when somebody first asks for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Give the `__getattr__` of a package.

    Args:
        package: Its name.
        homes: By a name, the module below the package that has it, such as `base` or `script.script`.
    """

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)  # so that nobody asks again
        return value

    return find
