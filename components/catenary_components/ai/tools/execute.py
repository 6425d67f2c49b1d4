"""Run the calls a model asks for. Nothing that goes wrong in one ends the agent: the model is told instead."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from catenary.component import TimeLimit
from catenary.jsontext import dumps
from catenary.patience import within
from catenary.reasons import reason_of
from catenary_components.ai.spans import span
from catenary_components.ai.tools.large import json_text
from catenary_components.ai.tools.live import CURRENT, ToolCallInfo
from catenary_components.ai.tools.outputs import parts_of, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import MediaPart, ResultState, ToolCall
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Tool, Toolbox

GRACE_S: Final = 1.0
"""Seconds that a tool gets to clean up when it is cancelled."""
LONGEST_WAIT_S: Final = 30.0
"""Seconds between two tries of a call, at most; the first wait is one second, each further one twice as long."""

TOOL_FAILED: Final = "Error: Tool execution failed"

_logger = logging.getLogger(__name__)
_left: set[asyncio.Task[CallResult]] = set()  # tools that ignored that they were cancelled: kept, so that they may end


OF_SERVICE: Final = "$"
"""What the names of tools begin with that a service runs itself."""


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that can be run: its tool is there, and its arguments fit.

    Attributes:
        call: What the model asked for.
        tool: The tool.
        arguments: What the tool gets.
        text: The same as JSON text, as the model wrote it; empty when they are not what it wrote.
    """

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Json]
    text: str = ""

    def edited(self, arguments: Mapping[str, Json]) -> ReadyCall:
        """Give the call with other arguments, which must fit the tool."""
        return replace(self, arguments=arguments, text="")


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of one call.

    Attributes:
        call: The call.
        text: The result, or what the model is told in its place; not shortened.
        error: The bare error; empty when the call succeeded.
        is_direct: Whether the result is the agent's answer.
        state: Whether it went well.
        is_left: Whether the tool is still at work though its time is over.
        metadata: What is known of the result besides, such as where it was put; kept with it.
        parts: What the tool gave when that is more than text, such as pictures.
        is_cut: Whether the text is as short as the model gets it already.
    """

    call: ToolCall
    text: str
    error: str = ""
    is_direct: bool = False
    state: ResultState = "success"
    is_left: bool = False
    metadata: Mapping[str, Json] = field(default_factory=dict[str, "Json"])
    parts: tuple[MediaPart, ...] = ()
    is_cut: bool = False

    def text_for_model(self, max_length: int, cut: Callable[[str, int], str] | None = None) -> str:
        """Give the text as the model gets it: a result of more than `max_length` characters is cut, an error never."""
        return self.text if self.error or self.is_cut else (cut or truncated)(self.text, max_length)


def truncated(text: str, max_length: int) -> str:
    """Cut a text after `max_length` characters; the mark tells how long it was, in bytes of UTF-8."""
    if len(text) <= max_length:
        return text
    size = len(text.encode("utf-8", "surrogatepass"))
    return f"{text[:max_length]}...(truncated, original: {size} bytes)"


def refused(call: ToolCall, text: str, error: str) -> CallResult:
    """Give the result of a call that is not run.

    Args:
        call: The call.
        text: What the model is told.
        error: The bare error.
    """
    return CallResult(call, text, error, state="error")


def find(toolbox: Toolbox, state: AgentState, call: ToolCall) -> Tool | CallResult:
    """Find the tool of a call.

    A tool of the service's own, whose name begins with `$`, is run there: its result here is what it was called with.

    Returns: the tool, or what the model is told when there is none that it may call.
    """
    tool = toolbox.get(call.name)
    if tool is not None and toolbox.offers(tool, state):
        return tool
    if tool is not None:
        text = f"Error: Unauthorized tool call: '{tool.name}' is not available"
    elif call.name.startswith(OF_SERVICE):
        return CallResult(call, call.arguments or "{}")
    elif not call.name.strip():
        text = "Error: The tool call has no name, please use registered tools."
    else:
        text = f"Error: Unknown tool '{call.name}', please use registered tools."
    return refused(call, text, text.removeprefix("Error: "))


async def run_tool(ctx: Context, ready: ReadyCall, tell: Callable[[Json], Awaitable[None]] | None = None) -> CallResult:
    """Run a tool within its time; whatever goes wrong in it is a result.

    Args:
        ctx: The context of the visit.
        ready: The call.
        tell: Is told the pieces that the tool shows on the way.
    """
    facts = {"gen_ai.tool.name": ready.tool.name, "gen_ai.tool.call.id": ready.call.id}
    with span("execute_tool", ctx, ready.tool.name, facts) as told:
        result = await _tries(ctx, ready, tell)
        if result.state == "error":
            told.fail("tool_error", result.error)
        return result


async def _tries(ctx: Context, ready: ReadyCall, tell: Callable[[Json], Awaitable[None]] | None) -> CallResult:
    wait_s = 1.0
    for attempt in range(1, ready.tool.retries + 2):
        result = await _try(ctx, ready, attempt, tell)
        if result.state != "error" or result.is_left or attempt > ready.tool.retries:
            return result
        await ctx.clock.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    raise AssertionError("the last try gives its result")


async def _try(
    ctx: Context, ready: ReadyCall, attempt: int, tell: Callable[[Json], Awaitable[None]] | None
) -> CallResult:
    """Run a tool once, in a task of its own: one that ignores that its time is over is left behind."""
    tool, call = ready.tool, ready.call
    info = ToolCallInfo(call.id, tool.name, attempt=attempt, key=_key_of(ctx, call), tell=tell)
    task = asyncio.create_task(_work(ctx, ready, info))
    try:
        if await _ends_in_time(ctx, tool, task, info):
            return task.result()
    finally:
        has_ended = task.done() or await _stop(task)
    late = f"the tool took longer than {tool.timeout_s:g} s"
    return failed(call, late) if has_ended else replace(failed(call, f"{late} and does not stop"), is_left=True)


async def _ends_in_time(ctx: Context, tool: Tool, task: asyncio.Task[CallResult], info: ToolCallInfo) -> bool:
    """Wait for a tool as long as it may take. The time of a chain stands still while somebody is asked in it."""
    if not getattr(tool.work, "may_ask", False):
        done, _ = await asyncio.wait((task,), timeout=tool.timeout_s)
        return bool(done)
    with suppress(TimeoutError):
        async with TimeLimit(ctx, tool.timeout_s) as info.limit:  # it is there before the task begins
            await asyncio.wait((task,))
    return task.done()


async def _work(ctx: Context, ready: ReadyCall, info: ToolCallInfo) -> CallResult:
    CURRENT.set(info)
    call = ready.call
    try:
        result = await ready.tool.work.run(ctx, ready.arguments, ready.text or dumps(dict(ready.arguments)))
        parts = parts_of(result)
        text = text_of(parts) if parts else result if isinstance(result, str) else await json_text(result)
    except asyncio.CancelledError:
        return failed(call, "the tool was cancelled")
    except SystemExit as error:
        return failed(call, f"the tool tried to end the program, with {error.code!r}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a group of errors may be no `Exception`, either
        return failed(call, reason_of(error))
    return CallResult(call, text, is_direct=ready.tool.returns_direct, parts=parts)


async def _stop(task: asyncio.Task[CallResult]) -> bool:
    """Cancel a tool and give it a moment to clean up. Returns: whether it has ended."""
    task.cancel()
    try:
        with suppress(TimeoutError):
            async with within(GRACE_S):
                await asyncio.wait((task,))
    finally:
        if not task.done():
            _left.add(task)
            asyncio._unregister_task(task)  # pyright: ignore[reportPrivateUsage] - or the loop's end would wait for it
            task.add_done_callback(_left.discard)
            _logger.warning("a tool goes on though it was cancelled", extra={"task": task.get_name()})
    return task.done()


def failed(call: ToolCall, message: str) -> CallResult:
    """Give the result of a call whose tool failed."""
    return CallResult(call, f"{TOOL_FAILED}: {message}", message, state="error")


def _key_of(ctx: Context, call: ToolCall) -> str:
    """Give the key that an approved call keeps when another process runs it again; empty for other calls."""
    from catenary_components.ai.state import AgentState

    state = ctx.scope.get(AgentState)
    entry = state.journal.get(call.id) if state is not None else None
    return str(cast("dict[str, Json]", entry).get("key") or "") if isinstance(entry, dict) else ""
