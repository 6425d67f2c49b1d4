"""The components by type name: what is registered in this process, and what installed packages bring."""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from catenary.component import info_of, registered
from catenary.errors import EngineError
from catenary.load.names import did_you_mean

if TYPE_CHECKING:
    from catenary.component import Component
    from catenary.jsontext import Json

GROUP: Final = "catenary.components"
"""The entry-point group by which a package names the module that registers its components."""

_log = logging.getLogger(__name__)


class Registry:
    """Finds components. All registries of a process see the same components; safe to use from many threads.

    The modules that installed packages name in the entry-point group `catenary.components` are imported when a type
    is asked for that is not registered yet, or when all types are.

    Args:
        discover: False to see only what has been registered in this process.
    """

    def __init__(self, *, discover: bool = True) -> None:
        self._discovered = not discover
        self._lock = threading.Lock()
        self.broken: dict[str, str] = {}
        """Packages whose components could not be imported: name of the entry point, and why."""

    def find(self, type_name: str) -> type[Component[Any]] | None:
        """Give the component with this type name or alias; `None` when there is none."""
        component = registered.get(type_name)
        if component is None and not self._discovered:
            self._discover()
            component = registered.get(type_name)
        return component

    def get(self, type_name: str) -> type[Component[Any]]:
        """Give the component with this type name or alias.

        Raises:
            EngineError: When there is none; the hint names one that is spelt alike.
        """
        component = self.find(type_name)
        if component is None:
            raise EngineError(f"component not found. componentType={type_name}", hint=self.hint(type_name))
        return component

    def types(self, category: str | None = None) -> list[str]:
        """Give the type names, without aliases, sorted by category and name; all, or those of one category."""
        self._discover()
        infos = {info.type: info for info in map(info_of, registered.values())}
        chosen = (info for info in infos.values() if category in {None, info.category})
        return [info.type for info in sorted(chosen, key=lambda info: (info.category, info.type))]

    def categories(self) -> list[str]:
        """Give the categories that have components, sorted."""
        self._discover()
        return sorted({info_of(component).category for component in registered.values()})

    def aliases(self, type_name: str) -> tuple[str, ...]:
        """Give the other names of a type. Raises: EngineError: when there is no such type."""
        return info_of(self.get(type_name)).aliases

    def hint(self, type_name: str) -> str:
        """Say what to do about a type that does not exist."""
        self._discover()
        hint = did_you_mean(type_name, registered, "`catenary components` lists all types")
        for name, reason in self.broken.items():
            hint += f"; the components of {name!r} are missing: {reason}"
        return hint

    def form(self, type_name: str) -> dict[str, Json]:
        """Give the form of a component for editors. Raises: EngineError: when there is no such type."""
        from catenary.load.form import form

        return form(self.get(type_name))

    def schema(self, type_name: str) -> dict[str, Json]:
        """Give the JSON Schema of a component's configuration. Raises: EngineError: when there is no such type."""
        from catenary.load.schema import config_schema

        return config_schema(self.get(type_name))

    def chain_schema(self) -> dict[str, Json]:
        """Give the JSON Schema of the whole chain language, with every component in it."""
        from catenary.load.schema import chain_schema

        return chain_schema([self.get(type_name) for type_name in self.types()])

    def _discover(self) -> None:
        with self._lock:
            if self._discovered:
                return
            for entry in entry_points(group=GROUP):
                try:
                    import_module(entry.module)
                except Exception as error:  # one broken package must not take the others away
                    reason = f"{type(error).__name__}: {error}"
                    self.broken[entry.name] = reason
                    _log.warning(
                        "the components of %r (%s) are missing, they cannot be imported: %s",
                        entry.name,
                        entry.module,
                        reason,
                        extra={"package": entry.name, "reason": reason},
                    )
            self._discovered = True
