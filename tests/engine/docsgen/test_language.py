"""The page of operators, names and limits."""

from __future__ import annotations

import re

from catenary.docsgen import language
from catenary.docsgen.language import language_page
from catenary.expr import parser
from catenary.expr.environment import VARIABLES


def rows_of(title: str) -> list[str]:
    section = language_page().partition(f"## {title}")[2].partition("## ")[0]
    return [row for row in section.splitlines() if row.startswith("| ")][1:]


def test_every_operator_has_a_row_and_a_meaning() -> None:
    shown = " ".join(re.findall(r"`([^`]+)`", " ".join(row.split(" | ")[1] for row in rows_of("Operators"))))

    for operator in [*parser.PRECEDENCE, *parser.UNARY]:
        assert operator.replace("|", "\\|") in shown, operator
    assert set(language._OPERATORS) == {parser.LONG.get(name, name) for name in parser.PRECEDENCE}


def test_levels_go_from_loosest_to_tightest() -> None:
    levels = [int(level) for level in re.findall(r"^\| (\d+) ", "\n".join(rows_of("Operators")), re.MULTILINE)]

    assert levels == sorted({*parser.PRECEDENCE.values(), *parser.UNARY.values()})


def test_every_name_has_a_row() -> None:
    assert [row.split("`")[1] for row in rows_of("Names")] == sorted(VARIABLES)
    assert set(language._NAMES) == VARIABLES


def test_limits_are_those_of_the_code() -> None:
    from catenary.expr.kinds import MAX_ITEMS

    assert f"| a list that is made | {MAX_ITEMS:,} elements |" in language_page()
