"""The options of a command that make a message, and what expressions are tried on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._pairs import bad, split_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from catenary.cache import Cache
    from catenary.message import Message

_DATA_TYPES = ("JSON", "TEXT", "BINARY")
_OUTPUT = "--output"


def message_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a message: `data`, `data_file`, `message_type`, `data_type` and `metadata`."""
    for decorate in reversed(
        (
            click.option(
                "-d",
                "--data",
                metavar="TEXT|@FILE",
                help="The data of the message; @FILE reads it, @- stdin. A text that begins with @ is written with @@.",
            ),
            click.option(
                "-f",
                "--data-file",
                metavar="FILE",
                type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True),
                help="Read the data from a file, or from stdin as -.",
            ),
            click.option("--type", "message_type", default="", metavar="T", help="The message's business type."),
            click.option(
                "--data-type",
                type=click.Choice(_DATA_TYPES, case_sensitive=False),
                default="JSON",
                show_default=True,
                metavar="[JSON|TEXT|BINARY]",
                help="What the data is. JSON that is none counts as text; BINARY is bytes.",
            ),
            click.option(
                "-m",
                "--metadata",
                multiple=True,
                metavar="KEY=VALUE",
                help="Put an entry into the metadata. Repeatable.",
            ),
        )
    ):
        command = decorate(command)
    return command


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that says what other nodes put out."""
    return click.option(
        _OUTPUT,
        "outputs",
        multiple=True,
        metavar="NODE=DATA",
        help="Say what another node put out, for expressions that name it. Repeatable.",
    )(command)


@dataclass(frozen=True, slots=True)
class Given:
    """A message, and what other nodes put out. It stands in for the context of a run; its caches are its own."""

    message: Message
    outputs: Mapping[str, Message]
    node_id: str = ""
    chain_id: str = ""
    _caches: dict[str, Cache] = field(default_factory=dict[str, "Cache"], repr=False)

    def output(self, node_id: str) -> Message | None:
        """Give what a node put out; `None` when nobody said."""
        return self.outputs.get(node_id)

    @property
    def chain_cache(self) -> Cache:
        """What scripts have under `$ctx.ChainCache()`: empty at first."""
        return self._cache("chain")

    @property
    def global_cache(self) -> Cache:
        """What scripts have under `$ctx.GlobalCache()`: empty at first."""
        return self._cache("global")

    def _cache(self, name: str) -> Cache:
        if name not in self._caches:
            from catenary.cache import MemoryCache
            from catenary.clock import SystemClock

            self._caches[name] = MemoryCache(SystemClock())
        return self._caches[name]

    def with_data(self, raw: bytes) -> Given:
        """Give the same with other data, which is taken as the message's data type says."""
        from catenary.cli._input import make_message, tell_broken_json

        message = self.message
        changed = make_message(raw, message.type, message.data_type, _texts(message))
        tell_broken_json(changed)
        return replace(self, message=changed)

    def with_message(self, *, type: str | None = None, metadata: Mapping[str, str] | None = None) -> Given:  # noqa: A002
        """Give the same with another type or metadata."""
        from catenary.message import Message

        message = self.message
        changed = Message(
            message.data,
            message.type if type is None else type,
            message.data_type,
            message.metadata if metadata is None else metadata,
        )
        return replace(self, message=changed)


def given_of(options: Mapping[str, Any]) -> Given:
    """Read the options of `message_options` and `output_option`; stdin is read to its end when it is the source.

    Raises:
        click.UsageError: When an option cannot be read.
    """
    from catenary.cli._input import Source, make_message, tell_broken_json
    from catenary.message import Message

    metadata = dict(split_pair(pair, "-m") for pair in options["metadata"])
    outputs = {node: Message(data) for node, data in (split_pair(pair, _OUTPUT) for pair in options["outputs"])}
    raw = b"".join(Source.of(options["data"], options["data_file"]).chunks())
    message = make_message(raw, options["message_type"], options["data_type"], metadata)
    tell_broken_json(message)
    return Given(message, outputs)


def need_known_nodes(given: Given, known: Iterable[str]) -> None:
    """Make sure that `--output` names nodes of the chain. Raises: click.BadParameter: when it does not."""
    from catenary.load.names import did_you_mean

    nodes = list(known)
    for node in given.outputs:
        if node not in nodes:
            hint = did_you_mean(node, nodes, f"the nodes are: {', '.join(nodes)}")
            raise bad(_OUTPUT, f"the chain has no node {node!r}; {hint}")


def _texts(message: Message) -> dict[str, str]:
    return {key: str(value) for key, value in message.metadata.items()}
