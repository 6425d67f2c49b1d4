"""Names in the expressions and templates of settings that nothing has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from catenary.load.setting_parts import settings_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.expr import Environment
    from catenary.expr.advice import Doubt
    from catenary.load.places import Path


def unknown_names(config: Any, environment: Environment) -> Iterator[tuple[Path, str, Doubt]]:
    """Give each of them that is much like a known one.

    Args:
        config: The settings of a node.
        environment: What its expressions may use.

    Returns:
        Where the text stands in the settings, the text, and the name.
    """
    if "catenary.expr.validation" not in sys.modules:  # which no settings with expressions can do without
        return
    from catenary.expr import Expression, Template
    from catenary.expr.advice import doubtful, doubtful_parts

    def has_unknown(value: Any) -> bool:
        if isinstance(value, Template):
            return value.has_unknown
        return isinstance(value, Expression) and value.program.has_unknown

    for path, text in settings_that(has_unknown, config):
        source = str(text.source)
        find = doubtful_parts if isinstance(text, Template) else doubtful
        for doubt in find(source, environment):
            yield path, source, doubt
