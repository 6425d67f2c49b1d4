"""Components that each do one thing wrong, and one that does nothing wrong."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, field_validator

from catenary import FAILURE, SUCCESS, Message, Relation
from catenary.component import Component, Config, Context, Emission, Example, option
from catenary.endpoints import Endpoint, EndpointConfig, Exchange
from catenary.registry import Registry

EXAMPLE = Example("it goes on", config={"size": 2}, inputs=[{"n": 1}], leaves_by=["Success"])
BIG = Relation("Big", help="It is too big.")


class SoundConfig(Config):
    """Settings."""

    size: int = option(1, ge=0, help="How much.")
    api_key: str = option("", secret=True, help="Who asks.")


class Sound(Component[SoundConfig]):
    """Do what a component should."""

    relations = (SUCCESS, FAILURE)
    examples = (EXAMPLE, Example("too small", config={"size": 0}, inputs=[{}], leaves_by=["Failure"]))

    async def run(self, ctx: Context, msg: Message) -> Emission:
        await asyncio.sleep(0)
        if not self.config.size:
            raise ValueError("the size is 0")
        return SUCCESS


class OddSchemaConfig(Config):
    """Settings."""

    size: int = Field(1, description="How much.", json_schema_extra={"minimum": "one"})


class OddSchema(Component[OddSchemaConfig]):
    """Its schema is no schema."""

    relations = ()
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class NarrowConfig(Config):
    """Settings."""

    size: int = Field(1, description="How much.", json_schema_extra={"enum": [1]})


class Narrow(Component[NarrowConfig]):
    """Its schema does not take its example."""

    relations = ()
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class BadDefaultConfig(Config):
    """Settings."""

    size: int = option(1, help="How much.")

    @field_validator("size")
    @classmethod
    def _is_two(cls, size: int) -> int:
        if size != 2:
            raise ValueError("must be 2")
        return size


class BadDefault(Component[BadDefaultConfig]):
    """Its default is refused."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class RequiredConfig(Config):
    """Settings."""

    address: str = option(help="Where.")


class Required(Component[RequiredConfig]):
    """Nobody shows what it requires."""

    relations = ()

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class OpenConfig(Config):
    """Settings."""

    model_config = ConfigDict(extra="allow")
    size: int = option(1, help="How much.")


class Open(Component[OpenConfig]):
    """It swallows whatever it is told."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class Wrong(Component[SoundConfig]):
    """Its example does not hold."""

    relations = (SUCCESS,)
    examples = (Example("it is left as it is", inputs=[{"n": 1}], leaves_by=["Success"], data=['{"n":1}']),)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS, msg.with_data({"n": 2})


class Astray(Component[SoundConfig]):
    """Its example leaves by another relation, which it does not declare."""

    relations = (SUCCESS, BIG)
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return "Small"


class Forever(Component[SoundConfig]):
    """It leaves a task behind."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    kept: set[asyncio.Task[None]] = set()  # noqa: RUF012

    async def run(self, ctx: Context, msg: Message) -> Emission:
        task = asyncio.create_task(asyncio.sleep(3600))
        self.kept.add(task)
        task.add_done_callback(self.kept.discard)
        return SUCCESS


class Threaded(Component[SoundConfig]):
    """It leaves a thread behind."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    stop = threading.Event()

    def run(self, ctx: Context, msg: Message) -> Emission:
        threading.Thread(target=Threaded.stop.wait, args=(60,), name="left", daemon=True).start()
        return SUCCESS


class Spawning(Component[SoundConfig]):
    """It leaves a process behind."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    kept: list[subprocess.Popen[bytes]] = []  # noqa: RUF012

    def run(self, ctx: Context, msg: Message) -> Emission:
        self.kept.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return SUCCESS


class Connected(Component[SoundConfig]):
    """It leaves a socket behind."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    kept: list[socket.socket] = []  # noqa: RUF012

    def open(self, ctx: Context) -> None:
        self.kept.append(socket.socket())

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class Opening(Component[SoundConfig]):
    """It leaves a file open."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    kept: list[Any] = []  # noqa: RUF012

    def run(self, ctx: Context, msg: Message) -> Emission:
        self.kept.append(Path(__file__).open())  # noqa: SIM115
        return SUCCESS


class Littering(Component[SoundConfig]):
    """It leaves a temporary file behind."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        with tempfile.NamedTemporaryFile(prefix="litter-", delete=False):
            return SUCCESS


class Stubborn(Component[SoundConfig]):
    """It does not let itself be cancelled."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        for _ in range(8):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return SUCCESS


class Misspelt(Sound):
    """Its example has an option that it has not."""

    examples = (*Sound.examples, Example("it goes on", config={"siez": 2}, inputs=[{}], leaves_by=["Success"]))


class Inner(Config):
    """Settings within settings."""

    token_secret: str = option("", help="Who asks.")


class OuterConfig(Config):
    """Settings."""

    size: int = option(1, ge=0, help="How much.")
    servers: list[Inner] = option([], help="Where.")


class Nested(Component[OuterConfig]):
    """Its secret is within other settings, and not marked."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class Once(Component[SoundConfig]):
    """It cannot be closed twice."""

    relations = (SUCCESS,)
    examples = (EXAMPLE,)
    _file: Any = None

    def open(self, ctx: Context) -> None:
        self._file = [1]

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS

    def close(self) -> None:
        if self._file is not None:
            self._file.pop()


class Unopened(Once):
    """It cannot be closed before it was opened."""

    async def close(self) -> None:  # type: ignore[override]
        self._file.clear()


class UnmarkedConfig(Config):
    """Settings."""

    password: str = option("", help="Who asks.")
    password_file: str = option("", help="Where it stands.")


class Unmarked(Component[UnmarkedConfig]):
    """Its secret is not marked."""

    relations = (SUCCESS,)
    examples = (Example("it goes on", inputs=[{}], leaves_by=["Success"]),)

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS


class Boastful(Sound):
    """It shows its secret."""

    def __repr__(self) -> str:
        return f"Boastful({self.config.api_key})"


class Logging(Sound):
    """It logs its secret."""

    def open(self, ctx: Context) -> None:
        logging.getLogger("t").debug("asked", extra={"who": self.config.api_key})


class Whispering(Sound):
    """It logs its secret where the root does not see it."""

    def open(self, ctx: Context) -> None:
        whisper = logging.getLogger("t.whisper")
        whisper.propagate = False
        whisper.warning("asked by %s", self.config.api_key)


class Printing(Sound):
    """It prints its secret."""

    def open(self, ctx: Context) -> None:
        print(self.config.api_key)


class Refusing(Sound):
    """It tells its secret when it refuses it."""

    def __init__(self, config: SoundConfig) -> None:
        super().__init__(config)
        if config.api_key:
            from catenary.errors import ConfigError

            raise ConfigError(f"the key {config.api_key[::-1]} {config.api_key} is not known")


class ListenerConfig(EndpointConfig):
    """Settings."""

    api_keys: list[str] = option([], secret=True, help="Who may come in.")


class Listener(Endpoint[ListenerConfig, object]):
    """Take nothing in."""

    examples = (Example("an endpoint", config={"maxInFlight": 2}, runs=False),)


class Leaking(Listener):
    """Its task goes on when it is stopped."""

    kept: set[asyncio.Task[None]] = set()  # noqa: RUF012

    async def start(self) -> None:
        self.kept.add(asyncio.create_task(asyncio.sleep(3600)))


class Asking(Listener):
    """Take in what it is asked to, as a sound endpoint does."""

    async def ask(self, data: str) -> None:
        for router in self.routers.values():
            await self.handle(router, Exchange(Message(data)))


class Holding(Asking):
    """It leaves a task behind for each message."""

    kept: set[asyncio.Task[None]] = set()  # noqa: RUF012

    async def ask(self, data: str) -> None:
        self.kept.add(asyncio.create_task(asyncio.sleep(3600)))
        await super().ask(data)


class Deaf(Asking):
    """It takes nothing in."""

    async def ask(self, data: str) -> None:
        """Do nothing."""


class Garbling(Asking):
    """It changes what comes in."""

    async def ask(self, data: str) -> None:
        await super().ask(data[::-1])


class Telling(Asking):
    """It logs its secret when somebody asks."""

    async def ask(self, data: str) -> None:
        logging.getLogger("t").info("asked: %s", self.config.api_keys)
        await super().ask(data)


class Unstopped(Asking):
    """It cannot be stopped."""

    async def stop(self) -> None:
        raise OSError("the port is kept")


class Unstarted(Asking):
    """It cannot be started."""

    async def start(self) -> None:
        raise OSError("the port is taken")


class Showing(Listener):
    """Its address has a secret."""

    @property
    def address(self) -> str:
        return "".join(self.config.api_keys)[::-1][::-1] and "x".join(self.config.api_keys)

    def __repr__(self) -> str:
        return f"Showing({self.config.api_keys})"


def _register(kinds: Iterable[type[Component[Any]]]) -> None:
    registry = Registry(discover=False)
    for kind in kinds:
        is_endpoint = issubclass(kind, Endpoint)
        name = ("endpoint/" if is_endpoint else "") + f"broken{kind.__name__}"
        registry.register(name, category="endpoint" if is_endpoint else "test")(kind)


_register(kind for kind in list(vars().values()) if isinstance(kind, type) and issubclass(kind, Component)
          and kind.__module__ == __name__)  # fmt: skip
