"""The second opinion, as it stands, against two scripted models on real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from catenary import Engine, Message
from catenary.testing import ScriptedModel, serve
from catenary_components.ai.state import AgentState

if TYPE_CHECKING:
    from catenary import Outcome

CHAIN = Path(__file__).parents[2] / "chains" / "second-opinion.yaml"


def with_a_session(folder: Path) -> Path:
    """Give the chain with an agent that remembers."""
    parts = folder / "parts"
    parts.mkdir()
    (parts / "second-opinion-loop.yaml").write_text((CHAIN.parent / "parts/second-opinion-loop.yaml").read_text())
    text = CHAIN.read_text(encoding="utf-8")
    (folder / "c.yaml").write_text(text.replace("        mode:", "        session: ann\n        mode:"))
    return folder / "c.yaml"


def stop(ctx: Any, _message: Message, _relation: object) -> None:
    """Have the agent stop."""
    ctx.scope[AgentState].stop.set()


def ask(first: ScriptedModel, second: ScriptedModel, *, stops: bool = False, **metadata: str) -> Outcome:
    with serve(first) as one, serve(second) as two:
        providers = {
            "default": {"base_url": f"{one.url}/v1", "api_key": "sk-one", "model": "small"},
            "reviewer": {"base_url": f"{two.url}/v1", "api_key": "sk-two", "model": "large"},
        }
        with Engine({"models": {"providers": providers}}) as engine:
            if stops:
                engine.before(nodes=["reason"])(stop)
            engine.load(CHAIN)
            return engine.run_sync("second-opinion", Message("Hammers?", data_type="TEXT", metadata=metadata))


def test_the_second_model_reads_question_and_answer_and_has_the_last_word() -> None:
    second = ScriptedModel(["We have hammers."])
    assert ask(ScriptedModel(["we hav hamers"]), second).message.data == "We have hammers."
    assert second.requests[0].user_text == "Question: Hammers?\n\nAnswer: we hav hamers"


def test_only_the_second_text_is_streamed() -> None:
    outcome = ask(ScriptedModel(["we hav hamers"]), ScriptedModel(["We have hammers."]), stream="true")
    heard = [end.message.text for end in outcome.ends if end.message.metadata.get("chunk") == "true"]
    assert "".join(heard) == "We have hammers."


def test_a_session_keeps_the_answer_that_was_given(tmp_path: Path) -> None:
    first, second = ScriptedModel(["we hav hamers", "yes"]), ScriptedModel(["We have hammers.", "Yes."])
    with serve(first) as one, serve(second) as two:
        providers = {
            "default": {"base_url": f"{one.url}/v1", "api_key": "sk-one", "model": "small"},
            "reviewer": {"base_url": f"{two.url}/v1", "api_key": "sk-two", "model": "large"},
        }
        with Engine({"models": {"providers": providers}}) as engine:
            engine.load(with_a_session(tmp_path))
            for text in ("Hammers?", "Really?"):
                engine.run_sync("second-opinion", Message(text, data_type="TEXT"))
    said = [message["content"] for message in first.requests[1].messages if message["role"] != "system"]
    assert said == ["Hammers?", "We have hammers.", "Really?"]


def test_when_it_is_asked_to_stop_no_second_opinion_is_asked_for() -> None:
    second = ScriptedModel([])
    outcome = ask(ScriptedModel([]), second, stops=True)
    assert (outcome.status, outcome.message.metadata["finish_reason"]) == ("completed", "stopped")
    assert not second.requests
