"""The approval: a payment that waits for somebody, from Python and from the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catenary import Engine, Message
from catenary.cli import main
from catenary.errors import AnswerInvalid

FILE = Path(__file__).parents[2] / "chains" / "approval.yaml"
PAYMENT = FILE.with_name("approval.input.json").read_text()


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(main, ["run", str(FILE), *arguments])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_small_payment_waits_for_nobody() -> None:
    assert run("-d", '{"payee": "x", "amount": 99}') == {"paid": 99, "to": "x", "approvedBy": ""}


def test_a_large_payment_that_nobody_answers_is_not_paid(tmp_path: Path) -> None:
    given = run("-d", PAYMENT, "--config", "approve.timeout=20ms", "--store", str(tmp_path / "x.db"))
    assert given == {"paid": 0, "to": "Bolts & Nuts", "note": ""}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"answerer": "ann"}, {"paid": 250, "to": "Bolts & Nuts", "approvedBy": "ann"}),
        (
            {"answerer": "bob", "roles": ["managers"], "data": {"amount": 200}},
            {"paid": 200, "to": "Bolts & Nuts", "approvedBy": "bob"},
        ),
        (
            {"answerer": "ann", "relation": "Rejected", "note": "too much"},
            {"paid": 0, "to": "Bolts & Nuts", "note": "too much"},
        ),
    ],
)
async def test_somebody_answers(answer: dict[str, Any], expected: Any) -> None:
    async with Engine() as engine:
        chain = engine.load(FILE)
        asked = asyncio.Event()
        engine.pauses.on_open(lambda _: asked.set())
        going = asyncio.ensure_future(chain.run(Message(PAYMENT)))
        await asked.wait()
        (pause,) = engine.pauses
        assert pause.prompt == "Pay 250 EUR to Bolts & Nuts?"
        with pytest.raises(AnswerInvalid):
            await engine.answer(pause.run_id, "approve", answerer="ann", data={"amount": -1})
        await engine.answer(pause.run_id, "approve", **answer)  # type: ignore[arg-type]
        assert (await going).message.value == expected
