"""The hooks of one agent node, sorted, with a table of what is called at each point."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from catenary.errors import CatenaryError
from catenary.load.names import did_you_mean
from catenary.reasons import reason_of
from catenary_components.ai.budget import BudgetExceeded
from catenary_components.ai.hooks.base import POINTS, TIMES, AgentHook, fills
from catenary_components.ai.hooks.faults import HookError
from catenary_components.ai.hooks.functions import METHODS
from catenary_components.ai.models.types import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from catenary.component import Context
    from catenary_components.ai.hooks.base import Proceed
    from catenary_components.ai.hooks.running import HookRun
    from catenary_components.ai.hooks.steps import Step
    from catenary_components.ai.runtime_context import RuntimeContext
    from catenary_components.ai.sessions.slot import Slot
    from catenary_components.ai.state import AgentState


_logger = logging.getLogger(__name__)
_BEGINNINGS: Final = tuple(f"{time}_" for time in TIMES)


@dataclass(frozen=True, slots=True)
class Call:
    """What is called of one hook at one point.

    Attributes:
        hook: The hook.
        at: Which of its methods this is, such as `before_tool`.
        agent: The ids of chain and node of the agent.
        method: What is called.
    """

    hook: AgentHook
    at: str
    agent: str
    method: Callable[..., Any]

    async def __call__(self, *arguments: Any, passing: Sequence[BaseException] = ()) -> Any:
        """Call it, and await what it gives if that is to be awaited.

        Args:
            arguments: What it is given.
            passing: Errors that are not its own, though they pass through it.

        Raises:
            HookError: What the hook raised. Errors of models, used up budgets, and those of hooks within go on as they
                are.
        """
        try:
            given = self.method(*arguments)
            return await given if inspect.isawaitable(given) else given
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            hint = "catch CancelledError where the hook waits"
            raise self.error("it waited for something that was cancelled", hint) from None
        except (HookError, ModelError, BudgetExceeded):
            raise
        except Exception as error:
            if any(error is one for one in passing):
                raise
            raise self.error(reason_of(error), error.hint if isinstance(error, CatenaryError) else "") from error

    def error(self, reason: str, hint: str = "") -> HookError:
        """Make an error that names the hook."""
        return HookError(self.hook.name, self.at, self.agent, reason, hint=hint)


@dataclass(frozen=True, slots=True)
class PointTable:
    """What is called at one point, each list in the order in which it applies."""

    befores: tuple[Call, ...] = ()
    arounds: tuple[Call, ...] = ()
    afters: tuple[Call, ...] = ()
    chunks: tuple[Call, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.befores or self.arounds or self.afters or self.chunks)


class Hooks:
    """The hooks of one agent node.

    Args:
        hooks: The hooks in the order in which they were given, before `new`.
        ctx: The agent's node.
    """

    def __init__(self, hooks: Iterable[AgentHook], ctx: Context) -> None:
        chosen = [hook for hook in hooks if _lets_in(hook, ctx)]
        self.hooks: tuple[AgentHook, ...] = tuple(sorted((hook.new(ctx) for hook in chosen), key=_order))
        agent = f"{ctx.chain.id}/{ctx.node_id}"
        for hook in self.hooks:
            _tell_misspelt(hook, agent)
        self.points = {point: table for point in POINTS if (table := _table(self.hooks, point, agent))}
        self.completed = tuple(
            Call(hook, "completed", agent, hook.completed) for hook in self.hooks if fills(hook, "completed")
        )

    def __bool__(self) -> bool:
        return bool(self.hooks)

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        """The tools that the hooks bring along, by name; of one name, those of the outermost."""
        return {tool.__name__: tool for hook in reversed(self.hooks) for tool in hook.tools}

    def listing(self) -> list[dict[str, Any]]:
        """Give what there is, the outermost first: `name`, `order`, and the `methods` that are filled."""
        names = [f"{time}_{point}" for point in POINTS for time in TIMES]
        return [
            {
                "name": hook.name,
                "order": hook.order,
                "methods": [name for name in (*names, "completed") if fills(hook, name)],
            }
            for hook in self.hooks
        ]

    def calls(self) -> list[dict[str, Any]]:
        """Give what is called at each point, in the order of a run: `at`, such as `before_tool`, and the names `hooks`.

        Of `around`, each stands inside of the one before it.
        """
        found = [
            (f"{time}_{point}", getattr(table, f"{time}s"))
            for point, table in self.points.items()
            for time in ("before", "around", "chunk", "after")
        ]
        found.append(("completed", self.completed))
        return [{"at": at, "hooks": [call.hook.name for call in calls]} for at, calls in found if calls]

    async def close(self) -> None:
        """Close what was made for this agent alone: components that are hooks."""
        from catenary_components.ai.hooks.chains import ChainHook

        for hook in self.hooks:
            if isinstance(hook, ChainHook):
                await hook.close()

    def begin(self, state: AgentState, context: RuntimeContext, session: Slot | None = None) -> HookRun:
        """Give the hooks for one run."""
        from catenary_components.ai.hooks.running import HookRun

        return HookRun(self, state, context, session)


def _tell_misspelt(hook: AgentHook, agent: str) -> None:
    """Tell of methods that are named like those of a hook, and are none: nobody would ever call them."""
    for name in dir(type(hook)):
        if name not in METHODS and name.startswith(_BEGINNINGS):
            text = "the hook %s of agent %s has a method %s, which nothing calls; %s"
            hint = did_you_mean(name, METHODS, f"the points are {', '.join(POINTS)}")
            _logger.warning(text, hook.name, agent, name, hint)


def _order(hook: AgentHook) -> int:
    return hook.order


def _lets_in(hook: AgentHook, ctx: Context) -> bool:
    return _matches(hook.nodes, ctx.node_id) and _matches(hook.chains, ctx.chain.id)


def _matches(patterns: Iterable[str], name: str) -> bool:
    given = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    return not given or any(fnmatchcase(name, pattern) for pattern in given)


def _table(hooks: Iterable[AgentHook], point: str, agent: str) -> PointTable:
    lists = [
        tuple(Call(hook, at, agent, _cut(hook, point, time, getattr(hook, at))) for hook in hooks if fills(hook, at))
        for time, at in ((time, f"{time}_{point}") for time in TIMES)
    ]
    return PointTable(*lists)


def _cut(hook: AgentHook, point: str, time: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Ask the hook first whether it applies, if it has something to say about that."""
    if not fills(hook, "applies"):
        return method

    def asked(step: Step, *rest: Any) -> Any:
        return method(step, *rest) if hook.applies(point, step) else None

    def around(step: Step, proceed: Proceed) -> Awaitable[None]:
        return method(step, proceed) if hook.applies(point, step) else proceed()

    return around if time == "around" else asked
