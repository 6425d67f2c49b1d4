"""What every store of sessions does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from catenary_components.ai.sessions.store import ANY_VERSION, NEW, SessionConflict, SessionError, aside_suffix

if TYPE_CHECKING:
    from catenary_components.ai.sessions.store import SessionStore

KEYS = [
    "ann:desk:monday",
    "../../etc/passwd",
    "..",
    ".",
    "a/b",
    "A",
    "a",
    "ä☃",
    "con",
    "x" * 3000,
    "a%2fb",
    "\x00",
    "~",
]


async def test_what_was_never_saved_is_not_there(store: SessionStore) -> None:
    assert await store.load("k") is None
    assert await store.delete("k") is False
    assert await store.keys() == []


async def test_a_record_comes_back_with_its_version(store: SessionStore) -> None:
    assert await store.save("k", '{"a":["ü\\u0000"]}', NEW) == 1
    assert await store.save("k", '{"a":["😀"]}', 1) == 2

    assert await store.load("k") == (2, {"a": ["😀"]})


async def test_creating_what_is_there_already_is_a_conflict(store: SessionStore) -> None:
    await store.save("k", "1", NEW)

    with pytest.raises(SessionConflict, match=r"none was there when it was read, and version 1 is there"):
        await store.save("k", "2", NEW)
    assert await store.load("k") == (1, 1)


async def test_a_stale_version_is_a_conflict_and_changes_nothing(store: SessionStore) -> None:
    await store.save("k", "1", NEW)
    await store.save("k", "2", 1)

    with pytest.raises(SessionConflict, match="version 1 was read, and version 2 is there"):
        await store.save("k", "3", 1)
    assert await store.load("k") == (2, 2)


async def test_a_version_of_what_is_gone_is_a_conflict(store: SessionStore) -> None:
    await store.save("k", "1", NEW)
    await store.delete("k")

    with pytest.raises(SessionConflict, match="it is gone"):
        await store.save("k", "2", 1)


async def test_any_version_always_writes(store: SessionStore) -> None:
    assert await store.save("k", "1", ANY_VERSION) == 1
    assert await store.save("k", "2", ANY_VERSION) == 2


async def test_of_many_who_write_at_once_one_wins(store: SessionStore) -> None:
    tries = await asyncio.gather(*(store.save("k", str(n), NEW) for n in range(8)), return_exceptions=True)

    assert sorted(type(one).__name__ for one in tries) == ["SessionConflict"] * 7 + ["int"]


async def test_any_text_is_a_key_and_no_two_are_the_same(store: SessionStore) -> None:
    for number, key in enumerate(KEYS):
        await store.save(key, str(number), NEW)

    assert [await store.load(key) for key in KEYS] == [(1, number) for number in range(len(KEYS))]
    assert await store.keys() == sorted(KEYS)
    assert await store.keys("a") == sorted(key for key in KEYS if key.startswith("a"))


async def test_an_empty_key_is_refused(store: SessionStore) -> None:
    with pytest.raises(SessionError, match="key of the session is empty"):
        await store.save("", "1", NEW)


async def test_a_deleted_record_is_gone(store: SessionStore) -> None:
    await store.save("k", "1", NEW)

    assert await store.delete("k") is True
    assert await store.load("k") is None


async def test_a_record_set_aside_is_out_of_the_way_and_not_lost(store: SessionStore) -> None:
    await store.save("k", "1", NEW)

    where = await store.set_aside("k", aside_suffix(1_700_000_000_123))

    assert where.endswith(".corrupt-20231114T221320123Z")
    assert await store.load("k") is None
    assert await store.keys() == []


def test_the_public_names_are_there() -> None:
    from catenary_components.ai import sessions

    assert all(getattr(sessions, name) for name in sessions.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sessions.nothing


async def test_closing_twice_does_no_harm_and_the_records_stay(store: SessionStore) -> None:
    await store.save("k", "1", NEW)
    await store.close()
    await store.close()

    assert await store.load("k") == (1, 1)
