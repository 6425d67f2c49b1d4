"""A shared connection is never used after it was closed, never open twice, and never left open."""

from __future__ import annotations

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.cases import times

from catenary.errors import EngineError
from catenary.shared import SharedResource
from catenary.shared.resource import RETRY_AFTER_S
from catenary.testing import FakeClock


class Connection:
    """What is connected to."""

    is_open = True


class Sharing(RuleBasedStateMachine):
    """Users come and go, the other side refuses, the owner closes: against a plain count."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.made: list[Connection] = []
        self.tries = 0
        self.refuses = False
        self.failed_at = None
        self.users: list[tuple[contextlib.ExitStack, Connection]] = []
        self.is_closed = False
        self.resource = SharedResource(self._connect, self._disconnect, lambda _: None, self.clock)

    def _connect(self) -> Connection:
        self.tries += 1
        if self.refuses:
            raise ConnectionError("refused")
        self.made.append(Connection())
        return self.made[-1]

    def _disconnect(self, connection: Connection) -> None:
        assert connection.is_open, "closed twice"
        connection.is_open = False

    @rule()
    def come(self) -> None:
        stack = contextlib.ExitStack()
        before = self.tries
        waits = self.failed_at is not None and self.clock.monotonic() - self.failed_at < RETRY_AFTER_S
        was_connected = self.resource.status.state == "connected"
        try:
            self.users.append((stack, stack.enter_context(self.resource.use_now())))
        except EngineError:
            assert self.is_closed
        except ConnectionError:
            assert not was_connected
            assert (self.tries == before) == waits
            if not waits:
                self.failed_at = self.clock.monotonic()
        else:
            assert not self.is_closed
            assert self.tries == before + (not was_connected)
            self.failed_at = None

    @rule(which=st.integers(0, 9))
    def go(self, which: int) -> None:
        if self.users:
            self.users.pop(which % len(self.users))[0].close()

    @rule(refuses=st.booleans())
    def change(self, refuses: bool) -> None:
        self.refuses = refuses

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def close(self) -> None:
        self.resource.close_now()
        self.is_closed = True

    @invariant()
    def who_uses_a_connection_has_an_open_one(self) -> None:
        assert all(connection.is_open for _, connection in self.users)

    @invariant()
    def no_connection_is_left_open(self) -> None:
        used = {id(connection) for _, connection in self.users}
        left = [one for one in self.made if one.is_open and id(one) not in used]
        assert len(left) <= (0 if self.is_closed else 1)
        assert self.is_closed or sum(one.is_open for one in self.made) <= 1

    def teardown(self) -> None:
        for stack, _ in self.users:
            stack.close()
        self.resource.close_now()
        assert not any(one.is_open for one in self.made)


TestSharing = Sharing.TestCase
TestSharing.settings = settings(max_examples=times(40), stateful_step_count=30, deadline=None)
