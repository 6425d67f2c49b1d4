"""Who is talked to: a chain file, an `Agent` of a Python program, or an assistant made on the spot."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from catenary.errors import EngineError
from catenary.life.chainfiles import id_of
from catenary.life.programs import names_of
from catenary.load import read
from catenary_components.ai.face import Agent
from catenary_components.ai.sessions.keys import SESSION_KEY
from catenary_components.chat import trial
from catenary_components.chat.members import suffixes

if TYPE_CHECKING:
    from catenary import Chain, Engine
    from catenary.definition import NodeDefinition
    from catenary.jsontext import Json
    from catenary.load import Document

_AGENT: Final = "ai/agent"
_PROMPT: Final = "You are a helpful assistant. The user talks to you at a terminal: answer in plain text, and be brief."
_MODEL_SETTINGS: Final = {"url", "key", "model", "failover", "fallbackmodel", "allowedmodels"}


def agent_of(named: str | None) -> Agent | None:
    """Give the `Agent` of a Python program that is named by its place, or by the file alone if it has but one; `None`
    when the name is no place in one.

    Raises:
        click.UsageError: When it is not there.
    """
    place, colon, attribute = (named or "").rpartition(":")
    is_place = colon and attribute.isidentifier() and not Path(named or "").exists()
    if named and named.endswith(".py") and Path(named).is_file():
        return _agent(named, "")
    return _agent(place, attribute) if is_place else None


def engine_for(agent: Agent | None, properties: dict[str, Json]) -> Engine:
    """Give the engine of a conversation: that of the agent, with all that its program has given it, or a new one.

    Args:
        agent: The agent that is named, if one is.
        properties: What chains see as `global`, before what the program has set.
    """
    from catenary import Engine
    from catenary.cli._parts import cache_of_environment

    if agent is None:
        return Engine(properties, cache=cache_of_environment(), endpoints=False)
    agent.engine.properties = {**agent.engine.properties, **properties}
    return agent.engine


def chain_of(engine: Engine, named: str | None, agent: Agent | None, model: str, store: str) -> Chain:
    """Load who is talked to.

    Args:
        engine: Takes the chain in.
        named: A chain file; an assistant if absent.
        agent: The agent that is named; its engine is that one.
        model: The model in place of the one that is written; empty for that one.
        store: Where sessions are kept, when the agent does not say so itself.

    Raises:
        click.UsageError: When there is nobody of that name.
        ChainError: When the chain has errors.
    """
    if agent is not None:
        for function in agent.functions:
            engine.tool(function)
        document = _remembering(read(agent.chain()), model, store)
        own_id = document.definition.id
        return engine.load(document, id=f"{own_id}.chat" if own_id in engine.chains else None)
    if named is None:
        tools = ["calculator", "datetime"]
        engine.allow_folder(Path.cwd())  # for the cassette of `--model mock:FILE`; none of the tools reads files
        agent = Agent("Assistant", system_prompt=_PROMPT, model=model or trial.MODEL, tools=tools, engine=engine)
        return engine.load(_remembering(read(agent.chain()), "", store))
    if not Path(named).is_file():
        what = f"{named!r} is a folder" if Path(named).is_dir() else f"there is no file {named!r}"
        raise click.UsageError(f"{what}; an agent of a program is named FILE.py:NAME")
    document = read(Path(named))
    return engine.load(_remembering(document, model, store), id=id_of(Path(named), document))


def _agent(place: str, attribute: str) -> Agent:
    """Import an agent; the only one of the program when `attribute` is empty.

    Raises:
        click.UsageError: When it is not there, or there are several.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        names = names_of(place)
    except EngineError as error:
        raise click.UsageError(str(error)) from None
    agents = {name: value for name, value in names.items() if isinstance(value, Agent)}
    there = ", ".join(agents) or "none"
    if attribute and attribute not in agents:
        raise click.UsageError(f"{attribute!r} in {place!r} is no Agent; there are: {there}")
    if not attribute and len({id(agent) for agent in agents.values()}) != 1:
        raise click.UsageError(f"name an agent of the program, as {place}:NAME; there are: {there}")
    return agents[attribute] if attribute else next(iter(agents.values()))


def _remembering(document: Document, model: str, store: str) -> Document:
    """Give a chain whose agents remember what was said, and ask another model if one is named."""
    definition = document.definition
    behind = suffixes(node.id for node in definition.nodes if node.type == _AGENT)
    nodes = [
        _with_memory(node, model, store, behind[node.id]) if node.type == _AGENT else node for node in definition.nodes
    ]
    return replace(document, definition=replace(definition, nodes=type(definition.nodes)(nodes)))


def _with_memory(node: NodeDefinition, model: str, store: str, suffix: str) -> NodeDefinition:
    """Give an agent that keeps what was said in the session of the conversation, whatever its own key is."""
    settings: dict[str, Any] = dict(node.configuration)
    name = next((key for key in settings if key.lower() == "session"), "session")
    own = settings.get(name)
    given = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    session = {key.lower(): value for key, value in given.items()}
    if session.get("store") in (None, "", "memory"):
        session["store"] = store
    settings[name] = {**session, "key": f"${{metadata.{SESSION_KEY}}}{suffix}"}
    if model:
        settings = {key: value for key, value in settings.items() if key.lower() not in _MODEL_SETTINGS}
        settings["model"] = model
    return replace(node, configuration=settings)
