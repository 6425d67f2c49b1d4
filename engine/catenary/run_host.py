"""The part of an engine that is about runs: messages go through its chains, and answers to nodes that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from catenary.runtime.entry import perform

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable

    from catenary.chain import Chain
    from catenary.engine import Engine
    from catenary.events import Event
    from catenary.jsontext import Json
    from catenary.life.pool import ChainPool
    from catenary.message import Message
    from catenary.options import RunOptions
    from catenary.outcome import Outcome
    from catenary.pauses.answers import AnswerParts
    from catenary.pipelines.mapping import MapOptions


class RunHost:
    """Runs through the chains of an engine."""

    _pool: ChainPool

    def get(self, chain_id: str) -> Chain:
        """Give the present version of a chain."""
        raise NotImplementedError

    # Runs

    def run(
        self, chain_id: str, message: Message | Json, **options: Unpack[RunOptions]
    ) -> Coroutine[Any, Any, Outcome]:
        """Run a message through a chain and give how every branch ended: `outcome = await engine.run(...)`.

        A node that fails does not raise here: `outcome.ok`, `outcome.error` and `outcome.ends` tell.

        Args:
            chain_id: The id of a loaded chain.
            message: A `Message`, or its data.
            **options: See `RunOptions`.

        Raises:
            EngineError: When there is no such chain.
            CancelledError: When the calling task is cancelled; all that the run had started is over by then.
        """
        chain = self._pool.present.get(chain_id) or self._pool.get(chain_id)
        return perform(chain, message, options)

    def run_sync(self, chain_id: str, message: Message | Json, **options: Unpack[RunOptions]) -> Outcome:
        """Run a message through a chain where no event loop runs.

        A chain whose nodes are all plain functions is run without any event loop; for the rest of a chain with nodes
        that wait, a loop of the engine's own is used. The arguments are as for `run`.

        Raises:
            EngineError: As for `run`, and inside a running event loop when the chain has nodes that wait.
        """
        return self.get(chain_id).run_sync(message, **options)

    def stream(self, chain_id: str, message: Message | Json, **options: Unpack[RunOptions]) -> AsyncGenerator[Event]:
        """Run a message through a chain and give the events of the run as they come; the last one is terminal.

        Leaving the loop early cancels the run. The options are those of `run`.
        """
        return self.get(chain_id).stream(message, **options)

    def map(
        self, chain_id: str, items: Iterable[Any] | AsyncIterable[Any], **options: Unpack[MapOptions]
    ) -> AsyncGenerator[Outcome]:
        """Run each item through a chain and give the outcomes as they come; the options are those of `Chain.map`."""
        return self.get(chain_id).map(items, **options)

    # Answers

    async def answer(self, run_id: str, node_id: str, **parts: Unpack[AnswerParts]) -> Outcome | None:
        """Answer a node that waits: `await engine.answer(run_id, node_id, data={...}, answerer="ann")`.

        An answer counts once: of several for the same pause one wins, and the others are refused. One to a question
        that a node has told of, and does not wait for yet, waits until it does.

        Args:
            run_id: The run.
            node_id: The node that waits.
            **parts: The answer, see `AnswerParts`.

        Returns:
            `None` when the run goes on by itself, in this process or another. When the process that held it is gone,
            the run is taken up behind the node, in this engine and with another id; then its outcome.

        Raises:
            PauseError: When nothing waits there, when several visits do, or when it is over.
            AnswererRefused: When somebody answers who is not named.
            AnswerInvalid: When the answer does not fit; the node goes on waiting.
        """
        from catenary.pauses.resuming import answer

        return await answer(cast("Engine", self), run_id, node_id, parts)

    def answer_sync(self, run_id: str, node_id: str, **parts: Unpack[AnswerParts]) -> Outcome | None:
        """Answer a node that waits, from a thread in which no event loop runs, see `answer`."""
        from catenary.pauses.resuming import answer_sync

        return answer_sync(cast("Engine", self), run_id, node_id, parts)
