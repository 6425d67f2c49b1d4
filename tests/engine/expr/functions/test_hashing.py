"""Fingerprints, and signatures by which a sender shows that it has a key."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary.errors import ExpressionError
from catenary.expr import Expression
from catenary.message import Message

SIGNED = Expression.compile("isSigned(data, metadata.signature, metadata.key)")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def is_signed(data: str, signature: str, key: str = "key") -> object:
    return SIGNED.call(Message(data, data_type="TEXT", metadata={"signature": signature, "key": key}))


@given(TEXTS, TEXTS.filter(bool))
def test_a_signature_is_known_as_hex_digits_behind_its_name_and_as_base64(data: str, key: str) -> None:
    made = hmac.digest(key.encode(), data.encode(), "sha256")
    written = [made.hex(), made.hex().upper(), f" sha256={made.hex()} ", base64.b64encode(made).decode()]
    assert [is_signed(data, one, key) for one in written] == [True] * 4
    assert not is_signed(data + "x", written[0], key)
    assert not is_signed(data, written[0], key + "x")


@pytest.mark.parametrize("signature", ["", "sha256=", "0" * 64, "ü", "\ud800"])
def test_what_is_no_signature_is_not_right(signature: str) -> None:
    assert is_signed("a", signature) is False


def test_an_empty_key_signs_nothing() -> None:
    with pytest.raises(ExpressionError, match=r"isSigned\(\): the key is empty"):
        is_signed("a", hmac.digest(b"", b"a", "sha256").hex(), "")


@pytest.mark.parametrize("call", ["sha256(msg)", "hmacSha256(msg, 'k')", "isSigned(msg, 'x', 'k')"])
def test_data_that_was_taken_apart_is_not_signed(call: str) -> None:
    with pytest.raises(ExpressionError, match=r"takes (bytes or )?string.*not map|a body as it came is `data`"):
        Expression.compile(call).call(Message({"a": 1}))


def test_a_missing_signature_is_not_right() -> None:
    assert Expression.compile("isSigned('a', msg.signature, 'k')").call(Message({})) is False


@given(TEXTS)
def test_a_fingerprint_is_that_of_the_bytes_of_a_text(data: str) -> None:
    made = Expression.compile("sha256(data)").call(Message(data, data_type="TEXT"))
    assert made == hashlib.sha256(data.encode()).hexdigest()
