"""Lines that somebody types at the terminal: edited, remembered, completed, one after the other."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

_DELIMITERS: Final = " \t\n\"'`+-*/%<>=!&|()[]{},;"


def typed(read: Callable[[], str], tell: Callable[[str], None]) -> Iterator[str]:
    """Give what is typed until Ctrl-D; Ctrl-C drops what was typed so far, as in shells.

    Args:
        read: Reads one line, with a prompt.
        tell: Is told of a line that cannot be read.
    """
    while True:
        try:
            yield read()
        except KeyboardInterrupt:
            click.echo()
        except EOFError:
            click.echo()
            return
        except UnicodeDecodeError as error:
            tell(f"this is not UTF-8 text: {error.reason}")


@contextlib.contextmanager
def editing(complete: Callable[[str, str], list[str]]) -> Generator[None]:
    """Have lines edited, remembered and completed while this is open, where the system can."""
    try:
        import readline
    except ImportError:  # not on every system
        yield
        return

    found: list[str] = []

    def completer(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = complete(text, readline.get_line_buffer())
        return found[state] if state < len(found) else None

    before = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(completer)
    readline.set_completer_delims(_DELIMITERS)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before[0])
        readline.set_completer_delims(before[1])
