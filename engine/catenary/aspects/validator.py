"""`Validator`: the rules of the host program, which chains must keep to be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from catenary.aspects.base import Aspect, Objection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from catenary.definition import ChainDefinition

Rule: TypeAlias = "Callable[[ChainDefinition], str | Objection | Iterable[str | Objection] | None]"
"""Gives what is wrong with a chain: a text, an `Objection` that names a node, several of them, or nothing."""


class Validator(Aspect):
    """Has chains looked at by rules, when they are checked, loaded and reloaded. All that is wrong is reported.

    What holds for every chain, such as that there are no cycles, is looked at without any rule.

    Args:
        rules: The rules; `engine.rule` adds more.
    """

    order = 10

    def __init__(self, *rules: Rule) -> None:
        self.rules: list[Rule] = list(rules)

    def objections(self, definition: ChainDefinition, /) -> list[Objection]:
        """Give what the rules say of a chain; what a rule raises is an objection, too."""
        found: list[Objection] = []
        for rule in self.rules:
            try:
                said = rule(definition)
                given = [said] if isinstance(said, (str, Objection)) else list(said or ())
            except Objection as objection:
                given = [objection]
            except Exception as error:
                given = [f"the rule {getattr(rule, '__name__', rule)!r} raised {type(error).__name__}: {error}"]
            found += [Objection(one) if isinstance(one, str) else one for one in given if one]
        return found
