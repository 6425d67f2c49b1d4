"""Statements: whatever a message brings is a value, and what is written around it stays as it is."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catenary import Message
from catenary.errors import TemplateError
from catenary_components.external.sql.dialects import DIALECTS, Dialect, dialect_of
from catenary_components.external.sql.statement import make_statement
from catenary_components.external.sql.text import SqlText
from catenary_components.external.sql.tokens import UnclosedText, tokens

PIECES = st.sampled_from([
    "select ", "a", " ", "'x'", "''", "'", '"', '"n"', "`", "[", "]", "--", "\n", "/*", "*/", "$1", "$$", "$t$", "?",
    "??", "\\", "E'", ";", "(", ")", "%", "#", "1.5", "é", ",",
])  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@given(pieces=st.lists(PIECES, max_size=12))
def test_a_statement_cut_in_pieces_is_put_together_again(dialect: Dialect, pieces: list[str]) -> None:
    sql = "".join(pieces)
    try:
        cut = list(tokens(sql, dialect))
    except UnclosedText as error:
        assert 0 <= error.start < len(sql)
    else:
        assert "".join(token.text for token in cut) == sql
        assert [token.start for token in cut] == [len("".join(t.text for t in cut[:n])) for n in range(len(cut))]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("where", ["${msg}", "'${msg}'", "'a ${msg} b ''${msg}'''", "?"])
@given(value=st.text(max_size=30))
def test_the_statement_is_the_same_whatever_the_value(dialect: Dialect, where: str, value: str) -> None:
    statement = make_statement(SqlText.compile(f"select {where} as n"), dialect)
    sql, bound = statement.bind(["harmless"], Message("x", data_type="TEXT"), None)
    assert (sql, len(bound)) == (statement.bind([value], Message(value, data_type="TEXT"), None)[0], 1)


@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_sqlite_gives_back_any_text_that_is_bound(value: str) -> None:
    statement = make_statement(SqlText.compile("select ${msg}, '<${msg}>', ?"), "sqlite")
    sql, bound = statement.bind([value], Message(value, data_type="TEXT"), None)
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute(sql, bound).fetchone() == (value, f"<{value}>", value)
    connection.close()


@given(values=st.lists(st.lists(st.integers(), max_size=4) | st.integers(), min_size=1, max_size=4))
def test_lists_expand_and_the_marks_are_as_many_as_the_values(values: list[Any]) -> None:
    statement = make_statement(SqlText.compile("select " + ", ".join("?" for _ in values)), "postgres")
    sql, bound = statement.bind(values, Message({}), None)
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    assert list(bound) == flat
    assert [f"${number}" for number in range(1, len(flat) + 1)] == [
        part for part in sql[7:].split(", ") if part != "NULL"
    ]


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("select '${msg.a}' as x, ${msg.b} from ${msg.c}", 39),
        ("select ${msg.a},\n  y from t_${msg.b}", 12),
        ("select 1; select ${msg.a}", 11),
    ],
)
def test_the_place_of_what_is_refused_is_told(sql: str, column: int) -> None:
    with pytest.raises(TemplateError, match=rf"column {column}\)"):
        make_statement(SqlText.compile(sql), "postgres")


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("select * from a where b is distinct from ${msg}", "postgres"),
        ("select extract(day from ${msg}), substring('abc' from ${msg})", "postgres"),
        ("select * from a order by b limit ${msg} offset ${msg}", "mysql"),
        ("select max(x) over (partition by a order by b), ${msg} from t", "postgres"),
        ("select * from a group by b having count(*) > ${msg}", "sqlite"),
        ("create trigger t after insert on a begin delete from a; insert into a values (1); end", "sqlite"),
        ("select 1 -- it's fine", "mysql"),
        ("select 5--1", "mysql"),
        ("select 1 # it's fine", "mysql"),
        ("select a #> '{b}' from t", "postgres"),
        ("select $tag$ it's ; $ok$ $tag$", "postgres"),
        ("select [it's] from t", "sqlite"),
        ("select /* a /* b */ ; */ 1", "postgres"),
    ],
)
def test_what_a_value_may_stand_in_is_accepted(sql: str, dialect: Dialect) -> None:
    assert make_statement(SqlText.compile(sql), dialect).operation in {"SELECT", "CREATE"}


@pytest.mark.parametrize("sql", ["select $0", "select 'a' || E'${msg}'", "select \0", "select $$${msg}$$"])
def test_what_cannot_be_bound_is_refused(sql: str) -> None:
    with pytest.raises(TemplateError):
        make_statement(SqlText.compile(sql), "postgres")


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("create table x (a int); drop table x", "mysql"),
        ("create table x (a int); drop table x", "sqlite"),
        ("select 1 /*! ; drop table x */", "mysql"),
        ("select 1 /*M!100000 ; drop table x */", "mysql"),
    ],
)
def test_a_second_statement_cannot_hide(sql: str, dialect: Dialect) -> None:
    with pytest.raises(TemplateError, match="more than one statement"):
        make_statement(SqlText.compile(sql), dialect)


def test_statements_within_the_body_of_a_trigger_belong_to_it() -> None:
    sql = "create trigger t after insert on x begin delete from y; delete from z; end;"
    assert make_statement(SqlText.compile(sql), "sqlite").operation == "CREATE"


@pytest.mark.parametrize(
    "sql", ["prepare s from '${msg.x}'", "execute immediate '${msg.x}'", "execute immediate concat('select ', ?)"]
)
def test_a_value_cannot_be_a_statement(sql: str) -> None:
    with pytest.raises(TemplateError, match="would be a statement"):
        make_statement(SqlText.compile(sql), "mysql")


@pytest.mark.parametrize(
    ("name", "dialect"), [("MySQL", "mysql"), ("mariadb", "mysql"), ("pgx", "postgres"), ("sqlite3", "sqlite")]
)
def test_databases_go_by_several_names(name: str, dialect: str) -> None:
    assert dialect_of(name) == dialect
