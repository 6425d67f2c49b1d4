"""A Redis server."""

from __future__ import annotations

import subprocess

from tests.peers.server import Server, program


class Redis(Server):
    """A Redis server that keeps nothing on disk; it asks for the password `secret-of-redis`."""

    package = "redis-server"
    password = "secret-of-redis"

    @property
    def url(self) -> str:
        """The address with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        """Give the command."""
        options = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--save": "",
            "--appendonly": "no",
            "--dir": str(self.folder),
            "--requirepass": self.password,
        }
        return [program("redis-server", self.package), *(part for pair in options.items() for part in pair)]

    def answers(self) -> bool:
        """Tell whether it takes commands."""
        return super().answers() and self.cli("PING") == "PONG"

    def cli(self, *command: str) -> str:
        """Run a command by the command-line client. Returns: what it prints."""
        client = [program("redis-cli", self.package), "-h", "127.0.0.1", "-p", str(self.port), "--no-auth-warning"]
        done = subprocess.run([*client, "-a", self.password, *command], check=False, capture_output=True, text=True)
        return done.stdout.strip()
