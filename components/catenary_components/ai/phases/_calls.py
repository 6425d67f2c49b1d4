"""What is told of one model call, and how it is ended by somebody who wants the agent to stop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from catenary.reasons import reason_of
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.spans import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.models.types import Reply
    from catenary_components.ai.setup import AgentSetup
    from catenary_components.ai.state import AgentState, StopFlag


class ModelCall:
    """Tells of one model call: `model.start`, what happens on the way, and `model.end`, however it ends; and a span.

    Args:
        ctx: The context of the phase that calls.
        setup: What the run works with.
        state: The agent's state.
    """

    def __init__(self, ctx: Context, setup: AgentSetup, state: AgentState) -> None:
        self._ctx = ctx
        self._model = setup.model.name
        self._step = state.steps
        self._told: dict[str, Json] = {}
        self._span = span(
            "chat",
            ctx,
            self._model,
            {
                "gen_ai.provider.name": setup.provider,
                "gen_ai.request.model": self._model,
                "gen_ai.conversation.id": state.session_id,
                "catenary.step": self._step,
            },
        )

    def __enter__(self) -> Self:
        self._begun = self._ctx.clock.monotonic()
        self._span.__enter__()
        self._ctx.notify("model.start", model=self._model, step=self._step)
        return self

    def tell(self, event: str, told: Mapping[str, Json]) -> None:
        """Tell what happens on the way, such as `model.retry`."""
        self._span.note(event, told)
        self._ctx.notify(event, **{"step": self._step, **told})

    def end(self, reply: Reply) -> None:
        """Take note of the reply."""
        usage = reply.usage
        self._model = reply.model or self._model
        self._told = {
            "finishReason": reply.finish_reason,
            "toolCalls": len(reply.tool_calls),
            "promptTokens": usage.prompt,
            "completionTokens": usage.completion,
            "totalTokens": usage.total,
            "cachedTokens": usage.cached,
        }
        if reply.cost is not None:
            self._told["cost"] = reply.cost
        if reply.id:
            self._told["responseId"] = reply.id
        self._span.set(
            {
                "gen_ai.response.id": reply.id,
                "gen_ai.response.model": self._model,
                "gen_ai.response.finish_reasons": (reply.finish_reason,) if reply.finish_reason else None,
                "gen_ai.usage.input_tokens": usage.prompt,
                "gen_ai.usage.output_tokens": usage.completion,
                "gen_ai.usage.cache_read.input_tokens": usage.cached,
                "catenary.cost": reply.cost,
            }
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._told = {"finishReason": "error", "error": reason_of(error)}
        if isinstance(error, ModelError):
            self._told |= {"kind": error.kind, "status": error.status, "attempts": error.attempts}
            self._span.set({"server.address": error.endpoint, "http.response.status_code": error.status or None})
            self._span.fail(error.kind, str(error))
        ms = round((self._ctx.clock.monotonic() - self._begun) * 1000, 3)
        self._ctx.notify("model.end", **{"model": self._model, "step": self._step, "ms": ms, **self._told})
        self._span.__exit__(kind, error, trace)


class _Waiting:
    """A place at which a wait may be broken off; outside of it nothing is."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._is_here = False

    def __enter__(self) -> None:
        self._is_here = True

    def __exit__(self, *error: object) -> None:
        self._is_here = False

    def break_off(self) -> None:
        if self._is_here and not self._limit.expired():
            self._limit.reschedule(0)


@asynccontextmanager
async def stopped_by(stop: StopFlag) -> AsyncGenerator[_Waiting]:
    """End the block when the agent is asked to stop while it waits, from whichever thread; nothing is raised then."""
    loop = asyncio.get_running_loop()
    limit = asyncio.timeout(None)
    waiting = _Waiting(limit)
    forget = stop.on_set(lambda: loop.call_soon_threadsafe(waiting.break_off))
    try:
        async with limit:
            yield waiting
    except TimeoutError:
        if not limit.expired():
            raise
    finally:
        forget()
