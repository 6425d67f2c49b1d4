"""What a program lends to its chains: functions, objects and scripts, by name and language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from catenary import Engine
from catenary.errors import ChainInvalid, EngineError


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(host_functions={"double": lambda n: n * 2}) as engine:
        yield engine


def result(engine: Engine, kind: str, **configuration: Any) -> Any:
    node = {"id": "one", "type": kind, "configuration": configuration}
    chain = engine.reload({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
    return chain.run_sync({"n": 4}).message.value


def test_expressions_templates_and_scripts_call_the_same_function(engine: Engine) -> None:
    assert result(engine, "exprTransform", expr="double(msg.n)") == 8
    assert result(engine, "jsTransform", jsScript="return {msg: {n: double(msg.n)}};") == {"n": 8}


def test_a_decorator_registers_a_function_and_gives_it_back(engine: Engine) -> None:
    @engine.host_function("triple")
    def triple(n: int) -> int:
        return n * 3

    assert triple(2) == 6
    assert result(engine, "jsTransform", jsScript="return {msg: {n: triple(msg.n)}};") == {"n": 12}


def test_a_name_may_be_there_once_for_each_language(engine: Engine) -> None:
    engine.host_function("who")(lambda: "all")
    engine.host_function("who", language="Js")(lambda: "scripts")
    engine.host_function("only", language="Expr")(lambda: "expressions")
    assert result(engine, "exprTransform", expr="who() + only()") == "allexpressions"
    assert result(engine, "jsTransform", jsScript="return {msg: {w: who(), o: typeof only}};") == {
        "w": "scripts",
        "o": "undefined",
    }


def test_an_object_lends_its_methods_to_scripts(engine: Engine) -> None:
    class Shop:
        def price(self, item: str) -> float:
            return {"tea": 2.5}[item]

    engine.host_function("shop", language="Js")(Shop())
    assert result(engine, "jsTransform", jsScript="return {msg: {p: shop.price('tea')}};") == {"p": 2.5}


def test_a_host_script_defines_globals_for_scripts(engine: Engine) -> None:
    engine.host_script("units", "function fahrenheit(c) { return c * 9 / 5 + 32; }")
    assert result(engine, "jsTransform", jsScript="return {msg: {f: fahrenheit(100)}};") == {"f": 212}


def test_a_host_script_that_is_wrong_is_told_when_a_chain_is_loaded(engine: Engine) -> None:
    engine.host_script("bad", "function (")
    with pytest.raises(ChainInvalid, match="SyntaxError"):
        result(engine, "jsTransform", jsScript="return {msg: 1};")


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "vars", "global", "$ctx"])
def test_a_name_that_cannot_be_used_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(EngineError, match="host function"):
        engine.host_function(name)(lambda: 1)


def test_an_async_function_is_refused(engine: Engine) -> None:
    async def late() -> None: ...

    with pytest.raises(EngineError, match="is async"):
        engine.host_function("late")(late)


def test_a_decorator_without_a_name_is_told_so(engine: Engine) -> None:
    with pytest.raises(EngineError, match="has no name"):
        engine.host_function(lambda: 1)  # type: ignore[arg-type]


def test_a_script_in_another_language_is_refused(engine: Engine) -> None:
    with pytest.raises(EngineError, match="no language 'Lua'"):
        engine.host_script("x", "return 1", language="Lua")


def test_scripts_of_a_chain_share_its_cache_and_see_their_ids(engine: Engine) -> None:
    count = """
        const cache = $ctx.ChainCache();
        const n = cache.Has('n') ? cache.Get('n') + 1 : 1;
        cache.Set('n', n, '10m');
        return {msg: {n, id: $ctx.GetSelfId()}};
    """
    assert [result(engine, "jsTransform", jsScript=count) for _ in range(3)] == [
        {"n": 1, "id": "one"},
        {"n": 2, "id": "one"},
        {"n": 3, "id": "one"},
    ]
    assert engine.cache.get("c:n") == 3
