"""Lines from the terminal or from a pipe, one after the other, each a question or a command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from catenary.cli._terminal import editing, typed
from catenary_components.chat.commands import Commands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary_components.chat.talk import Talk

_PROMPT: Final = "you> "
_MORE: Final = "...> "


class Repl:
    """Reads lines and has the conversation answer them. No error ends it.

    Args:
        talk: The conversation.
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._commands = Commands(talk)

    def talk(self) -> int:
        """Answer line after line from the terminal, until Ctrl-D or /exit. Returns: the exit code."""
        model = self._talk.own_model()
        click.echo(
            f"Talking to {self._talk.chain.definition.name or self._talk.chain.id}{f' ({model})' * bool(model)}."
        )
        click.echo("/help lists the commands; Ctrl-C interrupts an answer, Ctrl-D ends.")
        with editing(self._complete):
            for line in typed(self._read, partial(click.echo, err=True)):
                if not self._answer(line):
                    break
        return 0

    def read(self, lines: Iterable[str]) -> int:
        """Answer lines that nobody types. Returns: the exit code: 1 when the last question had no answer."""
        answered = True
        for line in lines:
            text = line.strip()
            if text.startswith("/"):
                if not self._commands.perform(text):
                    break
            elif text:
                answered = self._talk.say(text)
        return 0 if answered else 1

    def _read(self) -> str:
        line = input(_PROMPT)
        while line.endswith("\\"):
            line = line[:-1] + "\n" + input(_MORE)
        return line.strip()

    def _answer(self, line: str) -> bool:
        """Answer one line. Returns: false when the conversation is over."""
        try:
            if line.startswith("/"):
                return self._commands.perform(line)
            if line:
                self._talk.say(line)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
        return True

    def _complete(self, text: str, line: str) -> list[str]:
        if not line.startswith("/") or " " in line:
            return []
        return [name[1:] for name in self._commands.names() if name[1:].startswith(text)]  # a slash begins a word
