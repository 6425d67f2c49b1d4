"""What a conversation shows: text as it comes, tools as they are used, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import click

from catenary.events import NodeEvent
from catenary.jsontext import dumps
from catenary_components.ai.face.fields import is_whole
from catenary_components.ai.messages import object_or_text

if TYPE_CHECKING:
    from catenary.events import Event
    from catenary.jsontext import Json

_WIDTH: Final = 200


class Shown:
    """Shows what happens in one turn; `note` is a listener to its events.

    Args:
        thinking: Whether what the model thinks is shown.

    Attributes:
        text: What the agent has said in this turn, as it was shown.
    """

    def __init__(self, *, thinking: bool) -> None:
        self._thinking = thinking
        self._agents: set[int] = set()
        self._tools: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self._answered: set[str] = set()
        self._known: set[str] = set()
        self._is_open = False
        self.text = ""

    def note(self, event: Event) -> None:
        """Show an event, if it is one that a person wants to see."""
        if not isinstance(event, NodeEvent) or not is_whole(event.name, event.data):
            return
        if event.name == "agent.status" and not event.parent:
            self._agents.add(event.visit)
        is_below = event.parent not in self._agents
        match event.name:
            case "content.delta" if not is_below:
                self._say(str(event.data["delta"]))
            case "reasoning.delta" if not is_below and self._thinking:
                self._write(click.style(str(event.data["delta"]), dim=True))
            case "reasoning.end" | "content.end" if not is_below:
                self.end_line()
            case "model.retry":
                self.tell(f"the model did not answer ({event.data.get('error')}); it is asked again", "yellow")
            case "budget.warning":
                self.tell(f"{event.data['spent']} of {event.data['limit']} {event.data['kind']} are used up", "yellow")
            case _:
                self._note_call(event, "  " * is_below)

    def _note_call(self, event: NodeEvent, indent: str) -> None:
        what = event.name.removeprefix("action.").removeprefix("tool.")
        if event.name == "approval.resolved":
            calls = cast("list[dict[str, Json]]", event.data["calls"])
            self._answered = {str(call["id"]) for call in calls}
        elif what == "start":
            if event.data.get("callId") in self._answered:
                self._known.add(_id_of(event))
            self._tools[_id_of(event)] = str(event.data.get("toolName") or event.data.get("actionName"))
            self._arguments[_id_of(event)] = ""
        elif what == "args" and _id_of(event) in self._arguments:
            self._arguments[_id_of(event)] += str(event.data["delta"])
        elif what == "run" and _id_of(event) in self._tools:
            self._tell_call(event, indent)
        elif what == "result" and _id_of(event) in self._tools:
            self._tell_result(event, indent)

    def answer(self, text: str) -> None:
        """Show the answer of the chain, unless it was shown already as it came."""
        self.end_line()
        if text.strip() and text.strip() != self.text.strip() and not self.text.endswith(text):
            self._say(text)
            self.end_line()

    def tell(self, text: str, color: str = "") -> None:
        """Show a line that nobody in the conversation says."""
        self.end_line()
        click.echo(click.style(text, fg=color or None, dim=not color))

    def end_line(self) -> None:
        """Begin a new line, unless there is one."""
        if self._is_open:
            click.echo()
            self._is_open = False

    def _say(self, text: str) -> None:
        self.text += text
        self._write(text)

    def _write(self, text: str) -> None:
        click.echo(text, nl=False)
        self._is_open = True

    def _tell_call(self, event: NodeEvent, indent: str) -> None:
        arguments = self._arguments.pop(_id_of(event), "")
        given = object_or_text(arguments)
        if isinstance(given, dict):
            fields = cast("dict[str, Json]", given)
            arguments = ", ".join(f"{name}={dumps(value)}" for name, value in fields.items())
        self.tell(f"{indent}* {self._tools[_id_of(event)]}({_cut(arguments)})", "cyan")

    def _tell_result(self, event: NodeEvent, indent: str) -> None:
        if _id_of(event) in self._arguments:
            if _id_of(event) in self._known:  # who is reading this has said it
                return
            self._tell_call(event, indent)
        name = self._tools.pop(_id_of(event))
        color = "red" if event.data.get("isError") else ""
        self.tell(f"{indent}  {name}: {_cut(str(event.data.get('result', '')))}", color)


def _id_of(event: NodeEvent) -> str:
    return str(event.data.get("toolId") or event.data.get("actionId"))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}..."
