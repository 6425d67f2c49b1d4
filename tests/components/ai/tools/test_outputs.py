"""Tools that give pictures and other media."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from catenary.testing import Reply, ToolCall, calls
from catenary_components.ai.messages import AudioPart, DataPart, ImagePart, TextPart
from catenary_components.ai.models.registry import Profile
from catenary_components.ai.models.result_media import media_behind, result_text
from catenary_components.ai.tools.outputs import parts_of, shown, text_of

PICTURE = ImagePart.of(b"\x89PNG")
URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (PICTURE, (PICTURE,)),
        (["front:", PICTURE], (TextPart("front:"), PICTURE)),
        ((TextPart("a"), TextPart("b")), (TextPart("a"), TextPart("b"))),
        (["a", "b"], ()),
        ([], ()),
        ([PICTURE, 1], ()),
        ({"picture": PICTURE}, ()),
        ("text", ()),
    ],
)
def test_parts_are_told_from_json(value: Any, parts: Any) -> None:
    assert parts_of(value) == parts


def test_a_text_says_where_other_media_stand() -> None:
    parts = (TextPart("see"), PICTURE, AudioPart("https://x/a.mp3"), DataPart("https://x/b.pdf"))
    assert text_of(parts) == "see\n[a picture]\n[a sound]\n[a file]"


def test_parts_are_shown_as_the_blocks_that_records_have() -> None:
    assert shown(PICTURE) == {"type": "image", "url": URL}
    assert shown(["see", PICTURE]) == [{"type": "text", "text": "see"}, {"type": "image", "url": URL}]
    assert shown({"n": 1}) == {"n": 1}


async def test_pictures_of_a_tool_reach_the_model_behind_all_results(bench: Any) -> None:
    def photo(of: str) -> list[str | ImagePart]:
        return [f"the {of}:", PICTURE]

    bench.engine.tool(photo)
    bench.engine.tool(lambda: "plain", name="plain")
    both = Reply(tool_calls=[ToolCall("photo", {"of": "front"}), ToolCall("plain", {})])
    bench.load(both, "ok", tools=["photo", "plain"])
    outcome = await bench.say()
    assert outcome.ok, outcome.error
    first, second, media = bench.last[-3:]
    assert (first["role"], first["content"]) == ("tool", "the front:\n[shown below]")
    assert (second["role"], second["content"]) == ("tool", "plain")
    assert media["role"] == "user"
    assert media["content"][0]["text"].startswith("[From the result of photo, call ")
    assert media["content"][1:] == [{"type": "image_url", "image_url": {"url": URL}}]


async def test_a_model_that_does_not_see_is_told_that_there_is_a_picture(bench: Any) -> None:
    bench.engine.tool(lambda: PICTURE, name="photo")
    bench.load(calls("photo"), "ok", tools=["photo"], vision=False)
    await bench.say()
    assert bench.last[-1]["role"] == "tool"
    assert bench.last[-1]["content"] == "[a picture]"


async def test_events_show_pictures_as_blocks(bench: Any) -> None:
    async def film() -> Any:
        yield PICTURE
        yield ["done", PICTURE]

    bench.engine.tool(film)
    bench.load(calls("film"), "ok", tools=["film"])
    told = [(e.name, e.data) async for e in bench.engine.stream("c", "hi") if getattr(e, "name", "")[:5] == "tool."]
    pieces = [data["delta"] for name, data in told if name == "tool.delta"]
    result = next(data for name, data in told if name == "tool.result")
    assert pieces[0] == f'{{"type":"image","url":"{URL}"}}'
    assert (result["result"], result["isError"]) == ("done\n[a picture]", False)
    assert result["parts"] == [{"type": "text", "text": "done"}, {"type": "image", "url": URL}]


async def test_a_text_that_is_cut_keeps_its_pictures(bench: Any) -> None:
    bench.engine.tool(lambda: ["x" * 100, PICTURE], name="photo")
    bench.load(calls("photo"), "ok", tools=["photo"], maxToolOutputLength=10)
    await bench.say()
    assert bench.last[-2]["content"].startswith("xxxxxxxxxx...(truncated, original: ")
    assert bench.last[-1]["content"][1:] == [{"type": "image_url", "image_url": {"url": URL}}]


def test_results_without_pictures_need_no_message_behind_them() -> None:
    from catenary_components.ai.messages import assistant_message, tool_message

    rows = [tool_message("1", "a"), tool_message("2", [PICTURE]), assistant_message("b"), tool_message("3", "c")]
    assert [len(list(media_behind(rows, place, Profile()))) for place in range(4)] == [0, 1, 0, 0]
    assert result_text(rows[1].results[0], Profile(sees=False)) == "[a picture]"


def test_pictures_of_a_tool_stand_in_its_result_where_the_service_takes_them_there() -> None:
    from catenary_components.ai.messages import ToolCall as Call
    from catenary_components.ai.messages import assistant_message, tool_message
    from catenary_components.ai.models.anthropic_body import anthropic_body
    from catenary_components.ai.models.types import ChatRequest

    talk = (assistant_message(calls=[Call("c1", "photo")]), tool_message("c1", [TextPart("see"), PICTURE]))
    body: Any = anthropic_body(ChatRequest(talk), "m", {}, Profile("anthropic"), stream=False)
    source = {"type": "base64", "media_type": "image/png", "data": URL.partition(",")[2]}
    assert body["messages"][-1]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [{"type": "text", "text": "see"}, {"type": "image", "source": source}],
        }
    ]
