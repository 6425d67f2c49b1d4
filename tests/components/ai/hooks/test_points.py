"""Hooks of agents: what they see, what they change, in which order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from catenary import ChainInvalid, EngineError
from catenary.testing import Reply, ToolCall, calls, server_error
from catenary_components.ai.hooks.base import POINTS, TIMES, AgentHook
from catenary_components.ai.messages import user_message
from catenary_components.ai.models.types import Piece
from catenary_components.ai.models.types import Reply as ModelReply
from catenary_components.ai.state import FinishReason


@pytest.fixture
def ping(bench: Any) -> list[str]:
    ran: list[str] = []

    def ping(to: str = "all") -> str:
        ran.append(to)
        return f"pong {to}"

    bench.engine.tool(ping)
    return ran


class Diary(AgentHook):
    """Writes down where it was."""

    def __init__(self, name: str, pages: list[str], order: int = 100, points: tuple[str, ...] = POINTS) -> None:
        self.order = order
        for point in points:
            for time in ("before", "after"):
                setattr(self, f"{time}_{point}", self._writer(f"{name} {time} {point}", pages))

            async def around(step: Any, proceed: Any, point: str = point) -> None:
                pages.append(f"{name} into {point}")
                await proceed()
                pages.append(f"{name} out of {point}")

            setattr(self, f"around_{point}", around)

    @staticmethod
    def _writer(line: str, pages: list[str]) -> Any:
        return lambda step: pages.append(line)


async def test_a_hook_is_asked_at_each_point_of_a_run(bench: Any, ping: Any) -> None:
    pages: list[str] = []
    bench.engine.agent_hook(Diary("a", pages))
    bench.load(calls("ping"), "done", tools=["ping"])
    assert (await bench.say()).message.text == "done"
    assert [page.removeprefix("a ") for page in pages if " before " in page or " after " in page] == [
        "before agent",
        *("before reasoning", "before system_prompt", "after system_prompt"),
        *("before model_call", "after model_call", "after reasoning"),
        *("before acting", "before tool", "after tool", "after acting"),
        *("before reasoning", "before system_prompt", "after system_prompt"),
        *("before model_call", "after model_call", "after reasoning"),
        "after agent",
    ]


async def test_lower_orders_are_outside_and_equal_ones_keep_the_order_of_registration(bench: Any) -> None:
    pages: list[str] = []
    for name, order in (("late", 900), ("b", 100), ("c", 100), ("a", 10)):
        bench.engine.agent_hook(Diary(name, pages, order, ("model_call",)))
    bench.load("hello")
    await bench.say()
    names = ["a", "b", "c", "late"]
    assert pages == [
        *(f"{name} before model_call" for name in names),
        *(f"{name} into model_call" for name in names),
        *(f"{name} out of model_call" for name in reversed(names)),
        *(f"{name} after model_call" for name in names),
    ]


async def test_the_order_given_at_registration_wins_over_the_hooks_own(bench: Any) -> None:
    pages: list[str] = []
    hook = Diary("given", pages, 100, ("agent",))
    bench.engine.agent_hook(Diary("own", pages, 50, ("agent",)))
    bench.engine.agent_hook(hook, order=10)
    bench.load("hello")
    await bench.say()
    assert pages[0] == "given before agent"
    assert hook.order == 100


async def test_an_agent_without_hooks_has_none(bench: Any) -> None:
    bench.load("hello")
    assert listing(bench) == []


async def test_the_hooks_of_an_agent_can_be_listed_in_their_order(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: None, at="before_tool", order=300)
    bench.load("hello", hooks=["logging", {"name": "loop_guard", "order": 5}])
    assert [(one["name"], one["order"]) for one in listing(bench)] == [
        ("LoopGuard", 5),
        ("Logging", 200),
        ("<lambda>", 300),
    ]
    assert listing(bench)[2]["methods"] == ["before_tool"]


def listing(bench) -> Any:
    (_, agent), *_ = bench.engine.get("c")._nodes
    return agent.hooks


async def test_a_named_hook_holds_for_agents_that_list_it(bench: Any) -> None:
    seen: list[str] = []
    bench.engine.agent_hook(lambda step: seen.append("named"), at="before_agent", name="look")
    bench.engine.agent_hook(lambda step: seen.append("all"), at="before_agent")
    bench.load("one")
    await bench.say()
    assert seen == ["all"]
    bench.model.add("two")
    seen.clear()
    bench.engine.remove("c")
    bench.load(hooks=["look"])
    await bench.say()
    assert seen == ["all", "named"]


async def test_cuts_choose_agents_by_node_and_chain(bench: Any) -> None:
    class Nobody(AgentHook):
        nodes = ("other*",)

        def before_agent(self, step: Any) -> None:
            raise AssertionError

    class Somebody(AgentHook):
        nodes = "ag*"
        chains = ("c",)

        def before_agent(self, step: Any) -> None:
            step.publish("somebody.was", node=step.ctx.node_id)

    bench.engine.agent_hook(Nobody())
    bench.engine.agent_hook(Somebody)
    events: list[Any] = []
    bench.engine.subscribe(events.append)
    bench.load("hello")
    await bench.say()
    assert [event.data for event in events if event.name == "somebody.was"] == [{"node": "agent"}]


async def test_a_hook_may_say_at_each_moment_whether_it_applies(bench: Any) -> None:
    class Moody(AgentHook):
        def applies(self, point: str, step: Any) -> bool:
            return "please" in step.messages[-1].text

        async def around_agent(self, step: Any, proceed: Any) -> None:
            await proceed()
            step.answer = step.answer.with_data("changed")

        def after_agent(self, step: Any) -> None:
            step.answer = step.answer.with_data(step.answer.text + "!")

    bench.engine.agent_hook(Moody())
    bench.load("one", "two")
    bench.engine.agent_hook(Moody())
    assert (await bench.say("hi")).message.text == "one"


async def test_each_agent_gets_the_instance_that_new_gives(bench: Any) -> None:
    made: list[str] = []

    class Own(AgentHook):
        def new(self, ctx: Any) -> Own:
            made.append(ctx.node_id)
            return Own()

        def before_agent(self, step: Any) -> None:
            """Be there."""

    bench.engine.agent_hook(Own())
    bench.load("hello")
    await bench.say()
    assert made == ["agent"]


# What may be changed


async def test_before_agent_changes_conversation_and_prompt_for_the_whole_run(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_agent")
    def change(step: Any) -> None:
        step.system_prompt += " Be kind."
        step.messages = [*step.messages, user_message("and quickly")]

    bench.load(calls("ping"), "done", tools=["ping"], systemPrompt="S.")
    await bench.say()
    for request in bench.model.requests:
        assert request.system_text == "S. Be kind."
        assert [one["content"] for one in request.messages if one["role"] == "user"] == ["hi", "and quickly"]


async def test_before_reasoning_changes_one_request_and_not_the_conversation(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_reasoning")
    def change(step: Any) -> None:
        if len(step.messages) == 1:
            step.messages.append(user_message("only now"))
            step.options["seed"] = 7
            step.tools.clear()
            step.system_prompt = "For this step."

    bench.load(calls("ping"), "done", tools=["ping"])
    await bench.say()
    first, second = bench.model.requests
    assert first.messages[-1]["content"] == "only now"
    assert first.system_text == "For this step."
    assert first.body["seed"] == 7
    assert first.tools == []
    assert [one["role"] for one in second.messages] == ["user", "assistant", "tool"]
    assert "seed" not in second.body


async def test_the_system_prompt_passes_in_each_step(bench: Any, ping: Any) -> None:
    count = 0

    @bench.engine.agent_hook(at="before_system_prompt")
    def number(step: Any) -> None:
        nonlocal count
        count += 1
        step.prompt += f" Step {count}."

    @bench.engine.agent_hook(at="chunk_system_prompt")
    async def shout(step: Any, text: str) -> str:
        return text.upper()

    bench.load(calls("ping"), "done", tools=["ping"], systemPrompt="S.")
    await bench.say()
    assert [request.system_text for request in bench.model.requests] == ["S. STEP 1.", "S. STEP 2."]


async def test_after_reasoning_changes_the_reply_that_is_kept(bench: Any) -> None:
    @bench.engine.agent_hook(at="after_reasoning")
    def change(step: Any) -> None:
        step.reply = replace(step.reply, content=step.reply.content.replace("secret", "***"))

    bench.load("the secret is out")
    assert (await bench.say()).message.text == "the *** is out"


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("point", ["model_call", "reasoning"])
async def test_pieces_change_before_anybody_gets_them(bench: Any, stream: Any, point: Any) -> None:
    @bench.engine.agent_hook(at=f"chunk_{point}")
    def change(step: Any, piece: Piece) -> Piece:
        return replace(piece, content=piece.content.upper())

    told: list[str] = []
    bench.engine.subscribe(lambda event: told.append(event.data["delta"]) if event.name == "content.delta" else None)
    bench.load(Reply(text="hello there"))
    outcome = await bench.say(stream=stream)
    assert outcome.message.text == "HELLO THERE"
    assert "".join(told) == "HELLO THERE"


async def test_messages_of_the_stream_pass_the_agents_chunks(bench: Any) -> None:
    @bench.engine.agent_hook(at="chunk_agent")
    def change(step: Any, message: Any) -> Any:
        return message.put("seen", "yes") if message.text else None

    bench.load("hello", connections=[{"fromId": "agent", "toId": "show", "type": "Stream"}],
               nodes=[{"id": "show", "type": "functions", "configuration": {"functionName": "show"}}])  # fmt: skip
    seen: list[str] = []
    bench.engine.function("show")(lambda ctx, msg: seen.append(str(msg.metadata.get("seen"))))
    await bench.say(stream="true")
    assert "yes" in seen


async def test_around_may_answer_itself_and_the_service_is_not_asked(bench: Any) -> None:
    after: list[str] = []

    class Answers(AgentHook):
        async def around_agent(self, step: Any, proceed: Any) -> None:
            step.answer = step.message.with_data("from here", "TEXT")

        def after_agent(self, step: Any) -> None:
            after.append(step.answer.text)

        def completed(self, step: Any) -> None:
            after.append("completed")

    bench.engine.agent_hook(Answers())
    bench.load()
    assert (await bench.say()).message.text == "from here"
    assert bench.model.requests == []
    assert after == ["from here", "completed"]


async def test_a_reply_set_before_the_call_stands_for_it_and_is_told(bench: Any) -> None:
    @bench.engine.agent_hook(at="before_model_call")
    def answer(step: Any) -> None:
        step.reply = ModelReply("kept")

    told: list[str] = []
    bench.engine.subscribe(lambda event: told.append(event.data["delta"]) if event.name == "content.delta" else None)
    bench.load()
    outcome = await bench.say()
    assert outcome.message.text == "kept"
    assert outcome.message.metadata["steps"] == "0"
    assert told == ["kept"]
    assert bench.model.requests == []


async def test_around_may_ask_again_from_the_same_request(bench: Any) -> None:
    class Insists(AgentHook):
        async def around_reasoning(self, step: Any, proceed: Any) -> None:
            await proceed()
            if "no" in step.reply.content:
                await proceed()

        def before_model_call(self, step: Any) -> None:
            step.messages.append(user_message("once"))

    bench.engine.agent_hook(Insists())
    bench.load("no", "yes")
    outcome = await bench.say()
    assert outcome.message.text == "yes"
    assert outcome.message.metadata["steps"] == "2"
    assert [len(request.messages) for request in bench.model.requests] == [2, 2]


# Tools


async def test_arguments_changed_before_a_tool_are_run_and_stand_in_the_conversation(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_tool")
    def change(step: Any) -> None:
        step.arguments["to"] = "you"

    bench.load(calls("ping", to="me"), "done", tools=["ping"])
    await bench.say()
    assert ping == ["you"]
    assert bench.last[-2]["tool_calls"][0]["function"]["arguments"] == '{"to":"you"}'
    assert bench.last[-1]["content"] == "pong you"


async def test_changed_arguments_are_checked_like_the_models_own(bench: Any, ping: Any) -> None:
    bench.engine.agent_hook(lambda step: step.arguments.update(to=5, what="?"), at="before_tool")
    bench.load(calls("ping"), "done", tools=["ping"])
    await bench.say()
    assert ping == []
    assert "blocked_invalid_arguments" in bench.last[-1]["content"]


async def test_a_hook_that_raises_before_a_tool_blocks_that_call_only(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_tool")
    async def refuse(step: Any) -> None:
        if step.arguments["to"] == "me":
            raise PermissionError("not to me")

    bench.load(
        Reply(tool_calls=[ToolCall("ping", {"to": "me"}), ToolCall("ping", {"to": "you"})]), "done", tools=["ping"]
    )
    assert (await bench.say()).message.text == "done"
    assert ping == ["you"]
    assert [one["content"] for one in bench.last[-2:]] == ["Tool call blocked by hook: not to me", "pong you"]


async def test_a_result_set_before_a_tool_stands_for_it(bench: Any, ping: Any) -> None:
    from catenary_components.ai.tools.execute import CallResult

    @bench.engine.agent_hook(at="before_tool")
    def answer(step: Any) -> None:
        step.result = CallResult(step.call, "from the store")

    bench.load(calls("ping"), "done", tools=["ping"])
    await bench.say()
    assert ping == []
    assert bench.last[-1]["content"] == "from the store"


async def test_around_and_after_a_tool_change_its_result(bench: Any, ping: Any) -> None:
    class Twice(AgentHook):
        async def around_tool(self, step: Any, proceed: Any) -> None:
            await proceed()
            await proceed()
            step.result = replace(step.result, text=step.result.text + ", twice")

        def after_tool(self, step: Any) -> None:
            step.result = replace(step.result, text=step.result.text + "!")

        def chunk_acting(self, step: Any, result: Any) -> Any:
            return replace(result, text=result.text.upper())

    bench.engine.agent_hook(Twice())
    bench.load(calls("ping"), "done", tools=["ping"])
    await bench.say()
    assert ping == ["all", "all"]
    assert bench.last[-1]["content"] == "PONG ALL, TWICE!"


async def test_what_fails_around_a_tool_is_a_result_and_what_fails_after_it_is_told_and_ignored(
    bench: Any, ping: Any
) -> None:
    class Fails(AgentHook):
        async def around_tool(self, step: Any, proceed: Any) -> None:
            if step.arguments["to"] == "me":
                raise ValueError("no")
            await proceed()

        def after_tool(self, step: Any) -> None:
            raise ValueError("too late")

    events: list[Any] = []
    bench.engine.subscribe(events.append)
    bench.engine.agent_hook(Fails())
    bench.load(
        Reply(tool_calls=[ToolCall("ping", {"to": "me"}), ToolCall("ping", {"to": "you"})]), "done", tools=["ping"]
    )
    assert (await bench.say()).message.text == "done"
    assert [one["content"] for one in bench.last[-2:]] == ["Error: Tool execution failed: no", "pong you"]
    assert [event.data for event in events if event.name == "hook.error"] == [
        {"point": "tool", "hook": "Fails", "error": "too late"}
    ]


async def test_acting_hooks_change_calls_and_results_of_a_batch(bench: Any, ping: Any) -> None:
    class Batch(AgentHook):
        def before_acting(self, step: Any) -> None:
            first, _second = step.calls
            step.calls = [replace(first, arguments='{"to": "us"}')]

        def after_acting(self, step: Any) -> None:
            step.results = [replace(result, text=f"<{result.text}>") for result in step.results]

    bench.engine.agent_hook(Batch())
    bench.load(
        Reply(tool_calls=[ToolCall("ping", {"to": "me"}), ToolCall("ping", {"to": "you"})]), "done", tools=["ping"]
    )
    await bench.say()
    assert ping == ["us"]
    texts = {one["content"] for one in bench.last if one["role"] == "tool"}
    assert texts == {"<pong us>", "[ERROR] Not run: this call was taken out."}


async def test_a_failing_hook_of_a_batch_is_the_result_of_each_call(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_acting")
    def fail(step: Any) -> None:
        raise ValueError("no tools now")

    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), "done", tools=["ping"])
    assert (await bench.say()).message.text == "done"
    assert ping == []
    assert [one["content"] for one in bench.last[-2:]] == ["[ERROR] Tool execution failed: no tools now"] * 2


async def test_a_call_the_model_has_not_made_cannot_be_put_into_a_batch(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="before_acting")
    def add(step: Any) -> None:
        step.calls.append(replace(step.calls[0], id="mine"))

    bench.load(calls("ping"), "done", tools=["ping"])
    await bench.say()
    assert "the model has made no call 'mine'" in bench.last[-1]["content"]


async def test_around_acting_may_give_results_itself(bench: Any, ping: Any) -> None:
    from catenary_components.ai.tools.execute import CallResult

    class Instead(AgentHook):
        async def around_acting(self, step: Any, proceed: Any) -> None:
            step.results = [CallResult(step.calls[0], "mine")]

    bench.engine.agent_hook(Instead())
    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), "done", tools=["ping"])
    await bench.say()
    assert ping == []
    assert [one["content"] for one in bench.last[-2:]] == ["mine", "Tool call blocked by hook: it was not run"]


# Stop and goto


async def test_a_stop_after_reasoning_leaves_the_calls_open(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="after_reasoning")
    def stop(step: Any) -> None:
        step.stop("enough", FinishReason.INCOMPLETE)

    events: list[Any] = []
    bench.engine.subscribe(events.append)
    bench.load(Reply(text="let me see", tool_calls=[ToolCall("ping")]), tools=["ping"])
    outcome = await bench.say()
    assert outcome.message.text == "let me see"
    assert outcome.message.metadata["finish_reason"] == "incomplete"
    assert ping == []
    assert [event.data for event in events if event.name == "hook.stop"] == [
        {"message": "enough", "reason": "incomplete"}
    ]


async def test_a_stop_after_acting_keeps_the_results(bench: Any, ping: Any) -> None:
    kept: list[str] = []

    class Stops(AgentHook):
        def after_acting(self, step: Any) -> None:
            step.stop()

        def completed(self, step: Any) -> None:
            kept.extend(message.role for message in step.messages)

    bench.engine.agent_hook(Stops())
    bench.load(calls("ping"), tools=["ping"])
    outcome = await bench.say()
    assert outcome.message.metadata["finish_reason"] == "stopped"
    assert ping == ["all"]
    assert kept == ["user", "assistant", "tool"]


async def test_a_stop_before_the_model_is_asked_asks_nobody(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.stop(), at="before_reasoning")
    bench.load()
    outcome = await bench.say()
    assert outcome.message.metadata["finish_reason"] == "stopped"
    assert bench.model.requests == []


async def test_a_stop_before_a_tool_runs_neither_it_nor_those_after_it(bench: Any, ping: Any) -> None:
    bench.engine.agent_hook(lambda step: step.stop(), at="before_tool")
    bench.load(Reply(tool_calls=[ToolCall("ping"), ToolCall("ping", {"to": "b"})]), tools=["ping"])
    await bench.say()
    assert ping == []


async def test_goto_goes_back_to_reasoning_and_counts_as_a_model_call(bench: Any) -> None:
    @bench.engine.agent_hook(at="after_reasoning")
    def again(step: Any) -> None:
        if "sure" not in step.reply.content:
            step.goto("Are you sure?")

    bench.load("four", "sure, four")
    outcome = await bench.say("two and two?")
    assert outcome.message.text == "sure, four"
    assert outcome.message.metadata["steps"] == "2"
    assert [one["content"] for one in bench.last] == ["two and two?", "four", "Are you sure?"]


async def test_goto_without_end_meets_the_limit(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.goto("again"), at="after_reasoning")
    bench.load(*["no"] * 3, maxStep=3)
    outcome = await bench.say()
    assert "exceeds max steps" in outcome.message.text
    assert len(bench.model.requests) == 3


async def test_goto_answers_the_calls_that_are_open(bench: Any, ping: Any) -> None:
    @bench.engine.agent_hook(at="after_model_call")
    def again(step: Any) -> None:
        if step.reply.tool_calls:
            step.goto("Without tools, please.")

    bench.load(calls("ping"), "done", tools=["ping"])
    assert (await bench.say()).message.text == "done"
    assert ping == []
    assert [one["content"] for one in bench.last[-2:]] == [
        "[ERROR] Not run: the agent goes back to its task.",
        "Without tools, please.",
    ]


async def test_goto_after_a_tool_puts_messages_behind_the_results(bench: Any, ping: Any) -> None:
    bench.engine.agent_hook(lambda step: step.goto("look closely"), at="after_tool")
    bench.load(calls("ping"), "done", tools=[{"name": "ping", "returnDirect": True}])
    assert (await bench.say()).message.text == "done"
    assert [one["content"] for one in bench.last[-2:]] == ["pong all", "look closely"]


async def test_goto_from_elsewhere_is_an_error_that_says_from_where_it_can_be(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: step.goto("again"), at="before_agent")
    bench.load()
    outcome = await bench.say()
    assert "goto() from a AgentStep" in outcome.message.text


# Errors


@pytest.mark.parametrize(
    ("point", "time"),
    [
        (point, time)
        for point in POINTS
        for time in TIMES
        if point not in ("acting", "tool", "summary") and (point, time) != ("agent", "after")
    ],
)
async def test_what_a_hook_raises_fails_the_run_and_completed_still_hears_of_it(
    bench: Any, point: Any, time: Any
) -> None:
    heard: list[str] = []

    async def fail(step: Any, *rest: Any) -> None:
        raise ValueError("the hook is broken")

    bench.engine.agent_hook(fail, at=f"{time}_{point}")
    bench.engine.agent_hook(lambda step: heard.append(str(step.error)), at="completed")
    bench.load("hello")
    outcome = await bench.say(stream="true")
    text = f"hook fail at {time}_{point} of agent c/agent: the hook is broken"
    assert outcome.message.metadata["errorMsg"] == text
    assert heard == [text]


@pytest.mark.parametrize("point", ["tool", "acting"])
async def test_what_a_hook_of_pieces_of_tools_raises_is_the_result_of_that_call(bench: Any, point: Any) -> None:
    from catenary_components.ai.tools.live import ToolCallInfo

    @bench.engine.tool
    async def count(call: ToolCallInfo, to: str) -> str:
        """Count."""
        await call.show(to)
        return to

    @bench.engine.agent_hook(at=f"chunk_{point}")
    def fail(step: Any, piece: Any) -> None:
        if "me" in step.call.arguments:
            raise ValueError("not to me")

    both = [ToolCall("count", {"to": "me"}), ToolCall("count", {"to": "you"})]
    bench.load(Reply(tool_calls=both), "done", tools=["count"])
    assert (await bench.say()).message.text == "done"
    where = "hook fail at chunk_tool of agent c/agent: " if point == "tool" else ""
    assert [one["content"] for one in bench.last[-2:]] == [f"Error: Tool execution failed: {where}not to me", "you"]


async def test_a_hook_of_pieces_may_let_them_pass_and_is_asked_in_order(bench: Any) -> None:
    from catenary_components.ai.tools.live import ToolCallInfo

    @bench.engine.tool
    def count(call: ToolCallInfo) -> str:
        """Count, in a thread."""
        call.show_now("one")
        return "two"

    bench.engine.agent_hook(lambda step, piece: f"{piece}-b", at="chunk_tool", order=20)
    bench.engine.agent_hook(lambda step, piece: f"{piece}-a", at="chunk_tool", order=10)
    bench.engine.agent_hook(lambda step, piece: None, at="chunk_tool", order=30)
    told: list[Any] = []
    bench.engine.subscribe(lambda event: told.append(event.data["delta"]) if event.name == "tool.delta" else None)
    bench.load(calls("count"), "done", tools=["count"])
    await bench.say(stream="true")
    assert told == ["one-a-b"]
    assert bench.last[-1]["content"] == "two"


@pytest.mark.parametrize("at", ["before_agent", "around_agent", "chunk_model_call", "after_reasoning"])
async def test_a_session_is_free_after_a_hook_that_failed(bench: Any, at: Any) -> None:
    failed: list[bool] = []

    async def fail(step: Any, *rest: Any) -> None:
        if not failed:
            failed.append(True)
            raise ValueError("broken")
        if at == "around_agent":
            await rest[0]()

    bench.engine.agent_hook(fail, at=at)
    bench.load("one", "two", session={"key": "s", "whenBusy": "fail"})
    assert (await bench.say("a")).status == "failed"
    assert (await bench.say("b")).status == "completed"
    assert [one["content"] for one in bench.last] == ["a", "b"]


async def test_errors_after_the_answer_and_in_completed_are_told_and_ignored(bench: Any) -> None:
    class Late(AgentHook):
        def after_agent(self, step: Any) -> None:
            raise ValueError("late")

        def completed(self, step: Any) -> None:
            raise ValueError("later")

    events: list[Any] = []
    bench.engine.subscribe(events.append)
    bench.engine.agent_hook(Late())
    bench.load("hello")
    assert (await bench.say()).message.text == "hello"
    assert [event.data["error"] for event in events if event.name == "hook.error"] == ["late", "later"]


async def test_completed_hears_of_a_model_that_fails(bench: Any) -> None:
    heard: list[str] = []
    bench.engine.agent_hook(lambda step: heard.append(type(step.error).__name__), at="completed")
    bench.load(server_error(), maxRetries=0)
    await bench.say()
    assert heard == ["ModelError"]


async def test_a_cancelled_run_passes_through_the_hooks(bench: Any) -> None:
    heard: list[str] = []
    entered = asyncio.Event()

    class Waits(AgentHook):
        async def around_model_call(self, step: Any, proceed: Any) -> None:
            entered.set()
            await asyncio.Event().wait()

        def completed(self, step: Any) -> None:
            heard.append(type(step.error).__name__)

    bench.engine.agent_hook(Waits())
    bench.load("hello")
    task = asyncio.create_task(bench.say())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["CancelledError"]


async def test_a_point_that_is_none_is_told_when_the_chain_is_loaded(bench: Any) -> None:
    bench.engine.agent_hook(lambda step: None, at="before_lunch")
    with pytest.raises(ChainInvalid, match="agents have no point 'before_lunch'"):
        bench.load()


async def test_a_function_that_cannot_be_called_as_a_hook_is_told(bench: Any) -> None:
    bench.engine.agent_hook(lambda: None, at="before_agent")
    with pytest.raises(ChainInvalid, match="cannot be called with"):
        bench.load()


async def test_what_is_no_hook_is_told(bench: Any) -> None:
    bench.engine.agent_hook(5)
    with pytest.raises(ChainInvalid, match="5 is no hook of agents"):
        bench.load()


async def test_a_hook_that_is_not_there_is_told_with_those_that_are(bench: Any) -> None:
    bench.engine.agent_hook(AgentHook(), name="mine")
    with pytest.raises(ChainInvalid, match=r"hook not found: lunch; there are .*logging.*mine"):
        bench.load(hooks=["lunch"])


async def test_two_hooks_cannot_have_one_name(bench: Any) -> None:
    bench.engine.agent_hook(AgentHook(), name="mine")
    with pytest.raises(EngineError, match="there is a hook 'mine' already"):
        bench.engine.agent_hook(AgentHook(), name="mine")
