"""Secrets are masked wherever a run is told of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.runtime.kit import load

from catenary import SUCCESS, Component, Config, Message, option, register
from catenary.masking import MASK, NO_SECRETS, Masker, secrets_in
from catenary.recording import MemoryRecorder
from catenary.runlog import snapshot


class Inner(Config):
    """Nested settings."""

    token: str = option("", help="A secret.", secret=True)


class LeakConfig(Config):
    """Settings with secrets."""

    password: str = option("", help="A secret.", secret=True)
    inner: Inner = option(Inner(), help="More.")


@register("t/leaking", category="test")
class Leaking(Component[LeakConfig]):
    """Tells its secrets to whoever looks."""

    relations = (SUCCESS,)

    def run(self, ctx, msg):
        ctx.notify("login", password=self.config.password)
        if msg.type == "fail":
            raise ValueError(f"{self.config.inner.token} was refused")
        return SUCCESS, msg.with_data({"password": self.config.password}).put("token", self.config.inner.token)


CHAIN = {
    "ruleChain": {"id": "leak"},
    "metadata": {
        "nodes": [
            {"id": "a", "type": "t/leaking", "configuration": {"password": 'hun"ter2', "inner": {"token": "tok-4711"}}}
        ],
        "connections": [],
    },
}


@pytest.mark.parametrize("kind", ["", "fail"])
async def test_no_secret_is_seen_in_events_records_logs_or_debugging(engine, kind):
    recorder, seen = MemoryRecorder(), []
    chain = engine.load(CHAIN)
    outcome = await chain.run(
        Message('say hun"ter2', kind, "TEXT"),
        recorder=recorder,
        listener=lambda event: seen.append(json.dumps(event.to_dict())),
        debug=True,
        on_debug=lambda *event: seen.append(repr(event) + json.dumps(event[3].to_dict())),
        on_node_completed=lambda visit: seen.append(json.dumps(visit.to_dict())),
        on_completed=lambda record: seen.append(json.dumps(snapshot(record)["logs"])),
    )
    seen.append(json.dumps({**recorder.records[0].to_dict(), "definition": {}}))
    told = "\n".join(seen)
    assert "hun" not in told
    assert "tok-4711" not in told
    assert MASK in told
    if kind:
        assert str(outcome.error) == f"node 'a' (t/leaking): {MASK} was refused"
    else:
        assert outcome.message.metadata["token"] == "tok-4711", "what the run gives is the host's, unmasked"


async def test_an_engine_without_secrets_masks_nothing(engine):
    recorder = MemoryRecorder()
    message = Message("x")
    await load(engine, {"a": None}).run(message, recorder=recorder)
    assert not engine.masker
    assert recorder.records[0].visits[0].message is message


def test_nested_settings_give_their_secrets():
    config = LeakConfig.model_validate({"password": "one", "inner": {"token": "two"}})
    assert list(secrets_in([{"x": config}])) == ["one", "two"]


def _is_secret(text):
    plain = text.strip()
    return len(plain) >= 4 and "${" not in text and plain != MASK and plain.lower() not in NO_SECRETS


@given(st.text(min_size=4).filter(_is_secret), st.text())
def test_a_secret_is_found_in_texts_and_in_json(secret, around):
    masker = Masker([secret])
    plain = secret.strip()
    assert plain not in masker.text(f"{around}{secret}{around}").replace(MASK, "") or plain in around * 2
    message = masker.message(Message({"deep": [secret]}))
    assert message.value["deep"][0].strip() in {MASK, MASK * 2} or MASK in message.text


def test_short_values_and_templates_are_left_alone():
    assert not Masker(["ab", "${global.key}", 1, None, {"x": [True]}])


@pytest.mark.parametrize("word", ["memory", "EMPTY", "ollama", "lm-studio", "not-needed"])
def test_what_stands_where_no_key_is_needed_is_no_secret(word):
    assert not Masker([word])


def test_headers_that_say_who_asks_are_no_secrets():
    masker = Masker([{"X-Title": "Clerk", "Authorization": "Bearer 4711-tok"}])
    assert masker.text("Clerk, Bearer 4711-tok") == f"Clerk, {MASK}"


def test_secrets_in_data_that_is_no_json_are_masked_in_what_is_shown_of_it():
    message = Message({"x": float("nan"), "y": ["a secret"]}, metadata={"z": ["secret", float("inf")]})
    masked = Masker(["secret"]).message(message)
    assert masked.value == {"x": "nan", "y": ["a ****"]}
    assert dict(masked.metadata) == {"z": ["****", "inf"]}


def test_lists_of_secrets_are_taken_apart():
    assert Masker([["one-secret"]]).text("one-secret") == MASK


class RefusalError(Exception):
    """An error with parts."""

    def __init__(self, who, *, why):
        super().__init__(who, why)
        self.why = why

    def __str__(self):
        return f"{self.args[0]}: {self.why}"


def test_a_masked_error_is_of_the_same_kind_and_has_the_same_parts():
    masker = Masker(["tok-4711"])
    error = RefusalError("ann", why="tok-4711 is not known")
    made = masker.error(error)
    assert (type(made), str(made), made.args) == (RefusalError, "ann: **** is not known", ("ann", "**** is not known"))
    assert made.why == "**** is not known"
    plain = RefusalError("ann", why="no")
    assert masker.error(plain) is plain
    missing = masker.error(FileNotFoundError(2, "No such file", "tok-4711"))
    assert "****" in str(missing)
    assert "4711" not in repr(missing)


def test_an_error_whose_text_cannot_be_had_is_left_alone():
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError

    error = MuteError()
    assert Masker(["tok-4711"]).error(error) is error


@pytest.mark.parametrize("retry", [0, 1])
async def test_a_node_that_fails_tells_no_secret_to_those_behind_it(engine, retry):
    nodes = [{**CHAIN["metadata"]["nodes"][0], "retry": {"maxRetries": retry, "delay": 0}}]
    chain = engine.load({"ruleChain": {"id": "leak"}, "metadata": {"nodes": nodes}})
    outcome = await chain.run(Message({}, "fail"))
    end = outcome.ends[0]
    assert isinstance(end.error, ValueError)
    assert str(end.error) == end.message.metadata["errorMsg"] == "**** was refused"
    assert "4711" not in json.dumps(outcome.to_dict()) + repr(end)


@pytest.mark.parametrize("word", ["none", "None", " null ", "true", "FALSE", "abc"])
def test_what_stands_for_no_key_is_no_secret(word):
    masker = Masker([word])
    assert not masker
    assert masker.text(f"the state is {word}") == f"the state is {word}"
