"""A chain as the reference page of the agent writes it, from its text to the messages it sends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catenary import Engine, Message
from catenary.testing import Reply, ToolCall

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = r"""
{"ruleChain": {"id": "shop", "name": "Shop"},
 "metadata": {
  "nodes": [
   {"id": "clerk", "type": "ai/agent", "name": "Clerk",
    "configuration": {
     "url": "${global.llm.base}", "key": "${global.llm.key}", "model": "m-small",
     "systemPrompt": "${include(global.data_dir+'/ROLE.md')}\nIn ${global.site} (${ruleChain.id}). Time: ${now()}",
     "maxStep": 12, "maxRetries": 2, "maxToolOutputLength": 8000, "streamRetryMode": "off",
     "params": {"temperature": 0.2, "maxTokens": 600},
     "tools": [
      {"type": "builtin", "name": "read", "config": {"workDir": "${global.data_dir}"}},
      {"type": "rulechain", "name": "stock", "description": "Stock level by SKU", "targetId": "stock-chain",
       "parameters": "{\"type\":\"object\",\"properties\":{\"sku\":{\"type\":\"string\"}},\"required\":[\"sku\"]}"}]}}],
  "connections": []}}
"""

STOCK = {
    "ruleChain": {"id": "stock-chain", "root": False},
    "metadata": {
        "nodes": [{"id": "look", "type": "jsTransform", "configuration": {"jsScript": "return {msg: {qty: 40}}"}}],
        "connections": [],
    },
}


async def test_the_chain_of_the_reference_page_runs_as_it_is(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "ROLE.md").write_text("You sell bolts.", "utf-8")
    both = [ToolCall("read", {"path": str(tmp_path / "ROLE.md")}), ToolCall("stock", {"sku": "bolt"})]
    bench.model.add(Reply(tool_calls=both), Reply(text="40 bolts."))
    llm = {"base": f"{bench.url}/v1", "key": "sk-reference-page"}
    async with Engine({"llm": llm, "site": "Hull", "data_dir": str(tmp_path)}) as engine:
        engine.load(STOCK)
        engine.load(CHAIN)
        sent = Message("how many bolts?", data_type="TEXT", metadata={"stream": "true"})
        outcome = await engine.run("shop", sent)

    first, second = bench.model.requests
    prompt = first.system_text
    assert prompt.startswith("You sell bolts.\nIn Hull (shop). Time: 20")
    assert (first.body["model"], first.body["temperature"], first.body["max_completion_tokens"]) == (
        "m-small",
        0.2,
        600,
    )
    offered = [spec["function"]["name"] for spec in first.body["tools"]]
    assert offered == ["read", "stock"]
    assert second.body["tools"] == first.body["tools"]
    read, stock = second.messages[-2:]
    assert "You sell bolts." in str(read["content"])
    assert json.loads(str(stock["content"])) == {"qty": 40}
    assert [end.relation for end in outcome.ends][-1] == "Success"
    assert (outcome.message.text, outcome.message.metadata["full_content"]) == ("40 bolts.", "true")
    assert (outcome.message.metadata["steps"], outcome.message.metadata["tool_calls"]) == ("2", "2")
