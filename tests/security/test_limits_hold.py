"""Limits hold for what is small to write and long to do."""

from __future__ import annotations

import time

import pytest

from catenary.errors import ScriptError
from catenary.expr import Environment, Script
from catenary.message import Message

SLACK_S = 8.0
"""For a busy machine; without the guards each of these takes minutes."""


@pytest.mark.parametrize(
    "source",
    [
        "for (;;) 'ß'.repeat(1e6).toUpperCase();",
        "for (;;) new Uint8Array(3e7).fill(1);",
        "const list = {length: 1e7}; for (;;) Array.prototype.indexOf.call(list, 1);",
        "const text = '[' + '1,'.repeat(1e6) + '1]'; for (;;) JSON.parse(text);",
        "const list = Array(1e5).fill('x'); for (;;) JSON.stringify(list);",
        "const text = 'é'.repeat(1e6); for (;;) encodeURIComponent(text);",
    ],
)
def test_a_loop_of_long_built_in_calls_is_stopped_in_time(source: str) -> None:
    pytest.importorskip("quickjs")
    script = Script.compile(source, Environment(script_timeout_s=0.2))
    began = time.monotonic()
    with pytest.raises(ScriptError):
        script.call(Message("{}"))
    assert time.monotonic() - began < SLACK_S


def test_a_list_that_holds_one_list_many_times_over_is_not_written_for_ever() -> None:
    pytest.importorskip("quickjs")
    source = "let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; return a;"
    script = Script.compile(source, Environment(script_timeout_s=0.2))
    began = time.monotonic()
    with pytest.raises(ScriptError):
        script.call(Message("{}"))
    assert time.monotonic() - began < SLACK_S
