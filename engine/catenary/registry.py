"""The components by type name: an engine's own, over what is registered in this process and what packages bring."""

from __future__ import annotations

import logging
import threading
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from catenary.component import ComponentInfo, info_of, of_process, registered
from catenary.errors import EngineError
from catenary.load.names import did_you_mean
from catenary.promised import promised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catenary.component import Component, ComponentT
    from catenary.jsontext import Json

    Found = type[Component[Any]]

GROUP: Final = "catenary.components"
"""The entry-point group by which a package names the module that registers its components."""

_log = logging.getLogger(__name__)


class Registry:
    """Finds components; safe to use from many threads.

    It has two layers. Below are the components of the process, the same for all registries: those of `@register`, and
    those of the modules that installed packages name in the entry-point group `catenary.components`, which are imported
    when a type is asked for that is not there yet, or when all types are. What such a module does not register but
    promises (`catenary.promised`) is imported when its type is asked for. Above are components of this registry alone,
    and they win.

    Args:
        discover: False to see only what has been registered in this process.
    """

    def __init__(self, *, discover: bool = True) -> None:
        self._discovered = not discover
        self._lock = threading.Lock()
        self._own: dict[str, Found] = {}
        self._aliases: dict[str, str] = {}  # alias of this registry -> type
        self._hidden: set[str] = set()  # names of the layer below that are not seen here
        self._brought: dict[str, frozenset[str]] = {}  # entry point -> type names
        self.broken: dict[str, str] = {}
        """Packages whose components could not be imported: name of the entry point, and why."""

    # Finding

    def find(self, type_name: str) -> Found | None:
        """Give the component with this type name or alias; `None` when there is none."""
        component = self._look(type_name)
        if component is None and not self._discovered:
            self._discover()
            component = self._look(type_name)
        return component

    def _look(self, name: str) -> Found | None:
        component = self._own.get(name)
        if component is None and name in self._aliases:
            return self._look(self._aliases[name])
        return self._of_process(name) if component is None and name not in self._hidden else component

    def get(self, type_name: str) -> Found:
        """Give the component with this type name or alias.

        Raises:
            EngineError: When there is none; the hint names one that is spelt alike.
        """
        component = self.find(type_name)
        if component is None:
            raise EngineError(f"component not found. componentType={type_name}", hint=self.hint(type_name))
        return component

    def find_endpoint(self, type_name: str) -> Found | None:
        """Give the endpoint with this type name or alias, with or without `endpoint/` in front; `None` when none."""
        for name in (f"endpoint/{type_name}", type_name):
            found = self.find(name)
            if found is not None and self.is_endpoint(found):
                return found
        return None

    @staticmethod
    def is_endpoint(component: Found) -> bool:
        """Tell whether a component brings messages in, and so is no node."""
        return component.brings_in

    def endpoint_hint(self, type_name: str) -> str:
        """Say what to do about a type of endpoint that does not exist."""
        known = [name for name, one in self._all().items() if self.is_endpoint(one)]
        names = [name.removeprefix("endpoint/") for one in known for name in (one, *self.aliases(one))]
        listed = ", ".join(sorted(name.removeprefix("endpoint/") for name in known)) or "none"
        return did_you_mean(type_name.removeprefix("endpoint/"), sorted(names), f"the endpoints are: {listed}")

    def types(self, category: str | None = None) -> list[str]:
        """Give the type names, without aliases, sorted by category, order and name; all, or those of one category."""
        infos = [info_of(component) for component in self._all().values()]
        chosen = (info for info in infos if category in {None, info.category})
        return [info.type for info in sorted(chosen, key=lambda info: (info.category, info.order, info.type))]

    def own_types(self) -> set[Found]:
        """Give the components that were registered in this registry alone."""
        return set(self._own.values())

    def categories(self) -> list[str]:
        """Give the categories that have components, sorted."""
        return sorted({info_of(component).category for component in self._all().values()})

    def aliases(self, type_name: str) -> tuple[str, ...]:
        """Give the other names of a type. Raises: EngineError: when there is no such type."""
        info = info_of(self.get(type_name))
        own = [alias for alias, name in self._aliases.items() if name == info.type]
        return tuple(dict.fromkeys([*(name for name in info.aliases if self._look(name)), *own]))

    def hint(self, type_name: str) -> str:
        """Say what to do about a type that does not exist."""
        self._discover()
        known = {*self._own, *self._aliases, *registered, *promised} - self._hidden
        hint = did_you_mean(type_name, sorted(known), "`catenary components` lists all types")
        for name, reason in self.broken.items():
            hint += f"; the components of {name!r} are missing: {reason}"
        return hint

    def _all(self) -> Mapping[str, Found]:
        """Give all components by type."""
        self._discover()
        below = [component for name in [*registered, *promised] if (component := self._of_process(name))]
        seen = {name: one for one in below if self._look(name := info_of(one).type) is one}
        return seen | {info_of(component).type: component for component in list(self._own.values())}

    # Changing

    def register(self, type_name: str, **about: Any) -> Callable[[ComponentT], ComponentT]:
        """Register a component class in this registry alone: `@registry.register("log", category="action")`.

        A built-in component of the same name is replaced here, and nowhere else. What may be said besides is what
        `catenary.register` takes.

        Raises:
            EngineError: When this registry has the name already: `unregister` it first.
        """

        def decorate(component: ComponentT) -> ComponentT:
            facts: dict[str, Any] = {**about, "aliases": tuple(about.get("aliases", ()))}
            self.add(component, ComponentInfo(type_name, **facts))
            return component

        return decorate

    def add(self, component: Found, info: ComponentInfo | None = None) -> None:
        """Register a component class in this registry alone, under what it was registered with, or under `info`.

        Raises:
            EngineError: When this registry has one of the names already.
        """
        info = info or info_of(component)
        with self._lock:
            for name in (info.type, *info.aliases):
                if name in self._own or name in self._aliases:
                    raise EngineError(
                        f"the component already exists. componentType={name}",
                        hint="unregister it first, or choose another name",
                    )
            component.info = info
            self._own[info.type] = component
            self._aliases.update(dict.fromkeys(info.aliases, info.type))

    def replace(self, component: Found) -> None:
        """Register a component class in this registry alone, in the place of any other of its name."""
        info = info_of(component)
        with self._lock:
            self._own[info.type] = component
            self._aliases.update(dict.fromkeys(info.aliases, info.type))

    def unregister(self, name: str) -> None:
        """Take a component, an alias, or all components of a package (the name of its entry point) out.

        What is below this registry is hidden here, and stays for others; with a component of this registry gone, the
        one below is seen again. Aliases go with their component. Chains that are loaded keep what they have.

        Raises:
            EngineError: When there is no such component.
        """
        if self.find(name) is None:
            self._discover()
            if name not in self._brought:
                raise EngineError(f"component not found. componentType={name}", hint=self.hint(name))
            for type_name in sorted(self._brought[name]):
                if self._look(type_name) is not None:
                    self.unregister(type_name)
            return
        with self._lock:
            if name in self._aliases:
                del self._aliases[name]
            elif name in self._own:
                del self._own[name]
                self._aliases = {alias: target for alias, target in self._aliases.items() if target != name}
            else:
                self._hide(name)

    def _hide(self, name: str) -> None:
        info = info_of(registered[name])
        self._hidden.update({name} if name in info.aliases else {info.type, *info.aliases})
        if name == info.type:
            self._aliases = {alias: target for alias, target in self._aliases.items() if target != name}

    def alias(self, type_name: str, *names: str) -> None:
        """Give a type more names in this registry.

        Raises:
            EngineError: When there is no such type, or another component has one of the names.
        """
        primary = info_of(self.get(type_name)).type
        for name in names:
            if self.find(name) is not None:
                raise EngineError(
                    f"alias conflicts with existing component: {name}", hint="choose a name that is not taken"
                )
        with self._lock:
            self._aliases.update(dict.fromkeys(names, primary))

    # Describing

    def form(self, type_name: str) -> dict[str, Json]:
        """Give the form of a component for editors. Raises: EngineError: when there is no such type."""
        from catenary.load.form import form

        return {**form(self.get(type_name)), "aliases": list(self.aliases(type_name))}

    def forms(self, category: str | None = None, *, page: int = 1, size: int = 0) -> list[dict[str, Json]]:
        """Give the forms of all components, or of one category, sorted by category, order and type.

        Args:
            category: The category; all if absent.
            page: Which page, from 1.
            size: Forms on a page; 0 for all of them on one.

        Raises:
            EngineError: When the page is below 1 or the size below 0.
        """
        if page < 1 or size < 0:
            raise EngineError(f"there is no page {page} of size {size}", hint="pages count from 1; size 0 is all")
        types = self.types(category)
        chosen = types[(page - 1) * size : page * size] if size else types if page == 1 else []
        return [self.form(type_name) for type_name in chosen]

    def schema(self, type_name: str) -> dict[str, Json]:
        """Give the JSON Schema of a component's configuration. Raises: EngineError: when there is no such type."""
        from catenary.load.schema import config_schema

        return config_schema(self.get(type_name))

    def chain_schema(self) -> dict[str, Json]:
        """Give the JSON Schema of the whole chain language, with every component in it."""
        from catenary.load.schema import chain_schema

        return chain_schema([self.get(type_name) for type_name in self.types()])

    # Packages

    def _discover(self) -> None:
        if self._discovered:
            return
        with self._lock:
            if self._discovered:
                return
            for entry in entry_points(group=GROUP):
                before = set(registered)
                try:
                    import_module(entry.module)
                except Exception as error:  # one broken package must not take the others away
                    self._note_broken(entry.name, entry.module, f"{type(error).__name__}: {error}")
                self._brought[entry.name] = frozenset(_of_package(entry.module, before))
            self._discovered = True

    def _of_process(self, name: str) -> Found | None:
        try:
            return of_process(name)
        except Exception as error:  # one broken component must not take the others away
            package, module, _ = promised[name]
            self._note_broken(package, module, f"{type(error).__name__}: {error}")
            return None

    def _note_broken(self, name: str, module: str, reason: str) -> None:
        if self.broken.get(name) == reason:
            return  # told before
        self.broken[name] = reason
        _log.warning(
            "the components of %r (%s) are missing, they cannot be imported: %s",
            name,
            module,
            reason,
            extra={"package": name, "reason": reason},
        )


def _of_package(module: str, before: Sequence[str] | set[str]) -> set[str]:
    """Give the types that a package has registered: those that are new, and those whose class is from it."""
    top = module.partition(".")[0]
    of_it = [
        info_of(component).type
        for name, component in registered.items()
        if name not in before or component.__module__.partition(".")[0] == top
    ]
    return {*of_it, *(name for name, promise in promised.items() if promise.package == module)}
