"""Backups: services asked one after the other, a circuit for each, and a fallback model behind them all."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from catenary_components.ai.models.types import ModelError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ChatModel, ChatRequest, Piece, Reply

CircuitState = Literal["closed", "open", "half_open"]

LONGEST_COOLDOWN_S: Final = 600.0
_SWITCHING: Final = frozenset({"auth", "billing", "model_not_found", "empty_response", "server_error"})
_NOT_THE_SERVICE: Final = frozenset({"model_not_found", "empty_response"})


class Clock(Protocol):
    """Tells the time."""

    def monotonic(self) -> float:
        """Give the time in seconds."""
        ...


@dataclass(frozen=True, slots=True)
class EndpointState:
    """How one service fares.

    Attributes:
        endpoint: Its host.
        model: The model that is asked there.
        state: `open`: it is left alone; `half_open`: one call tries whether it answers again.
        calls: Calls that it got, the retries of one counted once.
        failures: Calls that it could not answer.
        cooldown_s: How long it is left alone when it fails next, or is left alone this time.
        open_for_s: Seconds until it is tried again; 0 unless it is open.
    """

    endpoint: str
    model: str
    state: CircuitState
    calls: int
    failures: int
    cooldown_s: float
    open_for_s: float


class Circuit:
    """Lets calls to one service through, or none of them for a while after it could not answer."""

    def __init__(self, clock: Clock, cooldown_s: float, endpoint: str, model: str) -> None:
        self._clock = clock
        self._first_cooldown_s = min(cooldown_s, LONGEST_COOLDOWN_S)
        self._cooldown_s = self._first_cooldown_s
        self._open_until: float | None = None
        self._is_probing = False
        self._calls = self._failures = 0
        self.endpoint = endpoint
        self.model = model

    @property
    def state(self) -> EndpointState:
        """How the service fares."""
        wait = 0.0 if self._open_until is None else max(self._open_until - self._clock.monotonic(), 0.0)
        name: CircuitState = "closed" if self._open_until is None else "half_open" if self._is_probing else "open"
        return EndpointState(self.endpoint, self.model, name, self._calls, self._failures, self._cooldown_s, wait)

    def admit(self) -> bool:
        """Let a call through: any when it is closed, one alone when the cool-down of an open one is over."""
        if self._open_until is not None:
            if self._is_probing or self._clock.monotonic() < self._open_until:
                return False
            self._is_probing = True
        self._calls += 1
        return True

    def succeeded(self) -> None:
        """Close it: the service answers."""
        self._open_until, self._is_probing = None, False
        self._cooldown_s = self._first_cooldown_s

    def failed(self) -> None:
        """Open it, for twice as long when a try after the cool-down failed."""
        self._failures += 1
        if self._is_probing:
            self._cooldown_s = min(self._cooldown_s * 2, LONGEST_COOLDOWN_S)
        self._open_until, self._is_probing = self._clock.monotonic() + self._cooldown_s, False

    def undecided(self, *, again_at_once: bool = False) -> None:
        """Say that a call told nothing about the service; a try opens it for as long as before, or not at all."""
        if self._is_probing:
            self._is_probing = False
            self._open_until = self._clock.monotonic() + (0.0 if again_at_once else self._cooldown_s)


class Circuits:
    """The circuits of one agent node, one for each model of each service."""

    def __init__(self, clock: Clock, cooldown_s: float) -> None:
        self._clock = clock
        self._cooldown_s = cooldown_s
        self._circuits: dict[tuple[str, str], Circuit] = {}

    def of(self, endpoint: str, model: str) -> Circuit:
        """Give the circuit of a model of a service."""
        circuit = self._circuits.get((endpoint, model))
        if circuit is None:
            circuit = self._circuits[endpoint, model] = Circuit(self._clock, self._cooldown_s, endpoint, model)
        return circuit

    def states(self) -> list[EndpointState]:
        """Give how all services fare, in the order in which they were first named."""
        return [circuit.state for circuit in self._circuits.values()]


@dataclass(frozen=True, slots=True)
class Place:
    """A model with its circuit."""

    model: ChatModel
    circuit: Circuit


class FailoverModel:
    """Asks the first service that its circuit lets through, and the next one when it cannot answer."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = tuple(places)

    @property
    def name(self) -> str:
        """The name of the first model."""
        return self._places[0].model.name

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when no service answers."""
        tries = _Tries(request, "Generate", self._places)
        for place in tries:
            with tries.watching(place):
                reply = await place.model.generate(request)
                if reply.is_empty and not tries.is_last:
                    raise _nothing_said(place)
                place.circuit.succeeded()
                return reply
        raise tries.exhausted()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces; a break after something was said is not cured. Raises: ModelError."""
        tries = _Tries(request, "Stream", self._places)
        for place in tries:
            with tries.watching(place):
                held: list[Piece] = []
                async with aclosing(place.model.stream(request)) as pieces:
                    async for piece in pieces:
                        if tries.has_begun:
                            yield piece
                            continue
                        held.append(piece)
                        if piece.says_something:
                            tries.has_begun = True
                            place.circuit.succeeded()
                            for early in held:
                                yield early
                if tries.has_begun:
                    return
                if not tries.is_last:
                    raise _nothing_said(place)
                place.circuit.succeeded()
                for piece in held:
                    yield piece
                return
        raise tries.exhausted()


class _Tries:
    """Goes through the places of one call and takes note of what came of each."""

    def __init__(self, request: ChatRequest, what: str, places: tuple[Place, ...]) -> None:
        self._request = request
        self._what = what
        self._places = places
        self._at = -1
        self._errors: list[ModelError] = []
        self.has_begun = False

    def __iter__(self) -> _Tries:
        return self

    def __next__(self) -> Place:
        """Give the next place that may be asked."""
        while self._at + 1 < len(self._places):
            self._at += 1
            place = self._places[self._at]
            if place.circuit.admit():
                return place
        raise StopIteration

    @property
    def is_last(self) -> bool:
        """Whether no other place would be asked after this one."""
        return all(place.circuit.state.state != "closed" for place in self._places[self._at + 1 :])

    def watching(self, place: Place) -> _Watch:
        """Take note of how the block ends: an error that another place may cure does not leave it."""
        return _Watch(self, place)

    def note(self, place: Place, error: ModelError) -> None:
        """Take note of an error that leads to the next place."""
        self._errors.append(error)
        if error.kind in _NOT_THE_SERVICE:
            place.circuit.undecided()
        else:
            place.circuit.failed()
        if self._request.tell is not None:
            self._request.tell("model.failover", _told(place, error))

    def exhausted(self) -> ModelError:
        """Give the error of a call that nobody answered."""
        if not self._errors:
            states = [place.circuit.state for place in self._places]
            wait = min(state.open_for_s for state in states)
            places = ", ".join(state.endpoint for state in states)
            return ModelError(
                f"{self._what} failed over all endpoints: all are left alone after failures ({places}); the next one "
                f"is tried in {wait:.0f} s",
                retryable=True,
                attempts=0,
                retry_after_s=wait,
                kind="server_error",
            )
        last = self._errors[-1]
        texts = "; ".join(f"{error.endpoint or 'unknown'}: {error}" for error in self._errors)
        attempts = sum(error.attempts for error in self._errors)
        return last.said(f"{self._what} failed over all endpoints: {texts}", attempts=attempts)


class _Watch:
    def __init__(self, tries: _Tries, place: Place) -> None:
        self._tries = tries
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is None or self._tries.has_begun:
            return False
        if isinstance(error, ModelError) and (error.retryable or error.kind in _SWITCHING):
            self._tries.note(self._place, error)
            return True
        self._place.circuit.undecided(again_at_once=not isinstance(error, ModelError))
        return False


def _nothing_said(place: Place) -> ModelError:
    circuit = place.circuit
    return ModelError(f"{circuit.model} said nothing", endpoint=circuit.endpoint, kind="empty_response")


def _told(place: Place, error: ModelError) -> Mapping[str, Json]:
    state = place.circuit.state
    return {
        "model": state.model,
        "endpoint": state.endpoint,
        "circuit": state.state,
        "error": str(error),
        "kind": error.kind,
        "status": error.status,
    }


@dataclass(frozen=True, slots=True)
class FallbackModel:
    """Asks another model when the first cannot answer, whatever the reason, as long as nothing was said."""

    model: ChatModel
    fallback: ChatModel

    @property
    def name(self) -> str:
        """The name of the first model."""
        return self.model.name

    async def generate(self, request: ChatRequest) -> Reply:
        """Answer at once. Raises: ModelError: when both models cannot."""
        try:
            return await self.model.generate(request)
        except ModelError as error:
            first = error
        self._tell(request, first)
        try:
            return await self.fallback.generate(request)
        except ModelError as error:
            raise _both(first, error) from error

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """Answer in pieces. Raises: ModelError: when both models cannot."""
        has_begun = False
        try:
            async with aclosing(self.model.stream(request)) as pieces:
                async for piece in pieces:
                    has_begun = has_begun or piece.says_something
                    yield piece
                return
        except ModelError as error:
            if has_begun:
                raise
            first = error
        self._tell(request, first)
        try:
            async with aclosing(self.fallback.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError as error:
            raise _both(first, error) from error

    def _tell(self, request: ChatRequest, error: ModelError) -> None:
        if request.tell is not None:
            told: dict[str, Json] = {"model": self.model.name, "fallback": self.fallback.name}
            request.tell("model.fallback", {**told, "error": str(error), "kind": error.kind})


def _both(first: ModelError, second: ModelError) -> ModelError:
    return second.said(f"{first}; the fallback model: {second}", attempts=first.attempts + second.attempts)
