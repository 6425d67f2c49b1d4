"""`render`: show the options of a node as they would be for a message, and where each part came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catenary.cli._given import message_options, output_option
from catenary.cli._output import format_option
from catenary.cli._parts import add_components, component_option
from catenary.cli._properties import property_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.component import Component
    from catenary.definition import ChainDefinition, NodeDefinition
    from catenary.errors import Problem


@click.command(short_help="Show what a node would send for a message, and where each part came from.")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, readable=True))
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@click.option("--all", "all_nodes", is_flag=True, help="Show all nodes of the chain.")
@message_options
@output_option
@property_options
@component_option
@format_option("text", "json", help="Text to read, or one JSON object.")
@click.pass_context
def render(ctx: click.Context, file: str, nodes: tuple[str, ...], **options: Any) -> None:
    """Show the options of NODE, in the chain in FILE, as they would be for a message: nothing is opened or called.

    Every ${...} is shown with its value, what placeholders such as ${global.site} stood for and who set it, and the
    files that were read. Of an agent and of an HTTP call the whole request is shown below. A part that fails is shown
    with its error, and the rest is rendered all the same.

    \b
    Examples:
      catenary render chain.json ask -d 'How many bolts are in a box?' --set global.site=north
      catenary render chain.json call -d @reading.json -m deviceId=7
      catenary render chain.json call --output prepare='{"url": "http://127.0.0.1"}'
      catenary render chain.json --all --format json

    What other nodes put out is given with --output; a part that names a node of which nothing is given says so.
    Secrets are masked: options that are secret, and properties and headers called as secrets are (key, token,
    password ...).

    With --format json stdout gets one object: ok, and nodes with id, type, ok, options, sends. An option has option
    (its path), kind, ok, value, text, parts, files, missingOutputs and error, as far as there are any.

    Exit codes: 0 all was rendered, 1 a part failed, 2 wrong usage, 3 the chain, or the node's configuration, is
    invalid.
    """
    from pathlib import Path

    from catenary.cli._given import given_of, need_known_nodes
    from catenary.cli._logs import logs_on_stderr
    from catenary.cli._origins import Mask
    from catenary.cli._properties import properties_of
    from catenary.cli._rendering import Rendering
    from catenary.cli.errors import FAILED, INVALID
    from catenary.engine import Engine
    from catenary.load import build, environment_of, read

    if bool(nodes) == options["all_nodes"]:
        raise click.UsageError("name the nodes to show, or give --all")
    sources: dict[str, str] = {}
    properties = properties_of(options["settings"], options["env_files"], sources)
    document = read(Path(file))
    definition = document.definition
    known = [node.id for node in definition.nodes]
    _need_nodes(nodes, known)
    given = given_of(options)
    need_known_nodes(given, known)
    with Engine(properties) as engine:
        add_components(engine.registry, options["components"])
        settings = engine.settings_for(document)
        built, problems = build(document, engine.registry, settings)
    wanted = [node for node in definition.nodes if options["all_nodes"] or node.id in nodes]
    mask = Mask()
    mask.add_properties(properties)
    environment = environment_of(definition, settings)
    mask.add_all(environment.secrets)
    rendering = Rendering(environment, given, sources, mask)
    components = {node.id: component for node, component in built}
    with logs_on_stderr():
        told = [_told(rendering, node, components, problems) for node in wanted]
    ok = all(node["ok"] for node in told)
    _write(told, definition, ok=ok, form=options["form"])
    invalid = any("problems" in node for node in told)
    ctx.exit(INVALID if invalid else 0 if ok else FAILED)


def _need_nodes(nodes: Iterable[str], known: list[str]) -> None:
    from catenary.load.names import did_you_mean

    for node in nodes:
        if node not in known:
            hint = did_you_mean(node, known, f"the nodes are: {', '.join(known) or 'none'}")
            raise click.BadParameter(f"the chain has no node {node!r}; {hint}", param_hint="'NODE'")


def _told(
    rendering: Any, node: NodeDefinition, components: dict[str, Component[Any]], problems: list[Problem]
) -> dict[str, Any]:
    """Render a node; one whose configuration is wrong has its problems told instead."""
    import dataclasses

    component = components.get(node.id)
    if component is not None:
        return rendering.node(node, component)
    label = f"node {node.id!r}"
    own = [dataclasses.asdict(problem) for problem in problems if problem.text.startswith(label)]
    return {"id": node.id, "type": node.type, "ok": False, "options": [], "problems": own}


def _write(told: list[dict[str, Any]], definition: ChainDefinition, *, ok: bool, form: str) -> None:
    import json

    from catenary.cli._formula import say
    from catenary.cli._rendered import lines_of

    if form == "json":
        say(json.dumps({"ok": ok, "chain": definition.id, "nodes": told}, ensure_ascii=False, indent=2))
        return
    for number, node in enumerate(told):
        if number:
            say("")
        for line in lines_of(node):
            say(line)
