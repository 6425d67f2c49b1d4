"""From the file of chain tests to its cases; what is wrong with it is told with its place, all at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - the dataclass is looked into at run time
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from catenary.errors import ChainInvalid, Problem
from catenary.life.chainfiles import TEST_SUFFIXES
from catenary.life.parts import Parts
from catenary.load.complaints import complaint
from catenary.load.document import read_parsed
from catenary.load.names import did_you_mean
from catenary.testing.chains.files import NamedFiles, chain_files_of
from catenary.testing.chains.model import Case, Expect, ExpectedEnd, Input, Mock, Part, Payload, Sent, Suite
from catenary.testing.chains.naming import unknown_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.jsontext import Json
    from catenary.load.json_text import Parsed
    from catenary.load.places import Path as Steps

NO_PARTS: Final = Parts()
_CASES: Final = 10_000
_PLACE: Final = re.compile(r"<([^<>]+)>")
_PARTS: Final[dict[str, type[Part]]] = {
    "cases": Case, "input": Input, "mocks": Mock, "sends": Sent, "expect": Expect, "ends": ExpectedEnd,
    "received": Payload,
}  # fmt: skip


@dataclass(frozen=True)
class PlacedCase:
    """One case, the rows put in.

    Attributes:
        name: Its name; with the row behind it where there are rows.
        index: Its number in the file, from 0; the cases of all rows have the same.
        line: Where it begins in the file.
    """

    name: str
    case: Case
    index: int
    line: int


@dataclass(frozen=True)
class SuiteFile:
    """A file of chain tests that was read.

    Attributes:
        chain: The file of the chain.
        parts: What is loaded before it.
        others: The files of the other chains among that.
    """

    path: Path
    suite: Suite
    chain: Path
    parts: Parts
    others: tuple[Path, ...]
    cases: tuple[PlacedCase, ...]
    places: Parsed

    def problem(self, code: str, text: str, *steps: str | int, hint: str = "") -> Problem:
        """Make a problem of this file, at the place that the steps lead to."""
        return _problem_at(self.places, str(self.path), code, text, *steps, hint=hint)


def read_suite(path: Path, parts: Parts = NO_PARTS) -> SuiteFile:
    """Read a file of chain tests.

    Args:
        path: The file.
        parts: What is loaded besides what the file names itself.

    Raises:
        ChainError: When it cannot be read, or is neither JSON nor YAML.
        ChainInvalid: When something in it is wrong; it lists all of it.
    """
    parsed = read_parsed(path)
    problems = [
        _problem(parsed, str(path), "test.shape", f"the key {steps[-1]!r} is given twice", steps)
        for steps, _ in parsed.duplicates
    ]
    suite = _model(parsed, path, problems)
    cases = _cases(parsed, path, suite, problems) if suite else ()
    if suite is None or problems:
        raise ChainInvalid(sorted(problems, key=_place), file=str(path))
    named = NamedFiles(path, suite, partial(_problem_at, parsed, str(path)))
    chain, parts = named.chain(), parts + named.parts()
    file = SuiteFile(path, suite, chain, parts, chain_files_of(parts, chain), cases, parsed)
    problems = named.problems or unknown_nodes(file)
    if problems:
        raise ChainInvalid(sorted(problems, key=_place), file=str(path))
    return file


def find_suites(paths: Iterable[Path]) -> list[Path]:
    """Give the files of chain tests among these: files as they are, and of folders what is in them, at any depth."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*.test.*") if one.name.endswith(TEST_SUFFIXES))
            found += sorted(one for one in inside if not any(_is_hidden(part) for part in one.relative_to(path).parts))
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _place(problem: Problem) -> tuple[int, int]:
    return problem.line, problem.column


def _model(parsed: Parsed, path: Path, problems: list[Problem]) -> Suite | None:
    """Check the file as it is written; where there are rows, their places are still in it."""
    value: Any = parsed.value
    whole = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if isinstance(whole.get("cases"), list):
        value = {**whole, "cases": [_first_row(case) for case in whole["cases"]]}
    try:
        return Suite.model_validate(value)
    except ValidationError as error:
        problems.extend(_problems_of(parsed, path, error, ()))
        return None


def _first_row(case: Any) -> Any:
    written = cast("dict[str, Any]", case) if isinstance(case, dict) else {}
    rows = cast("list[Any]", written.get("rows")) if isinstance(written.get("rows"), list) else []
    if not rows or not isinstance(rows[0], dict):
        return cast("Any", case)
    return {**_filled(written, cast("dict[str, Any]", rows[0])), "rows": rows}


def _cases(parsed: Parsed, path: Path, suite: Suite, problems: list[Problem]) -> tuple[PlacedCase, ...]:
    found: list[PlacedCase] = []
    seen: set[str] = set()
    for index, case in enumerate(suite.cases):
        line = parsed.places.of(("cases", index)).line
        for name, one in _rows(parsed, path, case, index, problems):
            if name in seen:
                steps = ("cases", index, "name")
                text = f"two cases have the name {name!r}"
                problems.append(_problem(parsed, str(path), "test.shape", text, steps, "give each a name of its own"))
            seen.add(name)
            found.append(PlacedCase(name, one, index, line))
    return tuple(found)


def _rows(parsed: Parsed, path: Path, case: Case, index: int, problems: list[Problem]) -> list[tuple[str, Case]]:
    if not case.rows:
        return [(case.name, case)]
    written = parsed.value["cases"][index]
    found: list[tuple[str, Case]] = []
    for row in case.rows[:_CASES]:
        value = _filled(written, row)
        try:
            one = Case.model_validate(value)
        except ValidationError as error:
            problems.extend(_problems_of(parsed, path, error, ("cases", index)))
            return found
        has_place = any(f"<{key}>" in written["name"] for key in row)
        label = ", ".join(f"{key}={_short(item)}" for key, item in row.items())
        found.append((one.name if has_place else f"{one.name} [{label}]", one))
    return found


def _filled(value: Any, row: dict[str, Json]) -> Any:
    """Put the values of a row in the places of their keys."""
    if isinstance(value, dict):
        return {
            _filled_text(key, row): item if key == "rows" else _filled(item, row)
            for key, item in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_filled(item, row) for item in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value)
    return row[whole[1]] if whole and whole[1] in row else _filled_text(value, row)


def _filled_text(text: str, row: dict[str, Json]) -> str:
    return _PLACE.sub(lambda place: _short(row[place[1]]) if place[1] in row else place[0], text)


def _short(value: Json) -> str:
    from catenary.jsontext import dumps

    return value if isinstance(value, str) else dumps(value)


# What is wrong


def _problems_of(parsed: Parsed, path: Path, error: ValidationError, base: Steps) -> list[Problem]:
    problems: list[Problem] = []
    for details in error.errors():
        steps = _steps(parsed.value, (*base, *details["loc"]))
        name = str(details["loc"][-1]) if details["loc"] else "the file"
        if details["type"] == "extra_forbidden":
            hint = did_you_mean(name, _keys_near(steps[:-1]), f"the keys here: {', '.join(_keys_near(steps[:-1]))}")
            problems.append(
                _problem(parsed, str(path), "test.unknown-key", f"the key {name!r} is not known here", steps, hint)
            )
        elif details["type"] == "missing":
            problems.append(_problem(parsed, str(path), "test.shape", f"{name!r} is missing", steps))
        else:
            text = f"{_subject(details['loc'])} {complaint(details)}"
            problems.append(_problem(parsed, str(path), "test.shape", text, steps))
    return problems


def _subject(location: Steps) -> str:
    """Give what is wrong, by its key: of a list, one of its entries."""
    key = next((step for step in reversed(location) if isinstance(step, str)), None)
    if key is None:
        return "the file"
    return repr(key) if location[-1] == key else f"an entry of {key!r}"


def _steps(value: Json, location: tuple[str | int, ...]) -> Steps:
    """Give the way to a place as the file has it: without what reading put between."""
    steps: list[str | int] = []
    for position, step in enumerate(location):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            if position + 1 == len(location):
                steps.append(step)
            continue
        steps.append(step)
    return tuple(steps)


def _keys_near(steps: Steps) -> list[str]:
    names = [step for step in steps if isinstance(step, str)]
    part = next((_PARTS[name] for name in reversed(names) if name in _PARTS), Suite)
    return [field.alias or name for name, field in part.model_fields.items()]


def _problem_at(parsed: Parsed, file: str, code: str, text: str, *steps: str | int, hint: str = "") -> Problem:
    return _problem(parsed, file, code, text, steps, hint)


def _problem(parsed: Parsed, file: str, code: str, text: str, steps: Steps = (), hint: str = "") -> Problem:
    line, column = parsed.places.of_key(steps)
    return Problem(code, text, hint, file, line, column)
