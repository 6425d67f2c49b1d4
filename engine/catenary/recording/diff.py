"""What differs between two recorded runs: the nodes visited, the ways taken, the data sent, the ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.recording import RunRecord, Visit

Kind: TypeAlias = Literal["chain", "status", "error", "message", "visit", "relations", "data", "end"]
MISSING: Final = object()
"""Stands for what one of two sides does not have."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs.

    Attributes:
        kind: What differs; `visit` and `end` are there in one of the runs only, `message` is what the runs began with.
        left: What the first run has; `MISSING` for nothing.
        right: What the second run has.
        path: Where in the message, such as `data.items[2].price`; empty for all else.
        node_id: The node; empty when it belongs to none.
        visits: The numbers of the visit in the two runs; 0 where it is not there.
    """

    kind: Kind
    left: Any
    right: Any
    path: str = ""
    node_id: str = ""
    visits: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Json]:
        """Give it as JSON with camelCase keys; what one side does not have is left out."""
        written: dict[str, Json] = {"kind": self.kind, "nodeId": self.node_id, "path": self.path}
        written["visits"] = list(self.visits)
        written |= {} if self.left is MISSING else {"left": self.left}
        return written | ({} if self.right is MISSING else {"right": self.right})


def differences(left: RunRecord, right: RunRecord) -> list[Difference]:
    """Compare two runs.

    Visits belong together when they are of the same node at the same place of the tree, the first with the first, the
    second with the second; in which order branches beside each other came does not count, nor do times and ids.
    """
    found: list[Difference] = []
    if left.chain_id != right.chain_id:
        found.append(Difference("chain", left.chain_id, right.chain_id))
    found += [Difference("message", *sides, path=path) for path, *sides in _messages(left.message, right.message)]
    for one, other in paired(left, right):
        found += _visits(one, other)
    found += _ends(left, right)
    if left.status != right.status:
        found.append(Difference("status", left.status, right.status))
    if left.error != right.error:
        found.append(Difference("error", left.error, right.error))
    return found


def paired(left: RunRecord, right: RunRecord) -> list[tuple[Visit | None, Visit | None]]:
    """Give the visits of two runs that belong together, in the order of the first run; `None` where one is missing."""
    ours, theirs = _by_place(left), _by_place(right)
    both: list[tuple[Visit | None, Visit | None]] = [(visit, theirs.get(place)) for place, visit in ours.items()]
    return both + [(None, visit) for place, visit in theirs.items() if place not in ours]


def values(left: Json, right: Json, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give what differs between two JSON values, as path, left and right; `MISSING` where one side has nothing."""
    if isinstance(left, dict) and isinstance(right, dict):
        our, their = cast("dict[str, Json]", left), cast("dict[str, Json]", right)
        for key in our | their:
            name = f"{path}.{key}" if path else str(key)
            yield from values(our.get(key, MISSING), their.get(key, MISSING), name)
    elif isinstance(left, list) and isinstance(right, list):
        ours, theirs = cast("list[Json]", left), cast("list[Json]", right)
        for index in range(max(len(ours), len(theirs))):
            one = ours[index] if index < len(ours) else MISSING
            yield from values(one, theirs[index] if index < len(theirs) else MISSING, f"{path}[{index}]")
    elif left is not right and (left != right or isinstance(left, bool) != isinstance(right, bool)):
        yield path, left, right


def _by_place(record: RunRecord) -> dict[tuple[Any, ...], Visit]:
    """Give the visits by their place: that of the visit they are inside, their node, and how many came before."""
    places: dict[int, tuple[Any, ...]] = {0: ()}
    counts: Counter[tuple[Any, ...]] = Counter()
    found: dict[tuple[Any, ...], Visit] = {}
    for visit in record.visits:
        node = (*places.get(visit.parent, ()), visit.chain_id, visit.node_id)
        counts[node] += 1
        place = places[visit.number] = (*node, counts[node])
        found[place] = visit
    return found


def _visits(left: Visit | None, right: Visit | None) -> Iterator[Difference]:
    if left is None or right is None:
        one = left or right
        assert one is not None
        sides = (one.node_id, MISSING) if right is None else (MISSING, one.node_id)
        numbers = (one.number, 0) if right is None else (0, one.number)
        yield Difference("visit", *sides, node_id=one.node_id, visits=numbers)
        return
    numbers = (left.number, right.number)
    ways = [[str(by) for by, _ in visit.sent] for visit in (left, right)]
    if ways[0] != ways[1]:
        yield Difference("relations", ways[0], ways[1], node_id=left.node_id, visits=numbers)
    for index, ((_, ours), (_, theirs)) in enumerate(zip(left.sent, right.sent, strict=False)):
        if _is_same(ours, left.message) and _is_same(theirs, right.message):
            continue  # passed on as it came: what differs has been told where it came about
        place = f"[{index}]" if len(left.sent) > 1 else ""
        for path, one, other in _messages(ours, theirs):
            yield Difference("data", one, other, path=f"{place}{path}", node_id=left.node_id, visits=numbers)
    if left.error != right.error:
        yield Difference("error", left.error, right.error, node_id=left.node_id, visits=numbers)


def _ends(left: RunRecord, right: RunRecord) -> Iterator[Difference]:
    ours, theirs = (Counter((end.node_id, str(end.relation)) for end in run.ends) for run in (left, right))
    for (node_id, relation), count in (ours - theirs).items():
        for _ in range(count):
            yield Difference("end", relation, MISSING, node_id=node_id)
    for (node_id, relation), count in (theirs - ours).items():
        for _ in range(count):
            yield Difference("end", MISSING, relation, node_id=node_id)


def _messages(left: Message, right: Message) -> Iterator[tuple[str, Any, Any]]:
    if not _is_same(left, right):
        yield from values(_parts(left), _parts(right))


def _is_same(left: Message, right: Message) -> bool:
    return left is right or (
        left.data_type == right.data_type
        and left.type == right.type
        and left.metadata == right.metadata
        and left.data == right.data
    )


def _parts(message: Message) -> Mapping[str, Json]:
    data = message.value if message.data_type != "BINARY" else message.to_dict()["data"]
    return {"data": data, "dataType": message.data_type, "type": message.type, "metadata": dict(message.metadata)}
