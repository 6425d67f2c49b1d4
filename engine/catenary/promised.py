"""Components that a package promises: each is imported when a chain first names its type.

Registering is importing, and importing some fifty components, agents among them, takes longer than most chains run. A
package with many of them says in its `__init__.py` where each is, and leaves the importing to who needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Promise(NamedTuple):
    """Where a component is."""

    package: str
    module: str
    name: str

    def fetch(self) -> Any:
        """Import the module and give the class. Raises: Exception: What importing it raises."""
        return getattr(import_module(self.module), self.name)


promised: Final[dict[str, Promise]] = {}
"""By type name and by alias, as in `catenary.component.registered`; read it through `catenary.registry`."""


def promise(package: str, homes: Mapping[str, str]) -> None:
    """Promise components of a package.

    Args:
        package: Its name.
        homes: By type name, and by each alias, the module below the package and the class in it:
            `{"exprFilter": "filter.expr_filter:ExprFilter"}`.
    """
    for type_name, home in homes.items():
        module, _, name = home.partition(":")
        promised[type_name] = Promise(package, f"{package}.{module}", name)
