"""A MariaDB server."""

from __future__ import annotations

import subprocess

from tests.peers.server import Server, program


class MariaDb(Server):
    """A MariaDB server with the database `test`; the account is `tester`, its password `secret-of-tester`."""

    package = "mariadb-server"
    user = "mysql"
    account = "tester"
    password = "secret-of-tester"
    database = "test"

    @property
    def dsn(self) -> str:
        """The address with name and password, as Go programs write it."""
        return f"{self.account}:{self.password}@tcp(127.0.0.1:{self.port})/{self.database}"

    def prepare(self) -> None:
        """Make the system tables, the account and the database."""
        install = program("mariadb-install-db", self.package)
        self.run(install, "--no-defaults", "--auth-root-authentication-method=normal", f"--datadir={self._data}")
        self.start()
        who = f"'{self.account}'@'%'"
        self._ask("root", "", "mysql", "DELETE FROM global_priv WHERE User = ''; FLUSH PRIVILEGES")
        self._ask("root", "", "mysql", f"CREATE USER {who} IDENTIFIED BY '{self.password}'")
        self._ask("root", "", "mysql", f"CREATE OR REPLACE DATABASE {self.database}")
        self._ask("root", "", "mysql", f"GRANT ALL ON *.* TO {who}")

    def command(self) -> list[str]:
        """Give the command: no disk is waited for, and the memory is small."""
        folder = self.folder
        return [
            program("mariadbd", self.package),
            "--no-defaults",
            f"--datadir={self._data}",
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--skip-name-resolve",
            "--character-set-server=utf8mb4",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=16M",
        ]

    def answers(self) -> bool:
        """Tell whether it takes statements."""
        ping = [program("mariadb-admin", self.package), "--no-defaults", f"--socket={self.folder / 'socket'}", "ping"]
        return subprocess.run(ping, check=False, capture_output=True).returncode == 0

    def sql(self, statement: str) -> str:
        """Run a statement by the command-line client. Returns: the rows, one a line, with tabs between columns."""
        return self._ask(self.account, self.password, self.database, statement)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _ask(self, account: str, password: str, database: str, statement: str) -> str:
        where = ["--no-defaults", f"--socket={self.folder / 'socket'}", "-u", account, "-N", "-B", database]
        done = subprocess.run(
            [program("mariadb", self.package), *where, "-e", statement],
            env={**self.environment(), "MYSQL_PWD": password},
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()
