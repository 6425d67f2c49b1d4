"""The part of an engine that is about chains as component types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary.chain import Chain
    from catenary.component import Component
    from catenary.life.pool import ChainPool, Source
    from catenary.registry import Registry


class ComponentHost:
    """Chains as component types of one engine."""

    _pool: ChainPool

    @property
    def registry(self) -> Registry:
        """Where node types are looked up."""
        raise NotImplementedError

    def register_component(self, type_name: str, source: Source, *, aliases: Sequence[str] = ()) -> None:
        """Register a chain as a component type: nodes of the type run it, with their options as its variables.

        The type is there for this engine only; `catenary.dynamic.register_chain` registers one for all. Take it out
        with `engine.registry.unregister(type_name)`.

        Args:
            type_name: The node type. A built-in one of the same name is replaced in this engine.
            source: The chain, as for `load`. Of its `additionalInfo` count `category`, `icon`, `description`,
                `version`, `relationTypes` and `inputSchema`, whose properties are the options.
            aliases: Other names of the type.

        Raises:
            ChainError: As for `load`, as far as it can be told without the options of a node.
            EngineError: When this engine has a type of that name already, or the `inputSchema` is none.
        """
        from catenary.dynamic.component import component_of

        self.registry.add(component_of(type_name, source, aliases=aliases))

    def reload_component(self, type_name: str, source: Source) -> list[Chain]:
        """Replace a chain that is a component type, and make another version of every chain that has such nodes.

        Endpoints that send to such a component send to the new one.

        Messages in flight finish on what they began on.

        Args:
            type_name: The node type, or an alias.
            source: The chain, as for `register_component`.

        Returns:
            The chains that have a new version.

        Raises:
            EngineError: When there is no such type, or it is no chain.
            ChainError: When the chain has errors; the type stays as it is.
            ChainInvalid: When chains with such nodes cannot be made with it: they stay as they are, the others are
                replaced, and so is the type.
        """
        from catenary.dynamic.component import DynamicComponent, component_of

        registry = self.registry
        present = registry.get(type_name)
        info = present.info
        if info is None or not issubclass(present, DynamicComponent):
            raise EngineError(f"the component {type_name!r} is no chain", hint="only chains can be replaced by chains")
        made = component_of(info.type, source, aliases=registry.aliases(info.type))
        registry.replace(made)

        def uses(types: Iterable[str]) -> bool:
            return self._uses(types, info.type)

        users = [chain.id for chain in list(self._pool.present.values()) if uses(_types_of(chain))]
        return self._pool.reload_all(users, uses)

    def _uses(self, types: Iterable[str], type_name: str) -> bool:
        """Tell whether one of some types is this one, or is a chain with such nodes, however deep."""
        seen: set[Any] = set()
        waiting = list(types)
        while waiting:
            component = self.registry.find(waiting.pop())
            if component is None or component in seen:
                continue
            seen.add(component)
            if component.info is not None and component.info.type == type_name:
                return True
            waiting += _types_in(component)
        return False


def _types_of(chain: Chain) -> list[str]:
    """Give the types of the nodes of a chain, and of the components that its endpoints send to."""
    types = [node.type for node in chain.definition.nodes]
    return types + [name for endpoint in chain.endpoints for name in endpoint.component_types]


def _types_in(component: type[Component[Any]]) -> list[str]:
    from catenary.dynamic.component import DynamicComponent

    if not issubclass(component, DynamicComponent):
        return []
    return [node.type for node in component.document.definition.nodes]
