"""Large results of tools are made JSON in a thread, in pieces, and come out as small ones do."""

from __future__ import annotations

import threading
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python
from tests.cases import times

from catenary.jsontext import dumps, loads
from catenary_components.ai.tools import large

ROWS = [{"id": n, "name": f"part {n}", "tags": ["a", "b"], "at": {"x": n / 2, "y": None}} for n in range(4_000)]
VALUES: dict[str, Any] = {
    "rows": ROWS,
    "rows in an object": {"rows": ROWS, "count": len(ROWS), "\u2028": [1]},
    "one long row": [[1] * 20_000],
    "many members": {f"k{n % 7}{n}": n for n in range(20_000)},
    "a tuple": tuple(range(20_000)),
}

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
NESTED = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=2), inner, max_size=6)
)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, bool]]:
    """What was given to the JSON library at once, and whether that was in the thread of the test."""
    seen: list[tuple[Any, bool]] = []
    main = threading.current_thread()

    def note(function: Any) -> Any:
        def noted(value: Any, **more: Any) -> Any:
            seen.append((value, threading.current_thread() is main))
            return function(value, **more)

        return noted

    monkeypatch.setattr(large, "dumps", note(dumps))
    monkeypatch.setattr(large, "to_jsonable_python", note(to_jsonable_python))
    return seen


@pytest.mark.parametrize("kind", VALUES)
async def test_a_large_result_keeps_no_thread_for_long_and_the_event_loop_not_at_all(
    pieces: list[tuple[Any, bool]], kind: str
) -> None:
    value = await large.json_value(VALUES[kind])
    assert await large.json_text(value) == dumps(to_jsonable_python(VALUES[kind]))
    assert len(pieces) > 2
    assert not any(large.is_large(piece) or is_main for piece, is_main in pieces)


async def test_a_small_result_needs_no_thread(pieces: list[tuple[Any, bool]]) -> None:
    assert await large.json_text(await large.json_value({"on": date(2026, 1, 2)})) == '{"on":"2026-01-02"}'
    assert [is_main for _, is_main in pieces] == [True, True]


@given(NESTED)
@settings(max_examples=times(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_pieces_a_value_comes_out_as_it_does_at_once(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(large, "PIECE", 2)
        patch.setattr(large, "_SLICE", 2)
        assert large.plain(value) == value
        assert dumps(loads(large._text(value))) == dumps(value)


async def test_a_value_that_has_itself_in_it_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="Circular"):
        await large.json_value(loop)
