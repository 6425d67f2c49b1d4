"""Chains as component types: `register_chain` for packages; `Engine.register_component` is for one engine."""

from __future__ import annotations

from catenary.dynamic.component import DynamicComponent, component_of, register_chain

__all__ = ["DynamicComponent", "component_of", "register_chain"]
