"""Pauses in random runs, held equal to a slow reference: who waits, who may answer, and what every run comes to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from tests.cases import times

import catenary_components
from catenary import Engine, Message
from catenary.errors import AnswererRefused, AnswerInvalid, PauseError
from catenary.testing import FakeClock

assert catenary_components.__doc__

TIME_S = 100.0
WAIT = {
    "answerers": ["ann"],
    "relations": ["Yes", "No"],
    "schema": {"type": "integer"},
    "timeout": TIME_S,
    "use": "field",
}


def chain(name: str, nodes: dict[str, tuple[str, dict[str, Any]]], *ways: str) -> dict[str, Any]:
    connections = [dict(zip(("fromId", "type", "toId"), way.split(), strict=True)) for way in ways]
    written = [{"id": one, "type": kind, "configuration": given} for one, (kind, given) in nodes.items()]
    return {"ruleChain": {"id": name}, "metadata": {"nodes": written, "connections": connections}}


CHAINS = {
    "alone": chain("alone", {"w": ("wait", WAIT)}),
    "loop": chain("loop", {"l": ("for", {"range": "[{'n': 1}, {'n': 2}]", "do": "w", "mode": 1}), "w": ("wait", WAIT)}),
    "inner": chain("inner", {"c": ("flow", {"targetId": "alone", "extend": True})}),
    "joined": chain(
        "joined",
        {
            "f": ("fork", {}),
            "v": ("wait", WAIT),
            "w": ("wait", WAIT),
            "j": ("join", {"mergeToMap": True}),
        },
        "f Success v",
        "f Success w",
        *(f"{node} {way} j" for node in "vw" for way in ("Yes", "No", "Timeout")),
    ),
}


@dataclass
class Asked:
    """One question of the reference."""

    node: str
    visit: int
    until: float


@dataclass
class Reference:
    """What a run does, told as slowly as can be."""

    kind: str
    now: float
    waits: list[Asked] = field(default_factory=list[Asked])
    ways: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    status: str = "running"

    def __post_init__(self) -> None:
        for node in ("v", "w") if self.kind == "joined" else ("w",):
            self._ask(node, 1)

    def _ask(self, node: str, visit: int) -> None:
        self.waits.append(Asked(node, visit, self.now + TIME_S))

    def end(self, asked: Asked, way: str, now: float) -> None:
        """Let a question be over by this way."""
        self.now = now
        self.waits.remove(asked)
        self.ways.setdefault(asked.node, []).append(way)
        if self.kind == "loop" and asked.visit < 2:
            self._ask("w", asked.visit + 1)
        elif not self.waits:
            self.status = "completed"

    def stop(self, status: str) -> None:
        """Let the run be over, whatever waits."""
        self.waits.clear()
        self.status = status


class Pausing(RuleBasedStateMachine):
    """Runs, answers of all kinds, time, and cancellation, in any order."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.engine = Engine(clock=self.clock)
        for definition in CHAINS.values():
            self.engine.load(definition)
        self.tasks: dict[str, asyncio.Task[Any]] = {}
        self.references: dict[str, Reference] = {}

    def do(self, work: Any) -> Any:
        async def settled() -> Any:
            try:
                return await work
            finally:
                for _ in range(40):
                    await asyncio.sleep(0)

        return self.loop.run_until_complete(settled())

    async def begin(self, kind: str, run_id: str) -> None:
        run = self.engine.run(kind, Message({"run": run_id}), run_id=run_id)
        self.tasks[run_id] = asyncio.ensure_future(run)

    @initialize(target=runs)
    def start_one_of_each(self) -> Any:
        return multiple(*(self.begun(kind) for kind in sorted(CHAINS)))

    @rule(target=runs, kind=st.sampled_from(sorted(CHAINS)))
    def start(self, kind: str) -> str:
        return self.begun(kind)

    def begun(self, kind: str) -> str:
        run_id = f"run{len(self.tasks)}"
        self.do(self.begin(kind, run_id))
        self.references[run_id] = Reference(kind, self.clock.monotonic())
        return run_id

    @rule(
        run=runs, node=st.sampled_from("vwx"), visit=st.sampled_from([None, 1, 2]), way=st.sampled_from(["Yes", "No"])
    )
    def answer(self, run: str, node: str, visit: int | None, way: str) -> None:
        reference = self.references[run]
        fitting = [one for one in reference.waits if one.node == node and visit in {None, one.visit}]
        try:
            self.do(self.engine.answer(run, node, visit=visit, relation=way, data=7, answerer="ann"))
        except PauseError as error:
            assert not fitting, error
            return
        (asked,) = fitting
        reference.end(asked, way, self.clock.monotonic())

    @rule(run=runs, wrong=st.sampled_from(["who", "way", "data"]))
    def answer_wrongly(self, run: str, wrong: str) -> None:
        given: dict[str, Any] = {"answerer": "ann", "relation": "Yes", "data": 1}
        given |= {"who": {"answerer": "bob"}, "way": {"relation": "Maybe"}, "data": {"data": "x"}}[wrong]
        waits = [one for one in self.references[run].waits if one.node == "w"]
        try:
            self.do(self.engine.answer(run, "w", **given))
        except (AnswerInvalid, AnswererRefused):
            assert waits
        except PauseError:
            assert not waits
        else:
            raise AssertionError("a wrong answer was taken")

    @rule(seconds=st.sampled_from([1.0, TIME_S / 2, TIME_S]))
    def advance(self, seconds: float) -> None:
        async def later() -> None:
            self.clock.advance(seconds)

        self.do(later())
        now = self.clock.monotonic()
        for reference in self.references.values():
            for asked in [one for one in reference.waits if one.until <= now]:
                reference.end(asked, "Timeout", now)

    @rule(run=consumes(runs), put_off=st.booleans())
    def stop(self, run: str, put_off: bool) -> None:
        reference = self.references[run]
        if put_off:
            self.do(self.engine.pauses.put_off(run))
        else:

            async def cancel() -> None:
                self.tasks[run].cancel()

            self.do(cancel())
        if reference.status == "running":
            reference.stop("paused" if put_off else "cancelled")

    @rule(target=runs, runs=st.lists(consumes(runs), max_size=2))
    def forget(self, runs: list[str]) -> Any:
        return multiple(*runs[:1])

    @invariant()
    def what_waits_is_what_the_reference_says(self) -> None:
        waits = {(pause.run_id, pause.node_id, pause.visit) for pause in self.engine.pauses}
        expected = {(run, one.node, one.visit) for run, kept in self.references.items() for one in kept.waits}
        assert waits == expected

    @invariant()
    def runs_come_to_what_the_reference_says(self) -> None:
        for run, reference in self.references.items():
            task = self.tasks[run]
            assert task.done() == (reference.status != "running"), (run, reference)
            if not task.done():
                continue
            if reference.status == "cancelled":
                assert task.cancelled()
                continue
            outcome = task.result()
            assert outcome.status == reference.status
            if reference.status == "completed":
                self.came_out(reference, outcome)

    def came_out(self, reference: Reference, outcome: Any) -> None:
        (end,) = outcome.ends
        if reference.kind == "loop":
            answers = ["answer" in item for item in end.message.value]
            assert answers == [way != "Timeout" for way in reference.ways["w"]]
        elif reference.kind == "joined":
            assert end.node_id == "j"
            assert ("answer" in end.message.value) == any(way != ["Timeout"] for way in reference.ways.values())
        else:
            assert [str(end.relation)] == reference.ways["w"]
            assert ("answer" in end.message.value) == (reference.ways["w"] != ["Timeout"])

    def teardown(self) -> None:
        self.do(self.engine.close())
        for run, reference in self.references.items():
            if reference.status == "running":
                assert self.tasks[run].result().status == "paused"
        self.loop.close()


Pausing.TestCase.settings = settings(max_examples=times(40), stateful_step_count=25)
TestPausing = Pausing.TestCase
