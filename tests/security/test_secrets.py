"""Nothing written for a message can read the chain's secrets, the engine, or the process."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import Any

import pytest
from tests.security.evaluators import CANARY

from catenary import Engine, Message, Outcome

NUMBERS = count()
GIVEN = " return {msg, metadata, msgType};"
TRANSFORMS = {
    "exprTransform": (
        "expr",
        ["ruleChain", "toJSON(ruleChain)", "string($env)", "ruleChain.configuration.secrets ?? ''"],
    ),
    "jsTransform": (
        "jsScript",
        [
            "msg = typeof ruleChain === 'undefined' ? {} : ruleChain;" + GIVEN,
            "msg = Object.getOwnPropertyNames(globalThis).map(n => String(globalThis[n]));" + GIVEN,
            "msg = JSON.stringify([vars, typeof global === 'undefined' || global, typeof secrets]);" + GIVEN,
        ],
    ),
}
CASES = [(kind, option, text) for kind, (option, texts) in TRANSFORMS.items() for text in texts]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Generator[Engine]:
    monkeypatch.setenv("CATENARY_CANARY", CANARY)
    made = Engine({"p": "text"})
    yield made
    made.close_sync()


def run(engine: Engine, kind: str, configuration: dict[str, Any], data: Any = "{}", **message: Any) -> Outcome:
    definition = {
        "ruleChain": {
            "id": "c",
            "configuration": {"secrets": {"key": CANARY}, "vars": {"v": 1}},
        },
        "metadata": {"nodes": [{"id": "n", "type": kind, "configuration": configuration}]},
    }
    return engine.load(definition, id=f"c{next(NUMBERS)}").run_sync(Message(data, **message))


@pytest.mark.parametrize(("kind", "option", "text"), CASES)
def test_no_text_sees_the_secrets_of_its_chain_or_the_environment(
    engine: Engine, kind: str, option: str, text: str
) -> None:
    outcome = run(engine, kind, {option: text})
    assert CANARY not in str([(end.message.data, dict(end.message.metadata), str(end.error)) for end in outcome.ends])


def test_the_secrets_are_not_in_what_a_template_sees(engine: Engine) -> None:
    for part in ("${ruleChain}", "${ruleChain.configuration.secrets.key}", "${$env}", "${toJSON(ruleChain)}"):
        outcome = run(engine, "metadataTransform", {"mapping": {"x": f"'{part}'", "y": part}})
        assert CANARY not in str([(dict(end.message.metadata), str(end.error)) for end in outcome.ends])


def test_an_error_does_not_show_the_whole_payload(engine: Engine) -> None:
    text = "x" * 100_000 + CANARY
    for expression in (
        "msg.no[msg.t]",
        "5[msg.t]",
        "msg.l[msg.t]",
        "int(msg.t)",
        "duration(msg.t)",
        "date(msg.t)",
        "msg.t + 1",
        "include(msg.t)",
    ):
        outcome = run(engine, "exprTransform", {"expr": expression}, {"t": text, "l": [1]})
        (end,) = outcome.ends
        assert end.error is not None
        assert len(str(end.error)) < 5_000
        assert CANARY not in str(end.error)
