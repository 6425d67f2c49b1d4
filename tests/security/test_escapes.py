"""Known escapes and bombs, each put to every evaluator: refused or harmless, in time, nothing of the host is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cases import FACTOR
from tests.security.corpus_files import Entry, entries
from tests.security.evaluators import EVALUATORS, folder_with_traps

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

LANGUAGES = {
    "python": ("expression", "template", "document", "python"),
    "jinja": ("document",),
    "javascript": ("quickjs",),
    "paths": ("expression", "template", "document"),
    "bombs": ("expression", "document", "python", "quickjs"),
}
"""The files of the corpus, and whom each is written against; in the long checks, every text is put to everybody."""
SECONDS = 6.0
"""Most processor time of one text: built-in calls run over the limits, which are far smaller here."""

BYTES = 600 * 2**20
"""Most memory that one text may take; scripts have a limit of their own below it."""

HOST_OBJECTS = ("<class '", "<function ", "<module ", "<built-in ", "<bound method ", " object at 0x", "<generator ")


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[str, str], dict[str, Any]]]:
    """Give a function that puts a text to an evaluator, in another process."""
    folder = folder_with_traps(tmp_path_factory.mktemp("security"))
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.security.keeper", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None

    def put(evaluator: str, text: str) -> dict[str, Any]:
        keeper.stdin.write(json.dumps({"evaluator": evaluator, "text": text}) + "\n")
        keeper.stdin.flush()
        return json.loads(keeper.stdout.readline())

    yield put
    keeper.stdin.close()
    keeper.wait(20)
    keeper.stdout.close()


def complaints(verdict: dict[str, Any]) -> list[str]:
    """Say what is wrong with a verdict."""
    if verdict["outcome"] not in {"value", "refused"}:
        return [f"{verdict['outcome']}: {verdict['shown'][:200]}"]
    found = [f"did {event}" for event in verdict["seen"]]
    if verdict["strange"]:
        found.append(f"gave a {verdict['strange']}: {verdict['shown'][:100]}")
    if verdict["next"] != "2":
        found.append(f"did harm to the next text: {verdict['next']}")
    if verdict["leaks"]:
        found.append("showed the canary")
    found += [f"showed {mark!r}: {verdict['shown'][:200]}" for mark in HOST_OBJECTS if mark in verdict["shown"]]
    if verdict["seconds"] > SECONDS:
        found.append(f"took {verdict['seconds']:.1f} s")
    if verdict["bytes"] > BYTES:
        found.append(f"took {verdict['bytes'] / 2**20:.0f} MiB")
    if verdict["outcome"] == "refused" and verdict["shown_length"] > 200_000:
        found.append(f"its error has {verdict['shown_length']} characters")
    return found


def cases() -> list[Any]:
    """Give each text with each evaluator that it is put to."""
    return [
        pytest.param(evaluator, entry, id=f"{evaluator}: {entry.name}")
        for file, languages in LANGUAGES.items()
        for entry in entries(file)
        for evaluator in EVALUATORS
        if FACTOR > 1 or evaluator in languages
    ]


@pytest.mark.parametrize(("evaluator", "entry"), cases())
@pytest.mark.timeout(60)
def test_nothing_gets_out_and_all_ends_in_time(ask: Any, evaluator: str, entry: Entry) -> None:
    assert not complaints(ask(evaluator, entry.text))


def test_the_corpus_is_large_and_says_where_it_is_from() -> None:
    assert sum(len(entries(file)) for file in LANGUAGES) > 400
