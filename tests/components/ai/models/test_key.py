"""The key shows itself to nobody."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from catenary_components.ai.models.key import ApiKey


class Holder(BaseModel):
    key: ApiKey = ApiKey()


@pytest.mark.parametrize(
    ("secret", "shown"), [("", ""), ("12345678", "****"), ("123456789", "1234****6789"), (" abc ", "****")]
)
def test_a_key_is_masked(secret: str, shown: str) -> None:
    key = ApiKey(secret)
    assert str(key) == shown
    assert f"{key}" == shown
    assert repr(key) == f"ApiKey({shown!r})"
    assert key.reveal() == secret.strip()
    assert bool(key) == bool(secret)


def test_a_key_is_masked_in_settings_and_their_json() -> None:
    holder = Holder.model_validate({"key": "sk-1234567890"})
    assert "sk-1234567890" not in repr(holder) + holder.model_dump_json() + str(holder.model_dump())
    assert Holder.model_json_schema()["properties"]["key"]["type"] == "string"
    assert Holder(key=holder.key).key == holder.key


def test_keys_are_equal_by_their_secret() -> None:
    assert ApiKey("a") == ApiKey("a ")
    assert ApiKey("a") != "a"
    assert len({ApiKey("a"), ApiKey("a")}) == 1


def test_a_key_is_hidden_in_a_text() -> None:
    assert ApiKey("sk-1234567890").hide_in("got sk-1234567890!") == "got sk-1****7890!"
    assert ApiKey().hide_in("as it is") == "as it is"


def test_a_key_that_is_too_short_to_be_one_is_left_in_texts() -> None:
    assert ApiKey("k").hide_in("it broke off") == "it broke off"


@pytest.mark.parametrize("word", ["none", "ollama", "no-key", "Test"])
def test_what_stands_where_no_key_is_needed_is_left_in_texts(word: str) -> None:
    assert ApiKey(word).hide_in(f"{word} is not there") == f"{word} is not there"
