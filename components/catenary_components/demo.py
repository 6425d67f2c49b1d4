"""`demo`: run a chain with an agent here and at once, against a scripted model and a small HTTP API."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from catenary import Outcome
    from catenary.chain import Chain
    from catenary.jsontext import Json
    from catenary.testing import ModelRequest, RecordedRequest, RecordingApi, Reply, Server

CHAIN = Path(__file__).parent / "chains" / "intent-router.json"
_API = "http://127.0.0.1"
_NEEDED = {"quickjs": "js", "uvicorn": "server"}

_SCRIPT: dict[str, list[str]] = {
    "Please turn on the lamp in the kitchen.": [
        '{"action": "turn_on", ',
        '"target": "kitchen lamp", ',
        '"value": null}',
    ],
    "How are you today?": ['{"reply": ', '"Very well, thank you. ', 'All doors are closed."}'],
    "Tell me when the moon is full.": ['{"reply": ', '"Tonight, ', "and it is ", 'worth a look."}'],
}
"""What the scripted model answers to each prompt, in the pieces of a stream."""


@click.command(short_help="Run a chain with an agent here and at once; needs no key.")
@click.option("--inside", is_flag=True, help="Show the phases of the agent too.")
@click.pass_context
def demo(ctx: click.Context, *, inside: bool) -> None:
    """Run the intent-router chain here and at once, and show what travels where.

    The chain asks a model what a person wants. Commands are posted to an HTTP API, talk is given back. The chain is the
    one in `chains/intent-router.json`; model and API are started on free ports of this machine. The model is scripted:
    it answers known sentences with fixed texts, over the wire format that real services speak. Nothing leaves the
    machine.

    \b
    Examples:
      catenary demo
      catenary demo --inside
    """
    _need_packages()
    from catenary.testing import RecordingApi, ScriptedModel, serve

    model = ScriptedModel(default=_reply)
    api = RecordingApi(default=_carry_out)
    with serve(model) as model_server, serve(api) as api_server:
        outcomes = asyncio.run(_show(model_server, api_server, api, inside=inside))
    ctx.exit(_sum_up(outcomes))


def chain_for(port: int) -> dict[str, Json]:
    """Give the intent-router chain with the port of the API put into its address, and nothing else changed."""
    chain: dict[str, Any] = json.loads(CHAIN.read_text(encoding="utf-8"))
    for node in chain["metadata"]["nodes"]:
        if node["id"] == "node_api":
            settings = node["configuration"]
            settings["url"] = settings["url"].replace(f"{_API}/", f"{_API}:{port}/")
    return chain


def _need_packages() -> None:
    missing = [module for module in _NEEDED if find_spec(module) is None]
    if missing:
        extras = ",".join(_NEEDED[module] for module in missing)
        raise click.ClickException(
            f"the demo needs {' and '.join(missing)}; install what is missing with: pip install 'catenary[{extras}]'"
        )


async def _show(model: Server, api: Server, calls: RecordingApi, *, inside: bool) -> list[Outcome]:
    from catenary import Engine

    default = {"base_url": f"{model.url}/v1", "api_key": "no-key-needed", "model": "scripted"}
    click.echo(f"The model at {model.url} is scripted: it answers known sentences with fixed texts.")
    click.echo(f"The HTTP API at {api.url} is a small one of our own. Nothing leaves this machine.")
    outcomes: list[Outcome] = []
    async with Engine({"models": {"providers": {"default": default}}}) as engine:
        chain = engine.load(chain_for(api.port))
        for number, prompt in enumerate(_SCRIPT, start=1):
            streamed = number == len(_SCRIPT)
            click.secho(f"\n{number}. {prompt}{'  (as a stream)' if streamed else ''}", bold=True)
            seen = len(calls.requests)
            outcomes.append(await _run(chain, prompt, streamed=streamed, inside=inside))
            _show_result(outcomes[-1], calls.requests[seen:])
    return outcomes


async def _run(chain: Chain, prompt: str, *, streamed: bool, inside: bool) -> Outcome:
    from catenary import TEXT, Message
    from catenary.cli.live import Trace, Writers

    message = Message(prompt, data_type=TEXT, metadata={"stream": "true"} if streamed else {})
    types = {node.id: node.type for node in chain.definition.nodes}
    listener = Writers([Trace(click.echo, types=types, label="   ", inside=inside)])
    outcome = await chain.run(message, listener=listener, timeout=30)
    listener.raise_for_error()
    return outcome


def _sum_up(outcomes: list[Outcome]) -> int:
    """Say how it went. Returns: the exit code."""
    through = sum(outcome.ok for outcome in outcomes)
    click.echo(f"\n{through} of {len(outcomes)} messages went through.")
    if through < len(outcomes):
        return 1
    click.echo("With a real model: set its address, key and name, as the README shows, and `catenary run` the chain.")
    return 0


def _show_result(outcome: Outcome, requests: list[RecordedRequest]) -> None:
    for request in requests:
        click.echo(f"   the API got: {request.method} {request.path} {request.text}")
    if outcome.error is not None:
        click.secho(f"   failed: {outcome.error}", fg="red")
    else:
        click.echo(f"   answer: {outcome.message.text}")


def _reply(request: ModelRequest) -> Reply:
    """Answer as the script says, whatever the temperature."""
    from catenary.testing import Reply

    unknown = ['{"reply": ', '"That is not in my script."}']
    return Reply(pieces=_SCRIPT.get(request.user_text, unknown), piece_delay_s=0.02)


def _carry_out(request: RecordedRequest) -> Json:
    command: dict[str, Json] = request.json
    return {"done": True, "action": command["action"], "target": command["target"]}
