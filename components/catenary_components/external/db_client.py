"""`dbClient`: run a statement in an SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from catenary import SUCCESS, Message, Template
from catenary.component import Config, Context, Emission, Example, TimeLimit, option, register
from catenary.errors import ConfigError, TemplateError, TooSlow
from catenary.expr import text_of
from catenary.jsontext import dumps
from catenary.shared import REFERENCE, SharedComponent
from catenary_components.external.sql.address import read_address
from catenary_components.external.sql.database import Call, Database, Reading
from catenary_components.external.sql.dialects import DIALECTS, dialect_of
from catenary_components.external.sql.drivers import driver_for
from catenary_components.external.sql.failures import LostConnection
from catenary_components.external.sql.files import confined
from catenary_components.external.sql.packages import PACKAGES, need_packages
from catenary_components.external.sql.statement import Statement, make_statement
from catenary_components.external.sql.text import SqlText  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from pydantic import ValidationInfo

    from catenary.jsontext import Json
    from catenary_components.external.sql.address import Address
    from catenary_components.external.sql.database import Answer
    from catenary_components.external.sql.dialects import Dialect

_OPERATIONS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE", "EXEC", "AUTO")
_CHANGES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "WITH"})


class DbClientConfig(Config):
    """Settings of one `dbClient` node."""

    driver_name: str = option(
        "",
        help="The kind of database: `mysql` (MariaDB, too), `postgres` or `sqlite`; if blank `dsn` tells, and else it "
        "is `mysql`.",
        ref="shared",
        examples=["postgres"],
    )
    dsn: str = option(
        "root:root@tcp(127.0.0.1:3306)/test",
        help="The address of the database, or `ref://ID` to use the connections of another node.",
        secret=True,
        ref="primary",
        examples=["postgres://user:password@127.0.0.1:5432/test", "sqlite:///data.db", "ref://warehouse"],
    )
    pool_size: int = option(
        0,
        ge=0,
        unit="connections",
        help="Connections at once; further messages wait. Half of them are kept when idle. 0 is no limit.",
        ref="shared",
    )
    sql: SqlText = option(
        "select * from `test`",
        help="The statement; `?` stands for the next of `params`, and `${...}` for a value, which is bound, too.",
        examples=["select * from devices where id = ?", "update devices set seen = ${msg.ts} where id in (?)"],
    )
    params: list[Template] = option(
        [],
        help="What the `?` stand for, in order; a list stands for several values.",
        examples=[["${metadata.deviceId}", "${msg.ids}", 10]],
    )
    batch: Template = option(
        None,
        help="A list: the statement runs once for each element, which is `msg` in `params` and `sql`, all in one "
        "transaction.",
        examples=["${msg.readings}"],
    )
    op_type: str = option(
        "",
        help="What the statement does: `SELECT`, `INSERT`, `UPDATE`, `DELETE` or `EXEC`; if blank or `AUTO`, its first "
        "word tells.",
    )
    get_one: bool = option(False, help="Go on with the first row only, rather than with a list of all.")
    max_rows: int = option(
        100_000,
        ge=0,
        unit="rows",
        help="Most rows that a `SELECT` may give; with more the node fails. 0 is no limit.",
    )
    timeout_ms: int = option(
        30_000,
        ge=0,
        unit="milliseconds",
        help="Longest time for a message, with waiting for a connection. 0 is no limit.",
    )

    @field_validator("driver_name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name.strip():
            dialect_of(name)
        return name

    @field_validator("dsn")
    @classmethod
    def _is_address(cls, dsn: str, info: ValidationInfo) -> str:
        if not dsn.strip().startswith(REFERENCE) and "driver_name" in info.data:
            read_address(dsn, info.data["driver_name"])
        return dsn

    @field_validator("sql")
    @classmethod
    def _can_be_read(cls, sql: SqlText, info: ValidationInfo) -> SqlText:
        """Refuse what no database that it may be meant for could take."""
        found: TemplateError | None = None
        for dialect in _dialects(info.data.get("driver_name", ""), info.data.get("dsn", REFERENCE)):
            try:
                make_statement(sql, dialect)
            except TemplateError as error:
                found = found or error
            else:
                return sql
        raise PydanticCustomError("expression", "{reason}", {"reason": str(found), "error": found})

    @field_validator("op_type")
    @classmethod
    def _is_operation(cls, name: str) -> str:
        known = name.strip().upper()
        if known and known not in _OPERATIONS:
            raise ValueError(f"unsupported opType: {name}; it must be one of {', '.join(_OPERATIONS)}")
        return "" if known == "AUTO" else known

    def operation(self, statement: Statement) -> str:
        """Give what a statement does: as the settings say, else by its first word; what is left is `EXEC`."""
        first = statement.operation
        return self.op_type or (first if first in _OPERATIONS else "EXEC")


@register("dbClient", category="external", since="0.1")
class DbClient(SharedComponent[DbClientConfig, Database]):
    """Run a statement in an SQL database: MySQL and MariaDB, PostgreSQL, SQLite.

    A `SELECT` leaves by `Success` with the rows as data, a list of objects; with `getOne` the first row, or empty data
    when there is none. The data type stays. `UPDATE` and `DELETE` keep the data and set `rowsAffected` in the metadata;
    `INSERT` also sets `lastInsertId`, which is 0 where the database has none (PostgreSQL: the first value of what
    `RETURNING` gives). Anything else counts as `EXEC` and sets `rowsAffected`, 0 when that is unknown; to get rows of
    it, as of `WITH` or `RETURNING`, set `opType` to `SELECT`. What fails leaves by `Failure`, with the message as it
    came.

    Values are always bound, never written into the statement: `?` stands for the next of `params`, and a `${...}` in
    `sql` for its value, in quotes or without. Where a value cannot stand (names of tables and columns, whole
    statements), a `${...}` is an error at load; `${global.x}` and `${vars.x}` are part of the statement as it is
    loaded. A list stands for several values, as in `id in (?)`, and an empty one for `NULL`. A `?` that belongs to the
    statement, an operator of PostgreSQL, is written `??`; `$1` is understood there, too.

    Every execution is a transaction of its own. With `batch` the statement runs once for each element of a list, all
    of it or nothing.

    Connections are made at the first message, kept, and used again; other nodes use them with `ref://ID`. A statement
    is never sent twice: one whose connection broke fails. A file of SQLite has to be below a folder that the chain may
    use.

    Decimals, times and UUIDs are text, bytes are text or hex, JSON is JSON. Needs the extra `sql`.
    """

    lends = Database
    examples = (
        Example(
            "a calculation by a database in memory",
            config={"dsn": "sqlite://", "sql": "select ? * 2 as twice", "params": ["${msg.n}"], "getOne": True},
            inputs=[{"n": 21}],
            leaves_by=["Success"],
            data=['{"twice":42}'],
        ),
        Example(
            "what a message brings is a value, whatever it says",
            config={"driverName": "sqlite", "dsn": ":memory:", "sql": "select '${msg.name}' as name"},
            inputs=[{"name": "x'; drop table users --"}],
            leaves_by=["Success"],
            data=['[{"name":"x\'; drop table users --"}]'],
        ),
        Example(
            "readings are stored, all or none; needs the database",
            config={
                "dsn": "postgres://app:${secrets.database}@127.0.0.1:5432/plant",
                "sql": "insert into readings (device, degrees) values (?, ?)",
                "batch": "${msg.readings}",
                "params": ["${msg.device}", "${msg.degrees}"],
            },
            inputs=[{"readings": [{"device": "a", "degrees": 20}, {"device": "b", "degrees": 21.5}]}],
            leaves_by=["Success"],
            runs=False,
        ),
    )

    def __init__(self, config: DbClientConfig) -> None:
        super().__init__(config)
        self._statements: dict[Dialect, Statement] = {}
        if self.reference is None:
            self._statement(read_address(config.dsn, config.driver_name).dialect)

    def needs(self) -> dict[str, tuple[str, ...]]:
        """Give the packages that connect to databases, unless it uses the connection of another."""
        return {} if self.reference else {"catenary[sql]": PACKAGES}

    def open(self, ctx: Context) -> None:
        """Get ready; the first message connects."""
        if self.reference is None:
            need_packages("dbClient")
            self._address = confined(read_address(self.config.dsn, self.config.driver_name), ctx.chain.environment)
            _need_options(self._address)
            if self._address.password not in {"", self._address.user}:
                ctx.chain.engine.masker.add(self._address.password)
        self._refuse_forbidden(ctx)
        super().open(ctx)

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give the statement and its values."""
        config = self.config
        statement = self._statement(_dialects(config.driver_name, config.dsn)[0])
        calls = [
            {"sql": call.sql, "params": cast("Json", list(call.values))} for call in self._calls(ctx, msg, statement)
        ]
        return {"calls": cast("Json", calls)} if config.batch else cast("dict[str, Json]", calls[0])

    async def connect(self, ctx: Context) -> Database:  # noqa: ARG002 - for those who need it
        """Make the pool, and look whether the database answers."""
        database = Database(self._address, self.config.pool_size)
        try:
            await database.check()
        except BaseException:
            await database.close()
            raise
        return database

    async def disconnect(self, resource: Database) -> None:
        """Close the connections."""
        await resource.close()

    async def check(self, resource: Database) -> None:
        """Ask the database for an answer."""
        await resource.check()

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Run the statement."""
        limit_s = self.config.timeout_ms / 1000
        if not limit_s:
            return await self._run(ctx, msg)
        try:
            async with TimeLimit(ctx, limit_s):
                return await self._run(ctx, msg)
        except TimeoutError:
            text = f"the database did not answer within {self.config.timeout_ms} ms"
            raise TooSlow(text, retryable=True, hint="allow more time with `timeoutMs`") from None

    async def _run(self, ctx: Context, msg: Message) -> Emission:
        shared = self.lender(ctx.chain).shared
        async with shared.use() as database:
            statement = self._statement(database.dialect)
            calls = self._calls(ctx, msg, statement)
            operation = self.config.operation(statement)
            try:
                answer = await database.run(
                    calls, reading=self._reading(operation, statement), is_batch=bool(self.config.batch)
                )
            except LostConnection as error:
                if not database.is_lost:  # of all who lose their connection with a server, one says so
                    database.is_lost = True
                    await shared.drop(error)
                raise
        return SUCCESS, self._answered(msg, operation, answer)

    def _reading(self, operation: str, statement: Statement) -> Reading | None:
        """Give how the rows are read; `None` when none are wanted."""
        if operation != "SELECT":
            return None
        return Reading(self.config.max_rows, may_change=statement.operation in _CHANGES)

    def _answered(self, msg: Message, operation: str, answer: Answer) -> Message:
        if operation == "SELECT":
            rows: Json = cast("Json", answer.rows)
            if self.config.get_one:
                rows = cast("Json", answer.rows[0]) if answer.rows else ""
            return msg.with_data(rows if msg.data_type == "JSON" else text_of(rows))
        entries: dict[str, Json] = {"rowsAffected": str(answer.affected)}
        if operation == "INSERT":
            entries["lastInsertId"] = text_of(answer.last_id)
        return msg.put_all(entries)

    # The statement

    def _statement(self, dialect: Dialect) -> Statement:
        """Give the statement for a kind of database. Raises: ConfigError: when the settings do not fit it."""
        statement = self._statements.get(dialect)
        if statement is None:
            statement = make_statement(self.config.sql, dialect)
            self._check(statement)
            self._statements[dialect] = statement
        return statement

    def _check(self, statement: Statement) -> None:
        given, needed = len(self.config.params), statement.needed
        if self.config.batch and self.config.operation(statement) == "SELECT":
            raise ConfigError("batch: a SELECT cannot run for a list", hint="use a `for` node, or `in (?)` with a list")
        if given != needed and not (self.config.batch and not given):
            raise ConfigError(
                f"params: there are {given} for {needed} `?` in sql",
                hint="give one for each; a `?` that belongs to the statement is written ??",
            )

    def _calls(self, ctx: Any, msg: Message, statement: Statement) -> list[Call]:
        if not self.config.batch:
            params = [param.value(msg, ctx) for param in self.config.params]
            return [Call(*statement.bind(params, msg, ctx))]
        elements = self.config.batch.value(msg, ctx)
        if not isinstance(elements, list):
            raise ValueError(f"batch must be a list, not {text_of(elements)[:60]!r}")  # noqa: TRY004 - it is a value of the message
        return [
            self._call_of_element(ctx, msg, statement, element, number)
            for number, element in enumerate(cast("list[Json]", elements))
        ]

    def _call_of_element(self, ctx: Any, msg: Message, statement: Statement, element: Json, number: int) -> Call:
        one = msg.with_data(dumps(element) if isinstance(element, str) else element, "JSON")
        if self.config.params or not statement.needed:
            return Call(*statement.bind([param.value(one, ctx) for param in self.config.params], one, ctx))
        values = cast("list[Json]", element) if isinstance(element, list) else [element]
        if len(values) != statement.needed:
            raise ValueError(f"batch[{number}] has {len(values)} values for {statement.needed} `?` in sql")
        return Call(*statement.bind(values, one, ctx))

    def _refuse_forbidden(self, ctx: Context) -> None:
        """Ask the validator of the engine. Raises: ConfigError: when it refuses the statement."""
        validate = ctx.chain.engine.sql_validator
        if validate is None:
            return
        statement = self._statement(_dialects(self.config.driver_name, self.config.dsn)[0])
        try:
            validate(self.config.operation(statement), statement.outline)
        except Exception as error:
            raise ConfigError(f"sql: refused: {error}", hint="this engine has an `sql_validator`") from error


def _dialects(driver_name: str, dsn: str) -> tuple[Dialect, ...]:
    """Give the kinds of databases that a node may be for: the one that is told, else any."""
    if not dsn.strip().startswith(REFERENCE):
        return (read_address(dsn, driver_name).dialect,)
    return (dialect_of(driver_name),) if driver_name.strip() else DIALECTS


def _need_options(address: Address) -> None:
    """Look whether the driver can use what the address says. Raises: ConfigError: when it cannot."""
    try:
        driver_for(address)
    except (ValueError, OSError) as error:  # OSError: a file of certificates
        raise ConfigError(f"dsn: {error}", hint="look at what stands behind the `?`") from error
