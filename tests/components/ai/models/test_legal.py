"""Names of tools and ids of calls that services refuse."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.messages import ToolCall, assistant_message, tool_message, user_message
from catenary_components.ai.models.legal import legal_request, true_piece, true_reply
from catenary_components.ai.models.types import CallPiece, ChatRequest, Piece, Reply, ToolSpec

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def spec(name: str) -> ToolSpec:
    return ToolSpec(name, "", {})


def test_a_request_in_which_all_is_legal_is_given_as_it_is() -> None:
    said = (user_message("a"), assistant_message("", [ToolCall("call:1", "stock")]), tool_message("call:1", "5"))
    request = ChatRequest(said, (spec("stock"),))
    assert legal_request(request, with_ids=False) == (request, {})


def test_names_are_changed_in_tools_history_and_choice_and_come_back() -> None:
    said = (assistant_message("", [ToolCall("c", "Stock level!")]), tool_message("c", "5", name="Stock level!"))
    request = ChatRequest(said, (spec("Stock level!"), spec("Stock_level_")), tool_choice="Stock level!")
    sent, names = legal_request(request, with_ids=False)
    assert [tool.name for tool in sent.tools] == ["Stock_level__2", "Stock_level_"]
    assert (
        sent.messages[0].tool_calls[0].name == sent.messages[1].results[0].name == sent.tool_choice == "Stock_level__2"
    )
    calls = (CallPiece(0, "i", "Stock_level__2"), CallPiece(0, arguments="{}"), CallPiece(1, "j", "Stock_level_"))
    piece = true_piece(Piece(tool_calls=calls), names)
    assert [call.name for call in piece.tool_calls] == ["Stock level!", "", "Stock_level_"]
    reply = true_reply(Reply(tool_calls=(ToolCall("i", "Stock_level__2"),)), names)
    assert reply.tool_calls[0].name == "Stock level!"


@given(st.lists(st.text(max_size=80), unique=True, max_size=6))
@settings(max_examples=times(60))
def test_whatever_tools_are_called_each_has_a_legal_name_of_its_own(names: list[str]) -> None:
    sent, back = legal_request(ChatRequest((), tuple(map(spec, names))), with_ids=False)
    given_names = [tool.name for tool in sent.tools]
    assert all(LEGAL.fullmatch(name) for name in given_names)
    assert len(set(given_names)) == len(names)
    assert [back.get(name, name) for name in given_names] == names


@pytest.mark.parametrize("call_id", ["functions.stock:0", "x" * 90, "é"])
def test_ids_stay_paired_when_they_are_changed(call_id: str) -> None:
    request = ChatRequest((assistant_message("", [ToolCall(call_id, "stock")]), tool_message(call_id, "5")))
    sent, _ = legal_request(request, with_ids=True)
    changed = sent.messages[0].tool_calls[0].id
    assert LEGAL.fullmatch(changed)
    assert sent.messages[1].results[0].call_id == changed
    assert legal_request(request, with_ids=True)[0] == sent
    assert legal_request(request, with_ids=False) == (request, {})
