"""`eviction`: results of tools that are very long go to a file, and the model gets a preview."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from catenary.component import option
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.tools.builtin.base import ToolFailure, Workplace
from catenary_components.ai.tools.builtin.files import FileTool
from catenary_components.ai.tools.builtin.paths import PathEscape, PathOptions, PathPolicy, open_beneath

if TYPE_CHECKING:
    from typing import Self

    from catenary.component import Context
    from catenary_components.ai.hooks.steps import ActingStep, Step, ToolStep
    from catenary_components.ai.tools.execute import CallResult
    from catenary_components.ai.tools.tool import Toolbox

_logger = logging.getLogger(__name__)

EVICTED: Final = "evicted"
"""In the metadata of a result: the file that has the whole of it."""

NEVER: Final = (
    *("read", "write", "edit", "grep", "glob"),
    *("read_file", "write_file", "edit_file", "grep_files", "glob_files", "list_files"),
    *("memory_search", "memory_get", "session_search"),
)
"""Tools whose results are what was asked for: what they gave would be read again from the file."""

_READERS: Final = ("read", "grep", "bash")


class EvictionOptions(PathOptions):
    """Settings of the hook `eviction`."""

    max_length: int = option(80_000, gt=0, unit="characters", help="A result that is longer goes to a file.")
    preview: int = option(
        2_000,
        ge=0,
        unit="characters",
        help="What the model gets of its start; of its end it gets at most half of that.",
    )
    folder: str = option(
        "large_tool_results",
        help="Where the files are put, below `workDir`; without one, below that of the agent's tool `read` (or `grep`, "
        "`bash`), so that it finds them.",
    )
    exclude: list[str] = option(list(NEVER), help="Tools whose results stay whole.")
    needs_folder: bool = option(
        True, help="Whether it is an error when no folder may be used; else results stay whole then."
    )


class Eviction(AgentHook):
    """Writes long results to files where the agent's tools can read them; the model gets a preview, and where they are.

    When the results of a round are longer than the agent's `turnBudget`, the longest go to files as well.
    A result that is the agent's answer stays whole, and so does one that cannot be written.
    """

    order = 50
    config_type = EvictionOptions

    def __init__(self, config: EvictionOptions) -> None:
        self._config = config
        self._agent = ""
        self._policy: PathPolicy | None = None

    def new(self, ctx: Context) -> Self:
        """Give the instance of an agent. Raises: ValueError: when its folder may not be used."""
        made = type(self)(self._config)
        made.order = self.order
        made._agent = quote(f"{ctx.chain_id}.{ctx.node_id}", safe="")
        place = Workplace.of(ctx)
        if self._config.needs_folder or place.environment.roots:
            made._policy = PathPolicy.of(self._config, place)
        return made

    async def after_tool(self, step: ToolStep) -> None:
        """Put a result that is too long into a file."""
        if step.result is not None and len(step.result.text) > self._config.max_length:
            step.result = await self._evicted(step, step.result)

    async def after_acting(self, step: ActingStep) -> None:
        """Put the longest results into files until those of a round fit its budget."""
        budget, limit = step.setup.tools.turn_budget, step.setup.tools.max_tool_output_length
        lengths = [min(len(result.text), limit) for result in step.results]
        for place in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
            if not budget or sum(lengths) <= budget or lengths[place] <= 2 * self._config.preview:
                return
            step.results[place] = await self._evicted(step, step.results[place])
            lengths[place] = min(len(step.results[place].text), limit)

    async def _evicted(self, step: Step, result: CallResult) -> CallResult:
        """Put a result into a file. Returns: the preview of it, or the same when it is to stay or cannot be written."""
        policy, name = self._policy, result.call.name
        is_kept = result.is_direct or EVICTED in result.metadata or name in self._config.exclude
        if policy is None or is_kept:
            return result
        reader = (_reader(step.setup.toolbox) or policy).for_run(step.ctx)
        policy = policy.for_run(step.ctx) if self._config.work_dir else reader
        path = f"{self._config.folder}/{self._agent}/{_file_name(result.call.id, result.text)}"
        try:
            shown = reader.shown(await asyncio.to_thread(_write, policy, path, result.text))
        except (OSError, PathEscape, ToolFailure) as error:
            _logger.warning("a long result of %s cannot be written: %s", name, error)
            return result
        step.publish("tool.evicted", toolName=name, path=shown, characters=len(result.text))
        marks = {**result.metadata, EVICTED: shown}
        return replace(result, text=self._preview(result.text, shown), metadata=marks)

    def _preview(self, text: str, path: str) -> str:
        head, tail = self._config.preview, self._config.preview // 2
        end = f"\n\n... its end:\n{text[-tail:]}" if tail else ""
        return (
            f"[The result has {len(text)} characters and is in the file {path}; read it in parts, with an offset and a "
            f"limit, or search it. Its start:]\n{text[:head]}{end}"
        )


def _reader(toolbox: Toolbox) -> PathPolicy | None:
    """Say where the tool may go with which the agent is to read the file; `None` when it has no such tool."""
    tools = filter(None, map(toolbox.get, _READERS))
    builtins = (getattr(tool.work, "builtin", None) for tool in tools)
    return next((builtin.policy for builtin in builtins if isinstance(builtin, FileTool)), None)


def _file_name(call_id: str, text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{quote(call_id, safe='')[:100]}-{digest}"


def _write(policy: PathPolicy, path: str, text: str) -> str:
    """Write a file whole or not at all. Returns: its real path."""
    real = policy.resolve(path, writes=True)
    name = Path(real).name
    passing = f".{name}.{uuid.uuid4().hex[:8]}"
    with policy.folder(str(Path(real).parent), make=True) as folder:
        handle = open_beneath(folder, passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.write(text)
            os.replace(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(passing, dir_fd=folder)
            raise
    return real
