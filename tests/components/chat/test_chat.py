"""`catenary chat` with lines from a pipe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catenary.errors import ConnectFailed
from catenary.http.inprocess import mock_of
from catenary.testing import Reply, ScriptedModel, calls, mock, server_error
from catenary_components.ai import Agent
from catenary_components.chat.command import chat

Talk = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CATENARY_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def talk() -> Talk:
    def say(*lines: str, args: list[str] | None = None) -> Result:
        return CliRunner().invoke(
            chat, args or [], input="".join(f"{line}\n" for line in lines), catch_exceptions=False
        )

    return say


def chain_file(path: Path, **settings: Any) -> Path:
    node = {"id": "clerk", "type": "ai/agent", "name": "Clerk", "configuration": settings}
    path.write_text(json.dumps({"ruleChain": {"id": "desk", "name": "Desk"}, "metadata": {"nodes": [node]}}))
    return path


def test_the_agent_of_a_chain_remembers_though_the_chain_does_not_say_so(talk: Talk, tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two"])
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe")
    with mock("chat-pipe", model):
        result = talk("a", "b", args=[str(file)])
    assert (result.exit_code, result.stdout) == (0, "one\ntwo\n")
    assert [message["content"] for message in model.requests[1].messages] == ["a", "one", "b"]


def test_the_model_of_a_chain_can_be_another_one(talk: Talk, tmp_path: Path) -> None:
    file = chain_file(tmp_path / "desk.json", url="https://api.example.com/v1", key="${global.key}", model="big")
    assert "I am a mock model" in talk("hello", args=[str(file), "--model", "mock:chat"]).stdout


def test_the_model_for_the_first_steps_is_gone_when_the_talk_is_over(talk: Talk) -> None:
    assert "I am a mock model" in talk("hello").stdout
    with pytest.raises(ConnectFailed, match="no script is registered for mock://chat"):
        mock_of("chat")


def test_a_model_can_be_chosen_on_the_way(talk: Talk) -> None:
    with mock("chat-other", ScriptedModel(["from the other"])):
        result = talk("/model mock:chat-other", "a", "/model")
    assert result.stdout == "model mock:chat-other\nfrom the other\nmodel mock:chat-other\n"


def test_the_chosen_model_is_that_of_the_session_until_another_is_named(talk: Talk, tmp_path: Path) -> None:
    file = str(chain_file(tmp_path / "desk.json", model="mock:chat-own"))
    other = ScriptedModel(default="other")
    with mock("chat-own", ScriptedModel(default="own")), mock("chat-other", other):
        assert talk("/model mock:chat-other", "a", args=[file, "--session", "s"]).stdout.endswith("other\n")
        assert talk("a", "/model", args=[file, "--session", "s"]).stdout == "other\nmodel mock:chat-other\n"
        assert talk("a", "/model", args=[file, "--session", "t"]).stdout == "own\nmodel mock:chat-own\n"
        assert talk("a", args=[file, "--session", "s", "--model", "mock:chat"]).stdout.startswith("I am a mock model")
        assert talk("a", args=[file, "--session", "s"]).stdout == "own\n"
        talk("/model mock:chat-other", args=[file, "--session", "s"])
        result = talk("a", "/model own", "a", args=[file, "--session", "s"])
    assert result.stdout == "other\nmodel mock:chat-own\nown\n"


def test_a_new_session_begins_with_the_model_and_an_old_one_keeps_its_own(talk: Talk, tmp_path: Path) -> None:
    file = str(chain_file(tmp_path / "desk.json", model="mock:chat-own"))
    with mock("chat-own", ScriptedModel(default="own")), mock("chat-other", ScriptedModel(default="other")):
        lines = ("/new old", "a", "/model mock:chat-other", "/new", "a", "/new old", "/model own", "/new new", "a")
        said = [line for line in talk(*lines, args=[file]).stdout.splitlines() if " " not in line]
        again = talk("/new old", "a", "/new x", "/model mock:chat-other", "/new old", "a", args=[file])
    assert said == ["own", "other", "own"]
    assert [line for line in again.stdout.splitlines() if " " not in line] == ["own", "own"]


def test_sessions_are_listed_with_what_they_are_about(talk: Talk, tmp_path: Path) -> None:
    file = str(chain_file(tmp_path / "desk.json", model="mock:chat-own"))
    with mock("chat-own", ScriptedModel(default="own")):
        talk("How are you?", args=[file, "--session", "s"])
        result = talk("Hello", "/title", "/title Greetings", "/sessions", args=[file, "--session", "t"])
        none = talk("/sessions", args=[file])
    answer, wrong, title, first, second = result.stdout.splitlines()
    assert (answer, wrong, title) == ("own", "a title is missing; /title Bolts for Ada", "title Greetings")
    assert first.startswith("  s  2 messages, ")
    assert first.endswith("  How are you?")
    assert second.startswith("* t  2 messages, ")
    assert second.endswith("  Greetings")
    assert none.stdout == "there are no sessions yet\n"


def test_a_model_that_cannot_be_asked_is_not_chosen(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = str(chain_file(tmp_path / "desk.json", model="mock:chat-own", allowedModels=["mock:*", "openai:*"]))
    with mock("chat-own", ScriptedModel(default="own")):
        result = talk("/model anthropic:claude", "/model openai:gpt-4o", "/model", "a", args=[file])
    refused, keyless, model, answer = result.stdout.splitlines()
    assert refused.startswith("the model 'anthropic:claude' is not allowed here; allowed: mock:*, openai:*; /model own")
    assert "OPENAI_API_KEY" in keyless
    assert (model, answer) == ("model mock:chat-own", "own")


def test_an_error_is_told_with_its_hint_and_the_last_question_decides(talk: Talk, tmp_path: Path) -> None:
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", maxRetries=0)
    with mock("chat-pipe", ScriptedModel(["fine", server_error(501)])):
        result = talk("a", "b", args=[str(file)])
    assert result.exit_code == 1
    assert result.stdout == "fine\n"
    assert result.stderr.startswith("error: ")
    assert "501" in result.stderr


def test_thinking_is_shown_when_asked_for(talk: Talk, tmp_path: Path) -> None:
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe")
    with mock("chat-pipe", ScriptedModel(default=Reply(reasoning="Hm, hm.", text="Yes."))):
        assert talk("a", args=[str(file)]).stdout == "Yes.\n"
        assert talk("a", args=[str(file), "--thinking"]).stdout == "Hm, hm.\nYes.\n"
        assert talk("/thinking", "a", args=[str(file)]).stdout.endswith("Hm, hm.\nYes.\n")


def test_functions_of_a_file_are_tools(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "stock.py").write_text('def stock(item: str) -> int:\n    """Count an item."""\n    return 7\n')
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", tools=["stock"])
    with mock("chat-pipe", ScriptedModel([calls("stock", item="bolt"), "Seven."])):
        result = talk("Bolts?", "/tools", args=[str(file), "--tools", "stock.py"])
    assert result.stdout == '* stock(item="bolt")\n  stock: 7\nSeven.\nstock  Count an item.\n'


def test_an_agent_of_a_program_is_named_by_its_place(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "support.py").write_text(
        "from catenary_components.ai import Agent, tool\n"
        "@tool(read_only=True)\n"
        'def door() -> str:\n    """Look at the door."""\n    return "open"\n'
        'agent = Agent("Support", model="mock:chat-pipe", tools=[door])\n'
    )
    with mock("chat-pipe", ScriptedModel([calls("door"), "It is open."])):
        assert talk("Door?", args=["support.py:agent"]).stdout.endswith("It is open.\n")
    result = talk(args=["support.py:nobody"])
    assert result.exit_code == 2
    assert "'nobody' in 'support.py' is no Agent; there are: agent" in result.stderr


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nothing.json", "there is no file 'nothing.json'"),
        (".", "'.' is a folder"),
        ("no_such_module:agent", "cannot be imported"),
    ],
)
def test_who_is_not_there_cannot_be_talked_to(talk: Talk, named: str, said: str) -> None:
    result = talk(args=[named])
    assert result.exit_code == 2
    assert said in result.stderr


def test_commands_begin_sessions_and_forget_and_end(talk: Talk) -> None:
    lines = ("a", "/new other", "/history", "b", "/new other", "/history", "/clear", "/history", "/exit", "never")
    said = talk(*lines).stdout
    assert "session other\nnothing was said yet\n" in said
    assert "user: b\n" in said
    assert "user: a\n" not in said
    assert said.endswith("what was said is forgotten\nnothing was said yet\n")


def test_the_mode_of_the_session_decides_what_runs_unasked(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "door.py").write_text("def door():\n    return 'open'\n")
    file = chain_file(tmp_path / "desk.json", model="mock:chat-mode", permission="default", tools=["door"])
    model = ScriptedModel([calls("door"), "a", calls("door"), "b", calls("door"), "c"])
    lines = ("/mode", "1", "/mode bypass", "2", "/mode own", "3", "/mode lax")
    with mock("chat-mode", model):
        said = talk(*lines, args=[str(file), "--tools", "door.py"]).stdout.splitlines()
    told = [line for line in said if "mode" in line]
    assert told[:3] == ["mode default of the agent", "mode bypass in this session", "mode default of the agent"]
    assert told[3] == "there is no mode 'lax'; there are listed, default, accept_edits, explore, dont_ask, bypass"
    results = [model.requests[number].messages[-1]["content"] for number in (1, 3, 5)]
    assert results[1] == "open"
    assert "denied" in results[0]
    assert "denied" in results[2]


def test_a_wrong_command_is_told_with_a_near_one(talk: Talk) -> None:
    assert "there is no command /hlp; did you mean '/help'?" in talk("/hlp").stdout


def test_help_lists_the_commands(talk: Talk) -> None:
    said = talk("/help").stdout
    for name in ("/new", "/model", "/clear", "/history", "/tools", "/mode", "/rules", "/thinking", "/usage", "/exit"):
        assert name in said


def test_what_comes_behind_the_agent_is_shown_too(talk: Talk, tmp_path: Path) -> None:
    nodes: list[Any] = [
        {"id": "a", "type": "ai/agent", "configuration": {"model": "mock:chat-pipe"}},
        {"id": "loud", "type": "exprTransform", "configuration": {"expr": "upper(data)"}},
    ]
    connections = [{"fromId": "a", "toId": "loud", "type": "Success"}]
    file = tmp_path / "loud.json"
    file.write_text(json.dumps({"ruleChain": {"id": "l"}, "metadata": {"nodes": nodes, "connections": connections}}))
    with mock("chat-pipe", ScriptedModel(["quiet"])):
        assert "QUIET" in talk("a", args=[str(file)]).stdout


@pytest.mark.parametrize("session", ["${metadata.guest}:desk", {"Key": "${metadata.guest}:desk", "store": "memory"}])
def test_the_session_is_that_of_the_talk_whatever_key_the_chain_has(talk: Talk, tmp_path: Path, session: Any) -> None:
    file = str(chain_file(tmp_path / "desk.json", model="mock:chat-pipe", session=session))
    model = ScriptedModel(default="yes")
    with mock("chat-pipe", model):
        talk("a", args=[file, "--session", "s"])
        result = talk("b", "/history", "/clear", "c", "/new t", "d", args=[file, "--session", "s"])
    assert "user: a" in result.stdout
    said = [[one["content"] for one in request.messages] for request in model.requests]
    assert said == [["a"], ["a", "yes", "b"], ["c"], ["d"]]


def test_several_agents_of_a_chain_keep_what_each_has_heard(talk: Talk, tmp_path: Path) -> None:
    nodes = [
        {"id": name, "type": "ai/agent", "configuration": {"model": f"mock:chat-{name}"}}
        for name in ("writer", "critic", "nobody")
    ]
    connections = [{"fromId": "writer", "toId": "critic", "type": "Success"}]
    file = tmp_path / "two.json"
    file.write_text(json.dumps({"ruleChain": {"id": "t"}, "metadata": {"nodes": nodes, "connections": connections}}))
    writer, critic = ScriptedModel(["text 1", "text 2"]), ScriptedModel(["good", "bad"])
    with mock("chat-writer", writer), mock("chat-critic", critic), mock("chat-nobody", ScriptedModel()):
        talk("a", args=[str(file), "--session", "s"])
        result = talk("b", "/history", args=[str(file), "--session", "s"])
    assert [one["content"] for one in writer.requests[1].messages] == ["a", "text 1", "b"]
    assert [one["content"] for one in critic.requests[1].messages] == ["text 1", "good", "text 2"]
    assert result.stdout.count("user: a\n") == 1


def test_what_hooks_publish_without_the_fields_of_agents_is_not_shown(talk: Talk, tmp_path: Path) -> None:
    names = ["content.delta", "tool.run", "tool.args", "tool.result", "approval.resolved", "budget.warning"]
    (tmp_path / "loud.py").write_text(
        "from catenary import Engine\n"
        "from catenary_components.ai import Agent\n"
        "engine = Engine()\n"
        "@engine.agent_hook(at='before_reasoning')\n"
        "def speak(step):\n"
        f"    for name in {names}:\n"
        "        step.publish(name)\n"
        "        step.publish(name, toolId='x')\n"
        "agent = Agent('Loud', model='mock:chat-pipe', engine=engine)\n"
    )
    with mock("chat-pipe", ScriptedModel(["ok"])):
        result = talk("a", args=["loud.py:agent"])
    assert (result.exit_code, result.output) == (0, "ok\n")


def test_a_chain_without_an_agent_is_refused(talk: Talk, tmp_path: Path) -> None:
    from catenary.errors import EngineError

    file = tmp_path / "none.json"
    file.write_text(json.dumps({"ruleChain": {"id": "n"}, "metadata": {"nodes": [{"id": "e", "type": "end"}]}}))
    with pytest.raises(EngineError, match="has no agent to talk to"):
        talk("a", args=[str(file)])


def test_an_agent_object_lists_its_functions() -> None:
    assert [function.__name__ for function in Agent("A", model="mock:x", tools=[chain_file]).functions] == [
        "chain_file"
    ]


@pytest.mark.parametrize("args", [[], ["--yes-to", "read"]])
def test_without_a_terminal_only_what_is_agreed_to_runs(talk: Talk, tmp_path: Path, args: list[str]) -> None:
    tools = [{"type": "builtin", "name": "calculator"}]
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", tools=tools, permission={"ask": ["calculator"]})
    model = ScriptedModel([calls("calculator", expression="3*4"), "Done."])
    with mock("chat-pipe", model):
        said = talk("3*4?", args=[str(file), *args])
    assert said.stdout.endswith("Done.\n")
    told = str(model.requests[1].messages[-1]["content"])
    assert (told == "12") == bool(args)


def test_without_a_terminal_nobody_gives_a_result_from_outside(talk: Talk, tmp_path: Path) -> None:
    tools = [{"type": "external", "name": "weather", "description": "Weather."}]
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", tools=tools)
    with mock("chat-pipe", ScriptedModel([calls("weather"), "Hello."])):
        said = talk("Rain?", args=[str(file)])
        assert said.exit_code == 1
        assert "the agent needs results from outside, and nobody is there to be asked" in said.stderr
    with mock("chat-pipe", ScriptedModel([calls("weather"), "Hello."])):
        assert talk("Rain?", "Hello", args=[str(file)]).stdout.endswith("Hello.\n")


def test_who_looks_on_and_the_model_are_told_that_nobody_was_there_to_be_asked(talk: Talk, tmp_path: Path) -> None:
    tools = [{"type": "builtin", "name": "calculator"}]
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", tools=tools, permission={"ask": ["calculator"]})
    model = ScriptedModel([calls("calculator", expression="3*4"), "Done."])
    with mock("chat-pipe", model):
        said = talk("3*4?", args=[str(file)])
    assert model.requests[1].messages[-1]["content"] == "Permission denied by user: nobody is there to be asked"
    assert 'calculator({"expression":"3*4"}) has to be approved, and nobody is there to be asked' in said.stderr


@pytest.mark.parametrize(("args", "status"), [([], 1), (["--as", "ann"], 0)])
def test_an_agent_that_asks_certain_people_wants_to_know_who_answers(
    talk: Talk, tmp_path: Path, args: list[str], status: int
) -> None:
    tools = [{"type": "builtin", "name": "calculator"}]
    settings = {"tools": tools, "permission": {"ask": ["calculator"]}, "approvers": ["ann"]}
    file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", **settings)
    with mock("chat-pipe", ScriptedModel([calls("calculator", expression="3*4"), "Done."])):
        said = talk("3*4?", args=[str(file), "--yes-to", "read", *args])
    assert said.exit_code == status
    assert ("may not answer here; these may: ann" in said.stderr) == bool(status)


def test_what_a_turn_with_a_question_took_is_counted_once(talk: Talk, tmp_path: Path) -> None:
    tools = [{"type": "builtin", "name": "calculator"}]
    rules = {"tools": tools, "permission": {"ask": ["calculator"]}}
    used: list[str] = []
    for settings in (rules, {"tools": tools}):
        file = chain_file(tmp_path / "desk.json", model="mock:chat-pipe", **settings)
        with mock("chat-pipe", ScriptedModel([calls("calculator", expression="3*4"), "Done."])):
            used.append(talk("3*4?", "/usage", args=[str(file), "--yes-to", "read"]).stdout.splitlines()[-1])
    assert used[0] == used[1]


def test_the_only_agent_of_a_program_is_named_by_the_file(talk: Talk, tmp_path: Path) -> None:
    program = "from catenary_components.ai import Agent\nday = Agent('Day', model='mock:chat-pipe')\n"
    (tmp_path / "support.py").write_text(program)
    with mock("chat-pipe", ScriptedModel(["Good day."])):
        assert talk("Hello", args=["support.py"]).stdout == "Good day.\n"
    (tmp_path / "support.py").write_text(program + "night = Agent('Night', model='mock:chat-pipe')\n")
    result = talk("Hello", args=["support.py"])
    assert result.exit_code == 2
    assert "name an agent of the program, as support.py:NAME; there are: day, night" in result.stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("x = 1\nraise ValueError('boom')\n", "'support.py' cannot be imported: support.py:2: ValueError: boom"),
        ("def (\n", "support.py:1: invalid syntax"),
        ("import no_such_package\n", "'support.py' cannot be imported: No module named 'no_such_package'"),
    ],
)
def test_a_program_that_is_wrong_is_told_without_a_stack_trace(
    talk: Talk, tmp_path: Path, program: str, said: str
) -> None:
    (tmp_path / "support.py").write_text(program)
    for args in (["support.py:agent"], ["--tools", "support.py"]):
        result = talk("a", args=args)
        assert result.exit_code == 2
        assert said in result.stderr
        assert "Traceback" not in result.stderr


PROGRAM = """
from catenary import Engine
from catenary_components.ai import Agent, tool

@tool(read_only=True)
def big() -> str:
    "Give much."
    return "x" * 90_000

@tool(read_only=True)
def other() -> str:
    "Give another thing."
    return "other"

engine = Engine({"town": "Hull"}, roots=["notes"])
engine.tool(other)
shown = Agent("Own", system_prompt="In ${global.town}.", model="mock:chat-own", tools=["other"], engine=engine)
full = Agent("Full", model="mock:chat-own", tools=[big], folder="notes")
"""


@pytest.mark.parametrize("args", [[], ["--session", "ann"]])
def test_an_agent_of_a_program_has_the_engine_that_the_program_gave_it(
    talk: Talk, tmp_path: Path, args: list[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "own.py").write_text(PROGRAM)
    model = ScriptedModel([calls("other"), "Yes."])
    with mock("chat-own", model):
        said = talk("?", args=["own.py:shown", "--set", "global.firm=Smith", *args])
        assert said.stdout.endswith("Yes.\n"), said.stderr
    assert model.requests[0].system_text == "In Hull."
    with mock("chat-own", ScriptedModel([calls("big"), "Much."])):
        said = talk("?", args=["own.py:full", *args])
        assert said.stdout.endswith("Much.\n"), said.stderr
    assert [file.stat().st_size for file in (tmp_path / "notes").rglob("*") if file.is_file()] == [90_000]


def test_an_agent_that_its_program_has_called_already_can_be_talked_to(talk: Talk, tmp_path: Path) -> None:
    program = (
        "from catenary_components.ai import Agent\n"
        'agent = Agent("Own", model="mock:chat-own")\n'
        'agent.call_sync("I call.")\n'
    )
    (tmp_path / "own.py").write_text(program)
    with mock("chat-own", ScriptedModel(["one", "two"])):
        assert talk("?", args=["own.py:agent"]).stdout == "two\n"
