"""Reading keys, and writing the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from tests.server.kit import KEY

from catenary.errors import ConfigError
from catenary.masking import Masker
from catenary_server.keys import Keys, read_keys
from catenary_server.logs import LogFormatter


def test_keys_come_from_options_files_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\n\n{KEY}-file\n")
    keys = read_keys([f"{KEY}-option"], [file], {"CATENARY_API_KEYS": f"{KEY}-one,{KEY}-two"})
    assert len(keys) == 4
    assert all(keys.admits({"x-api-key": f"{KEY}-{name}"}) for name in ("option", "file", "one", "two"))
    assert not keys.admits({"x-api-key": "# ours"})


@pytest.mark.parametrize(
    "key", ["tiny-key", "with blanks in between", "with-ümlauts-in-between", "tab\tin-the-middle-of-it"]
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Keys([key])
    assert "secrets.token_urlsafe" in caught.value.hint
    assert key not in str(caught.value)


@pytest.mark.parametrize("text", [None, "", "# nothing\n", b"\xff\xfe"])
def test_a_file_without_keys_is_an_error(text: str | bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match="keys"):
        read_keys([], [file], {})


def test_keys_are_not_shown() -> None:
    keys = Keys([KEY])
    assert KEY not in repr(keys) + str(vars(keys))


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("catenary.x", logging.WARNING, "f.py", 1, message, (), None)
    vars(made).update(extra)
    return made


def test_a_record_is_one_line_with_its_parts() -> None:
    line = LogFormatter("text", Masker()).format(record("it\r\nbroke", chain_id="a b", took_ms=1.23456, empty=""))
    assert line.endswith('warning catenary.x: it\\r\\nbroke  chain_id="a b" took_ms=1.235')


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_is_said_beside_a_message_may_be_a_list_or_an_object(form: str) -> None:
    line = LogFormatter(form, Masker()).format(record("it broke", files=["a", "b"], counts={"a": 1}))  # type: ignore[arg-type]
    assert "files=" in line or json.loads(line)["files"] == ["a", "b"]
    assert "counts=" in line or json.loads(line)["counts"] == {"a": 1}


def test_a_record_is_one_json_object() -> None:
    made = json.loads(LogFormatter("json", Masker()).format(record("it broke", chain_id="a", code=3)))
    assert made.pop("time").endswith("+00:00")
    assert made == {"level": "warning", "logger": "catenary.x", "message": "it broke", "chain_id": "a", "code": 3}


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_masked_and_traces_are_there(form: str) -> None:
    masker = Masker(["the-secret-value"])
    try:
        raise ValueError("the-secret-value is wrong")
    except ValueError as error:
        made = record("failed")
        made.exc_info = (ValueError, error, error.__traceback__)
    line = LogFormatter(form, masker).format(made)  # type: ignore[arg-type]
    assert "the-secret-value" not in line
    assert "ValueError: **** is wrong" in line
