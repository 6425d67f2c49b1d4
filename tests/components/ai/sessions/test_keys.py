"""Keys of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.sessions.keys import KeyParts, key_of, parse_key, scoped_key, user_of


def key(scope: str = "per_peer", user_id: str = "", **metadata: str) -> str:
    named = {name.replace("__", "."): value for name, value in metadata.items()}
    return scoped_key("desk", scope, named, user_id=user_id, chain_id="shop")  # type: ignore[arg-type]


def test_the_form_of_a_key() -> None:
    assert key(channel="web", chatId="42") == "agent:desk:channel:web:scope:per_peer:42"


@pytest.mark.parametrize(
    ("metadata", "scope_id"),
    [
        ({"scopeId": "s", "chatId": "c", "im__chatId": "i"}, "s"),
        ({"chatId": "c", "im__chatId": "i", "threadId": "t"}, "c"),
        ({"im__chatId": "i", "threadId": "t"}, "i"),
        ({"threadId": "t", "im__threadId": "x"}, "t"),
        ({"im__threadId": "x"}, "x"),
        ({"scopeId": "  ", "threadId": "t"}, "t"),
    ],
)
def test_the_first_that_is_told_of_scope_chat_and_thread_counts(metadata: dict[str, str], scope_id: str) -> None:
    assert key(user_id="ann", **metadata).endswith(f":{scope_id}")


def test_the_user_counts_before_the_chain() -> None:
    assert key(user_id="ann").endswith(":ann")
    assert key().endswith(":shop")


def test_the_scopes_say_who_shares_a_session() -> None:
    metadata = {"chatId": "c", "threadId": "t", "taskId": "k", "accountId": "a"}

    assert key("main", **metadata).endswith(":scope:main:main")
    assert key("thread", **metadata).endswith(":scope:thread:t")
    assert key("task", **metadata).endswith(":scope:task:k")
    assert key("per_account_channel_peer", **metadata).endswith(":scope:per_account_channel_peer:a/c")


def test_accounts_and_peers_are_not_confused() -> None:
    one = key("per_account_channel_peer", accountId="a/b", chatId="c")

    assert one != key("per_account_channel_peer", accountId="a", chatId="b/c")


@profile(max_examples=times(100))
@given(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]))] * 4))
def test_a_key_gives_its_parts_back_whatever_signs_are_in_them(parts: tuple[str, str, str, str]) -> None:
    assert parse_key(key_of(KeyParts(*parts))) == parts


def test_other_keys_have_no_parts() -> None:
    assert parse_key("ann:desk:monday") is None


def test_the_user_is_read_from_metadata() -> None:
    assert user_of({"im.userId": "bob"}) == "bob"
    assert user_of({"userId": " ann ", "im.userId": "bob"}) == "ann"
    assert user_of({}) == ""
