"""Questions of an agent at the terminal: whether calls may run, with which arguments, and what came of them outside."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, cast

import click

from catenary.jsontext import dumps, loads
from catenary_components.ai.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from catenary.events import NodeEvent
    from catenary.jsontext import Json
    from catenary_components.ai.state import AgentState

_CHOICES: Final = "[y]es, [N]o, [a]lways, [e]dit, or why not: "
_HELP: Final = (
    "y: it runs. n: it does not. a: it runs, and so do calls like it in this session. e: it runs with other arguments. "
    "More than a letter: it does not run, and the model is told that. Ctrl-C: none runs, and the question is over."
)
NOBODY: Final = "nobody is there to be asked"


class Asking:
    """Asks about the calls that wait in a session.

    Args:
        can_ask: Whether somebody is there; else calls are refused.
        agrees: Tells of a call whether it may run without being asked about.
    """

    def __init__(self, *, can_ask: bool, agrees: Callable[[ToolCall], bool]) -> None:
        self._can_ask = can_ask
        self._agrees = agrees

    def answers(self, calls: Sequence[ToolCall], told: Mapping[str, Mapping[str, Json]]) -> dict[str, Json]:
        """Give what is to be said about calls that wait; Ctrl-C and Ctrl-D take the question back.

        Args:
            calls: The calls.
            told: By the id of a call, what is told of it besides: `reason` and `suggestedRules`.
        """
        try:
            found = [self._answer(call, told.get(call.id, {})) for call in calls]
        except (KeyboardInterrupt, EOFError):
            click.echo()
            return {"cancel": True}
        return {"cancel": True} if None in found else {"answers": cast("list[Json]", found)}

    def _answer(self, call: ToolCall, told: Mapping[str, Json]) -> dict[str, Json] | None:
        """Give the answer about one call; `None` when nobody can give it."""
        if call.state == "submitted":
            return {"toolCallId": call.id, **_result(call)} if self._can_ask else None
        if self._agrees(call):
            return {"toolCallId": call.id, "decision": "approve"}
        if not self._can_ask:
            click.echo(f"{call.name}({call.arguments}) has to be approved, and {NOBODY}: it is not run", err=True)
            return {"toolCallId": call.id, "decision": "deny", "note": NOBODY}
        return {"toolCallId": call.id, **_decision(call, told)}


def told_in(state: AgentState) -> Mapping[str, Mapping[str, Json]]:
    """Give what an agent that is paused tells of its calls, by their ids."""
    shown = state.question.get("calls")
    return cast("dict[str, dict[str, Json]]", shown) if isinstance(shown, dict) else {}


def asked_in(event: NodeEvent) -> list[tuple[ToolCall, Mapping[str, Json]]]:
    """Give the calls that an agent inside a chain asks about, with what is told of them; none if it is no agent."""
    details = event.data.get("details")
    entries = cast("dict[str, Any]", details).get("toolCalls") if isinstance(details, dict) else None
    return [
        (ToolCall(one["id"], one["name"], dumps(one["input"]), state=one["state"]), one)
        for one in cast("list[dict[str, Any]]", entries or [])
    ]


def _decision(call: ToolCall, told: Mapping[str, Json]) -> dict[str, Json]:
    """Ask whether a call may run."""
    if told.get("reason"):
        click.echo(click.style(f"  {told['reason']}", dim=True))
    rules = told.get("suggestedRules")
    while True:
        said = input(f"May {call.name}({call.arguments}) run? {_CHOICES}").strip()
        match said.lower():
            case "y" | "yes":
                return {"decision": "approve"}
            case "" | "n" | "no":
                return {"decision": "deny"}
            case "a" | "always":
                if rules:
                    return {"decision": "approve", "acceptRules": rules}
                click.echo("There is no rule for calls like this one: it can be allowed once only, by y.")
            case "e" | "edit":
                arguments = _edited(call)
                if arguments is not None:
                    return {"decision": "approve", "input": arguments}
            case _ if len(said) == 1:
                click.echo(_HELP)
            case _:
                return {"decision": "deny", "note": said}


def _edited(call: ToolCall) -> dict[str, Json] | None:
    """Ask for other arguments; `None` when there are none after all."""
    text = call.arguments
    while True:
        with _prefilled(text):
            text = input("arguments> ").strip()
        if not text:
            return None
        try:
            arguments = loads(text)
        except ValueError as error:
            click.echo(f"this is not JSON: {error}; an empty line goes back")
            continue
        if isinstance(arguments, dict):
            return cast("dict[str, Json]", arguments)
        click.echo(f"arguments are a JSON object, as in {call.arguments}; an empty line goes back")


def _result(call: ToolCall) -> dict[str, Json]:
    """Ask what came of a call that is done outside."""
    click.echo(f"{call.name}({call.arguments}) is done outside of here; a result that begins with ! is an error.")
    text = input(f"result of {call.name}> ").strip()
    return {"output": text[1:].strip(), "isError": True} if text.startswith("!") else {"output": text}


@contextlib.contextmanager
def _prefilled(text: str) -> Generator[None]:
    """Have the next line begin with a text, where lines can be edited."""
    try:
        import readline
    except ImportError:  # not on every system
        click.echo(dumps(text))
        yield
        return
    hook: Any = lambda: readline.insert_text(text)  # noqa: E731 - what readline calls
    readline.set_startup_hook(hook)
    try:
        yield
    finally:
        readline.set_startup_hook(None)
