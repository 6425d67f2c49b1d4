"""From a message to a conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catenary.testing import Reply


async def asked(bench: Any, data: Any, data_type: str = "JSON", **config: Any) -> list[dict[str, Any]]:
    bench.load("ok", **config)
    outcome = await bench.say(data, data_type)
    assert outcome.ok, outcome.error
    return bench.last


async def problem(bench: Any, *messages: Any) -> str:
    bench.load("ok")
    outcome = await bench.say({"messages": list(messages)}, "JSON")
    assert outcome.status == "failed"
    assert not bench.model.requests
    return outcome.message.text


PRESETS = [{"role": "user", "content": "report for ${global.site}"}]


@pytest.mark.parametrize(
    ("data", "data_type"),
    [
        ("hi", "TEXT"),
        ('{"messages": []}', "JSON"),
        ("{half", "JSON"),
        ('{"a":1}', "JSON"),
        ("[1]", "JSON"),
        ("x", "ODD"),
    ],
)
async def test_without_messages_the_raw_data_is_what_the_user_says(bench: Any, data: str, data_type: str) -> None:
    assert await asked(bench, data, data_type) == [{"role": "user", "content": data}]


@pytest.mark.parametrize(("data", "data_type"), [("hi", "TEXT"), ({"messages": []}, "JSON"), ("{half", "JSON")])
async def test_presets_stand_in_for_messages(bench: Any, data: Any, data_type: str) -> None:
    assert await asked(bench, data, data_type, messages=PRESETS) == [{"role": "user", "content": "report for Hull"}]


async def test_messages_in_the_input_win_over_presets(bench: Any) -> None:
    given = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    assert await asked(bench, {"messages": given, "model": "x", "tools": []}, messages=PRESETS) == given
    assert bench.model.requests[0].body["model"] == "m"


async def test_the_prompt_comes_first(bench: Any) -> None:
    assert await asked(bench, "hi", "TEXT", systemPrompt="S") == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
    ]


async def test_a_system_message_of_the_caller_replaces_the_prompt(bench: Any) -> None:
    given = [{"role": "user", "content": "a"}, {"role": "system", "content": "mine"}]
    assert await asked(bench, {"messages": given}, systemPrompt="S") == [
        {"role": "system", "content": "mine"},
        {"role": "user", "content": "a"},
    ]


async def test_several_system_messages_are_one_at_the_front(bench: Any) -> None:
    given = [{"role": "system", "content": text} for text in ("", "one", "two")] + [{"role": "user", "content": "a"}]
    assert (await asked(bench, {"messages": given}))[0] == {"role": "system", "content": "one\n\ntwo"}


async def test_a_system_message_of_the_caller_may_go_behind_the_prompt(bench: Any) -> None:
    given = [{"role": "system", "content": "mine"}, {"role": "user", "content": "a"}]
    (first, *_) = await asked(bench, {"messages": given}, systemPrompt="S", callerSystem="append")
    assert first == {"role": "system", "content": "S\n\nmine"}


async def test_an_agent_without_a_prompt_has_that_of_the_caller_alone(bench: Any) -> None:
    given = [{"role": "system", "content": "mine"}, {"role": "user", "content": "a"}]
    (first, *_) = await asked(bench, {"messages": given}, callerSystem="append")
    assert first == {"role": "system", "content": "mine"}


async def test_a_system_message_of_the_caller_may_be_refused(bench: Any) -> None:
    bench.load("ok", systemPrompt="S", callerSystem="reject")
    outcome = await bench.say({"messages": [{"role": "system", "content": "mine"}]}, "JSON")
    assert outcome.message.text == "messages holds one of the role system, which this agent does not take"
    assert not bench.model.requests
    assert (await bench.say({"messages": [{"role": "user", "content": "a"}]}, "JSON")).ok
    assert bench.last[0] == {"role": "system", "content": "S"}


@pytest.mark.parametrize("policy", ["append", "reject"])
async def test_a_system_message_of_the_presets_is_none_of_the_callers(bench: Any, policy: str) -> None:
    presets = [{"role": "system", "content": "preset"}, {"role": "user", "content": "${msg}"}]
    (first, *_) = await asked(bench, "7", "TEXT", messages=presets, systemPrompt="S", callerSystem=policy)
    assert first == {"role": "system", "content": "preset"}


async def test_calls_in_the_history_pass_and_bad_arguments_become_empty(bench: Any) -> None:
    def call(name: str, arguments: Any) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}

    given = [
        {"role": "user", "content": "a"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [call("x", '{"a": 1}'), call("y", ""), call("z", {"b": 2})],
        },
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "tool", "tool_call_id": "y", "content": "2"},
        {"role": "tool", "tool_call_id": "z", "content": "3"},
    ]
    got = await asked(bench, {"messages": given})
    assert [one["function"]["arguments"] for one in got[1]["tool_calls"]] == ['{"a": 1}', "{}", '{"b":2}']
    assert got[2:] == [{"role": "tool", "tool_call_id": i, "content": n} for i, n in zip("xyz", "123", strict=True)]


async def test_an_assistant_message_that_says_nothing_is_dropped(bench: Any) -> None:
    given = [{"role": "assistant", "content": ""}, {"role": "user", "content": "a"}, {"role": "assistant"}]
    assert await asked(bench, {"messages": given}) == [{"role": "user", "content": "a"}]


async def test_parts_keep_their_order_and_empty_ones_are_dropped(bench: Any) -> None:
    parts = [
        {"type": "text", "text": ""},
        {"type": "text", "text": "what is"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": ""}},
        {"type": "image_url", "image_url": "data:image/png;base64,AA=="},
        {"type": "text", "text": "this?"},
    ]
    (got,) = await asked(bench, {"messages": [{"role": "user", "content": parts}]})
    assert got["content"] == [
        {"type": "text", "text": "what is"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "this?"},
    ]


async def test_a_preset_may_hold_a_round_of_tools(bench: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    presets = [
        {"role": "system", "content": "preset"},
        {"role": "assistant", "toolCalls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "${msg}"},
    ]
    got = await asked(bench, "7", "TEXT", messages=presets, systemPrompt="S")
    assert got == [
        {"role": "system", "content": "preset"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "7", "tool_call_id": "c"},
    ]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("hi", 'messages[0] must be an object with role and content, not "hi"'),
        ({"content": "x"}, "messages[0].role must be one of system, user, assistant, tool, not null"),
        ({"role": "user", "content": 1}, "messages[0].content must be a text or a list of parts, not 1"),
        (
            {"role": "user", "content": [{"type": "audio"}]},
            'messages[0].content[0] must be of type text, image_url, audio_url or file_url: {"type":"audio"}',
        ),
        ({"role": "assistant", "tool_calls": {"a": 1}}, 'messages[0].tool_calls must be a list, not {"a":1}'),
        (
            {"role": "assistant", "tool_calls": ["x" * 99]},
            f'messages[0].tool_calls holds something that is no tool call: "{"x" * 79}...',
        ),
    ],
)
async def test_what_is_no_message_is_a_failure(bench: Any, message: Any, text: str) -> None:
    assert await problem(bench, message) == text


async def test_bytes_are_read_as_text(bench: Any) -> None:
    assert await asked(bench, "grüß".encode(), "BINARY") == [{"role": "user", "content": "grüß"}]


async def test_data_that_is_a_value_is_written_as_json(bench: Any) -> None:
    bench.load(Reply(text="ok"))
    await bench.say({"b": 1, "a": [True]}, "JSON")
    assert json.loads(bench.last[0]["content"]) == {"b": 1, "a": [True]}
