"""Prompts: templates, and Jinja2 documents in files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from catenary import ChainInvalid, Engine, Message
from catenary.testing import Reply

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "support.j2").write_text(
        "You help {{ metadata.user | default('a guest') }} of {{ global.site }}.\n"
        "{% for rule in vars.rules %}- {{ rule }}\n{% endfor %}{% include 'tone.j2' %}\n",
        "utf-8",
    )
    (tmp_path / "prompts" / "tone.j2").write_text("Be kind.\n", "utf-8")
    return tmp_path


def write(folder: Path, url: str, **configuration: Any) -> Path:
    node = {"id": "agent", "type": "ai/agent", "configuration": {"url": url, "key": "k", "model": "m", **configuration}}
    chain = {
        "ruleChain": {"id": "c", "configuration": {"vars": {"rules": ["one", "two"]}}},
        "metadata": {"nodes": [node]},
    }
    file = folder / "chain.json"
    file.write_text(json.dumps(chain, indent=1), "utf-8")
    return file


async def asked(bench: Any, folder: Path, *, metadata: dict[str, str] | None = None, **configuration: Any) -> list[Any]:
    bench.model.add(Reply(text="ok"))
    engine = Engine({"site": "ACME"})
    engine.load(write(folder, f"{bench.url}/v1", **configuration))
    outcome = await engine.run("c", Message("hi", data_type="TEXT", metadata=metadata or {}))
    await engine.close()
    assert outcome.ok, outcome.error
    return bench.last


async def test_a_prompt_may_be_a_document_in_a_file(bench: Any, folder: Path) -> None:
    messages = await asked(bench, folder, metadata={"user": "Ann"}, systemPrompt={"template": "prompts/support.j2"})
    assert messages[0] == {"role": "system", "content": "You help Ann of ACME.\n- one\n- two\nBe kind."}


async def test_a_preset_message_may_be_a_document_in_a_file(bench: Any, folder: Path) -> None:
    presets = [{"role": "user", "content": {"template": "prompts/tone.j2"}}]
    assert await asked(bench, folder, messages=presets) == [{"role": "user", "content": "Be kind."}]


async def test_edits_of_a_prompt_apply_at_once(bench: Any, folder: Path) -> None:
    engine = Engine({"site": "ACME"})
    settings = {"systemPrompt": {"template": "prompts/support.j2"}}
    engine.load(write(folder, f"{bench.url}/v1", **settings))
    bench.model.add(Reply(text="ok"), Reply(text="ok"))
    await engine.run("c", "hi")
    (folder / "prompts" / "tone.j2").write_text("Be brief, {{ msg }}.", "utf-8")
    await engine.run("c", Message("hi", data_type="TEXT"))
    assert bench.last[0]["content"].endswith("\nBe brief, hi.")
    await engine.close()


async def test_a_prompt_that_fails_leaves_by_failure_with_file_and_line(bench: Any, folder: Path) -> None:
    (folder / "prompts" / "tone.j2").write_text("one\n{{ msg.no.deep }}", "utf-8")
    engine = Engine({"site": "ACME"})
    engine.load(write(folder, f"{bench.url}/v1", systemPrompt={"template": "prompts/support.j2"}))
    outcome = await engine.run("c", Message({"a": 1}))
    assert outcome.ends[0].message.metadata["errorMsg"] == (
        "node 'agent': systemPrompt: tone.j2, line 2: cannot fetch deep from nil (no is not there)"
    )
    await engine.close()


@pytest.mark.parametrize(
    ("prompt", "code", "text"),
    [
        ({"template": "prompts/nope.j2"}, "template.syntax", "there is no document 'prompts/nope.j2'"),
        ({"template": "prompts/bad.j2"}, "template.syntax", "prompts/bad.j2: there is no function 'foo'"),
        ({"template": "../secret.j2"}, "template.syntax", "outside of the folders"),
        ({"tmpl": "a"}, "template.syntax", "written with the one key `template`"),
        ("a ${1 +}", "template.syntax", "expected a value"),
    ],
)
def test_a_prompt_that_cannot_be_compiled_fails_the_load(folder: Path, prompt: Any, code: str, text: str) -> None:
    (folder / "prompts" / "bad.j2").write_text("a\n{{ foo() }}", "utf-8")
    with pytest.raises(ChainInvalid) as raised:
        Engine().load(write(folder, "http://127.0.0.1:1/v1", systemPrompt=prompt))
    problem = raised.value.problems[0]
    assert problem.code == code
    assert problem.text.startswith("node 'agent' (ai/agent): systemPrompt: ")
    assert text in problem.text
    assert problem.line > 0


async def test_the_pattern_of_the_reference_page_works(bench: Any, folder: Path) -> None:
    (folder / "ROLE.md").write_text("Role ${msg.x}", "utf-8")
    prompt = (
        "${include(global.data_dir+'/ROLE.md')}\n"
        "${fileExists(global.data_dir+'/EXTRA.md') ? include(global.data_dir+'/EXTRA.md') : ''}\n"
        "Time: ${now()}"
    )
    bench.model.add(Reply(text="ok"))
    engine = Engine({"data_dir": str(folder)})
    chain = json.loads(write(folder, f"{bench.url}/v1", systemPrompt=prompt).read_text("utf-8"))
    engine.load(chain)
    assert (await engine.run("c", Message("hi", data_type="TEXT"))).ok
    role, extra, time = bench.last[0]["content"].split("\n")
    assert (role, extra) == ("Role ${msg.x}", "")
    assert time.startswith("Time: 20")
    await engine.close()
