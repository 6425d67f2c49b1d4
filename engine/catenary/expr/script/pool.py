"""Where compiled scripts live: for each thread a few machines, each shared by many scripts."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.expr.script.calls import SharedScript
    from catenary.expr.script.engine import ScriptLimits
    from catenary.expr.script.errors import Places, Stopped

_MOST_MACHINES = 16  # of a thread
_SOURCE_SHARE = 64  # a machine takes scripts up to this part of its memory
_LEAVES_JOBS = re.compile(r"\b(?:async|await|Promise|fromAsync|import)\b")
_MOST_CALLS = 256  # of a script that may leave jobs: what a promise left to do is never done, and piles up
_ENDED = "!"

SLICE_S = 0.02
"""Seconds that the first run of a script gets, unless its last call took longer."""


class Machine(Protocol):
    """One global scope of an engine, with `realm.js` in it; used by one thread."""

    enter: Callable[..., Any]
    """The function that `realm.js` gives."""

    def entrance(self, number: int, kind: int) -> Callable[[str, str, str], Any]:
        """Give the way to one script for JSON: a function of payload, metadata and message type.

        Args:
            number: The number of the script.
            kind: How it reads a payload.
        """
        ...

    def run(self, source: str) -> None:
        """Run global code."""
        ...

    def set_time_limit(self, seconds: float) -> None:
        """Say how long each of the following calls may take; 0 for no limit."""
        ...


class Platform(Protocol):
    """What an engine has to bring; all else is the same for every engine."""

    @property
    def errors(self) -> Any:
        """The class of what its calls raise, or several in a tuple."""
        ...

    @property
    def clock(self) -> Callable[[], float]:
        """What tells how long a run took, in seconds: the time of this thread, or that on the clock."""
        ...

    @property
    def places(self) -> Places:
        """How it writes places."""
        ...

    def open(self, limits: ScriptLimits) -> Machine:
        """Make a global scope in which the realm has begun."""
        ...

    def stopped(self, error: Exception) -> Stopped:
        """Say why a call raised."""
        ...

    def told(self, text: str) -> Stopped | None:
        """Say which limit stands behind the text of an error that a script could have caught; `None` for none."""
        ...


@dataclass(slots=True)
class Shared:
    """A machine and how full it is."""

    machine: Machine
    room: int
    calls_left: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a script is, in one thread.

    Attributes:
        enter: The way into the machine.
        enter_json: The way to the script, for messages of the data type `JSON`.
        number: The script's number there.
        shared: The machine.
        owner: The script.
    """

    enter: Callable[..., Any]
    enter_json: Callable[[str, str, str], Any]
    number: int
    shared: Shared
    owner: ref[SharedScript]


class _Threads(threading.local):
    """What one thread has."""

    def __init__(self) -> None:
        self.places: dict[int, Place] = {}
        self.machines: dict[Any, Shared] = {}
        self.opened = 0


_threads = _Threads()


def place_of(serial: int) -> Place | None:
    """Give where a script is in this thread, if it is there."""
    return _threads.places.get(serial)


def settle(script: SharedScript) -> Place:
    """Compile a script in this thread.

    Raises:
        ScriptError: When the source is no valid script.
    """
    _sweep()
    limits, platform = script.limits, script.platform
    leaves_jobs = _LEAVES_JOBS.search(script.source) is not None
    key: tuple[Any, ...] = (platform.__class__, limits, script.names, tuple(script.host.scripts.items()))
    if leaves_jobs:
        key = (*key, script.serial)
    shared = _threads.machines.pop(key, None)
    if shared is not None and shared.room < len(script.source):
        shared = None  # its scripts stay where they are
    if shared is None:
        shared = Shared(_machine(script), limits.memory_bytes // _SOURCE_SHARE, _MOST_CALLS if leaves_jobs else None)
    _threads.machines[key] = shared
    if len(_threads.machines) > _MOST_MACHINES:
        leave(next(iter(_threads.machines.values())))
    shared.machine.set_time_limit(_setup_s(limits))
    try:
        number = shared.machine.enter(-1, script.setup)
    except platform.errors as error:
        raise script.stopped_error(platform.stopped(error)) from None
    finally:
        shared.machine.set_time_limit(slice_s(limits.timeout_s))
    if isinstance(number, str):
        raise script.refused_error(number[len(_ENDED) :])
    shared.room -= len(script.source)
    number = int(number)
    enter_json = shared.machine.entrance(number, script.json_kind)
    place = Place(shared.machine.enter, enter_json, number, shared, ref(script))
    _threads.places[script.serial] = place
    return place


def slice_s(limit_s: float) -> float:
    """Give the seconds of a first run; 0 when there is no limit."""
    return min(SLICE_S, limit_s) if limit_s > 0 else 0.0


def leave(shared: Shared) -> None:
    """Give up a machine of this thread and all that is in it."""
    _threads.machines = {key: other for key, other in _threads.machines.items() if other is not shared}
    _threads.places = {serial: place for serial, place in _threads.places.items() if place.shared is not shared}


def _machine(script: SharedScript) -> Machine:
    platform = script.platform
    try:
        machine = platform.open(script.limits)
        machine.set_time_limit(_setup_s(script.limits))
        machine.enter(-3, script.names)
        for source in script.host.scripts.values():
            machine.run(source)
        machine.enter(-4, "")
    except platform.errors as error:
        raise script.stopped_error(platform.stopped(error)) from None
    return machine


def _setup_s(limits: ScriptLimits) -> float:
    """Give the seconds that compiling may take: plenty, for it may take no longer because neighbours are busy."""
    return max(10.0, limits.timeout_s) if limits.timeout_s > 0 else 0.0


def _sweep() -> None:
    """Forget scripts that nobody has any more, once in a while: only their own thread may touch a machine."""
    threads = _threads
    threads.opened += 1
    if threads.opened < 16 + len(threads.places) // 2:
        return
    threads.opened = 0
    for serial, place in list(threads.places.items()):
        if place.owner() is None:
            threads.places.pop(serial, None)
            try:
                place.enter(-2, place.number)
            except Exception:  # of whatever engine: it is still busy with what an earlier script left behind
                leave(place.shared)
