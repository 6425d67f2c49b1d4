"""`agent`: explain the agents of a chain: their loop, their tools, and their hooks in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catenary.cli._output import format_option
from catenary.cli._parts import part_options, tools_option
from catenary.cli._properties import property_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary import Chain
    from catenary.jsontext import Json
    from catenary_components.ai.agent import AgentNode


@click.command(short_help="Explain the agents of a chain: loop, tools, and hooks in their order.")
@click.argument("named", metavar="FILE|AGENT")
@format_option("text", "json", help="Text to read, or a list with an object for each agent.")
@property_options
@part_options
@tools_option
def agent(named: str, **options: Any) -> None:
    """Explain the agents of the chain in FILE, or AGENT, an `Agent` of a Python program by its place.

    For each agent: its loop, its tools, its hooks with their orders, and for each point of a run what is called there,
    in this order: all `before`, then each `around` inside of the one above it, then all `after`. No model is asked, and
    no key is needed.

    \b
    Examples:
      catenary agent clerk.yaml
      catenary agent clerk.yaml --tools stock.py --format json
      catenary agent support.py:agent                   with the hooks that the program gives to its engine

    Exit codes: 0 explained, 2 wrong usage, 3 the chain is invalid.
    """
    import asyncio
    import json

    from catenary.cli._logs import quiet_logs
    from catenary.cli._parts import load_parts
    from catenary.cli._properties import properties_of
    from catenary_components.chat import trial
    from catenary_components.chat.source import agent_of, chain_of, engine_for

    properties = properties_of(options.pop("settings"), options.pop("env_files"))
    with quiet_logs(), trial.answering(), asyncio.Runner() as runner:
        agent = agent_of(named)
        engine = engine_for(agent, properties)
        try:
            load_parts(engine, options)
            found = list(_agents(chain_of(engine, named, agent, trial.MODEL, "memory")))
        finally:
            runner.run(engine.close())
    if options["form"] == "json":
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        click.echo("\n\n".join("\n".join(_told(one)) for one in found))


def _agents(chain: Chain) -> Iterator[dict[str, Any]]:
    """Give what there is to say of each agent of a chain. Raises: EngineError: when there is none."""
    from catenary_components.chat.members import members_of

    for member in members_of(chain):
        yield {"chain": chain.id, "node": member.node_id, **_explained(member.agent)}


def _explained(node: AgentNode) -> dict[str, Json]:
    return {
        "mode": node.config.mode,
        "tools": [spec.name for spec in node.toolbox.specs()],
        "hooks": node.hooks,
        "points": node.hook_calls,
    }


def _told(found: dict[str, Any]) -> Iterator[str]:
    yield click.style(f"{found['node']} of {found['chain']}", bold=True) + f" (mode {found['mode']})"
    yield f"  Tools: {', '.join(found['tools']) or 'none'}"
    if not found["hooks"]:
        yield "  Hooks: none"
        return
    yield "  Hooks, the outermost first:"
    width = max(len(hook["name"]) for hook in found["hooks"])
    yield from (
        f"    {hook['order']:>5}  {hook['name']:{width}}  {', '.join(hook['methods'])}" for hook in found["hooks"]
    )
    yield "  What is called, point by point:"
    yield from (f"    {one['at']:22}  {', '.join(one['hooks'])}" for one in found["points"])
