"""Tools that come with an agent: shell, files, web, list of tasks, clock, calculator, browser."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.tools.builtin.base import Builtin, Workplace
    from catenary_components.ai.tools.tool import Tool

BUILTINS: Final[Mapping[str, str]] = {
    "bash": "bash.Bash",
    "browser_use": "browser.BrowserUse",
    "calculator": "calculator.Calculator",
    "datetime": "date_time.DateTime",
    "edit": "edit.Edit",
    "fetch": "fetch.Fetch",
    "glob": "glob.Glob",
    "grep": "grep.Grep",
    "read": "read.Read",
    "todo": "todo.Todo",
    "write": "write.Write",
}
"""By the name of a tool, where its class is; it is imported when an agent lists it."""


def builtin_type(name: str) -> type[Builtin[Any, Any]] | None:
    """Give the class of a built-in tool; `None` when there is none of that name."""
    place = BUILTINS.get(name)
    if place is None:
        return None
    module, _, cls = place.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), cls)


def make(name: str, config: Mapping[str, Json], workplace: Workplace) -> Tool | None:
    """Make a built-in tool.

    Args:
        name: Its name.
        config: Its settings, as a chain has them; keys count without regard to case.
        workplace: Where it is made.

    Returns:
        `None` when there is no built-in tool of that name.

    Raises:
        ValueError: When settings are unknown or cannot be used; the text names the tool and each of them.
    """
    from catenary.load.decode import decode
    from catenary_components.ai.tools.builtin.base import ToolSettingError, as_tool

    found = builtin_type(name)
    if found is None:
        return None
    settings, problems, unknown = decode(found.config_type, dict(config), workplace.environment)
    if problems or unknown or settings is None:
        raise ValueError(f"builtin tool {name}: " + "; ".join(problem.text for problem in [*problems, *unknown]))
    try:
        return as_tool(found(settings, workplace))
    except ToolSettingError as error:
        raise ValueError(f"builtin tool {name}: {error}") from error
