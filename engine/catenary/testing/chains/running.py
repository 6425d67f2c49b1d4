"""Runs the cases of a file of chain tests, each in an engine of its own."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from catenary.clock import SystemClock
from catenary.engine import Engine
from catenary.errors import CatenaryError, ChainInvalid, EngineError, Problem
from catenary.life.chainfiles import id_of, same_id
from catenary.load import read
from catenary.load.envelope import read_envelope
from catenary.load.json_text import Parsed
from catenary.load.places import same_key
from catenary.message import BINARY, Message
from catenary.testing.chains.clock import LeapingClock
from catenary.testing.chains.expecting import unmet
from catenary.testing.chains.observing import Hits, Observer
from catenary.testing.chains.resting import Rest
from catenary.testing.chains.standins import StandIns

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from catenary.chain import Chain
    from catenary.clock import Clock
    from catenary.load import Document
    from catenary.testing.chains.reading import PlacedCase, SuiteFile

Result: TypeAlias = Literal["passed", "failed", "skipped"]


@dataclass
class CaseResult:
    """What came of a case.

    Attributes:
        problems: All that was not as expected, in words.
        reason: Why it was left out.
        path: The nodes that were visited.
        hits: By chain id, what was reached.
    """

    file: Path
    name: str
    line: int
    result: Result = "passed"
    problems: list[str] = field(default_factory=list[str])
    reason: str = ""
    path: list[str] = field(default_factory=list[str])
    duration_s: float = 0.0
    hits: dict[str, Hits] = field(default_factory=dict[str, Hits])

    @property
    def id(self) -> str:
        """The file and the name."""
        return f"{self.file}::{self.name}"

    def text(self) -> str:
        """Give what is wrong, a line each, with the path that was taken below."""
        lines = [f"  {line}" for line in self.problems]
        if self.path:
            lines.append(f"  path taken: {' -> '.join(self.path)}")
        return "\n".join(lines)


def skipped(file: SuiteFile, placed: PlacedCase) -> str:
    """Give why a case is left out; empty when it is not."""
    if placed.case.skip:
        return placed.case.skip
    has_only = any(other.case.only for other in file.cases)
    return "another case of the file says `only`" if has_only and not placed.case.only else ""


async def run_case(file: SuiteFile, placed: PlacedCase) -> CaseResult:
    """Run a case.

    Raises:
        ChainError: When a chain cannot be loaded.
    """
    result = CaseResult(file.path, placed.name, placed.line, reason=skipped(file, placed))
    if result.reason:
        result.result = "skipped"
        return result
    began = time.perf_counter()
    setting = _Merged(file, placed)
    with _variables(setting.mapping("env")):
        clock = _clock(setting)
        async with Engine(setting.mapping("properties"), clock=clock, endpoints=False) as engine:
            document = _document(file.chain, setting.mapping("vars"))
            mocks, allowed = setting.mapping("mocks"), setting.value("allow_external")
            cassette = setting.value("cassette")
            if cassette:
                engine.http.play(file.path.parent / cassette)
            stand_ins = StandIns(document.definition.id, mocks, allowed, is_played=bool(cassette))
            engine._pool.stays_closed = stand_ins.closed
            _load_others(file, engine, stand_ins.loaded)
            await _perform(file, placed, setting, engine.load(document), stand_ins, result)
    result.duration_s = time.perf_counter() - began
    result.result = "failed" if result.problems else "passed"
    return result


def _load_others(file: SuiteFile, engine: Engine, loaded: set[str]) -> None:
    """Load what is loaded before the chain, and note the ids of chains.

    Raises:
        ChainError: When something of it cannot be loaded.
    """
    try:
        file.parts.load(engine)
    except EngineError as error:  # two of them have one name
        problem = Problem(error.code, str(error), error.hint, str(file.path), 1, 1)
        raise ChainInvalid([problem], file=str(file.path)) from error
    owners = {id_of(file.chain, read(file.chain)): file.chain}
    for path in file.others:
        document = read(path)
        chain_id = id_of(path, document)
        owner = owners.setdefault(chain_id, path)
        if owner != path:
            raise ChainInvalid([same_id(chain_id, owner, path)], file=str(path))
        loaded.add(chain_id)
        engine.load(document, id=chain_id)


class _Merged:
    """What a case runs in: what it says itself, before what the file says."""

    def __init__(self, file: SuiteFile, placed: PlacedCase) -> None:
        self._parts = (placed.case, file.suite)

    def mapping(self, name: str) -> dict[str, Any]:
        own, common = (getattr(part, name) for part in self._parts)
        return {**common, **own}

    def value(self, name: str) -> Any:
        own, common = self._parts
        return getattr(own if own.gives(name) else common, name)


async def _perform(
    file: SuiteFile, placed: PlacedCase, setting: _Merged, chain: Chain, stand_ins: StandIns, result: CaseResult
) -> None:
    refused: list[str] = []
    seen = Observer(chain)
    clock: Any = chain.engine.clock
    case = placed.case
    limit_s = setting.value("timeout")
    try:
        runs = stand_ins.runs(chain.engine.chains.values(), refused)
        message = _message(file, placed)
        chain.engine.pauses.on_open(Rest(chain.engine, seen, is_expected=case.expect.status == "paused").watch)
        began, real = clock.monotonic(), time.monotonic()
        async with asyncio.timeout(limit_s):
            outcome = await chain.replacing(runs).run(message, start=case.start or None, listener=seen)
        took = clock.monotonic() - began
        if isinstance(clock, LeapingClock):
            took += time.monotonic() - real
        result.problems = unmet(chain, case.expect, outcome, seen, took)
    except TimeoutError:
        result.problems = [f"took longer than its timeout of {limit_s:g} s in truth"]
    except CatenaryError as error:
        result.problems = [str(error) + (f" ({error.hint})" if error.hint else "")]
    hint = "; give it a mock, or allow it with `allowExternal`"
    result.problems = [text + hint for text in refused] + result.problems
    result.path, result.hits = seen.path, seen.hits


def _clock(setting: _Merged) -> Clock:
    if setting.value("clock") == "real":
        return SystemClock()
    now = setting.value("now")
    return LeapingClock() if now is None else LeapingClock(start_ms=now)


def _message(file: SuiteFile, placed: PlacedCase) -> Message:
    given = placed.case.input
    data: Any = given.data
    if given.file:
        raw = (file.path.parent / given.file).read_bytes()
        data = raw if given.data_type == BINARY else raw.decode("utf-8-sig")
    wire = {
        "data": data, "type": given.type, "dataType": given.data_type, "metadata": given.metadata, "id": given.id,
        "ts": given.ts,
    }  # fmt: skip
    return Message.from_dict(wire)


def _document(path: Path, variables: Mapping[str, Any]) -> Document:
    """Read the chain, with variables replaced."""
    document = read(path)
    if not variables or document.problems:
        return document
    value = cast("dict[str, Any]", document.value)
    whole = _put(value, ("ruleChain", "configuration", "vars"), variables)
    return read_envelope(Parsed(whole, document.places), document.file)


def _put(mapping: dict[str, Any], keys: tuple[str, ...], entries: Mapping[str, Any]) -> dict[str, Any]:
    """Give a mapping with entries added to the one that keys lead to, which are matched without regard to case."""
    if not keys:
        return {**mapping, **entries}
    name = same_key(mapping, keys[0]) or keys[0]
    inside = mapping.get(name)
    return {**mapping, name: _put(cast("dict[str, Any]", inside or {}), keys[1:], entries)}


@contextmanager
def _variables(variables: Mapping[str, str]) -> Generator[None]:
    """Set environment variables for the length of a block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
