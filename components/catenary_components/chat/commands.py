"""The commands of a conversation: lines that begin with a slash."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

import click

from catenary.errors import EngineError
from catenary_components.ai.permission.rules import MODES
from catenary_components.chat.granting import Granting, told
from catenary_components.chat.members import OWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary_components.ai.messages import ChatMessage
    from catenary_components.chat.talk import Talk


class Commands:
    """Carries out what is typed behind a slash.

    Args:
        talk: The conversation.
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def names(self) -> list[str]:
        """Give all commands, with the slash."""
        return [f"/{name}" for name in (*self._COMMANDS, "exit", "quit")]

    def perform(self, line: str) -> bool:
        """Carry out a line. Returns: false when the conversation is over."""
        name, _, rest = line[1:].partition(" ")
        if name in {"exit", "quit"}:
            return False
        command = self._COMMANDS.get(name)
        if command is None:
            from catenary.load.names import did_you_mean

            hint = did_you_mean(f"/{name}", self.names(), "/help lists the commands")
            _tell(f"there is no command /{name}; {hint}")
            return True
        try:
            command[2](self, rest.strip())
        except EngineError as error:
            _tell(f"{error}; {error.hint}")
        return True

    def _help(self, _: str) -> None:
        width = max(len(usage) for usage, _meaning, _call in self._COMMANDS.values())
        for usage, meaning, _call in self._COMMANDS.values():
            click.echo(f"{usage.ljust(width)}  {meaning}")
        click.echo(f"{'/exit'.ljust(width)}  End; /quit and Ctrl-D do as well.")
        click.echo("A line that ends with a backslash goes on in the next one. Ctrl-C interrupts an answer.")

    def _new(self, name: str) -> None:
        self._talk.begin(name or f"chat-{uuid.uuid4().hex[:8]}")
        _tell(f"session {self._talk.session}")

    def _model(self, name: str) -> None:
        if name:
            self._talk.choose_model(name)
        _tell(f"model {self._talk.own_model() or 'of the chain'}")

    def _sessions(self, _: str) -> None:
        found = self._talk.sessions()
        for one in found:
            mark = "*" if one.key == self._talk.session else " "
            told = "cannot be read" if one.is_damaged else f"{one.messages} messages, {_day(one.last_ms)}  {one.title}"
            click.echo(f"{mark} {one.key}  {told}".rstrip())
        if not found:
            _tell("there are no sessions yet")

    def _title(self, title: str) -> None:
        if not title:
            raise EngineError("a title is missing", hint="/title Bolts for Ada")
        self._talk.entitle(title)
        _tell(f"title {title}")

    def _clear(self, _: str) -> None:
        self._talk.clear()
        _tell("what was said is forgotten")

    def _history(self, _: str) -> None:
        said = self._talk.history()
        for message in said:
            for line in _lines(message):
                click.echo(line)
        if not said:
            _tell("nothing was said yet")

    def _tools(self, _: str) -> None:
        tools = self._talk.tools()
        for name, description in tools:
            click.echo(f"{name}  {' '.join(description.split())[:100]}")
        if not tools:
            _tell("the agent has no tools")

    def _mode(self, name: str) -> None:
        if name:
            self._talk.grant(lambda granting: granting.set_mode(name))
        _tell(self._talk.grant(Granting.mode))

    def _rules(self, said: str) -> None:
        what, _, number = said.partition(" ")
        if what == "revoke":
            rule = self._talk.grant(lambda granting: granting.revoke(number.strip()))
            _tell(f"no longer: {told(rule)}")
            return
        if what:
            raise EngineError(f"there is no /rules {what}", hint="/rules lists them, /rules revoke N takes one back")
        rules = self._talk.grant(Granting.rules)
        for number_of, (_, rule) in enumerate(rules, 1):
            click.echo(f"{number_of}  {told(rule)}")
        if not rules:
            _tell("no rule was accepted in this session")

    def _thinking(self, _: str) -> None:
        self._talk.shows_thinking = not self._talk.shows_thinking
        _tell(f"what the model thinks is {'shown' if self._talk.shows_thinking else 'not shown'}")

    def _usage(self, _: str) -> None:
        usage = self._talk.usage
        cost = f", {self._talk.cost:.4f} US dollars" if self._talk.cost else ""
        _tell(f"{usage.prompt} tokens read, {usage.completion} written{cost}")

    _COMMANDS: ClassVar[dict[str, tuple[str, str, Callable[[Commands, str], None]]]] = {
        "help": ("/help", "This list.", _help),
        "new": ("/new [SESSION]", "Begin another session, or go on with one by its name.", _new),
        "model": (
            "/model [MODEL]",
            f"Show the model, or choose one for this session, such as openai:gpt-4o; {OWN} for the agent's.",
            _model,
        ),
        "sessions": ("/sessions", "The sessions that are kept, with what they are about.", _sessions),
        "title": ("/title TEXT", "Say what this session is about.", _title),
        "clear": ("/clear", "Forget what was said in this session.", _clear),
        "history": ("/history", "Show what was said in this session.", _history),
        "tools": ("/tools", "The tools of the agent.", _tools),
        "mode": (
            "/mode [MODE]",
            f"Show what may run unasked, or set it: {', '.join(MODES)}; {OWN} for the agent's.",
            _mode,
        ),
        "rules": ("/rules [revoke N]", "The rules that were accepted in this session, or take one back.", _rules),
        "thinking": ("/thinking", "Show what the model thinks, or no longer.", _thinking),
        "usage": ("/usage", "The tokens of this conversation, and what they cost.", _usage),
    }


def _lines(message: ChatMessage) -> list[str]:
    lines = [f"{click.style(message.role, bold=True)}: {message.text}"] if message.text else []
    lines += [f"  * {call.name}({call.arguments})" for call in message.tool_calls]
    return lines + [f"    {result.name}: {' '.join(result.text.split())[:200]}" for result in message.results]


def _day(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000):%Y-%m-%d %H:%M}" if time_ms else "never"  # noqa: DTZ006 - as clocks on walls


def _tell(text: str) -> None:
    click.echo(click.style(text, dim=True))
