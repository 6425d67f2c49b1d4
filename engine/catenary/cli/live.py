"""Show what travelled where: one line for each thing that happens in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.events import Event, Listener
    from catenary.message import Message

__all__ = ["Trace", "Writers", "relation_text", "shortened", "took_text"]

_WIDTH = 160
_WORST = {"run.error": "red", "run.cancel": "yellow", "run.pause": "yellow", "run.complete": "green"}


class Trace:
    """Writes the events of runs as lines; a listener for `engine.run(..., listener=trace)`.

    ```
    > node_filter (jsFilter) from node_agent by Success: {"action":"on"}
    < node_filter by True in 0.4 ms
    = node_end by True
    ```

    `>` is a visit that begins, `~` what a node sends on the way, `<` the visit's end and how the message left, `=` the
    end of a branch. What happens inside a visit (the phases of an agent, a sub-chain) is set in below it.

    Args:
        write: Gets each line; stderr if absent.
        types: The node types of the chain, by node id.
        label: Stands before each line, to tell runs apart.
        inside: False leaves out what happens inside visits.
    """

    def __init__(
        self,
        write: Callable[[str], object] | None = None,
        *,
        types: Mapping[str, str] | None = None,
        label: str = "",
        inside: bool = True,
    ) -> None:
        self._write = write or _to_stderr
        self._types = types or {}
        self._label = label
        self._inside = inside
        self._depths: dict[tuple[str, int], int] = {}
        self._data: dict[tuple[str, int], Message] = {}
        self._muted: set[tuple[str, int]] = set()

    def __call__(self, event: Event) -> None:
        """Write the line of an event, if it has one."""
        if event.parent and not self._inside:
            return
        kind = event.name.replace(".", "_").replace("-", "_")
        line: str | None = getattr(self, f"_{kind}", self._other)(event)
        if line:
            self._write(f"{self._label}{'  ' * self._depth(event)}{line}")

    def _depth(self, event: Event) -> int:
        return self._depths.get((event.run_id, event.parent), -1) + 1

    def _run_start(self, event: Any) -> str:
        return click.style(
            f"run {event.run_id} of chain {event.chain_id!r}: {shortened(event.message.writable().text)}", bold=True
        )

    def _node_start(self, event: Any) -> str | None:
        visit = (event.run_id, event.visit)
        node_type = "" if event.parent else self._types.get(event.node_id, "")
        if node_type == "end":  # the end of the branch tells it all
            self._muted.add(visit)
            return None
        self._depths[visit] = self._depth(event)
        message = self._data[visit] = event.message.writable()
        shown = f"{click.style(event.node_id, fg='cyan')} ({node_type})" if node_type else event.node_id
        way = f" from {event.sender} by {relation_text(event.relation)}" if event.sender else ""
        return f"> {shown}{way}: {shortened(message.text)}"

    def _node_emit(self, event: Any) -> str:
        return f"~ {event.node_id} sends {relation_text(event.relation)}: {shortened(event.message.writable().text)}"

    def _node_end(self, event: Any) -> str | None:
        visit = (event.run_id, event.visit)
        if visit in self._muted:
            return None
        got = self._data.pop(visit, None)
        ways = [
            relation_text(relation)
            + ("" if got is not None and message.data == got.data else f" {shortened(message.text)}")
            for relation, message in zip(event.relations, (sent.writable() for sent in event.messages), strict=False)
        ]
        error = f": {click.style(shortened(event.error), fg='red')}" if event.error else ""
        return f"< {event.node_id} by {', '.join(ways) or 'nothing'} in {took_text(event.duration_s)}{error}"

    def _branch_end(self, event: Any) -> str | None:
        if event.parent:
            return None
        way = f"ends by {relation_text(event.relation)}" if event.relation else "ends here"
        return f"= {event.node_id} {way}{' (gated)' if event.gated else ''}"

    def _run_complete(self, event: Event) -> str:
        return self._over(event, "the run completed")

    def _run_pause(self, event: Event) -> str:
        return self._over(event, "the run paused")

    def _run_error(self, event: Any) -> str:
        return self._over(event, f"the run failed: {event.error}")

    def _run_cancel(self, event: Any) -> str:
        return self._over(event, f"the run was cancelled: {event.error}")

    def _over(self, event: Event, text: str) -> str:
        return click.style(text, fg=_WORST[event.name])

    def _other(self, event: Any) -> str | None:
        """Give the line of what a component reports itself; pieces of text are seen as they are sent anyhow."""
        if event.name.endswith(".delta"):
            return None
        data = " ".join(f"{key}={shortened(str(value), 60)}" for key, value in dict(event.data).items())
        return click.style(f"* {event.node_id} {event.name} {data}".rstrip(), dim=True)


class Writers:
    """Listeners that write. When they cannot any more (whoever read has gone, the disk is full), they fall silent and
    the run goes on: it may be at work somewhere else."""

    def __init__(self, parts: list[Listener]) -> None:
        self._parts = parts
        self._error: OSError | None = None

    def __call__(self, event: Event) -> None:
        if self._error is not None:
            return
        try:
            for part in self._parts:
                part(event)
        except OSError as error:
            self._error = error

    def raise_for_error(self) -> None:
        """Raise what kept them from writing, if anything did."""
        if self._error is not None:
            raise self._error


def shortened(text: str, width: int = _WIDTH) -> str:
    """Give a text on one line, cut to a width in characters; `(empty)` for none."""
    flat = "".join(piece if piece.isprintable() else " " for piece in " ".join(text[: 4 * width].split()))
    cut = flat[:width]
    return f"{cut}... ({len(text)} characters)" if len(flat) > width or len(text) > 4 * width else cut or "(empty)"


def took_text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.0001 else "under 0.1 ms"


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)


def relation_text(name: str) -> str:
    return click.style(name, fg="red" if name == "Failure" else "green")
