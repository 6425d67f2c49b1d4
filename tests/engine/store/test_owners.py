"""Who holds runs: the lock of a process, and what forked processes have of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from catenary import Engine
from catenary.store import History
from catenary.store.owners import Owner, is_there

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = {"ruleChain": {"id": "c"}, "metadata": {"nodes": [{"id": "a", "type": "fork"}]}}


def test_an_owner_holds_its_lock_until_it_is_closed(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    owner = Owner(store)
    assert owner.is_held
    assert is_there(store, owner.name)
    owner.close()
    assert not owner.is_held
    assert not is_there(store, owner.name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what Python says of forks beside threads
def test_a_forked_process_holds_nothing_of_its_parent(tmp_path: Path) -> None:
    owner = Owner(tmp_path / "runs.db")
    child = os.fork()
    if child == 0:
        os._exit(1 if owner.is_held else 0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert is_there(tmp_path / "runs.db", owner.name)
    owner.close()


def test_a_history_leaves_no_lock_behind(tmp_path: Path) -> None:
    with History(tmp_path / "runs.db") as history, Engine(history=history) as engine:
        engine.load(CHAIN).run_sync({})
        history.flush()
        assert len([*tmp_path.glob("*/*.lock")]) == 1
    assert not [*tmp_path.glob("*/*.lock")]
