"""`dbClient` against SQLite, PostgreSQL and MariaDB: what leaves it, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.peers.mariadb import MariaDb
from tests.peers.postgres import Postgres

from catenary import Engine, Message
from catenary.errors import ChainInvalid
from catenary.outcome import Outcome

KINDS = ["sqlite", "postgres", "mariadb"]
pytestmark = pytest.mark.timeout(60)  # the first test of a kind installs and starts its server


class Bench:
    """An engine with one kind of database, and short ways to run one node."""

    def __init__(self, engine: Engine, kind: str, dsn: str) -> None:
        self.engine = engine
        self.kind = kind
        self.dsn = dsn
        self._count = 0

    def load(self, sql: str, **options: Any) -> Any:
        self._count += 1
        settings = {"dsn": self.dsn, "sql": sql, **options}
        node = {"id": "db", "type": "dbClient", "configuration": settings}
        return self.engine.load({"ruleChain": {"id": f"chain-{self._count}"}, "metadata": {"nodes": [node]}})

    async def run(self, sql: str, data: Any = None, **options: Any) -> Outcome:
        message = data if isinstance(data, Message) else Message({} if data is None else data)
        return await self.load(sql, **options).run(message)

    async def rows(self, sql: str, data: Any = None, **options: Any) -> Any:
        outcome = await self.run(sql, data, opType="SELECT", **options)
        assert outcome.ok, outcome.error
        return outcome.message.value

    async def does(self, sql: str, data: Any = None, **options: Any) -> dict[str, Any]:
        outcome = await self.run(sql, data, **options)
        assert outcome.ok, outcome.error
        return dict(outcome.message.metadata)


@pytest.fixture(params=KINDS)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Bench]:
    """The same for each kind of database, with the empty table `things`."""
    kind = request.param
    dsn = "sqlite:///test.db" if kind == "sqlite" else request.getfixturevalue(kind).dsn
    async with Engine(roots=[tmp_path]) as engine:
        one = Bench(engine, kind, dsn)
        await one.does("drop table if exists things")
        key = {
            "sqlite": "integer primary key",
            "postgres": "serial primary key",
            "mariadb": "int auto_increment primary key",
        }
        await one.does(f"create table things (id {key[kind]}, name varchar(50) unique, size int)")
        yield one


async def test_a_select_gives_a_list_of_rows(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values ('a', 1), ('b', null)")
    assert await bench.rows("select name, size from things order by name") == [
        {"name": "a", "size": 1},
        {"name": "b", "size": None},
    ]


async def test_get_one_gives_the_first_row_and_empty_data_when_there_is_none(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values ('a', 1), ('b', 2)")
    assert await bench.rows("select size from things order by name", getOne=True) == {"size": 1}
    outcome = await bench.run("select size from things where size = 9", getOne=True)
    assert outcome.message.data == ""


async def test_changes_keep_the_data_and_tell_how_many_rows(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values ('a', 1), ('b', 1), ('c', 2)")
    outcome = await bench.run("update things set size = 5 where size = 1", {"kept": True})
    assert outcome.message.value == {"kept": True}
    assert outcome.message.metadata["rowsAffected"] == "2"
    assert "lastInsertId" not in outcome.message.metadata
    assert (await bench.does("delete from things"))["rowsAffected"] == "3"


async def test_an_insert_tells_the_last_id(bench: Bench) -> None:
    done = await bench.does("insert into things (name) values ('a')")
    assert done["rowsAffected"] == "1"
    assert done["lastInsertId"] == ("0" if bench.kind == "postgres" else "1")


async def test_postgres_tells_the_id_that_returning_gives(bench: Bench) -> None:
    if bench.kind == "mariadb":
        done = await bench.does("insert into things (name) values ('b')")
    else:
        done = await bench.does("insert into things (name) values ('b') returning id")
    assert done["lastInsertId"] == "1"


async def test_anything_else_runs_and_tells_how_many_rows_if_that_is_known(bench: Bench) -> None:
    assert (await bench.does("create table others (n int)"))["rowsAffected"] == "0"
    assert (await bench.does("drop table others"))["rowsAffected"] == "0"


async def test_with_gives_no_rows_unless_it_is_said_to_be_a_select(bench: Bench) -> None:
    sql = "with few as (select 1 as n) select n from few"
    outcome = await bench.run(sql, {"kept": 1})
    assert outcome.message.value == {"kept": 1}
    assert "rowsAffected" in outcome.message.metadata
    assert await bench.rows(sql) == [{"n": 1}]


@pytest.mark.parametrize("op_type", ["AUTO", "auto", "select", "  Select "])
async def test_the_operation_is_told_in_any_case_or_by_the_first_word(bench: Bench, op_type: str) -> None:
    outcome = await bench.run("/* first */ SeLeCt 1 as n", opType=op_type)
    assert outcome.message.value == [{"n": 1}]


async def test_lists_stand_for_several_values_and_an_empty_one_for_null(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
    sql = "select name from things where size in (?) and name in (?) and size < ? order by name"
    rows = await bench.rows(sql, {"n": [1, 2, 3], "s": ["b", "c", "d"]}, params=["${msg.n}", "${msg.s}", 3])
    assert rows == [{"name": "b"}]
    assert await bench.rows("select name from things where size in (?)", {"n": []}, params=["${msg.n}"]) == []


async def test_params_keep_their_kinds(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values (?, ?)", {"n": 7}, params=["x${msg.n}", "${msg.n}"])
    assert await bench.rows("select name, size from things where size = ?", params=[7]) == [{"name": "x7", "size": 7}]


async def test_question_marks_in_texts_names_and_comments_are_no_values(bench: Bench) -> None:
    quote = "`" if bench.kind == "mariadb" else '"'
    sql = f"select 'a?''?' as {quote}b?{quote}, ? as c -- ? \n /* ? */"
    assert await bench.rows(sql, params=["d"]) == [{"b?": "a?'?", "c": "d"}]


async def test_a_percent_sign_is_itself(bench: Bench) -> None:
    assert await bench.rows("select 'a%sb%' as n, ? as m", params=["%s"]) == [{"n": "a%sb%", "m": "%s"}]
    assert await bench.rows("select '100%' as n") == [{"n": "100%"}]


EVIL = [
    "x'; drop table things; --",
    "' or '1'='1",
    'x" or ""="',
    "\\'; drop table things; -- ",
    "a\\",
    "%s",
    "?",
    "$1",
    "${msg.id}",
    "*/ x",
    "日本'",
]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("where", ["${msg.name}", "'${msg.name}'", "concat('', '${msg.name}')"])
async def test_what_a_message_brings_never_becomes_part_of_a_statement(bench: Bench, evil: str, where: str) -> None:
    if "concat" in where and bench.kind != "mariadb":
        where = "('' || '${msg.name}')"
    await bench.does("insert into things (name, size) values ('safe', 1)")
    assert await bench.rows(f"select name from things where name = {where}", {"name": evil}) == []
    await bench.does(f"insert into things (name) values ({where})", {"name": evil})
    assert await bench.rows("select name from things order by id") == [{"name": "safe"}, {"name": evil}]


async def test_a_text_around_a_value_is_bound_with_it(bench: Bench) -> None:
    await bench.does("insert into things (name) values ('abc'), ('xyz'), ('it''s b')")
    rows = await bench.rows("select name from things where name like '%${msg.q}%' order by id", {"q": "b"})
    assert rows == [{"name": "abc"}, {"name": "it's b"}]
    assert await bench.rows("select name from things where name = 'it''s ${msg.q}'", {"q": "b"}) == [{"name": "it's b"}]


async def test_a_list_in_the_statement_stands_for_several_values(bench: Bench) -> None:
    await bench.does("insert into things (name) values ('a'), ('b'), ('c')")
    rows = await bench.rows("select name from things where name in (${msg.l}) order by name", {"l": ["a", "c", "'"]})
    assert rows == [{"name": "a"}, {"name": "c"}]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from ${msg.x}",
        "select * from things, things t join ${msg.x} on 1 = 1",
        "select * from table_${msg.x}",
        "select * from ${msg.x}_table",
        "insert into ${msg.x} values (1)",
        "update ${msg.x} set a = 1",
        "update things set ${msg.x} = 1",
        "select * from things order by ${msg.x}",
        "select * from things order by name, ${msg.x}",
        "drop table ${msg.x}",
        "select things.${msg.x} from things",
        "${msg.x}",
        "${msg.x} from things",
        "select 1 -- ${msg.x}",
        "select /* ${msg.x} */ 1",
        "select ${msg.x}${msg.y}",
    ],
)
async def test_a_template_where_no_value_can_stand_is_refused_at_load(bench: Bench, sql: str) -> None:
    with pytest.raises(ChainInvalid) as refused:
        bench.load(sql)
    assert "${...}" in refused.value.problems[0].text


@pytest.mark.parametrize("sql", ["select 1; drop table things", "begin", "COMMIT", "-- nothing", "  ", "select 'x"])
async def test_several_statements_and_none_are_refused_at_load(bench: Bench, sql: str) -> None:
    with pytest.raises(ChainInvalid):
        bench.load(sql)


async def test_what_is_in_front_of_a_node_and_behind_a_semicolon_may_be_blank(bench: Bench) -> None:
    assert await bench.rows("  select 1 as n ;  -- done") == [{"n": 1}]


async def test_global_and_vars_are_part_of_the_statement_at_load(bench: Bench) -> None:
    bench.engine.properties = {"table": "things"}
    await bench.does("insert into ${global.table} (name) values ('a')")
    assert await bench.rows("select name from ${global.table}") == [{"name": "a"}]


async def test_a_batch_runs_for_each_element_of_a_list(bench: Bench) -> None:
    data = {"rows": [{"n": "a", "s": 1}, {"n": "b", "s": 2}, {"n": "c", "s": 3}]}
    sql = "insert into things (name, size) values (?, ?)"
    done = await bench.does(sql, data, batch="${msg.rows}", params=["${msg.n}", "${msg.s}"])
    assert done["rowsAffected"] == "3"
    assert await bench.rows("select name, size from things order by id") == [
        {"name": "a", "size": 1},
        {"name": "b", "size": 2},
        {"name": "c", "size": 3},
    ]


async def test_a_batch_without_params_takes_lists_and_single_values(bench: Bench) -> None:
    await bench.does("insert into things (name, size) values (?, ?)", [["a", 1], ["b", 2]], batch="${msg}")
    await bench.does("insert into things (name) values (?)", {"names": ["c", "d"]}, batch="${msg.names}")
    await bench.does("update things set size = ${msg.s} where name = '${msg.n}'", [{"n": "d", "s": 9}], batch="${msg}")
    assert await bench.rows("select name, size from things order by id") == [
        {"name": "a", "size": 1},
        {"name": "b", "size": 2},
        {"name": "c", "size": None},
        {"name": "d", "size": 9},
    ]


async def test_a_batch_has_its_effect_whole_or_not_at_all(bench: Bench) -> None:
    data = [["a", 1], ["b", 2], ["a", 3]]
    outcome = await bench.run("insert into things (name, size) values (?, ?)", data, batch="${msg}")
    assert not outcome.ok
    assert "batch[2]" in str(outcome.error)
    assert await bench.rows("select * from things") == []
    assert outcome.message.value == data


@pytest.mark.parametrize(
    ("data", "told"), [({"l": 5}, "must be a list"), ({"l": [[1]]}, "batch[0] has 1 values for 2")]
)
async def test_a_batch_of_something_else_fails(bench: Bench, data: Any, told: str) -> None:
    outcome = await bench.run("insert into things (name, size) values (?, ?)", data, batch="${msg.l}")
    assert told in str(outcome.error)


async def test_an_empty_batch_changes_nothing(bench: Bench) -> None:
    done = await bench.does("insert into things (name) values (?)", [], batch="${msg}")
    assert done["rowsAffected"] == "0"


async def test_what_the_database_refuses_is_a_failure_with_the_message_as_it_came(bench: Bench) -> None:
    await bench.does("insert into things (name) values ('a')")
    outcome = await bench.run("insert into things (name) values (?)", {"name": "a"}, params=["${msg.name}"])
    assert outcome.message.value == {"name": "a"}
    text = outcome.message.metadata["errorMsg"].lower()
    assert "unique" in text or "duplicate" in text
    assert "insert" not in text  # neither the statement nor its values


async def test_the_data_type_stays(bench: Bench) -> None:
    outcome = await bench.run("select 1 as n", Message("text", data_type="TEXT"))
    assert (outcome.message.data_type, outcome.message.data) == ("TEXT", '[{"n":1}]')


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"opType": "UPSERT"}, "unsupported opType"),
        ({"driverName": "oracle"}, "oracle"),
        ({"params": [1]}, "there are 1 for 0"),
        ({"batch": "${msg}"}, "SELECT cannot run for a list"),
        ({"dsn": "mysql://u:hunter2hunter2@h:x/d"}, "URL"),
        ({"dsn": "not an address hunter2hunter2"}, "dsn must be"),
        ({"driverName": "postgres", "dsn": "mysql://h/d"}, "driverName is postgres"),
        ({"dsn": ""}, "dsn"),
        ({"dsn": "postgres://h/d?sslmode=maybe"}, "sslmode must be"),
        ({"dsn": "postgres://h/d?sslmode=verify-ca&sslrootcert=/no/such.pem"}, "dsn: "),
    ],
)
async def test_wrong_settings_are_told_at_load_without_the_address(options: dict[str, Any], told: str) -> None:
    async with Engine() as engine:
        with pytest.raises(ChainInvalid) as refused:
            Bench(engine, "sqlite", "sqlite://").load("select 1", **options)
    assert told in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_a_validator_of_the_engine_refuses_statements_at_load() -> None:
    seen: list[tuple[str, str]] = []

    def validate(operation: str, sql: str) -> None:
        seen.append((operation, sql))
        if operation == "DELETE":
            raise PermissionError("nothing is deleted here")

    async with Engine() as engine:
        engine.sql_validator = validate
        bench = Bench(engine, "sqlite", "sqlite://")
        await bench.rows("select ${msg.a} as a, ? as b", params=[1])
        with pytest.raises(ChainInvalid, match="nothing is deleted here"):
            bench.load("delete from things")
    assert seen == [("SELECT", "select ? as a, ? as b"), ("DELETE", "delete from things")]


@asynccontextmanager
async def _engine_at(roots: list[Path]) -> AsyncGenerator[Engine]:
    async with Engine(roots=roots) as engine:
        yield engine


@pytest.mark.parametrize(
    "path", ["{outside}/x.db", "../outside/x.db", "{inside}/../outside/x.db", "link.db", "none/x.db"]
)
async def test_a_file_outside_of_the_allowed_folders_is_refused(tmp_path: Path, path: str) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "there.db").touch()
    (inside / "link.db").symlink_to(outside / "there.db")
    async with _engine_at([inside]) as engine:
        with pytest.raises(ChainInvalid, match="dsn"):
            Bench(engine, "sqlite", "").load(
                "select 1", driverName="sqlite", dsn=path.format(inside=inside, outside=outside)
            )


@pytest.mark.parametrize(
    "sql", ["attach ? as other", "attach '{}' as other", "vacuum into ?", "attach ? || '' as other"]
)
async def test_a_statement_of_sqlite_reaches_no_other_file(tmp_path: Path, sql: str) -> None:
    outside = tmp_path / "outside.db"
    root = tmp_path / "root"
    root.mkdir()
    async with Engine(roots=[root]) as engine:
        bench = Bench(engine, "sqlite", "sqlite:///own.db")
        await bench.does("create table things (n int)")
        outcome = await bench.run(sql.format(outside), params=[str(outside)] if "?" in sql else [])
        assert "authoriz" in str(outcome.error)
        assert not outside.exists()
        await bench.does("vacuum")


async def test_a_file_of_sqlite_is_opened_as_the_address_says(tmp_path: Path) -> None:
    async with Engine(roots=[tmp_path]) as engine:
        for dsn, told in [
            ("sqlite:///a b#1?.db", ""),
            ("sqlite:///a%20b.db", ""),
            ("sqlite:///no.db?mode=rw", "unable"),
        ]:
            outcome = await Bench(engine, "sqlite", dsn).run("create table things (n int)")
            assert told in str(outcome.error) if told else outcome.ok, outcome.error
            engine.remove("chain-1")
        outcome = await Bench(engine, "sqlite", "sqlite:///a%20b.db?mode=ro").run("insert into things values (1)")
        assert "readonly" in str(outcome.error)
        engine.remove("chain-1")
        with pytest.raises(ChainInvalid, match="mode must be"):
            Bench(engine, "sqlite", "sqlite:///b.db?mode=quick").load("select 1")


async def test_no_file_is_allowed_where_no_folder_is() -> None:
    async with _engine_at([]) as engine:
        with pytest.raises(ChainInvalid, match="no folder is allowed"):
            Bench(engine, "sqlite", "sqlite:///x.db").load("select 1")


async def test_nodes_share_connections_by_reference(bench: Bench) -> None:
    nodes = [
        {
            "id": "db",
            "type": "dbClient",
            "configuration": {"dsn": bench.dsn, "sql": "insert into things (name) values ('a')"},
        },
        {
            "id": "next",
            "type": "dbClient",
            "configuration": {"dsn": "ref://db", "sql": "select name from things where name = ?", "params": ["a"]},
        },
    ]
    connections = [{"fromId": "db", "toId": "next", "type": "Success"}]
    chain = bench.engine.load({"ruleChain": {"id": "shares"}, "metadata": {"nodes": nodes, "connections": connections}})
    outcome = await chain.run({})
    assert outcome.message.value == [{"name": "a"}]


VALUES: dict[str, list[tuple[str, Any]]] = {
    "sqlite": [
        ("x'616263'", "abc"), ("x'ff00'", "ff00"), ("1.5", 1.5), ("9007199254740993", 9007199254740993), ("null", None),
        ("9e999", "+Inf"),
    ],
    "postgres": [
        ("'\\x616263'::bytea", "abc"), ("'\\xff00'::bytea", "ff00"), ("1.50::numeric", "1.50"),
        ("1.5::float8", 1.5),
        ("'NaN'::float8", "NaN"), ("'-Infinity'::float8", "-Inf"), ("9007199254740993", 9007199254740993),
        ("true", True),
        ("date '2026-01-02'", "2026-01-02"), ("time '03:04:05'", "03:04:05"),
        ("timestamp '2026-01-02 03:04:05.5'", "2026-01-02T03:04:05.5"),
        ("timestamptz '2026-01-02 03:04:05Z'", "2026-01-02T03:04:05Z"),
        ("timestamptz '2026-01-02 03:04:05Z' at time zone 'UTC'", "2026-01-02T03:04:05"),
        ("interval '1 day 2 hours'", "1 day 02:00:00"),
        ("'6f1e7c9e-0000-4000-8000-000000000001'::uuid", "6f1e7c9e-0000-4000-8000-000000000001"),
        ("'{\"a\": [1, null]}'::jsonb", {"a": [1, None]}), ("'[1]'::json", [1]), ("array[1,2,null]", [1, 2, None]),
        ("array['a','b']", ["a", "b"]), ("'127.0.0.1'::inet", "127.0.0.1"), ("null::int", None),
        ("int4range(1, 5)", "[1,5)"), ("array[numrange(1.5, null)]", ["[1.5,)"]), ("row(1, 'a', null)", "(1,a,)"),
        ("'{[1,3),[5,7)}'::int4multirange", "{[1,3),[5,7)}"), ("point(1, 2)", "(1,2)"),
        ("path '((0,0),(1,1))'", "((0,0),(1,1))"), ("array[array[1.50]]", [["1.50"]]),
        ("array[interval '-1 mon']", ["-1 mons"]), ("'infinity'::timestamptz", "infinity"),
        ("'{\"a\": 12345678901234567890}'::jsonb", {"a": 12345678901234567890}),
    ],
    "mariadb": [
        ("x'616263'", "abc"), ("cast(x'ff00' as binary)", "ff00"), ("cast(1.50 as decimal(5,2))", "1.50"),
        ("1.5e0", 1.5),
        ("9007199254740993", 9007199254740993), ("true", 1), ("date '2026-01-02'", "2026-01-02"),
        ("timestamp '2026-01-02 03:04:05'", "2026-01-02T03:04:05"), ("time '-26:04:05'", "-26:04:05"), ("null", None),
    ],
}  # fmt: skip


async def test_values_are_json(bench: Bench) -> None:
    columns = ", ".join(f"{sql} as v{number}" for number, (sql, _) in enumerate(VALUES[bench.kind]))
    row = await bench.rows(f"select {columns}", getOne=True)
    assert list(row.values()) == [value for _, value in VALUES[bench.kind]]


async def test_postgres_makes_of_texts_and_numbers_what_the_column_wants(postgres: Postgres, tmp_path: Path) -> None:
    async with Engine() as engine:
        bench = Bench(engine, "postgres", postgres.dsn)
        sql = "select ?::int + 1 as a, ? || 'x' as b, ?::timestamptz as c, ?::jsonb as d, ?::bool as e"
        sql += ", 2 = any(?::int[]) as f"
        params: list[Any] = ["41", 5, "2026-01-02T03:04:05+01:00", {"k": [1]}, "true", [["1", 2]]]
        assert await bench.rows(sql, params=params, getOne=True) == {
            "a": 42, "b": "5x", "c": "2026-01-02T02:04:05Z", "d": {"k": [1]}, "e": True, "f": True,
        }  # fmt: skip


async def test_types_of_postgres_that_others_made_come_and_go_as_text(postgres: Postgres) -> None:
    async with Engine() as engine:
        bench = Bench(engine, "postgres", postgres.dsn)
        await bench.does("drop table if exists owned")
        for kind, name in [("type", "pair"), ("type", "span"), ("type", "mood"), ("domain", "positive")]:
            await bench.does(f"drop {kind} if exists {name}")
        await bench.does("create type pair as (a int, b text)")
        await bench.does("create type span as range (subtype = text)")
        await bench.does("create type mood as enum ('sad', 'ok')")
        await bench.does("create domain positive as int check (value > 0)")
        await bench.does("create table owned (p pair)")
        sql = "select ?::pair as a, ?::span as b, ?::mood as c, ?::positive as d, ?::int4range as e, ?::pair[] as f"
        params: list[Any] = ["(1,x)", "[a,b)", "ok", 7, "[1,5)", [["(1,x)"]]]
        sent = {"params": params, "getOne": True}
        assert await bench.rows(sql, **sent) == {
            "a": "(1,x)", "b": "[a,b)", "c": "ok", "d": 7, "e": "[1,5)", "f": ["(1,x)"],
        }  # fmt: skip
        outcome = await bench.run("select owned from owned")
        assert "composite types is not supported; cast it in the statement" in str(outcome.error)


async def test_postgres_knows_numbered_values_and_its_operators_with_question_marks(postgres: Postgres) -> None:
    async with Engine() as engine:
        bench = Bench(engine, "postgres", postgres.dsn)
        assert await bench.rows("select $2::int - $1::int as a, $1::int as b", params=[1, 5]) == [{"a": 4, "b": 1}]
        sql = "select '{\"a\": 1}'::jsonb ?? 'a' as one, '{\"a\": 1}'::jsonb ??| array['z'] as two, $$?$$ as three"
        assert await bench.rows(sql, getOne=True) == {"one": True, "two": False, "three": "?"}
        with pytest.raises(ChainInvalid, match="cannot be mixed"):
            bench.load("select ?, $1", params=[1])


async def test_all_forms_of_addresses_lead_there(postgres: Postgres, mariadb: MariaDb) -> None:
    account, password, database = postgres.account, postgres.password, postgres.database
    forms = [
        f"postgresql+asyncpg://{account}:{password}@127.0.0.1:{postgres.port}/{database}",
        f"host=127.0.0.1 port={postgres.port} user={account} password='{password}' dbname = {database} sslmode=disable",
        f"mysql+pymysql://{account}:{password}@127.0.0.1:{mariadb.port}/{database}?charset=utf8mb4",
        f"{account}:{password}@tcp(127.0.0.1:{mariadb.port})/{database}?parseTime=true&loc=Local&sql_mode='ANSI'&timeout=30s",
        f"{account}:{password}@unix({mariadb.folder}/socket)/{database}",
    ]
    async with Engine() as engine:
        for dsn in forms:
            assert await Bench(engine, "", "").rows("select 1 as n", dsn=dsn) == [{"n": 1}]
            engine.remove("chain-1")


def test_a_preview_shows_what_would_be_sent() -> None:
    with Engine() as engine:
        one = Bench(engine, "sqlite", "sqlite://").load("select ? as n, '${msg.a}' as a", params=["${msg.n}"])
        component = one.compiled.by_id["db"].component
        assert component.preview(None, Message({"n": [1, 2], "a": "x"})) == {
            "sql": "select ?, ? as n, ? as a",
            "params": [1, 2, "x"],
        }
        many = Bench(engine, "sqlite", "sqlite://")
        many._count = 1
        component = many.load("insert into t values (?)", batch="${msg}").compiled.by_id["db"].component
        calls = [{"sql": "insert into t values (?)", "params": [number]} for number in (1, 2)]
        assert component.preview(None, Message([1, 2])) == {"calls": calls}


def test_a_program_that_closes_no_engine_ends() -> None:
    program = """
from catenary import Engine
settings = {"driverName": "sqlite", "dsn": ":memory:", "sql": "select 1 as n"}
node = {"id": "q", "type": "dbClient", "configuration": settings}
engine = Engine()
engine.load({"ruleChain": {"id": "c"}, "metadata": {"nodes": [node]}})
print(engine.run_sync("c", {}).message.data)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, '[{"n":1}]\n', "")
