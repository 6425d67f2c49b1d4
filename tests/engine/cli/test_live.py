"""The lines of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary import Component, Engine, Message, register
from catenary.cli.live import Trace, shortened
from catenary.component import registered

if TYPE_CHECKING:
    from collections.abc import Generator


class Talk(Component):
    """Report an event, send a piece, pause or fail."""

    relations = ()

    async def run(self, ctx, msg):
        ctx.notify("content.delta", text="x")
        ctx.notify("tool.start", name="lamp")
        if msg.text == "fail":
            raise ValueError("no lamp")
        await ctx.emit("Stream", msg.with_data("piece"))
        return "AwaitConfirm" if msg.text == "pause" else None


@pytest.fixture(autouse=True)
def _registered() -> Generator[None]:
    register("testTrace/talk", category="test")(Talk)
    yield
    del registered["testTrace/talk"]


def traced(data: str, *, inside: bool = True) -> list[str]:
    lines: list[str] = []
    inner = {"ruleChain": {"id": "inner"}, "metadata": {"nodes": [{"id": "deep", "type": "testTrace/talk"}]}}
    outer = {
        "ruleChain": {"id": "outer"},
        "metadata": {"nodes": [{"id": "call", "type": "flow", "configuration": {"targetId": "inner"}}]},
    }
    with Engine() as engine:
        engine.load(inner)
        chain = engine.load(outer)
        trace = Trace(lambda line: lines.append(click.unstyle(line)), types={"call": "flow"}, inside=inside, label="# ")
        chain.run_sync(Message(data), listener=trace)
    return lines


def test_what_happens_inside_a_visit_is_set_in() -> None:
    lines = traced("go")
    assert lines[0].startswith("# run ")
    assert lines[1] == "# > call (flow): go"
    assert lines[2] == "#   > deep: go"
    assert lines[3] == "#   * deep tool.start name=lamp"
    assert lines[4] == "#   ~ deep sends Stream: piece"
    assert any(line.startswith("#   < deep by nothing in ") for line in lines)
    assert lines[-1] == "# the run completed"


def test_what_happens_inside_can_be_left_out() -> None:
    assert not any(line.startswith("#   ") for line in traced("go", inside=False))


def test_a_failure_and_a_pause_are_told() -> None:
    lines = traced("fail")
    assert any("< deep by Failure" in line and "no lamp" in line for line in lines)
    assert lines[-1].startswith("# the run failed: ")


def test_the_end_of_a_pause_and_of_a_cancelled_run() -> None:
    lines: list[str] = []
    chain = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "a", "type": "testTrace/talk"}]}}
    with Engine() as engine:
        engine.load(chain).run_sync(Message("pause"), listener=Trace(lambda line: lines.append(click.unstyle(line))))
    assert lines[-1] == "the run paused"


def test_a_cancelled_run_says_why() -> None:
    from catenary.events import RunWasCancelled

    lines: list[str] = []
    event = RunWasCancelled(seq=1, timestamp=1, run_id="r", chain_id="c", error="took too long")
    Trace(lambda line: lines.append(click.unstyle(line)))(event)
    assert lines == ["the run was cancelled: took too long"]


@pytest.mark.parametrize(("seconds", "text"), [(0.00001, "under 0.1 ms"), (0.0123, "12.3 ms"), (2.5, "2.50 s")])
def test_times_are_told_in_their_unit(seconds: float, text: str) -> None:
    from catenary.events import NodeFinished

    lines: list[str] = []
    message = Message("x")
    event = NodeFinished(
        seq=1, timestamp=1, run_id="r", chain_id="c", node_id="a", relations=("Success",), messages=(message,),
        duration_s=seconds,
    )  # fmt: skip
    Trace(lambda line: lines.append(click.unstyle(line)))(event)
    assert lines == [f"< a by Success x in {text}"]


def test_long_text_is_cut_and_its_length_told() -> None:
    assert shortened("a" * 500, 10) == "aaaaaaaaaa... (500 characters)"
    assert shortened(" a\n\tb\x1b[31m ") == "a b [31m"
    assert shortened("") == "(empty)"


@given(st.text())
def test_shortened_text_is_one_printable_line(text: str) -> None:
    assert shortened(text).isprintable()
