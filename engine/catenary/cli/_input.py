"""Where the messages of a run come from: `-d`, a file or stdin, whole or line by line."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from catenary.message import Message

STDIN = "-"
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """What was asked for as input: the text of `-d`, the path of `-f`, or stdin; nothing is empty input."""

    data: str | None = None
    file: str | None = None
    stdin: bool = False

    @classmethod
    def of(cls, data: str | None, file: str | None, dash: str | None = None) -> Source:
        """Put the options together.

        Args:
            data: The text of `-d`: `@FILE` reads a file, `@-` stdin, and `@@` begins a text with one `@`.
            file: The path of `-f`; `-` is stdin.
            dash: A lone `-`, for stdin.

        Raises:
            click.UsageError: When they name more than one source, or a wrong one.
        """
        if dash not in {None, STDIN}:
            raise click.UsageError(f"unexpected argument {dash!r}: give data with -d, a file with -f, stdin as -")
        if sum(given is not None for given in (data, file, dash)) > 1:
            raise click.UsageError("give the data once: with -d, with -f, or as - for stdin")
        if data is not None and data.startswith("@"):
            data, file = _after_at(data[1:])
        return cls(data, None if file == STDIN else file, STDIN in {dash, file})

    @property
    def is_given(self) -> bool:
        """True when some source was named."""
        return self.stdin or self.file is not None or self.data is not None

    def chunks(self) -> Iterator[bytes]:
        """Give all of the input, in pieces as they come."""
        with self._opened() as read:
            yield from iter(read, b"")

    def lines(self) -> Iterator[bytes]:
        """Give the input line by line as it comes, without line ends; blank lines are left out."""
        yield from _lines(self.chunks())

    def count_lines(self) -> int | None:
        """Give the number of lines; `None` when it cannot be known in advance."""
        if self.stdin or (self.file is not None and not Path(self.file).is_file()):
            return None  # what comes through a pipe can be read only once
        return sum(1 for _ in self.lines())

    @contextmanager
    def _opened(self) -> Generator[Callable[[], bytes]]:
        """Give a function that reads what comes next, and nothing at the end."""
        if self.stdin:
            stream = stdin()
            # Read past the buffer: a thread that waits inside it would hold its lock when the program ends.
            yield _reader(getattr(stream, "raw", stream))
        elif self.file is not None:
            try:
                with Path(self.file).open("rb") as stream:
                    yield _reader(stream)
            except OSError as error:
                raise click.UsageError(f"cannot read {self.file}: {error.strerror or error}") from None
        else:
            chunks = iter([os.fsencode(self.data or "")])
            yield lambda: next(chunks, b"")


def make_message(
    raw: bytes, message_type: str, data_type: str, metadata: Mapping[str, str], label: str = ""
) -> Message:
    """Make the message of one run; `label` stands before what is wrong with its data.

    Raises:
        click.UsageError: When the data is to be text and is not UTF-8.
    """
    from catenary.message import Message

    if data_type == "BINARY":
        return Message(raw, message_type, data_type, metadata)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"{label}the data is not UTF-8 text (byte {error.start + 1}); use --data-type BINARY to send it as bytes"
        ) from None
    return Message(text, message_type, data_type, metadata)


def tell_broken_json(message: Message) -> None:
    """Warn of data that was meant to be JSON, to all appearance, and is text because it is none."""
    from catenary.cli._formula import tell_warning
    from catenary.jsontext import loads

    text = message.value
    if message.data_type != "JSON" or not isinstance(text, str) or not message.text.lstrip().startswith(("{", "[")):
        return
    try:
        loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error).rpartition(" (char")[0]
        tell_warning(f"the data is no JSON, so msg is a text: {reason or error}")


def stdin() -> BinaryIO:
    """Give stdin as bytes. Raises: click.UsageError: when there is none."""
    if sys.stdin is None:  # closed by whoever started the program
        raise click.UsageError("there is nothing to read: stdin is closed")
    return sys.stdin.buffer


def _after_at(name: str) -> tuple[str | None, str | None]:
    """Give data and file that what follows the first `@` of `-d` stands for."""
    if not name:
        raise click.BadParameter(
            "there is no file name behind the '@'; write -d @FILE, or -d @@ for a text that begins with @",
            param_hint="'-d'",
        )
    return (name, None) if name.startswith("@") else (None, name)


def _reader(stream: BinaryIO) -> Callable[[], bytes]:
    return lambda: stream.read(_CHUNK_BYTES) or b""


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.rstrip(b"\r") for line in whole if line.strip())
    if rest.strip():
        yield rest.rstrip(b"\r")
