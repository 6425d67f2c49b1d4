"""Runs inside runs: a chain, or one node, as part of a visit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.errors import EngineError
from catenary.runtime.begin import begin, first_step
from catenary.runtime.cancelling import Halt
from catenary.runtime.entry import open_rest
from catenary.runtime.run import Run
from catenary.runtime.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from catenary.aspects.runs import RunAspects
    from catenary.chain import Chain
    from catenary.message import Message
    from catenary.runtime.compiled import Compiled
    from catenary.runtime.context import Context
    from catenary.runtime.ends import End

    Each = Callable[[End], Awaitable[None]]
    Values = Iterable[Any] | Mapping[type, Any]


def run_chain(
    ctx: Context,
    chain: Chain | str,
    message: Message,
    *,
    start: str | Iterable[str] | None,
    each: Each | None,
    scope: Values | None,
) -> Coroutine[Any, Any, list[End]]:
    """Run a chain as part of a visit, see `Context.run_chain`. A plain `def`: deep nesting costs a frame less."""
    return _perform(ctx, chain, message, start, each, scope)


def run_node(
    ctx: Context,
    node_id: str,
    message: Message,
    *,
    chain_id: str | None,
    follow: bool,
    each: Each | None,
    scope: Values | None,
) -> Coroutine[Any, Any, list[End]]:
    """Run one node as part of a visit; see `Context.run_node`."""
    wanted = ctx.chain if chain_id is None else chain_id
    return _perform(ctx, wanted, message, None, each, scope, node=(node_id, follow))


def _enter(
    ctx: Context, run: Run, wanted: Chain | str, node: tuple[str, bool] | None, depth: int, each: Each | None
) -> tuple[Chain, Run]:
    """Make the sub-run and put it on its chain, which is then not closed under it."""
    while True:
        chain = ctx.chain if wanted is ctx.chain else ctx.chain.related(wanted)
        compiled = chain.compiled if run.watch is None else run.watch.compiled_of(chain)
        if node is not None:
            compiled = _part(chain, compiled, *node)
        sub = Run.inside(run, compiled, ctx, depth, each)
        chain.runs.add(sub)
        if not chain.retired or not isinstance(wanted, str):
            return chain, sub
        is_refused = chain.stopping and not chain.engine.is_closing and not _is_on(run, chain)
        if not chain.released and not is_refused:
            return chain, sub
        chain.runs.discard(sub)
        if is_refused:
            chain.successor()
        chain.retire()  # replaced since it was looked up, by another thread


def _is_on(run: Run, chain: Chain) -> bool:
    """Tell whether a run, or one around it, is on a version of a chain."""
    around: Run | None = run
    while around is not None and around not in chain.runs:
        around = around.parent
    return around is not None


def _part(chain: Chain, compiled: Compiled, node_id: str, follow: bool) -> Compiled:
    if node_id not in compiled.by_id:
        raise EngineError(f"node id={node_id} not found", hint=f"the chain {chain.id!r} has no such node")
    return chain.part(compiled, node_id, follow=follow)


async def _started(
    aspects: RunAspects, sub: Run, message: Message, start: str | Iterable[str] | None
) -> Message | None:
    """Give the message with which a sub-run begins, as aspects leave it; None when they refuse it."""
    first = first_step(sub.compiled, {} if start is None else {"start": start})
    if first is None:
        return message
    sub.aspects = aspects.of_run(sub, first)
    return await sub.aspects.start(message)


def _share_outputs(run: Run, sub: Run) -> None:
    """Let nodes of one chain see each other's outputs."""
    if run.outputs is None:
        run.outputs = {}
    sub.outputs = run.outputs


async def _perform(  # noqa: C901, PLR0912 - a frame for each level of nesting, and no more
    ctx: Context,
    wanted: Chain | str,
    message: Message,
    start: str | Iterable[str] | None,
    each: Each | None,
    scope: Values | None,
    *,
    node: tuple[str, bool] | None = None,
) -> list[End]:
    run, crew = ctx._run, ctx._crew
    if run is None or crew is None:
        raise EngineError(
            f"node {ctx.node_id!r}: only an async def run may run chains and nodes, and only while it runs"
        )
    run.check(ctx)
    if run.root.is_due():  # a loop of short sub-runs would keep the others waiting
        await run.root.give_way()
    depth = run.deeper(crew.depth)
    chain, sub = _enter(ctx, run, wanted, node, depth, each)
    try:
        if node is not None and chain is ctx.chain:
            _share_outputs(run, sub)
        if scope is not None:
            sub.scope = Scope(scope, run.scope)
        if chain.must_open:
            await open_rest(chain, run)
        given: Message | None = message
        if node is None and chain.run_aspects is not None:
            given = await _started(chain.run_aspects, sub, message, start)
        if given is not None:
            begin(sub, given, start)
        ready = sub.ready
        try:
            if ready:
                await sub.work(ready, None, ready.pop())
                if sub.crew is not None:
                    await sub.crew.settle()
            elif sub.attended:
                await sub.attend(0)  # a chain without nodes
        except BaseException as error:
            fault = await sub.wind_up(error)
            if fault is error and not isinstance(fault, Halt):
                raise
            if not isinstance(fault, Halt):  # the chain stops at its first failure, which is among the ends
                raise fault from None
        finally:
            sub.let_go()
        if sub.aspects is not None:
            await sub.aspects.completed(message)
    finally:
        if sub.aspects is not None:
            sub.aspects.over()
        chain.runs.discard(sub)
        if chain.retired:
            await chain.close_if_idle(has_loop=run.root.has_loop)
    return sub.ends
