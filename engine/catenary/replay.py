"""Run a recorded run again: from any node on, on the recorded or the present version of its chain, some nodes pinned.

A pinned node is not run: it sends what it sent in the recorded run, or what the caller says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from catenary.errors import EngineError
from catenary.masking import MASK
from catenary.message import Message
from catenary.relation import FAILURE, fail
from catenary.runtime.emission import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.outcome import Outcome
    from catenary.recording import RunRecord, Visit
    from catenary.relation import Relation

    Sent: TypeAlias = Sequence[tuple[Relation | str, Any]]

Which: TypeAlias = Literal["recorded", "present"]
"""Which version of a chain is run: the one of the record, or the one that the engine has under its id."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a run begins anew.

    Attributes:
        message: What it begins with.
        node: The node it begins at; empty for the beginning of the chain.
        visit: The recorded visit whose message is taken; `None` for the message of the run.
        visits: The numbers of all recorded visits of the node.
        outputs: What other nodes had sent on by then, by node id.
    """

    message: Message
    node: str = ""
    visit: Visit | None = None
    visits: tuple[int, ...] = ()
    outputs: Mapping[str, Message] = field(default_factory=dict[str, Message])


def beginning_of(record: RunRecord, node: str = "", *, visit: int | None = None) -> Beginning:
    """Give where a recorded run can begin anew.

    Args:
        record: The run.
        node: A node of its chain; the beginning of the chain if absent.
        visit: The number of one of its visits in the run; the last one if absent.

    Raises:
        EngineError: When the run did not visit the node, or not with this number.
    """
    if not node:
        return Beginning(record.message)
    visits = _visits_of(record, record.chain_id, node)
    numbers = tuple(one.number for one in visits)
    if visit is not None and visit not in numbers:
        raise EngineError(
            f"visit {visit} of run {record.run_id} is none of node {node!r}",
            hint=f"its visits are: {', '.join(map(str, numbers))}",
        )
    chosen = visits[-1] if visit is None else next(one for one in visits if one.number == visit)
    return Beginning(chosen.message, node, chosen, numbers, _outputs_before(record, chosen))


def replay(
    engine: Engine,
    record: RunRecord,
    node: str = "",
    *,
    visit: int | None = None,
    message: Message | Any = None,
    version: Which = "present",
    pins: Iterable[str] | Mapping[str, Any] = (),
    chain: Chain | None = None,
) -> Replay:
    """Make ready to run a recorded run again: `outcome = await replay(engine, record, "score").run()`.

    Args:
        engine: Has the present version of the chain, and the chains that it runs.
        record: The recorded run.
        node: Where to begin: with the message that this node got; at the beginning of the chain if absent.
        visit: Which of the node's visits is meant, by its number in the run; the last one if absent.
        message: What to begin with instead, a `Message` or its data.
        version: The version of the chain to run.
        pins: Nodes that send what they sent in the recorded run; or by node id what each sends: `(relation,
            message)`, with a `Message` or its data, or a list of these. Nodes of other chains are named
            `chain id:node id`.
        chain: The chain to run instead of one of the two versions.

    Raises:
        EngineError: When the record has no such visit, or the chain no such node.
        ChainError: When the recorded version cannot be loaded any more.
    """
    start = beginning_of(record, node, visit=visit)
    if message is not None:
        given = message if isinstance(message, Message) else Message(message)
        start = Beginning(given, start.node, start.visit, start.visits, start.outputs)
    made: Chain | None = None
    if chain is None:
        made = engine.make(dict(record.definition)) if version == "recorded" else None
        chain = made or engine.get(record.chain_id)
    if node and node not in chain.compiled.by_id:
        known = ", ".join(repr(name) for name in chain.compiled.by_id)
        raise EngineError(f"node id={node} not found", hint=f"nodes of the {version} version: {known}")
    after = start.visit.number if start.visit else 0
    runs = pinned(record, pins, after=after)
    shown = chain.replacing(runs) if runs else chain
    return Replay(shown, start, version, tuple(runs), differs(record, chain), made)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded run that can be run again.

    Attributes:
        chain: What is run.
        start: Where and with what it begins.
        version: Which version of the chain is run.
        pins: The nodes that are not run.
        differs: True when the version that is run is written otherwise than the recorded one.
        made: The recorded version, when it was loaded for this; `close` closes it.
    """

    chain: Chain
    start: Beginning
    version: Which
    pins: tuple[str, ...]
    differs: bool
    made: Chain | None = None

    @property
    def has_masked_secrets(self) -> bool:
        """True when the recorded version is run and a secret that stood in it is masked."""
        return self.version == "recorded" and any(MASK in text for text in _texts(self.chain.to_dict()))

    @property
    def options(self) -> dict[str, Any]:
        """The options of the run that say where it begins."""
        return {"start": self.start.node, "outputs": self.start.outputs} if self.start.node else {}

    async def run(self, **options: Any) -> Outcome:
        """Run it. The options are those of `Engine.run`. Raises: as `Engine.run`."""
        return await self.chain.run(self.start.message, **{**self.options, **options})

    def run_sync(self, **options: Any) -> Outcome:
        """Run it where no event loop runs, see `Engine.run_sync`."""
        return self.chain.run_sync(self.start.message, **{**self.options, **options})

    async def close(self) -> None:
        """Close the recorded version, if it was loaded for this."""
        if self.made is not None:
            await self.made.close()

    def close_sync(self) -> None:
        """Close the recorded version where no event loop runs, as far as that needs none."""
        if self.made is not None:
            self.made.close_now()


def differs(record: RunRecord, chain: Chain) -> bool:
    """Tell whether a chain is written otherwise than the recorded one; the order of keys does not count."""
    from catenary.store.fingerprint import fingerprint

    return fingerprint(record.definition) != fingerprint(chain.as_written())


def pinned(
    record: RunRecord | None, pins: Iterable[str] | Mapping[str, Any], *, after: int = 0
) -> dict[str, Callable[..., Any]]:
    """Give what stands in for pinned nodes, for `Chain.replacing`.

    A node that was visited several times sends what it sent at the first of these visits first, and so on; at the end
    it stays with the last one.

    Args:
        record: The run whose outputs are taken; `None` when `pins` says them all.
        pins: As for `replay`.
        after: Visits up to this number are left out, as far as others remain.

    Raises:
        EngineError: When the run did not visit a node, or the visit was not over.
    """
    if isinstance(pins, Mapping):
        given = cast("Mapping[str, Any]", pins)
        return {name: _sends([_listed(sent)]) for name, sent in given.items()}
    if record is None:
        raise EngineError(
            "without a recorded run, pins need what each node sends", hint="give pins={'node': (relation, message)}"
        )
    return {name: _sends(_outputs_of(record, name, after)) for name in pins}


def _listed(sent: Sent | tuple[Relation | str, Any]) -> Sent:
    return cast("Sent", [sent] if isinstance(sent, tuple) else sent)


def _sends(outputs: Sequence[Sent]) -> Callable[..., Any]:
    waiting = list(outputs)

    def run(_ctx: Any, message: Any) -> Any:
        sent = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return [(by, one if isinstance(one, Message) else first_of(message).with_data(one)) for by, one in sent]

    return run


def _outputs_of(record: RunRecord, name: str, after: int) -> list[Sent]:
    chain_id, node = _owner(record, name)
    visits = _visits_of(record, chain_id, node)
    later = [visit for visit in visits if visit.number > after] or visits
    open_ones = [visit for visit in later if visit.duration_s is None]
    if open_ones:
        raise EngineError(
            f"node {name!r} cannot be pinned: its visit {open_ones[0].number} in run {record.run_id} was not over"
        )
    return [_sent_by(visit) for visit in later]


def _owner(record: RunRecord, name: str) -> tuple[str, str]:
    """Give the chain and the node that a name means: ids may hold colons."""
    own = {visit.node_id for visit in record.visits if visit.chain_id == record.chain_id}
    if name not in own:
        for visit in record.visits:
            if name == f"{visit.chain_id}:{visit.node_id}":
                return visit.chain_id, visit.node_id
    return record.chain_id, name


def _sent_by(visit: Visit) -> Sent:
    """Give what a visit sent; an error goes along with its last `Failure` again."""
    sent: list[tuple[Relation | str, Message]] = list(visit.sent)
    if visit.error and sent and sent[-1][0] == FAILURE:
        message = sent[-1][1]
        relation, _ = fail(visit.error, message)
        sent[-1] = relation, message
    return sent


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        inner = cast("Any", value.values() if isinstance(value, dict) else value)
        for item in inner:
            yield from _texts(item)


def _visits_of(record: RunRecord, chain_id: str, node: str) -> list[Visit]:
    found = [visit for visit in record.visits if visit.node_id == node and visit.chain_id == chain_id]
    if not found:
        known = dict.fromkeys(visit.node_id for visit in record.visits if visit.chain_id == chain_id)
        raise EngineError(
            f"node {node!r} was not visited in run {record.run_id}",
            hint=f"nodes that were: {', '.join(map(repr, known)) or 'none'}",
        )
    return found


def _outputs_before(record: RunRecord, visit: Visit) -> dict[str, Message]:
    """Give what the nodes of the chain had sent on when a visit began."""
    outputs: dict[str, Message] = {}
    for other in record.visits:
        if other.number >= visit.number:
            break
        if other.chain_id == record.chain_id and other.sent and _ended_before(other, visit):
            outputs[other.node_id] = other.sent[-1][1]
    return outputs


def _ended_before(other: Visit, visit: Visit) -> bool:
    return other.duration_s is not None and other.started_ms + other.duration_s * 1000 <= visit.started_ms + 1
