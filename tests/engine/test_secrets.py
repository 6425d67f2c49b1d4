"""Secrets of chains: the format, where the key comes from, and where secrets show up and where not."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary import Engine
from catenary.component import Component, Config, option
from catenary.errors import ChainInvalid, SecretError
from catenary.recording import MemoryRecorder
from catenary.registry import Registry
from catenary.secrets import decrypt, encrypt, encrypt_with, find_key, is_sealed

START = bytes(range(16))
MADE_BY_OPENSSL = [
    ("mykey", "door 1234", "86e2c4340c3dbb24edafdf75a0d72557"),
    (
        "a key that is longer than thirty-two bytes",
        "sixteen letters!",
        "c3a6b91e344f743017c5853476129d1d06ef1f19719fd09f04787551d40f4bc6",
    ),
    ("schlüssel", "grün ünd 你好", "5b211e996af78a8e412f3dc1801aedfbf469b9bc419f05ae0c1369adeb8a845b"),
    ("", "x", "0cb84f15a9ba2649f5b3cdd5dd43edec"),
]
KEY = "mykey"


class SecretTakerConfig(Config):
    """Settings."""

    token: str = option("", help="A text.")
    parts: list[dict[str, str]] = option([], help="Texts further inside.")


class SecretTaker(Component[SecretTakerConfig]):
    """Send its options on as data."""

    def run(self, ctx, msg):
        return "Success", msg.with_data({"token": self.config.token, "parts": self.config.parts})


def engine(**options) -> Engine:
    registry = Registry()
    registry.register("test/secretTaker", category="test")(SecretTaker)
    return Engine(registry=registry, **{"secret_key": KEY, **options})


def chain_of(configuration, secrets, **head):
    node = {"id": "a", "type": "test/secretTaker", "configuration": configuration}
    return {
        "ruleChain": {"id": "c", "configuration": {"secrets": secrets}, **head},
        "metadata": {"nodes": [node]},
    }


@pytest.mark.parametrize(("key", "text", "blocks"), MADE_BY_OPENSSL)
def test_the_format_is_that_of_the_field(key, text, blocks):
    sealed = START.hex() + blocks
    assert encrypt_with(text, key, START) == sealed
    assert decrypt(sealed, key) == text
    assert decrypt(sealed.upper() + "\n", key) == text


@settings(max_examples=times(50))
@given(st.text(), st.text())
def _round_trip(text, key):
    sealed = encrypt(text, key)
    assert is_sealed(sealed)
    assert decrypt(sealed, key) == text


def test_what_was_encrypted_is_decrypted_again():
    _round_trip()


def test_the_same_text_is_encrypted_to_something_else_each_time():
    assert encrypt("a", KEY) != encrypt("a", KEY)


@pytest.mark.parametrize("text", ["", "plain", "ab" * 24, "ab" * 40, "zz" * 32])
def test_what_is_not_encrypted_is_refused(text):
    with pytest.raises(SecretError, match="not encrypted"):
        decrypt(text, KEY)


def test_another_key_is_refused():
    with pytest.raises(SecretError, match="cannot be decrypted with the key that is set"):
        decrypt(encrypt("a secret", KEY), "another")


def test_the_key_is_what_is_given_then_the_variable_then_the_file(tmp_path):
    path = tmp_path / "key"
    path.write_text("from file\n", encoding="utf-8")
    both = {"CATENARY_SECRET_KEY": "from variable", "CATENARY_SECRET_KEY_FILE": str(path)}
    assert find_key("given", both) == "given"
    assert find_key(path, both) == "from file"
    assert find_key(None, both) == "from variable"
    assert find_key(None, {"CATENARY_SECRET_KEY_FILE": str(path)}) == "from file"
    assert find_key(None, {}) is None


def test_a_key_file_that_cannot_be_read_is_told():
    with pytest.raises(SecretError, match="cannot be read: nowhere"):
        find_key(Path("nowhere"))


def test_a_missing_package_is_told_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(SecretError) as caught:
        engine().load(chain_of({"token": "${secrets.pin}"}, {"pin": "ab" * 32}))
    assert "catenary[secrets]" in caught.value.hint


def test_secrets_resolve_in_options_at_any_depth():
    secrets = {"pin": encrypt("1234", KEY), "a": {"b": encrypt("deep", KEY)}}
    options = {"token": "Bearer ${secrets.pin}", "parts": [{"x": "${ secrets.a.b }"}]}
    with engine() as one:
        outcome = one.load(chain_of(options, secrets)).run_sync({})
    assert outcome.message.value == {"token": "Bearer 1234", "parts": [{"x": "deep"}]}


def test_secrets_are_in_no_written_chain_no_head_and_no_expression():
    sealed = encrypt("hunter2hunter2", KEY)
    with engine() as one:
        chain = one.load(chain_of({"token": "${secrets.pin}"}, {"pin": sealed}))
        written = repr(chain.to_dict())
        assert sealed in written
        assert "hunter2" not in written + repr(chain.environment) + repr(dict(chain.environment.rule_chain))
        assert "secrets" not in chain.environment.rule_chain["configuration"]


def test_a_secret_that_cannot_be_decrypted_stays_as_it_is_and_is_reported():
    secrets = {"plain": "1234", "other": encrypt("x", "another key")}
    source = chain_of({"token": "${secrets.plain}|${secrets.other}"}, secrets)
    with engine() as one:
        found = [(p.code, p.severity, p.text) for p in one.check(source)]
        assert found == [
            ("chain.sealed-secret", "warning", "secret 'plain' is not encrypted"),
            ("chain.sealed-secret", "warning", "secret 'other' cannot be decrypted with the key that is set"),
        ]
        assert one.load(source).run_sync({}).message.value["token"] == f"1234|{secrets['other']}"


def test_the_report_names_line_and_column():
    text = '{"ruleChain": {"id": "c", "configuration": {"secrets": {\n  "pin": "1234"}}}, "metadata": {"nodes": []}}'
    with engine() as one:
        (problem,) = [p for p in one.check(text) if p.code == "chain.sealed-secret"]
    assert (problem.line, problem.column) == (2, 10)
    assert "1234" not in problem.text


def test_without_a_key_nothing_is_decrypted(monkeypatch):
    monkeypatch.delenv("CATENARY_SECRET_KEY", raising=False)
    with engine(secret_key=None) as one:
        (problem,) = [p for p in one.check(chain_of({}, {"pin": "ab" * 32})) if p.code == "chain.sealed-secret"]
    assert problem.text == "secret 'pin' cannot be decrypted: no key is set"


def test_a_secret_that_is_not_there_is_reported():
    with engine() as one:
        (problem,) = [p for p in one.check(chain_of({"token": "${secrets.nope}"}, {})) if "nope" in p.text]
    assert problem.code == "chain.unresolved-placeholder"
    assert "ruleChain.configuration.secrets" in problem.hint


HIDDEN = "hunter2-hunter2"


class SecretBreaker(Component[SecretTakerConfig]):
    """Fail with its option in the text, in `open` or in `run`."""

    def open(self, ctx):
        if self.config.parts:
            raise ValueError(f"bad token {self.config.token}")

    def run(self, ctx, msg):
        raise ValueError(f"bad token {self.config.token}")


def breaking(configuration, kind="test/secretBreaker"):
    node = {"id": "a", "type": kind, "configuration": configuration}
    head = {"id": "c", "configuration": {"secrets": {"pin": encrypt(HIDDEN, KEY)}}}
    return {"ruleChain": head, "metadata": {"nodes": [node]}}


@pytest.fixture
def breaker():
    registry = Registry()
    registry.register("test/secretBreaker", category="test")(SecretBreaker)
    registry.register("test/secretTaker", category="test")(SecretTaker)
    with Engine(registry=registry, secret_key=KEY) as made:
        yield made


@pytest.mark.parametrize(
    ("configuration", "kind"),
    [
        ({"token": "${secrets.pin}", "parts": [{"a": "b"}]}, "test/secretBreaker"),
        ({"expr": "'${secrets.pin}' +"}, "exprFilter"),
        ({"jsScript": "return '${secrets.pin}' +"}, "jsFilter"),
        ({"url": "${secrets.pin}", "readTimeoutMs": "${secrets.pin}"}, "restApiCall"),
    ],
)
def test_no_problem_of_a_chain_shows_a_secret(breaker, configuration, kind):
    with pytest.raises(ChainInvalid) as caught:
        breaker.load(breaking(configuration, kind))
    shown = f"{caught.value} {caught.value.hint} {caught.value.problems}"
    assert HIDDEN not in shown


def test_no_event_record_or_outcome_of_a_failure_shows_a_secret(breaker):
    events, recorder = [], MemoryRecorder()
    breaker.subscribe(events.append)
    breaker.record(recorder)
    outcome = breaker.load(breaking({"token": "${secrets.pin}"})).run_sync({})
    assert "bad token" in str(outcome.error)
    assert HIDDEN not in str(outcome.error)
    assert HIDDEN not in repr([event.to_dict() for event in events])
    assert HIDDEN not in repr(recorder.records)


def test_a_message_that_has_a_secret_is_masked_where_it_is_told_of_and_not_where_it_goes(breaker, caplog):
    events = []
    breaker.subscribe(events.append)
    source = breaking({"token": "${secrets.pin}"}, "test/secretTaker")
    source["metadata"]["nodes"].append({"id": "log", "type": "log"})
    source["metadata"]["connections"] = [{"fromId": "a", "toId": "log", "type": "Success"}]
    with caplog.at_level(logging.INFO):
        outcome = breaker.load(source).run_sync({})
    assert outcome.message.value["token"] == HIDDEN
    assert "Incoming message" in caplog.text
    assert HIDDEN not in caplog.text + repr([event.to_dict() for event in events])
