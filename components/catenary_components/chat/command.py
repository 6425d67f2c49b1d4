"""`chat`: talk to an agent at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._parts import chains_option, part_options, tools_option
from catenary.cli._properties import property_options

if TYPE_CHECKING:
    from pathlib import Path

    from catenary.jsontext import Json


@click.command(short_help="Talk to an agent at the terminal; needs no key to begin with.")
@click.argument("named", metavar="[FILE|AGENT]", required=False)
@click.option("--session", metavar="S", default="", help="Go on with the session of this name; it is kept on disk.")
@click.option("--model", metavar="M", default="", help="The model, such as openai:gpt-4o, in place of the chain's own.")
@click.option("--yes-to", type=click.Choice(["read"]), help="Say yes to calls of tools that change nothing.")
@click.option("--as", "name", metavar="NAME", default="", help="Who you are, to agents that ask certain people only.")
@click.option("--thinking", is_flag=True, help="Show what the model thinks.")
@property_options
@part_options
@tools_option
@chains_option
@click.pass_context
def chat(ctx: click.Context, named: str | None, **options: Any) -> None:
    """Talk to an agent: the chain in FILE, or AGENT, an `Agent` of a Python program by its place, which
    is its file if there is but one.

    \b
    Examples:
      catenary chat                                     a first try: a mock model, no key, no network
      catenary chat --model openai:gpt-4o-mini          an assistant; the key is in OPENAI_API_KEY
      catenary chat --model ollama:qwen3:8b             a model on this machine
      catenary chat clerk.yaml --session ann            the agent of a chain; the session can be gone on with
      catenary chat clerk.yaml --model mock:chat        the same chain, its model played
      catenary chat support.py                          the agent = Agent(...) in support.py
      catenary chat support.py:night                    the one called night, of several
      catenary chat clerk.yaml --tools stock.py         with the functions in stock.py as tools
      echo 'Any bolts?' | catenary chat clerk.yaml      one line, one question

    Answers appear as they are written, and tools as they are used. Ctrl-C interrupts an answer: what was said so far is
    kept in the conversation, and you can go on. A second Ctrl-C ends the turn at once. A line that begins with / is a
    command; /help lists them. Ctrl-D ends.

    A call that has to be approved is asked about: yes, no, always in this session, with other arguments, or why not.
    Of a call that is done outside you give the result. Without a terminal both are refused.

    The agent remembers what was said, whether or not the chain says so: in memory, or with --session on disk, in your
    data folder. The session has the name that you give it, whatever key the chain has. /model chooses the model of the
    session, until --model names another. Properties, component types, shared resources, tools and other chains are
    given as for `catenary run`.

    Exit codes: 0 the conversation is over, 1 the last question had no answer (when lines come from a file or a pipe),
    2 wrong usage, 3 the chain is invalid.
    """
    from catenary.cli._logs import quiet_logs
    from catenary.cli._properties import properties_of

    if os.environ.get("NO_COLOR"):
        ctx.color = False
    properties = properties_of(options.pop("settings"), options.pop("env_files"))
    with quiet_logs():
        ctx.exit(_talk(named, options, properties))


def _talk(named: str | None, options: dict[str, Any], properties: dict[str, Json]) -> int:
    from catenary.cli._parts import load_chains, load_parts
    from catenary_components.chat import trial
    from catenary_components.chat.members import OWN
    from catenary_components.chat.repl import Repl
    from catenary_components.chat.source import agent_of, chain_of, engine_for
    from catenary_components.chat.talk import Talk

    session: str = options["session"]
    with trial.answering(), asyncio.Runner() as runner:
        folder = _chats() if session else None
        agent = agent_of(named)
        engine = engine_for(agent, properties)
        if folder is not None:
            engine.allow_folder(folder)
        try:
            load_parts(engine, options)
            chain = chain_of(engine, named, agent, options["model"], f"files:{folder}" if folder else "memory")
            load_chains(engine, options["chains"], chain, named)
            talk = Talk(chain, session or f"chat-{uuid.uuid4().hex[:8]}", runner)
            talk.shows_thinking, talk.name = options["thinking"], options["name"]
            talk.yes_to_reads, talk.can_ask = options["yes_to"] == "read", sys.stdin.isatty()
            if options["model"] and talk.own_model() != options["model"]:
                talk.choose_model(OWN)
            return Repl(talk).talk() if sys.stdin.isatty() else Repl(talk).read(sys.stdin)
        finally:
            runner.run(engine.close())


def _chats() -> Path:
    """Give the folder of sessions that are kept."""
    from catenary.store.places import data_dir

    folder = data_dir() / "chats"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
