"""A PostgreSQL server."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from tests.peers.server import Server, program


class Postgres(Server):
    """A PostgreSQL server with the database `test`, whose owner is `tester` with the password `secret-of-tester`."""

    package = "postgresql"
    user = "postgres"
    farewell = signal.SIGINT
    account = "tester"
    password = "secret-of-tester"
    database = "test"

    @property
    def dsn(self) -> str:
        """The address with name and password."""
        return f"postgres://{self.account}:{self.password}@127.0.0.1:{self.port}/{self.database}?sslmode=disable"

    def prepare(self) -> None:
        """Make the cluster, its account and its database."""
        data, secret = str(self.folder / "data"), str(self.write("password", self.password))
        locale = ("--no-locale", "-E", "UTF8")
        self.run(
            _tool("initdb"), "-D", data, "-U", self.account, "-A", "scram-sha-256", "--pwfile", secret, "-N", *locale
        )
        self.start()
        self.sql("CREATE DATABASE test", database="postgres")

    def command(self) -> list[str]:
        """Give the command: no disk is waited for, and nobody else can reach it."""
        settings = ["listen_addresses=127.0.0.1", "fsync=off", "max_connections=50", "log_statement=none"]
        options = [part for setting in settings for part in ("-c", setting)]
        return [
            _tool("postgres"),
            "-D",
            str(self.folder / "data"),
            "-p",
            str(self.port),
            "-k",
            str(self.folder),
            *options,
        ]

    def answers(self) -> bool:
        """Tell whether it takes statements."""
        asked = [_tool("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0

    def sql(self, statement: str, *, database: str = "") -> str:
        """Run a statement by the command-line client. Returns: the rows, one a line, with `|` between columns."""
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
        who = ["-U", self.account, "-d", database or self.database]
        environment = {**self.environment(), "PGPASSWORD": self.password}
        done = subprocess.run(
            [_tool("psql"), *options, *who, "-c", statement],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def _tool(name: str) -> str:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    return program(name, Postgres.package, folders=tuple(map(str, versions)))
