"""A component over a real SQLite file, as one over any database would be written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from typing import Any

from catenary import SUCCESS, Engine, Message, Template
from catenary.component import Component, Config, Context, Emission, option
from catenary.registry import Registry
from catenary.shared import SharedComponent


class Connection(sqlite3.Connection):
    """A connection that knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True
        super().close()


class DatabaseConfig(Config):
    """Settings of one `test/database` node."""

    dsn: str = option(help="The file, or `ref://ID`.", ref="primary")
    sql: Template = option("SELECT 1", help="What to run.")


class Database(SharedComponent[DatabaseConfig, Connection]):
    """Run a statement, and go on with the rows."""

    lends = Connection
    opened: list[Connection]

    def connect(self, ctx: Context) -> Connection:
        if self.config.dsn.startswith("nowhere"):
            raise sqlite3.OperationalError("unable to open database file")
        made = sqlite3.connect(self.config.dsn, factory=Connection, check_same_thread=False)
        self.opened.append(made)
        return made

    def disconnect(self, resource: Connection) -> None:
        resource.close()

    def check(self, resource: Connection) -> None:
        resource.execute("SELECT 1")

    def run(self, ctx: Context, msg: Message) -> Emission:
        with self.connection_now(ctx) as db, closing(db.cursor()) as cursor:
            rows = cursor.execute(self.config.sql.render(msg, ctx)).fetchall()
            return SUCCESS, msg.with_data([list(row) for row in rows])


class Link:
    """What another kind of component connects to."""

    is_open = True


class LinkConfig(Config):
    """Settings of one `test/link` node."""

    server: str = option(help="An address, or `ref://ID`.", ref="primary")


class AsyncLink(SharedComponent[LinkConfig, Link]):
    """Connect with `async def`s, and go on with what is connected."""

    lends = Link
    made: list[Link]
    gate: Any = None
    error: Exception | None = None
    tries = 0

    async def connect(self, ctx: Context) -> Link:
        cls = type(self)
        cls.tries += 1
        if cls.gate is not None:
            await cls.gate.wait()
        if cls.error is not None:
            raise cls.error
        link = Link()
        self.made.append(link)
        return link

    async def disconnect(self, resource: Link) -> None:
        resource.is_open = False

    async def check(self, resource: Link) -> None:
        if not resource.is_open:
            raise ConnectionError("broken")

    async def run(self, ctx: Context, msg: Message) -> Emission:
        async with self.connection(ctx) as link:
            return SUCCESS, msg.with_data({"open": link.is_open, "link": self.made.index(link)})


class Plain(Component[Config]):
    """Has nothing to share."""

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class Kinds:
    """An engine's own component classes, with what they connected to."""

    def __init__(self) -> None:
        self.database = type("TestDatabase", (Database,), {"opened": [], "__doc__": Database.__doc__})
        self.link = type("TestLink", (AsyncLink,), {"made": [], "__doc__": AsyncLink.__doc__})
        self.registry = Registry()
        self.registry.register("test/database", category="test")(self.database)
        self.registry.register("test/link", category="test")(self.link)
        self.registry.register("test/plain", category="test")(Plain)

    def engine(self, **options: Any) -> Engine:
        """Make an engine that knows them."""
        return Engine(registry=self.registry, **options)


def node(node_id: str, kind: str, **configuration: Any) -> dict[str, Any]:
    """Give a node as it is written."""
    return {"id": node_id, "type": f"test/{kind}", "configuration": configuration}


def chain(*nodes: dict[str, Any], name: str = "c") -> dict[str, Any]:
    """Give a chain as it is written, in which each node is followed by the next one."""
    connections = [{"fromId": one["id"], "toId": two["id"], "type": "Success"} for one, two in pairwise(nodes)]
    return {"ruleChain": {"id": name}, "metadata": {"nodes": list(nodes), "connections": connections}}
