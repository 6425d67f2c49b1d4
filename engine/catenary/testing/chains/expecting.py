"""Holds what came of a run against what a case expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.errors import CatenaryError, ConfigError
from catenary.expr import Expression
from catenary.testing.chains.matching import ABSENT, differences, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary.chain import Chain
    from catenary.message import Message
    from catenary.outcome import End, Outcome
    from catenary.testing.chains.model import Expect, ExpectedEnd, Payload
    from catenary.testing.chains.observing import Observer


def unmet(chain: Chain, expect: Expect, outcome: Outcome, seen: Observer, took_s: float) -> list[str]:
    """Give all that is not as expected, in words.

    Raises:
        ConfigError: When the expectation itself cannot be used.
    """
    found = [*_status(expect, outcome), *_way(expect, seen)]
    for node, payloads in expect.received.items():
        found += _received(chain, node, payloads, seen.came.get(node, []))
    if expect.ends is not None:
        found += _ends(chain, expect.ends, [end for end in outcome.ends if not (end.gated or end.is_late)])
    found += _payload(chain, expect, outcome.message, "")
    if expect.max_duration is not None and took_s > expect.max_duration:
        found.append(f"maxDuration: expected at most {expect.max_duration:g} s, took {took_s:.3g} s")
    return found


def _status(expect: Expect, outcome: Outcome) -> list[str]:
    wants_error = expect.gives("error")
    if expect.ends is not None and any(end.relation == "Failure" or end.gives("error") for end in expect.ends):
        wants_error = True
    status = expect.status or ("" if wants_error else "completed")
    found: list[str] = []
    text = str(outcome.error) if outcome.error else None
    if outcome.status == "paused":
        text = "a node waits, and nobody answers in a test: give it a mock"
    if status and outcome.status != status:
        found.append(f"status: expected {status}, got {outcome.status}" + (f" ({text})" if text else ""))
    if wants_error and expect.gives("error"):
        found += _error(expect.error, text, "error")
    return found


def _error(expected: Any, text: str | None, way: str) -> list[str]:
    if expected and isinstance(expected, (str, int)):  # a status code needs no quotes
        expected = {"$contains": str(expected)}
    return differences(expected, ABSENT if text is None and isinstance(expected, dict) else text, way=way)


def _way(expect: Expect, seen: Observer) -> list[str]:
    found: list[str] = []
    if expect.path is not None:
        path = seen.own_path(expect.path)
        if path != expect.path:
            found.append(f"path: expected {_arrows(expect.path)}\n            got {_arrows(path)}")
    if expect.contains_path is not None and not _is_within(expect.contains_path, seen.path):
        found.append(
            f"containsPath: expected {_arrows(expect.contains_path)}\n                    got {_arrows(seen.path)}"
        )
    found += [f"visited: {node} was not visited" for node in expect.visited if node not in seen.path]
    found += [f"notVisited: {node} was visited" for node in expect.not_visited if node in seen.path]
    for node, count in expect.visits.items():
        if seen.path.count(node) != count:
            found.append(f"visits.{node}: expected {count}, got {seen.path.count(node)}")
    for node, relations in expect.relations.items():
        found += differences(list(relations), seen.left.get(node, []), way=f"relations.{node}")
    return found


def _arrows(path: Iterable[str]) -> str:
    return " -> ".join(path) or "(nothing)"


def _is_within(wanted: Sequence[str], path: Sequence[str]) -> bool:
    rest = iter(path)
    return all(node in rest for node in wanted)


def _received(chain: Chain, node: str, payloads: Sequence[Payload], messages: Sequence[Message]) -> list[str]:
    if len(payloads) != len(messages):
        return [f"received.{node}: expected {len(payloads)} messages, got {len(messages)}"]
    found: list[str] = []
    for index, (payload, message) in enumerate(zip(payloads, messages, strict=True)):
        way = f"received.{node}" + (f"[{index}]" if len(payloads) > 1 else "")
        found += _payload(chain, payload, message, f"{way}.")
    return found


def _ends(chain: Chain, expected: Sequence[ExpectedEnd], ends: Sequence[End]) -> list[str]:
    """Give each expected end the first one left that fits; what is not found, and what is left, is told."""
    left = list(ends)
    found: list[str] = []
    for index, one in enumerate(expected):
        match = next((end for end in left if not _end(chain, one, end, "")), None)
        if match is not None:
            left.remove(match)
            continue
        nearest = next((end for end in left if one.node in {None, end.node_id}), None)
        if nearest is None:
            found.append(f"ends[{index}]: no branch ended at {one.node or 'any node'}")
        else:
            left.remove(nearest)
            found += _end(chain, one, nearest, f"ends[{index}].")
    found += [
        f"ends: not expected: {end.node_id} by {end.relation or 'nothing'}, {shown(end.message.value)}" for end in left
    ]
    return found


def _end(chain: Chain, expected: ExpectedEnd, end: End, way: str) -> list[str]:
    found: list[str] = []
    if expected.node is not None:
        found += differences(expected.node, end.node_id, way=f"{way}node")
    if expected.relation is not None:
        found += differences(expected.relation, str(end.relation), way=f"{way}relation")
    if expected.gives("error"):
        found += _error(expected.error, end.reason or None, f"{way}error")
    return found + _payload(chain, expected, end.message, way)


def _payload(chain: Chain, expected: Payload, message: Message, way: str) -> list[str]:
    found: list[str] = []
    if expected.gives("data"):
        found += differences(expected.data, _value(expected.data, message), way=f"{way}data")
    if expected.gives("contains"):
        value = _value(expected.contains, message)
        if isinstance(expected.contains, str):
            found += differences({"$contains": expected.contains}, message.text, way=f"{way}data")
        else:
            found += differences(expected.contains, value, part=True, way=f"{way}data")
    for key, value in expected.metadata.items():
        found += differences(value, message.metadata.get(key, ABSENT), way=f"{way}metadata.{key}")
    if expected.type is not None:
        found += differences(expected.type, message.type, way=f"{way}type")
    if expected.data_type is not None:
        found += differences(expected.data_type, message.data_type, way=f"{way}dataType")
    for source in expected.that:
        found += _that(chain, source, message, way)
    return found


def _value(expected: Any, message: Message) -> Any:
    """Give the payload as it is compared: the text where a text is expected and the payload is none."""
    return message.text if isinstance(expected, str) and not isinstance(message.value, str) else message.value


def _that(chain: Chain, source: str, message: Message, way: str) -> list[str]:
    text = source.strip()
    text = text[2:-1] if text.startswith("${") and text.endswith("}") else text
    try:
        expression = Expression.compile(text, chain.environment)
    except CatenaryError as error:
        raise ConfigError(f"{way}that: {source!r}: {error}", hint=error.hint) from None
    try:
        result = expression.evaluate(message)
    except CatenaryError as error:
        return [f"{way}that: {source} cannot be told: {error}"]
    return [] if result is True else [f"{way}that: {source} is {shown(result)}, the data is {shown(message.value)}"]
