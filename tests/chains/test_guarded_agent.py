"""The clerk with a guard, as it stands, against a scripted model on a real socket."""

from __future__ import annotations

from pathlib import Path

from catenary import Engine, Message
from catenary.testing import ScriptedModel, calls, serve

CHAINS = Path(__file__).parents[2] / "chains"


def ask(model: ScriptedModel) -> str:
    """Give the answer of the chain."""
    with serve(model) as server:
        default = {"base_url": f"{server.url}/v1", "api_key": "sk-none", "model": "small"}
        with Engine({"models": {"providers": {"default": default}}}) as engine:
            engine.load(CHAINS / "parts" / "transfer.yaml")
            engine.load(CHAINS / "guarded-agent.yaml")
            return engine.run_sync("guarded-agent", Message("Please", data_type="TEXT")).message.text


def results(model: ScriptedModel) -> list[str]:
    return [str(message["content"]) for message in model.requests[-1].messages if message["role"] == "tool"]


def test_a_small_transfer_is_made() -> None:
    model = ScriptedModel([calls("transfer", **{"from": "till", "to": "safe"}, amount=200), "Done."])
    assert ask(model) == "Done."
    assert results(model) == ['{"booked":200,"from":"till","to":"safe"}']


def test_a_large_transfer_is_refused_and_the_model_is_told() -> None:
    model = ScriptedModel([calls("transfer", **{"from": "till", "to": "safe"}, amount=2000), "A person has to do it."])
    assert ask(model) == "A person has to do it."
    assert results(model) == ["Refused: transfers above 1000 are made by a person. Say so, and do not try again."]


def test_a_call_that_cannot_be_judged_is_refused() -> None:
    model = ScriptedModel([calls("transfer", amount="a lot"), "No."])
    assert ask(model) == "No."
    assert results(model)[0].startswith("Refused")
