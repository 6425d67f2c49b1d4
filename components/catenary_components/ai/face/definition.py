"""The chain that an agent written in Python is: one `ai/agent` node, and its settings."""

from __future__ import annotations

import re
from copy import deepcopy
from itertools import count
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from catenary.errors import EngineError
from catenary.load.decode import UNKNOWN_OPTION, decode
from catenary.load.names import did_you_mean
from catenary_components.ai.agent import AgentConfig
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.presets import PRESETS
from catenary_components.ai.tools.builtin import BUILTINS
from catenary_components.ai.trusted import trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary import Engine
    from catenary.jsontext import Json

NODE_ID: Final = "agent"
_CALLS_A_ROUND: Final = 5
_MOST_STEPS: Final = 150


def chain_of(chain_id: str, name: str, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Give the definition of a chain with one agent."""
    node: dict[str, Json] = {"id": NODE_ID, "type": "ai/agent", "name": name, "configuration": deepcopy(dict(settings))}
    chain: dict[str, Json] = {"id": chain_id, "name": name, "root": True}
    return {"ruleChain": chain, "metadata": {"firstNodeIndex": 0, "nodes": [node], "connections": []}}


def chain_id_of(name: str) -> str:
    """Give the id of an agent's chain: its name in small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or NODE_ID


def own_settings(
    name: str, preset: str, max_iters: int | None, *, check_running: bool | None, store: str | None
) -> dict[str, Json]:
    """Give what the arguments of an `Agent` say that are no options of the node, as its settings.

    Args:
        name: The agent, in the keys of its sessions.
        preset: Whose defaults hold for what is not said.
        max_iters: Most rounds of tools; the preset's if absent.
        check_running: Whether a call fails while another uses its session; as the preset says if absent.
        store: Where sessions are kept; `None` for an agent without memory.

    Raises:
        TypeError: When there is no such preset.
        ValueError: When `max_iters` is no number of rounds.
    """
    if preset not in PRESETS:
        raise TypeError(f"there is no preset {preset!r}; {did_you_mean(preset, PRESETS, ', '.join(PRESETS))}")
    if max_iters is not None and max_iters < 1:
        raise ValueError(f"max_iters must be at least 1, not {max_iters}; max_rounds=0 is no limit")
    found: dict[str, Json] = {"preset": preset}
    if max_iters is not None:
        found["maxRounds"] = max_iters
        if max_iters * _CALLS_A_ROUND > _MOST_STEPS:
            found["maxStep"] = max_iters * _CALLS_A_ROUND + 1
    if store is not None:
        busy: dict[str, Json] = {} if check_running is None else {"whenBusy": "fail" if check_running else "queue"}
        found["session"] = {"store": store, "agent": name, **busy}
    return found


def trust_files(engine: Engine, settings: Mapping[str, Json]) -> None:
    """Let sessions be kept, and prices be read, where the program says."""
    session = settings.get("session")
    store = cast("dict[str, Json]", session).get("store") if isinstance(session, dict) else None
    for name in (store, settings.get("prices")):
        if isinstance(name, str) and name:
            trust(engine, name)


def with_eviction(settings: dict[str, Json], preset: str, folder: str) -> dict[str, Json]:
    """Give settings by which long results of tools are put into a folder, if there is one."""
    if not folder:
        return settings
    config: dict[str, Json] = {"workDir": folder}
    for one in PRESETS.get(preset, {}).get("hooks", ()):
        config = {**one["config"], **config, "needsFolder": True}
    hook: dict[str, Json] = {"name": "eviction", "config": config}
    return {**settings, "hooks": [hook, *cast("list[Json]", settings.get("hooks") or [])]}


def laid_over(own: dict[str, Json], given: dict[str, Json]) -> dict[str, Json]:
    """Lay the options that an agent is given over its own settings; what they say of its session is added."""
    session, said = own.get("session"), given.get("session")
    if isinstance(session, dict) and isinstance(said, (dict, str)):
        given = {**given, "session": {**session, **(said if isinstance(said, dict) else {"key": said})}}
    return {**own, **given}


def settings_of(options: Mapping[str, Any]) -> dict[str, Json]:
    """Give options by the names that files have; so are those of objects in them.

    Raises:
        TypeError: When an agent has no such option.
    """
    for name in options:
        if name not in AgentConfig.model_fields:
            raise TypeError(f"an agent has no option {name!r}; {_near(name)}")
    return {to_camel(name): _written(value) for name, value in options.items() if value is not None}


def check_names(settings: Mapping[str, Json]) -> None:
    """Look for names inside of options that nobody knows. Raises: TypeError: when there is one."""
    _, _, doubts = decode(AgentConfig, dict(settings), None)
    for doubt in doubts:
        if doubt.code == UNKNOWN_OPTION:
            place = ".".join(map(str, doubt.path[:-1]))
            raise TypeError(f"{place}: {doubt.text}" + (f"; {doubt.hint}" if doubt.hint else ""))


def _written(value: Any) -> Json:
    if isinstance(value, dict):
        return {to_camel(key): _schema_of(one) for key, one in cast("dict[str, Any]", value).items()}
    return value


def _schema_of(value: Any) -> Json:
    """Give the JSON Schema of a pydantic class, and anything else as it is."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    return cast("Json", value)


def _near(name: str) -> str:
    known = [*AgentConfig.model_fields, "max_iters", "check_running", "store", "folder"]
    return did_you_mean(name, known, "the page of the component ai/agent lists them, in camelCase")


def hook_entries(hooks: Any, engine: Engine) -> Json:
    """Give hooks as a chain names them; objects among them are given to the engine, each under a name of its own."""
    given: Iterable[Any] = [hooks] if isinstance(hooks, (AgentHook, str, dict, type)) else hooks or ()
    return [_hook_entry(hook, engine) for hook in given] or None


def _hook_entry(hook: Any, engine: Engine) -> Json:
    if isinstance(hook, type) and issubclass(hook, AgentHook):
        hook = hook()
    if isinstance(hook, AgentHook):
        return _hook_name(hook, engine)
    if isinstance(hook, (str, dict)):
        return cast("Json", hook)
    raise EngineError(
        f"{hook!r} is no hook",
        hint="give an AgentHook, the name of one, or an object such as {'at': 'before_tool', 'chain': ...}; "
        "a function is the method of an AgentHook, or given to `engine.agent_hook` with a name",
    )


def _hook_name(hook: AgentHook, engine: Engine) -> str:
    known = next((given.name for given in engine.agent_hooks if given.hook is hook and given.name), "")
    if known:
        return known
    taken = {given.name for given in engine.agent_hooks}
    numbered = (f"{hook.name}-{number}" for number in count(2))
    name = hook.name if hook.name not in taken else next(name for name in numbered if name not in taken)
    engine.agent_hook(hook, name=name)
    return name


def tool_entries(tools: Iterable[Any], functions: list[Callable[..., Any]]) -> list[Json]:
    """Give the tools as a chain names them.

    Args:
        tools: Functions, names of functions or of built-in tools, and objects as in a chain; one needs no list.
        functions: Takes the functions.

    Raises:
        EngineError: When something cannot be a tool, or two functions have one name.
    """
    is_one = isinstance(tools, (str, dict)) or callable(tools)
    given = cast("Iterable[Any]", [tools] if is_one else tools)
    return [_tool_entry(tool, functions) for tool in given]


def _tool_entry(tool: Any, functions: list[Callable[..., Any]]) -> Json:
    if isinstance(tool, str):
        return {"type": "builtin", "name": tool} if tool in BUILTINS else tool
    if isinstance(tool, dict):
        return cast("dict[str, Json]", tool)
    if callable(tool):
        name = str(getattr(tool, "__name__", ""))
        if not name.isidentifier():
            raise EngineError(
                f"{tool!r} has no name by which a model could call it", hint="give a function with a name"
            )
        if any(other.__name__ == name and other is not tool for other in functions):
            raise EngineError(f"two tools are called {name!r}", hint="give one of the functions another name")
        functions.append(tool)
        return name
    raise EngineError(
        f"{tool!r} is no tool",
        hint="give a function, the name of one or of a built-in tool, or an object such as "
        "{'type': 'rulechain', 'name': ..., 'targetId': ...}",
    )
