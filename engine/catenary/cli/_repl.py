"""The conversation of `catenary eval`: one expression after the other, and commands that begin with a colon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from catenary.cli._completion import completions, names_of
from catenary.cli._formula import say, tell_failure
from catenary.cli._input import Source
from catenary.cli._pairs import split_pair, typed_pair
from catenary.cli._terminal import editing, typed
from catenary.load.names import closest, did_you_mean
from catenary.text_places import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.cli._formula import Kind
    from catenary.cli._session import Session

_PROMPT: Final = "> "
_MODES: Final[dict[str, Kind]] = {
    "expression": "expression",
    "template": "template",
    "document": "document",
    "js": "script",
    "python": "python",
}


class Repl:
    """Reads lines from the terminal until Ctrl-D or `:quit`. No error ends it.

    Args:
        session: What is evaluated in it; `:data` and its like change it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def talk(self) -> int:
        """Answer line after line. Returns: the exit code."""
        say("An expression gives its value. :help lists what else can be typed; Ctrl-D ends.")
        with editing(self._complete):
            for line in typed(lambda: input(_PROMPT), tell_failure):
                if not self._answer(line.strip()):
                    break
        return 0

    def _answer(self, line: str) -> bool:
        """Answer one line. Returns: false when the conversation is over."""
        if line in {":quit", ":q", ":exit"}:
            return False
        try:
            if line.startswith(":"):
                self._command(line)
            elif line:
                self._session.one(line)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
        except click.ClickException as error:
            tell_failure(error.format_message())
        return True

    def _command(self, line: str) -> None:
        name, _, rest = line[1:].partition(" ")
        command = self._COMMANDS.get(name)
        if command is None:
            guess = closest(name, [*self._COMMANDS, "quit"])
            hint = f"did you mean ':{guess}'?" if guess else ":help lists the commands"
            tell_failure(f"there is no command :{name}", hint)
            return
        command[2](self, rest.strip())

    # -- commands

    def _help(self, _: str) -> None:
        width = max(len(usage) for usage, _, _ in self._COMMANDS.values())
        for usage, meaning, _call in self._COMMANDS.values():
            say(f"{usage.ljust(width)}  {meaning}")
        say(f"{':quit'.ljust(width)}  End; Ctrl-D does as well.")

    def _data(self, text: str) -> None:
        session = self._session
        if text:
            raw = b"".join(Source.of(text, None).chunks())
            session.given = session.given.with_data(raw)
        say(session.given.message.text)

    def _meta(self, text: str) -> None:
        session = self._session
        if text:
            key, value = split_pair(text, ":meta")
            metadata = {**{key: str(value) for key, value in session.given.message.metadata.items()}, key: value}
            session.given = session.given.with_message(metadata=metadata)
        for key, value in session.given.message.metadata.items():
            say(f"{key}={value}")

    def _type(self, text: str) -> None:
        session = self._session
        if text:
            session.given = session.given.with_message(type=text)
        say(session.given.message.type)

    def _var(self, text: str) -> None:
        from dataclasses import replace

        environment = self._session.environment
        key, value = typed_pair(text, ":var")
        self._session.environment = replace(environment, vars={**environment.vars, key: value})

    def _mode(self, text: str) -> None:
        if text:
            kind = _MODES.get(text)
            if kind is None:
                raise click.UsageError(f"there is no mode {text!r}; it is one of {', '.join(_MODES)}")
            self._session.kind = kind
        say(next(name for name, kind in _MODES.items() if kind == self._session.kind))

    def _raw(self, _: str) -> None:
        self._session.raw = not self._session.raw
        say("values are shown as text" if self._session.raw else "values are shown as JSON")

    def _explain(self, text: str) -> None:
        if not text:
            raise click.UsageError("write :explain EXPRESSION")
        self._session.one(text, explain=True)

    def _names(self, _: str) -> None:
        from catenary.expr import json_text

        names = names_of(self._session)
        width = max(map(len, names))
        for name, value in names.items():
            say(f"{name.ljust(width)}  {shorten(json_text(value), 100)}")

    def _functions(self, text: str) -> None:
        from catenary.docsgen.functions import signature
        from catenary.expr.functions.table import functions_of

        functions = functions_of(self._session.environment)
        found = {name: one for name, one in sorted(functions.items()) if text.lower() in name.lower()}
        if not found:
            raise click.UsageError(
                f"there is no function {text!r}; {did_you_mean(text, functions, ':functions lists them')}"
            )
        if text in functions:
            found = {text: functions[text], **found}
        for one in found.values():
            say(f"{signature(one)}  {one.doc}")
        for example, value in getattr(functions.get(text), "examples", ()):
            say(f"  {example}  gives  {value}")

    def _complete(self, text: str, line: str) -> list[str]:
        if line.lstrip().startswith(":") and text.startswith(":"):
            return [f":{name}" for name in [*self._COMMANDS, "quit"] if f":{name}".startswith(text)]
        return completions(self._session, text)

    _COMMANDS: ClassVar[dict[str, tuple[str, str, Callable[[Any, str], None]]]] = {
        "help": (":help", "This list.", _help),
        "data": (":data [TEXT|@FILE]", "Show the data of the message, or take other data.", _data),
        "meta": (":meta [KEY=VALUE]", "Show the metadata, or put an entry into it.", _meta),
        "type": (":type [T]", "Show the message's type, or take another one.", _type),
        "var": (":var KEY=VALUE", "Set vars.KEY; KEY:=VALUE reads JSON.", _var),
        "names": (":names", "All names that can be read, with their values.", _names),
        "functions": (":functions [NAME]", "All functions, or those with NAME in their name.", _functions),
        "explain": (
            ":explain EXPRESSION",
            "Show its tree, what it reads and becomes, and its times.",
            _explain,
        ),
        "mode": (":mode [MODE]", "Show or choose what a line is: expression, template, document, js or python.", _mode),
        "raw": (":raw", "Show values as text in place of JSON, or the other way round.", _raw),
    }
