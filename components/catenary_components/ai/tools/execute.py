"""Run the calls a model asks for. Nothing that goes wrong in one ends the agent: the model is told instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from catenary.jsontext import dumps, loads
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.models.types import ToolCall
    from catenary_components.ai.tools.tool import Tool, Toolbox


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of one call.

    Attributes:
        call: The call.
        text: The result, or what the model is told in its place; not shortened.
        error: The bare error; empty when the call succeeded.
        is_direct: Whether the result is the agent's answer.
    """

    call: ToolCall
    text: str
    error: str = ""
    is_direct: bool = False

    def text_for_model(self, max_length: int) -> str:
        """Give the text as the model gets it: a result of more than `max_length` characters is cut."""
        return self.text if self.error else truncated(self.text, max_length)


def truncated(text: str, max_length: int) -> str:
    """Cut a text after `max_length` characters; the mark tells how long it was, in bytes of UTF-8."""
    if len(text) <= max_length:
        return text
    size = len(text.encode("utf-8", "surrogatepass"))
    return f"{text[:max_length]}...(truncated, original: {size} bytes)"


async def run_call(ctx: Context, toolbox: Toolbox, call: ToolCall) -> CallResult:
    """Run one call: find the tool, check the arguments, run it within its time."""
    tool = toolbox.get(call.name)
    if tool is None:
        return _unknown(call)
    try:
        arguments = read_arguments(tool, call.arguments)
        tool.work.check(arguments)
    except ToolInputError as error:
        text = f"Error: blocked_invalid_arguments - invalid or empty arguments for tool {tool.name}: {error}"
        return CallResult(call, text, str(error))
    return await _run(ctx, tool, call, arguments)


def _unknown(call: ToolCall) -> CallResult:
    if not call.name.strip():
        text = "Error: The tool call has no name, please use registered tools."
    else:
        text = f"Error: Unknown tool '{call.name}', please use registered tools."
    return CallResult(call, text, text.removeprefix("Error: "))


def read_arguments(tool: Tool, text: str) -> dict[str, Json]:
    """Read the arguments of a call. Nothing and `null` count as `{}` when the tool needs none.

    Raises:
        ToolInputError: When they are no JSON object.
    """
    stripped = text.strip()
    if stripped in ("", "null"):
        if tool.needs_arguments:
            required = ", ".join(cast("list[str]", tool.parameters["required"]))
            raise ToolInputError(f"there are none, but {required} is required")
        return {}
    try:
        value = loads(stripped)
    except (ValueError, RecursionError) as error:
        raise ToolInputError(f"they are not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise ToolInputError(f"they must be a JSON object, not {stripped[:100]}")
    return cast("dict[str, Json]", value)


async def _run(ctx: Context, tool: Tool, call: ToolCall, arguments: Mapping[str, Json]) -> CallResult:
    import asyncio

    limit = asyncio.timeout(tool.timeout_s)
    try:
        async with limit:
            result = await tool.work.run(ctx, arguments, call.arguments.strip() or "{}")
        text = result if isinstance(result, str) else "" if result is None else dumps(result)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failed(call, "the tool was cancelled")
    except SystemExit as error:
        return _failed(call, f"the tool tried to end the program, with {error.code!r}")
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():
            return _failed(call, f"the tool took longer than {tool.timeout_s:g} s")
        return _failed(call, str(error) or type(error).__name__)
    return CallResult(call, text, is_direct=tool.returns_direct)


def _failed(call: ToolCall, message: str) -> CallResult:
    return CallResult(call, f"Error: Tool execution failed: {message}", message)
