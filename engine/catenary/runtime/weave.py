"""What a node's settings weave around its component's `run`: thread, timeout, retry, kept output.

What is absent costs nothing. Each function takes a `run` and gives another one; `weave` puts them together, the
innermost first.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from contextlib import suppress
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from catenary.errors import ExpressionError, ResourceError, RunTimeout
from catenary.message import Message
from catenary.relation import FAILURE, Failed
from catenary.runtime.again import repeated
from catenary.runtime.compiled import Placed
from catenary.runtime.emission import completed, failure
from catenary.runtime.limited import expiring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.aspects.weaving import NodeAspects
    from catenary.component import Component
    from catenary.definition import NodeDefinition, Retry
    from catenary.runtime.context import Context
    from catenary.runtime.ends import Arrival

    Runs = Callable[..., Any]


def weave(
    node: NodeDefinition,
    component: Component[Any],
    *,
    keeps_output: bool = False,
    instead: Runs | None = None,
    aspects: NodeAspects | None = None,
) -> Placed:
    """Put together what is called for a node.

    Args:
        node: The node; its `timeout` and `retry` are read here.
        component: The instance behind it.
        keeps_output: True when the settings of some node name this one.
        instead: What is called in place of the component's `run`.
        aspects: What aspects bring to the node; they see one visit, with its retries in it.
    """
    run: Runs = instead or (component.run if not component.ends else _never)
    is_async = inspect.iscoroutinefunction(run)
    waits = is_async and (component.waits or instead is not None)
    if component.collects:
        run = _collecting(run, is_async=is_async)
    if component.repeats:
        run, is_async = repeated(run, is_async=is_async, blocking=component.blocking), True
    texts = fetching(component.config) if instead is None else []
    if texts and is_async:
        run, waits = _fetched(run, texts), True
    if (component.blocking or texts) and not is_async and instead is None:
        run, is_async, waits = _in_thread(run), True, True
    if node.timeout_s is not None:
        if is_async:
            run, waits = _timed(run, node.timeout_s), True
        else:
            run = _measured(run, node.timeout_s)
    policy = node.retry_policy
    if policy is not None:
        run, is_async = _retried(run, policy, is_async=is_async), True
    limits = component.join_limits
    if limits is not None and limits.timeout_s is not None:
        run = expiring(run, is_async=is_async)
    emitting = None
    if aspects is not None:
        run = aspects.weave(run, is_async=is_async, collects=component.collects)
        is_async, waits = is_async or aspects.is_async, waits or aspects.is_async
        emitting = aspects.emitting
    if keeps_output:
        run = _kept(run, is_async=is_async)
    return Placed(node, component, run, is_async, waits, keeps_output, emitting)


def _never(_ctx: Context, _message: Any) -> None:
    """Stand in for the `run` of a node at which branches end: the loop does not call it."""


def after(run: Runs, then: Callable[[Context, Any, Any], Any], *, is_async: bool) -> Runs:
    """Give a `run` whose emission goes through `then(ctx, message, emission)`."""
    if is_async:

        @wraps(run)
        async def awaited(ctx: Context, message: Any) -> Any:
            return then(ctx, message, await run(ctx, message))

        return awaited

    @wraps(run)
    def called(ctx: Context, message: Any) -> Any:
        return then(ctx, message, run(ctx, message))

    return called


def _collecting(run: Runs, *, is_async: bool) -> Runs:
    """Give a join's bare relations the first message of its list."""

    def complete(_ctx: Context, arrivals: list[Arrival], emission: Any) -> Any:
        return completed(emission, arrivals[0].message)

    return after(run, complete, is_async=is_async)


def _in_thread(run: Runs) -> Runs:
    def call(ctx: Context, message: Any) -> Any:
        try:
            return run(ctx, message)
        except StopIteration as error:  # no future takes it: whoever waits for the thread would wait for ever
            raise RuntimeError("StopIteration: something that was asked for its next item had none") from error

    @wraps(run)
    async def threaded(ctx: Context, message: Any) -> Any:
        return await asyncio.to_thread(call, ctx, message)

    return threaded


def fetching(settings: Any) -> list[Any]:
    """Give the templates and documents in settings that may wait for web addresses when they are rendered."""
    if getattr(settings, "fetches", False) is True:
        return [settings]
    held: list[Any] = []
    if isinstance(settings, dict):
        held += cast("dict[Any, Any]", settings).values()
    elif isinstance(settings, (list, tuple)):
        held += cast("list[Any]", settings)
    elif hasattr(settings, "model_fields_set"):
        held += settings.__dict__.values()
    return [text for value in held for text in fetching(value)]


def _fetched(run: Runs, texts: list[Any]) -> Runs:
    """Give a `run` whose texts are rendered once in a thread before: what they include is at hand in the loop then."""

    def render(ctx: Context, message: Any) -> None:
        for text in texts:
            with suppress(Exception):  # `run` meets it again, and tells
                text.render(message, ctx)

    @wraps(run)
    async def fetched(ctx: Context, message: Any) -> Any:
        await asyncio.to_thread(render, ctx, message)
        return await run(ctx, message)

    return fetched


def _too_long(seconds: float, took: float | None = None) -> RunTimeout:
    if took is None:
        return RunTimeout(f"took longer than its timeout of {seconds:g} s")
    return RunTimeout(
        f"took {took:.3g} s, longer than its timeout of {seconds:g} s (a plain function cannot be interrupted)"
    )


def _timed(run: Runs, seconds: float) -> Runs:
    @wraps(run)
    async def timed(ctx: Context, message: Any) -> Any:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await run(ctx, message)
        except TimeoutError:
            if limit.expired():
                raise _too_long(seconds) from None
            raise

    return timed


def _measured(run: Runs, seconds: float) -> Runs:
    @wraps(run)
    def measured(ctx: Context, message: Any) -> Any:
        began = monotonic()
        emission = run(ctx, message)
        took = monotonic() - began
        if took > seconds:
            raise _too_long(seconds, took)
        return emission

    return measured


def _retried(run: Runs, policy: Retry, *, is_async: bool) -> Runs:
    @wraps(run)
    async def retried(ctx: Context, message: Any) -> Any:
        async def once() -> Any:
            return await run(ctx, message) if is_async else run(ctx, message)

        return await attempts(ctx, message, once, policy)

    return retried


async def attempts(ctx: Context, message: Any, once: Callable[[], Awaitable[Any]], policy: Retry) -> Any:
    """Visit a node until it succeeds, or as often as the policy says; gives the last emission."""
    for attempt in range(1, policy.max_retries + 2):
        try:
            emission = await once()
        except Exception as error:
            emission = failure(error, message, ctx)
        error = _failed_with(emission)
        if error is None or attempt > policy.max_retries or ctx.has_emitted or not _may_help(error):
            return emission
        await ctx.need_loop()
        await ctx.clock.sleep(policy.wait_s(attempt, random.random()))
        ctx._live_run().check(ctx)  # the node may have made an error of a cancellation
    raise AssertionError("the last attempt returns")


def _failed_with(emission: Any) -> BaseException | str | None:
    """Give the error, or the plain word, of an emission that is a `Failure`."""
    relation = emission[0] if isinstance(emission, tuple) and emission else emission  # type: ignore[index]
    if isinstance(relation, Failed):
        return relation.error
    return FAILURE if relation == FAILURE else None  # type: ignore[comparison-overlap]


def _may_help(error: BaseException | str) -> bool:
    """Tell whether another try may end otherwise: not where an expression or the other side said a plain no."""
    if isinstance(error, ResourceError):
        return error.retryable
    return not isinstance(error, ExpressionError)


def _kept(run: Runs, *, is_async: bool) -> Runs:
    """Keep what is sent on, by `Failure` too."""

    def keep(ctx: Context, message: Any, emission: Any) -> Any:
        sent = _sent(emission, message)
        if sent is not None:
            ctx.keep_output(sent)
        return emission

    @wraps(run)
    async def awaited(ctx: Context, message: Any) -> Any:
        try:
            emission = await run(ctx, message)
        except Exception as error:
            ctx.keep_output(failure(error, message, ctx)[1])
            raise
        return keep(ctx, message, emission)

    @wraps(run)
    def called(ctx: Context, message: Any) -> Any:
        try:
            emission = run(ctx, message)
        except Exception as error:
            ctx.keep_output(failure(error, message, ctx)[1])
            raise
        return keep(ctx, message, emission)

    return awaited if is_async else called


def _sent(emission: Any, message: Any) -> Message | None:
    """Give the last message of an emission."""
    if isinstance(emission, list) and emission:
        return _sent(emission[-1], message)  # type: ignore[no-any-return]
    if isinstance(emission, tuple) and emission:
        return emission[-1] if isinstance(emission[-1], Message) else None  # type: ignore[index]
    return message if isinstance(emission, str) and isinstance(message, Message) else None
