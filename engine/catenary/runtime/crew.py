"""A crew: the tasks and tokens that must be done before the one who opened it goes on. A run has one, each emit one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catenary.runtime.context import Context
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Ready, Token

TASK_NAME = "catenary"  # one that is given costs less than one that is made up


class Crew:
    """Tokens that wait to be visited, and tasks that visit others at the same time.

    Attributes:
        ready: Tokens that may be visited, the next one last.
        depth: How deep sub-runs and emissions are nested here.
        emitter: The visit that these tokens were emitted by; None for the crew of a run.
    """

    tasks: dict[asyncio.Task[None], Token] | None = None
    _idle: asyncio.Future[None] | None = None

    def __init__(self, run: Run, ready: Ready, depth: int, emitter: Context | None = None) -> None:
        self.run = run
        self.ready = ready
        self.depth = depth
        self.emitter = emitter

    @property
    def is_let_go(self) -> bool:
        """True while a join stops the visit that these tokens come from, or one that this one comes from."""
        crew: Crew | None = self
        while crew is not None and crew.emitter is not None:
            emitter = crew.emitter
            if any(visiting.ctx is emitter and visiting.is_stopped for visiting in self.run.visiting or ()):
                return True
            crew = emitter._crew
        return False

    async def drive(self) -> None:
        """Visit all tokens until none is left, those of the tasks included.

        Raises:
            CancelledError, CatenaryError: What stopped the run; all tasks are done by then.
        """
        try:
            await self.run.work(self.ready, self, self.ready.pop())
            if self.tasks:
                await self.settle()
        except BaseException:
            await self.stop()
            raise

    async def settle(self) -> None:
        """Wait until all tasks are done."""
        while self.tasks:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def spawn(self, token: Token) -> None:
        """Visit a token, and what follows it, in a task of its own."""
        if self.run.task is None:
            self.run.note_task()
        task = asyncio.get_running_loop().create_task(self._work(token), name=TASK_NAME)
        if self.tasks is None:
            self.tasks = {}
        self.tasks[task] = token

    def spawn_all(self) -> None:
        """Give a task to each token that is ready."""
        while self.ready:
            self.spawn(self.ready.pop())

    async def _work(self, token: Token) -> None:
        current, tasks = asyncio.current_task(), self.tasks
        assert current is not None
        assert tasks is not None
        try:
            await self.run.work(self.ready, self, token, current)
        except asyncio.CancelledError as error:
            if not current.cancelling():
                self.run.abort(error)  # nobody cancelled this task: an emission of it met what ends the run
            raise
        except BaseException as error:
            self.run.abort(error)
        finally:
            del tasks[current]
            if not tasks and self._idle is not None and not self._idle.done():
                self._idle.set_result(None)

    async def stop(self) -> None:
        """Cancel all tasks and wait for their clean-up, however often this task itself is cancelled meanwhile.

        Branches that were cut off are written down as such.
        """
        tasks = self.tasks or {}
        for task in tasks:
            task.cancel()
        while tasks:
            try:
                done, _ = await asyncio.wait(list(tasks))
            except asyncio.CancelledError:
                continue
            for task in done:
                if task in tasks:  # cancelled before its first step: nobody else can tell how its branch ended
                    self.run.interrupted(tasks.pop(task), self)
        while self.ready:
            self.run.interrupted(self.ready.pop(0), self)
