"""The settings of an agent's hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from catenary.component import Config, option
from catenary.jsontext import Json  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from typing import Self


class HookConfig(Config):
    """One hook of an agent."""

    name: str = option(
        "", help="A hook registered with `engine.agent_hook(..., name=...)`, or one that comes with agents."
    )
    order: int | None = option(None, help="Where it stands among the others, the lowest outermost; its own if absent.")
    config: dict[str, Json] = option({}, help="Settings of a hook that comes with agents, or of the component.")
    at: str = option("", help="The point that a chain or a component fills.", examples=["before_tool", "after_agent"])
    chain: str = option("", help="The id of a chain that is run there.")
    component: str = option("", help="The type of a component that is run there.", examples=["jsTransform"])

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        given = [one for one in (self.name, self.chain, self.component) if one]
        if len(given) != 1:
            raise ValueError("a hook has either a name, or a chain, or a component")
        if bool(self.at) == bool(self.name):
            raise ValueError("`at` says which point a chain or a component fills; a hook with a name knows that itself")
        return self


class HookOptions(Config):
    """Settings of an agent's hooks."""

    hooks: list[HookConfig | str] = option(
        [],
        help="Hooks of this agent, besides those that the program gives to all: names, or objects.",
        examples=[["loop_guard", {"name": "logging", "order": 10}]],
    )
