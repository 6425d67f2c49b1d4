"""Weaves aspects around the `run` of a node, at load; what a node does not have is not there.

From the outside in: all `before`, in order; each `around`, in order; the node with its retry, timeout and thread; and
on the way back all `after`, in order again, for each message that is sent.
"""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catenary.aspects.base import Aspect, covers, has
from catenary.errors import EngineError
from catenary.message import Message
from catenary.relation import Failed, Relation, fail
from catenary.runtime.emission import completed, failure, is_pair, pairs_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from catenary.chain import Chain
    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.runtime.context import Context
    from catenary.runtime.ends import Arrival

    Runs = Callable[..., Any]
    Point = Callable[..., Any]
    Wrap = Callable[[Runs, bool], Runs]
    Emitting = Callable[[Context, Relation | str, Message], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class NodeAspects:
    """What aspects bring to one node, each list in the order in which it applies.

    Attributes:
        arounds: Each gives, of a `run` and whether it is awaited, the one with the aspect around it.
    """

    befores: tuple[Point, ...]
    arounds: tuple[Wrap, ...]
    afters: tuple[Point, ...]
    is_async: bool

    def weave(self, run: Runs, *, is_async: bool, collects: bool) -> Runs:
        """Give a `run` with the aspects around it; it is an async one when the node is, or any of the aspects."""
        if collects:
            return self._joined(run, is_async=is_async)
        if not (is_async or self.is_async):
            return self._called(run)
        return self._awaited(run if is_async else _lifted(run))

    @property
    def emitting(self) -> Emitting | None:
        """What a message goes through that the node sends on the way; None when nothing looks at it."""
        afters = self.afters
        if not afters:
            return None

        async def emitting(ctx: Context, relation: Relation | str, message: Message) -> Message:
            return await _changed_by(afters, ctx, relation, message)

        return emitting

    def _joined(self, run: Runs, *, is_async: bool) -> Runs:
        """Weave around a join: aspects see the message that came first, and may put another one in its place."""

        def visit(ctx: Context, arrivals: list[Arrival]) -> Any:
            first = arrivals[0].message

            def join(ctx: Context, message: Message) -> Any:
                if message is first:
                    return run(ctx, arrivals)
                return run(ctx, [arrivals[0]._replace(message=message), *arrivals[1:]])

            woven = self.weave(_as_async(join) if is_async else join, is_async=is_async, collects=False)
            return first, woven(ctx, first)

        async def awaited(ctx: Context, arrivals: list[Arrival]) -> Any:
            first, emission = visit(ctx, arrivals)
            return completed(await emission, first)

        def called(ctx: Context, arrivals: list[Arrival]) -> Any:
            first, emission = visit(ctx, arrivals)
            return completed(emission, first)

        return awaited if is_async or self.is_async else called

    def _called(self, run: Runs) -> Runs:
        for wrap in reversed(self.arounds):
            run = wrap(run, False)
        befores, afters = self.befores, self.afters
        if not befores and not afters:
            return run

        def called(ctx: Context, message: Message) -> Any:
            got = message
            try:
                for before in befores:
                    given = before(ctx, got, ctx._relation)
                    if given is not None:
                        got = checked(given)
                emission = run(ctx, got)
            except (Exception, CancelledError) as error:
                emission = failure(error, got, ctx)
            if not afters:
                return emission if got is message else completed(emission, got)
            relation: Any
            if emission.__class__ is Relation:
                relation, sent = emission, got
            elif emission.__class__ is tuple and is_pair(emission):
                relation, sent = emission
            else:
                return _sent_by(afters, ctx, emission, got)
            try:
                error = relation.error if relation.__class__ is Failed else None
                for after in afters:
                    given = after(ctx, sent, relation, error)
                    if given is not None:
                        sent = checked(given)
            except Exception as error:
                return fail(error, sent)
            return emission if sent is message else (relation, sent)

        return called

    def _awaited(self, run: Runs) -> Runs:
        for wrap in reversed(self.arounds):
            run = wrap(run, True)
        befores, afters = self.befores, self.afters
        if not befores and not afters:
            return run

        async def awaited(ctx: Context, message: Message) -> Any:
            got = message
            try:
                for before in befores:
                    got = await _checked(before(ctx, got, ctx._relation), got)
                emission = await run(ctx, got)
            except Exception as error:
                emission = failure(error, got, ctx)
            except CancelledError as error:
                assert ctx._run is not None
                ctx._run.check(ctx)  # goes on with it when the visit is being cancelled
                emission = failure(error, got, ctx)
            if afters:
                return await _sent_by_async(afters, ctx, emission, got)
            return emission if got is message else completed(emission, got)

        return awaited


def aspects_at(chain: Chain, node: NodeDefinition, component: Component[Any]) -> NodeAspects | None:
    """Give what the aspects of a chain bring to a node of it; None when they leave it alone."""
    if component.ends:  # nothing runs there
        return None
    found = [
        placed
        for aspect in chain.aspects
        if covers(aspect, node, component) and (placed := aspect.for_node(chain, node, component)) is not None
    ]
    befores = [cut_method(one, "before") for one in found if has(one, "before")]
    arounds = [_wrap_of(one) for one in found if any(has(one, point) for point in _AROUND)]
    afters = [cut_method(one, "after") for one in found if has(one, "after")]
    if not (befores or arounds or afters):
        return None
    makes_async = any(map(is_async, (*befores, *afters))) or any(wrap.is_async for wrap in arounds)
    return NodeAspects(tuple(befores), tuple(arounds), tuple(afters), makes_async)


_AROUND = ("around", "around_awaited", "wrap")


@dataclass(frozen=True, slots=True)
class _Around:
    """An aspect around a node, as it is called at a plain one, and at one that is awaited."""

    called: Point
    awaited: Point
    is_async: bool

    def __call__(self, run: Runs, is_awaited: bool) -> Runs:
        return _around_async(self.awaited, run) if is_awaited else _around(self.called, run)


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """An aspect that weaves itself."""

    wrap: Wrap
    is_async = False

    def __call__(self, run: Runs, is_awaited: bool) -> Runs:
        return self.wrap(run, is_awaited)


def _wrap_of(aspect: Aspect) -> _Around | _Wrapped:
    if has(aspect, "wrap") and not has(aspect, "point_cut"):
        return _Wrapped(aspect.wrap)
    awaited = cut_method(aspect, "around_awaited") if has(aspect, "around_awaited") else None
    called = cut_method(aspect, "around") if has(aspect, "around") else awaited
    assert called is not None, "an aspect that has `wrap` and a `point_cut` has `around`, too"
    return _Around(called, awaited or called, is_async(called))


def is_async(call: Point) -> bool:
    """Tell whether a function, or an object that is called like one, is an `async def`."""
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004


def cut_method(aspect: Aspect, point: str) -> Point:
    """Give the method of an aspect at a join point, behind its `point_cut` if it has one."""
    call = getattr(aspect, point)
    if not has(aspect, "point_cut"):
        return call
    lets_in = aspect.point_cut

    def around(ctx: Context, message: Message, proceed: Any) -> Any:
        applies = lets_in(ctx, message, ctx._relation)
        return call(ctx, message, proceed) if applies else proceed(message)

    def at_run(ctx: Context, message: Message, *outcome: Any) -> Any:
        return call(ctx, message, *outcome) if lets_in(ctx, message, "") else None

    def at_relation(ctx: Context, message: Message, relation: Relation | str, *error: Any) -> Any:
        return call(ctx, message, relation, *error) if lets_in(ctx, message, relation) else None

    if point in {"around", "around_awaited"}:
        filtered = around
    else:
        filtered = at_run if point in {"start", "completed"} else at_relation
    return _as_awaited(filtered) if is_async(call) else filtered


def _as_awaited(filtered: Point) -> Point:
    async def awaited(*arguments: Any) -> Any:
        given = filtered(*arguments)
        return await given if hasattr(given, "__await__") else given

    return awaited


def _lifted(run: Runs) -> Runs:
    async def lifted(ctx: Context, message: Any) -> Any:
        return run(ctx, message)

    return lifted


def _as_async(join: Runs) -> Runs:
    async def awaited(ctx: Context, message: Any) -> Any:
        return await join(ctx, message)

    return awaited


def _around(around: Point, run: Runs) -> Runs:
    def called(ctx: Context, message: Message) -> Any:
        def proceed(other: Message) -> Any:
            return run(ctx, message) if other is message else completed(run(ctx, checked(other)), other)

        return around(ctx, message, proceed)

    return called


def _around_async(around: Point, run: Runs) -> Runs:
    return _awaited_around(around, run) if is_async(around) else _plain_around(around, run)


def _awaited_around(around: Point, run: Runs) -> Runs:
    async def awaited(ctx: Context, message: Message) -> Any:
        async def proceed(msg: Message) -> Any:
            if ctx._crew is None:
                raise EngineError("proceed() was called after the visit was over", hint="await it before you return")
            if msg is message:
                return await run(ctx, message)
            return completed(await run(ctx, checked(msg)), msg)

        return await around(ctx, message, proceed)

    return awaited


def _plain_around(around: Point, run: Runs) -> Runs:
    """Put a plain `def` around an awaited node: it passes on what `proceed` gives."""

    async def passed_on(ctx: Context, message: Message) -> Any:
        going: list[Coroutine[Any, Any, Any]] = []

        def proceed(msg: Message) -> Any:
            going.append(run(ctx, message) if msg is message else changed(msg))
            return going[-1]

        async def changed(msg: Message) -> Any:
            return completed(await run(ctx, checked(msg)), msg)

        try:
            emission = around(ctx, message, proceed)
            if hasattr(emission, "__await__"):
                emission = await emission
        except BaseException as error:
            if _dropped(going) and isinstance(error, Exception):
                raise _not_passed_on(around) from error
            raise
        if _dropped(going):
            raise _not_passed_on(around)
        return emission

    return passed_on


def _dropped(going: list[Coroutine[Any, Any, Any]]) -> bool:
    """Tell whether some of the coroutines have never begun, and close those."""
    left = [one for one in going if inspect.iscoroutine(one) and inspect.getcoroutinestate(one) == "CORO_CREATED"]
    for one in left:
        one.close()
    return bool(left)


def _not_passed_on(around: Point) -> EngineError:
    name = getattr(around, "__name__", around)
    told = f"{name!r} is a plain def and did not pass on what proceed() gave, but the node is an awaited one"
    return EngineError(told, hint="write async def, and await proceed(msg)")


def checked(given: Any) -> Message:
    """Give the message that an aspect returned. Raises: TypeError: when it is none."""
    if isinstance(given, Message):
        return given
    raise TypeError(f"an aspect gave a {type(given).__name__} where a message is asked for")


async def _checked(given: Any, present: Message) -> Message:
    if hasattr(given, "__await__"):
        given = await given
    return present if given is None else checked(given)


def _error(relation: Relation | str) -> BaseException | None:
    return relation.error if isinstance(relation, Failed) else None


def _sent_by(afters: tuple[Point, ...], ctx: Context, emission: Any, message: Message) -> Any:
    sent: list[Any] = []
    for relation, one in pairs_of(emission, message):
        current = one
        try:
            for after in afters:
                given = after(ctx, current, relation, _error(relation))
                if given is not None:
                    current = checked(given)
        except Exception as error:
            sent.append(fail(error, current))
        else:
            sent.append((relation, current))
    return _as_emission(sent, emission)


async def _sent_by_async(afters: tuple[Point, ...], ctx: Context, emission: Any, message: Message) -> Any:
    sent: list[Any] = []
    for relation, one in pairs_of(emission, message):
        current = one
        try:
            for after in afters:
                current = await _checked(after(ctx, current, relation, _error(relation)), current)
        except Exception as error:
            sent.append(fail(error, current))
        else:
            sent.append((relation, current))
    return _as_emission(sent, emission)


async def _changed_by(afters: tuple[Point, ...], ctx: Context, relation: Relation | str, message: Message) -> Message:
    for after in afters:
        message = await _checked(after(ctx, message, relation, _error(relation)), message)
    return message


def _as_emission(sent: list[Any], emission: Any) -> Any:
    if len(sent) == 1:
        return sent[0]
    return sent or emission
