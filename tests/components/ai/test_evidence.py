"""Answers that name what no tool has shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.testing import calls, mock
from catenary_components.ai import Agent
from catenary_components.ai.evidence import claimed_in, names_in, unproven, warning_about

ANSWER = "The sum is made in `src/billing.py`, by `InvoiceMaker.total()`."
WARNING = "\n\n[No tool has shown this: billing.py, InvoiceMaker. Check it before you rely on it.]"


@pytest.fixture
def grep(bench: Any) -> dict[str, Any]:
    """An agent with a tool that shows what it is told to show."""
    bench.engine.tool(lambda shows="": shows, name="grep")
    return {"tools": ["grep"], "evidence": "warn"}


def said(outcome: Any) -> tuple[Any, Any]:
    return outcome.message.data, outcome.message.metadata["finish_reason"]


async def test_an_answer_with_names_that_no_tool_has_shown_has_a_warning_and_a_reason_of_its_own(
    bench: Any, grep: dict[str, Any]
) -> None:
    heard: list[Any] = []
    bench.engine.subscribe(heard.append)
    bench.load(calls("grep", shows="lib/sums.py: class SumMaker"), ANSWER, **grep)
    assert said(await bench.say()) == (ANSWER + WARNING, "evidence_insufficient")
    told = [event.data for event in heard if event.name == "agent.unproven"]
    assert told == [{"names": ["billing.py", "InvoiceMaker"]}]


async def test_an_answer_with_names_that_a_tool_has_shown_is_as_it_is(bench: Any, grep: dict[str, Any]) -> None:
    bench.load(calls("grep", shows="/repo/src/Billing.py:3: class InvoiceMaker:"), ANSWER, **grep)
    assert said(await bench.say()) == (ANSWER, "normal")


async def test_it_is_off_unless_it_is_asked_for(bench: Any) -> None:
    bench.load(ANSWER)
    assert said(await bench.say()) == (ANSWER, "normal")


async def test_what_the_user_or_a_call_names_is_no_evidence(bench: Any, grep: dict[str, Any]) -> None:
    def look(path: str) -> str:
        return "no such file"

    bench.engine.tool(look)
    bench.load(calls("look", path="src/billing.py"), ANSWER, **{**grep, "tools": ["look"]})
    outcome = await bench.say("What does InvoiceMaker in src/billing.py do?")
    assert said(outcome) == (ANSWER + WARNING, "evidence_insufficient")


async def test_what_was_shown_counts_though_the_model_got_a_part_of_it(bench: Any, grep: dict[str, Any]) -> None:
    long = "x " * 100 + "src/billing.py InvoiceMaker"
    bench.load(calls("grep", shows=long), ANSWER, maxToolOutputLength=20, **grep)
    assert said(await bench.say()) == (ANSWER, "normal")


async def test_what_was_shown_in_an_earlier_turn_of_the_session_counts(bench: Any, grep: dict[str, Any]) -> None:
    bench.load(calls("grep", shows="src/billing.py InvoiceMaker"), "Found it.", ANSWER, session="s", **grep)
    await bench.say()
    assert said(await bench.say("Where?")) == (ANSWER, "normal")


@pytest.mark.parametrize("verify", ["off", "second_pass"])
async def test_the_warning_is_streamed_and_kept_behind_the_answer(
    bench: Any, grep: dict[str, Any], verify: str
) -> None:
    checked = [ANSWER] if verify != "off" else []
    bench.load(*["`First.py`" for _ in checked], ANSWER, "ok", verify=verify, session="s", **grep)
    outcome = await bench.say(stream="true")
    shown = "".join(end.message.data for end in outcome.ends if end.message.metadata.get("chunk") == "true")
    assert shown == outcome.message.data == ANSWER + WARNING
    bench.model.add("ok")
    await bench.say("thanks")
    assert bench.last[1]["content"] == ANSWER + WARNING


@pytest.mark.parametrize("mode", ["plain", "thinking", "plain_tooling", "thinking_tooling"])
async def test_it_is_looked_for_in_every_loop(bench: Any, grep: dict[str, Any], mode: str) -> None:
    bench.load(*[ANSWER] * (2 if mode == "thinking_tooling" else 1), mode=mode, **grep)
    assert said(await bench.say()) == (ANSWER + WARNING, "evidence_insufficient")


async def test_an_answer_at_a_limit_keeps_its_reason(bench: Any, grep: dict[str, Any]) -> None:
    bench.load(calls("grep", shows="nothing"), ANSWER, maxRounds=1, onLimit="answer", **grep)
    assert said(await bench.say()) == (ANSWER, "max_iterations_reached")


async def test_an_agent_in_python_has_it_as_well() -> None:
    from catenary.testing import ScriptedModel

    with mock("evidence", ScriptedModel([ANSWER])):
        async with Agent("Clerk", model="mock:evidence", evidence="warn") as agent:
            reply = await agent.call("Where is it?")
    assert reply.text == ANSWER + WARNING


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("See src/app.ts, then ./lib/app.ts:12 and `C.java`.", ["app.ts", "C.java"]),
        ("`OrderService` calls `PaymentGateway#pay`.", ["OrderService", "PaymentGateway"]),
        ("OrderService is no code here, and GitHub is none at all.", []),
        ("Node.js, `vue.js` and https://example.com/app.js are no files of yours.", []),
        ("Write this:\n```python\nclass NewThing: ...  # in new_thing.py\n```\nand run it.", []),
        ("Half a block:\n```\nopen.py", []),
        ("It is version 1.2, see example.com and the e.g. of i.e.", []),
        ("`README.md`, settings.YAML and .github/workflows/ci.yml", ["README.md", "settings.YAML", "ci.yml"]),
        ("", []),
    ],
)
def test_names_of_files_and_of_classes_in_code_are_claims(answer: str, names: list[str]) -> None:
    assert claimed_in(answer) == names


def test_many_names_are_not_all_listed() -> None:
    text = warning_about([f"f{n}.py" for n in range(12)])
    assert "f9.py and 2 more." in text
    assert "f10.py" not in text


@given(st.lists(st.from_regex(r"[A-Z][a-z]{1,5}[A-Z][a-z]{1,5}", fullmatch=True), max_size=5))
def test_what_is_shown_is_never_missed(names: list[str]) -> None:
    answer = " ".join(f"`{name}` in {name}.go" for name in names)
    assert unproven(answer, names_in(f"grep: {answer}")) == []


@pytest.mark.parametrize("text", ["a." * 500_000, "+" * 1_000_000, "a/" * 500_000, "Aa" * 500_000, "`" * 1_000_000])
def test_texts_that_are_made_to_be_slow_are_not(text: str) -> None:
    assert unproven(text, names_in(text)) == []
