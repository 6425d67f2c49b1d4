"""What an agent does when nobody says otherwise: one table, by the kind of program through which it is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Preset: TypeAlias = Literal["node", "python", "agent_api", "gateway"]

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "node": {},
    "python": {
        "max_rounds": 10,
        "on_limit": "answer",
        "max_retries": 2,
        "retry_wait": 2.0,
        "max_tool_output_length": 80_000,
        "compaction": {"trigger_messages": 50, "reserved_tokens": 20_000, "keep_messages": 20},
        "permission": {"mode": "default"},
        "session": {"when_busy": "fail", "save_first": False, "window_tool_rounds": 0, "window_media": 0},
    },
    "agent_api": {
        "max_rounds": 10,
        "thinking_rounds": 5,
        "on_limit": "answer",
        "retries_by_error": {"rate_limit": 2, "server_error": 5, "network": 5},
        "retry_wait": 3.0,
        "retry_longest_wait": 60.0,
        "total_timeout": 600.0,
        "max_parallel_tools": 16,
        "max_calls_per_turn": 16,
        "max_tool_output_length": 16_000,
        "tool_output_cut": "middle",
        "turn_budget": 32_000,
        "direct_results": "withheld",
        "same_rounds": 3,
        "same_text": 4,
        "max_thoughts": 32_768,
        "hooks": ({"name": "eviction", "config": {"maxLength": 8_000, "preview": 800, "needsFolder": False}},),
        "compaction": {
            "trigger_messages": 0,
            "trigger_rounds": 25,
            "trigger_characters": 200_000,
            "trigger_round_characters": 32_000,
        },
        "permission": {"mode": "listed", "checks": ["builtin"]},
        "session": {"when_busy": "queue", "window_messages": -1, "window_tool_rounds": 0, "window_media": 0},
    },
    "gateway": {
        "on_limit": "answer",
        "max_parallel_tools": 1,
        "max_tool_output_length": 50_000,
        "permission": {"mode": "listed"},
        "session": {
            "when_busy": "queue",
            "save_first": False,
            "window": 20,
            "window_tool_rounds": 0,
            "window_media": 0,
        },
    },
}
"""Options of `ai/agent` by preset. `node` is the options' own defaults."""

MOST_ROUNDS: Final[Mapping[str, int]] = {"agent_api": 100}
"""The ceiling of `maxRounds`; what is set above it is lowered to it."""

_GATEWAY_REACT: Final = {"max_rounds": 6, "calls_per_turn": "first"}
"""Of `gateway`, for the loop that goes round; the others have one round or none by the way they are wired."""

_GROUPS: Final = {"permission": "mode", "session": "key"}
"""Options that are objects, and the member that a text in their place means."""

_OBJECTS: Final = (*_GROUPS, "compaction", "retries_by_error")


def with_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the settings of an agent over those of the preset that they name.

    An option that is an object is filled up, not replaced. A session is none that nobody asked for.

    Args:
        given: What is set, by the names of fields.
    """
    name = str(given.get("preset") or "node")
    if name not in get_args(Preset) or name == "node":
        return dict(given)
    table = dict(PRESETS[name])
    if name == "gateway" and given.get("mode", "react") == "react":
        table |= _GATEWAY_REACT
    if not given.get("session"):
        table.pop("session", None)
    if "max_retries" in given:
        table.pop("retries_by_error", None)
    merged = {**table, **given}
    for option in _OBJECTS:
        if option in table and option in given:
            merged[option] = _filled(option, table[option], given[option])
    merged["hooks"] = [*_missing(table.get("hooks", ()), given.get("hooks")), *_listed(given.get("hooks"))]
    return _limited(merged, MOST_ROUNDS.get(name))


def _filled(option: str, below: Mapping[str, Any], value: Any) -> Any:
    """Lay one option that is an object over the preset's; what is neither it nor short for it stays as it is."""
    if isinstance(value, dict):
        return {**below, **cast("dict[str, Any]", value)}
    if option == "compaction":
        return dict(below) if value is True or str(value).strip().lower() == "true" else value
    if option not in _GROUPS:
        return value
    return {**below, _GROUPS[option]: value} if isinstance(value, str) and value.strip() else value


def _missing(below: tuple[Mapping[str, Any], ...], given: Any) -> list[Mapping[str, Any]]:
    """Give the hooks of a preset that an agent does not list itself."""
    names = {one if isinstance(one, str) else _name_of(one) for one in _listed(given)}
    return [one for one in below if one["name"] not in names]


def _name_of(hook: Any) -> str:
    return str(cast("dict[str, Any]", hook).get("name", "")) if isinstance(hook, dict) else ""


def _listed(given: Any) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else [] if given is None else [given]


def _limited(settings: dict[str, Any], most: int | None) -> dict[str, Any]:
    rounds = str(settings.get("max_rounds", "")).strip()  # the number may be written as text
    if most is not None and rounds.isdecimal() and int(rounds) > most:
        settings["max_rounds"] = most
    return settings
