"""The click group behind `catenary`: lazy commands, and errors told as users want to read them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import click

from catenary.cli._commands import Entry, find_all_entries, find_entries, summary_of

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_FAILED = 1
_INTERRUPTED = 130
TERMINATED = 143
"""The exit code after SIGTERM."""


class CommandGroup(click.Group):
    """A group whose commands are the entry points of the group `catenary.commands`.

    The help of the group lists the first line of each command's module and imports none of them; a command is imported
    when it is called. One that cannot be imported says so in a sentence, and disturbs no other.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._entries: dict[str, Entry] | None = None

    @property
    def entries(self) -> dict[str, Entry]:
        """The commands that were found, by name."""
        if self._entries is None:
            self._entries = find_entries()
        return self._entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.entries})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = self.entries.get(cmd_name) or find_all_entries().get(cmd_name)
        return _load(entry) if entry is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            from catenary.load.names import did_you_mean

            hint = did_you_mean(name, self.list_commands(ctx), "`catenary --help` lists all commands")
            raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._summary(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _summary(self, ctx: click.Context, name: str) -> str:
        entry = self.entries.get(name)
        summary = summary_of(entry) if entry is not None else ""
        if summary:
            return summary[:1].upper() + summary[1:]
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=150) if command is not None else ""

    def main(self, args: Sequence[str] | None = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line and exit; with `standalone_mode=False`, let errors through and return."""
        if not standalone_mode:
            return super().main(args, *rest, standalone_mode=False, **extra)
        with _terminable():
            try:
                code = super().main(args, *rest, standalone_mode=False, **extra)
                _flush()
            except click.ClickException as error:
                error.show()
                sys.exit(error.exit_code)
            except click.Abort:
                click.echo("interrupted", err=True)
                sys.exit(_INTERRUPTED)
            except BrokenPipeError:  # whoever read our output has gone
                _drop_output()
                sys.exit(_FAILED)
            except OSError as error:  # a full disk and the like: no bug
                _drop_output()
                _tell_system_error(error)
                sys.exit(_FAILED)
            except Exception as error:
                _exit_for(error)
        return sys.exit(code if isinstance(code, int) else 0)


def _exit_for(error: Exception) -> NoReturn:
    """Tell a user's mistake and exit; any other error is a bug and is raised again, with its trace."""
    from catenary.cli.errors import exit_code_of, tell
    from catenary.errors import CatenaryError

    if not isinstance(error, CatenaryError):
        raise error
    tell(error)
    sys.exit(exit_code_of(error))


def _tell_system_error(error: OSError) -> None:
    place = f"{error.filename}: " if error.filename else ""
    with contextlib.suppress(OSError):  # it may be stderr that cannot be written
        click.echo(f"{click.style('error', fg='red', bold=True)}: {place}{error.strerror or error}", err=True)


def _load(entry: Entry) -> click.Command:
    from importlib import import_module

    try:
        return getattr(import_module(entry.module), entry.attribute)
    except (ImportError, AttributeError) as error:
        return _broken(entry, error)


def _broken(entry: Entry, error: ImportError | AttributeError) -> click.Command:
    """Give a command that takes any arguments and says why it does not work."""
    package = (getattr(error, "name", None) or "").partition(".")[0]
    cure = ""
    if entry.extras:
        cure = f"; install what it needs with: pip install 'catenary[{','.join(entry.extras)}]'"
    elif isinstance(error, ModuleNotFoundError) and package:
        cure = f"; install the package that has {package!r}"
    sentence = f"the command {entry.name!r} cannot be loaded: {error}{cure}"

    def tell() -> None:
        raise click.ClickException(sentence)

    return click.Command(
        entry.name,
        callback=tell,
        help=f"({sentence})",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


@contextlib.contextmanager
def _terminable() -> Generator[None]:
    """Have SIGTERM unwind the program like any other way out: connections closed, files written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(_number: int, _frame: object) -> NoReturn:
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by whoever started the program
            stream.flush()


def _drop_output() -> None:
    """Point stdout to nowhere, so that the interpreter's own flush at exit does not complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
