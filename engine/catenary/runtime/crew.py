"""A crew: the tasks and tokens that must be done before the one who opened it goes on. A run has one, each emit one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from catenary.runtime.compiled import AsyncStep

if TYPE_CHECKING:
    from catenary.runtime.run import Run
    from catenary.runtime.tokens import Ready, Token


class Crew:
    """Tokens that wait to be visited, and tasks that visit others at the same time.

    Attributes:
        ready: Tokens that may be visited, the next one last.
        depth: How deep sub-runs and emissions are nested here.
    """

    tasks: dict[asyncio.Task[None], Token] | None = None
    _idle: asyncio.Future[None] | None = None

    def __init__(self, run: Run, ready: Ready, depth: int) -> None:
        self.run = run
        self.ready = ready
        self.depth = depth

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
        run = self.run
        if run.task is None:
            run.task = asyncio.current_task()
        task = asyncio.create_task(self._work(token))
        if self.tasks is None:
            self.tasks = {}
        self.tasks[task] = token

    def spawn_all(self) -> None:
        """Give a task to each token that is ready."""
        while self.ready:
            self.spawn(self.ready.pop())

    async def _work(self, token: Token) -> None:
        try:
            await self.run.work(self.ready, self, token, in_task=token[0].__class__ is AsyncStep)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is not None and not current.cancelling():
                self.run.abort(error)  # nobody cancelled this task: an emission of it met what ends the run
            raise
        except BaseException as error:
            self.run.abort(error)
        finally:
            tasks = self.tasks
            assert tasks is not None
            current = asyncio.current_task()
            assert current is not None
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
                    self.run.interrupted(tasks.pop(task))
        for token in self.ready:
            self.run.interrupted(token)
        self.ready.clear()
