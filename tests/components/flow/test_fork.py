"""`fork`: one message, several branches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from catenary import Engine, Message


def test_every_branch_gets_the_message(load: Callable[..., Any]) -> None:
    chain = load(
        ["f:fork", ("a:exprTransform", {"expr": "'a'"}), ("b:exprFilter", {"expr": "msg.t == 1"})],
        "f Success a, f Success b",
    )
    ends = chain.run_sync(Message('{"t":1}')).ends
    assert {(end.node_id, end.relation, end.message.data) for end in ends} == {
        ("a", "Success", "a"),
        ("b", "True", '{"t":1}'),
    }


def test_what_one_branch_does_to_its_message_the_others_do_not_see(load: Callable[..., Any]) -> None:
    nodes = ["f:fork", ("a:jsTransform", {"jsScript": "msg.t = 2; metadata.k = 'a'; return {msg, metadata};"}), "b:log"]
    ends = load(nodes, "f Success a, f Success b").run_sync(Message('{"t":1}', metadata={"k": "v"})).ends
    found = {end.node_id: (end.message.value, end.message.metadata["k"]) for end in ends}
    assert found == {"a": ({"t": 2}, "a"), "b": ({"t": 1}, "v")}


def test_the_message_passes_unchanged_and_alone_it_just_ends(load: Callable[..., Any]) -> None:
    message = Message("text", "T", "TEXT", {"k": "v"}, "m1", 7)
    (end,) = load(["f:fork"]).run_sync(message).ends
    assert (end.relation, end.message) == ("Success", message)


async def test_branches_run_side_by_side(load: Callable[..., Any], engine: Engine) -> None:
    met = asyncio.Barrier(2)

    @engine.function("meet")
    async def meet(ctx: Any, msg: Message) -> str:
        await met.wait()
        return "Success"

    nodes = ["f:fork", *((f"{name}:functions", {"functionName": "meet"}) for name in "ab")]
    outcome = await load(nodes, "f Success a, f Success b").run("", timeout=10)
    assert outcome.ok


def test_it_has_one_relation_and_no_options(load: Callable[..., Any], engine: Engine) -> None:
    form = engine.registry.form("fork")
    assert (form["relationTypes"], form["category"], form["fields"]) == (["Success"], "common", [])
    chain = load([("f:fork", {"branches": 3}), "a:log"], "f True a")
    assert [problem.text for problem in engine.check(chain.to_dict())] == [
        "node 'f' (fork): the option 'branches' is not known",
        "node 'f' (fork): relation 'True' is not one of Success, Failure",
    ]
