"""`catenary secret`: the value is read, never an argument; the key comes from a file or the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from catenary.secrets import decrypt, encrypt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Call = Callable[..., Result]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("CATENARY_SECRET_KEY", "mykey")
    return "mykey"


@pytest.mark.parametrize("given", ["door 1234", "door 1234\n", "door 1234\r\n"])
def test_a_piped_value_is_encrypted_without_its_line_break(call: Call, key: str, given: str) -> None:
    result = call("secret", "encrypt", stdin=given)
    assert result.exit_code == 0
    assert decrypt(result.stdout, key) == "door 1234"


def test_an_encrypted_value_is_decrypted(call: Call, key: str) -> None:
    result = call("secret", "decrypt", stdin=encrypt("door", key) + "\n")
    assert result.stdout == "door\n"


def test_the_key_may_be_in_a_file(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("from file\n", encoding="utf-8")
    result = call("secret", "encrypt", "--key-file", path, stdin="x")
    assert decrypt(result.stdout, "from file") == "x"


def test_without_a_key_or_a_value_it_is_wrong_usage(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("secret", "encrypt", stdin="x")
    assert result.exit_code == 2
    assert "CATENARY_SECRET_KEY" in result.stderr
    monkeypatch.setenv("CATENARY_SECRET_KEY", "k")
    assert call("secret", "encrypt", stdin="").exit_code == 2


def test_another_key_is_an_error_that_shows_nothing(call: Call, key: str) -> None:
    sealed = encrypt("door", "another")
    result = call("secret", "decrypt", stdin=sealed)
    assert result.exit_code == 1
    assert "cannot be decrypted with the key that is set" in result.stderr
    assert sealed not in result.output


def test_no_command_takes_the_value_or_the_key_as_an_argument(call: Call, key: str) -> None:
    assert call("secret", "encrypt", "door").exit_code == 2
    assert call("secret", "encrypt", "--key", "k", stdin="x").exit_code == 2
