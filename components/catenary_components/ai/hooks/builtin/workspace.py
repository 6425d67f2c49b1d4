"""`workspace`: what the agent's folder says about its work goes into the system prompt."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catenary.component import option
from catenary_components.ai.hooks.builtin.folder import FolderHook
from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.paths import PathEscape, PathOptions, PathPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary_components.ai.hooks.steps import PromptStep

CHARACTERS_A_TOKEN: Final = 4
_MOST_BYTES: Final = 4_000_000
_MOST_LISTED: Final = 200


class WorkspaceOptions(PathOptions):
    """Settings of the hook `workspace`."""

    max_tokens: int = option(8_000, gt=0, unit="tokens", help="Most that is read, at four characters each.")
    agents_file: str = option("AGENTS.md", help="How to work here; read whole.")
    memory_file: str = option("MEMORY.md", help="What is to be remembered; read within the budget.")
    knowledge_folder: str = option(
        "knowledge", help="A folder with a file `KNOWLEDGE.md`, which is read, and others, which are listed."
    )
    extra_files: list[str] = option([], help="More files that are read within the budget.", examples=[["STYLE.md"]])


class _Seen:
    """The context of one run, which stays the same in it, so that requests begin alike."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Workspace(FolderHook[WorkspaceOptions]):
    """Adds what the folder of the agent says to the system prompt: read once in each run, when all others are done.

    What is beyond the budget is cut, and the model is told so. Files that are not there are left out.
    """

    order = 900
    config_type = WorkspaceOptions

    async def before_system_prompt(self, step: PromptStep) -> None:
        """Add the context."""
        key = f"hook.workspace.{step.ctx.node_id}.{id(step.run)}"
        seen = step.context.get(_Seen, key)
        if seen is None and self._policy is not None:
            policy = self._policy.for_run(step.ctx)
            now = datetime.fromtimestamp(step.time_ms / 1000, UTC)
            loaded = await asyncio.to_thread(self._loaded, policy)
            session = step.state.session_id
            seen = _Seen(_context(policy.work, now, session, loaded))
            step.context.put(seen, key=key)
        if seen is not None:
            step.prompt = f"{step.prompt}\n\n{seen.text}" if step.prompt else seen.text

    def _loaded(self, policy: PathPolicy) -> str:
        config = self._config
        left = config.max_tokens * CHARACTERS_A_TOKEN
        parts: list[str] = []
        agents = _read(policy, config.agents_file)
        if agents:
            parts.append(_tagged("agents_context", agents))
            left = max(0, left - len(agents))
        knowledge = f"{config.knowledge_folder}/KNOWLEDGE.md"
        sources = [
            ("memory_context", _read(policy, config.memory_file)),
            ("domain_knowledge_context", "\n\n".join(filter(None, (_read(policy, knowledge), self._listed(policy))))),
            *((f'file path="{name}"', _read(policy, name)) for name in config.extra_files),
        ]
        for tag, text in sources:
            if text:
                parts.append(_tagged(tag, _cut(text, left)))
                left = max(0, left - len(text))
        return "\n".join(parts)

    def _listed(self, policy: PathPolicy) -> str:
        names = sorted(_files(policy, self._config.knowledge_folder))
        if not names:
            return ""
        more = f"\n... and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        return "Files that may be read:\n" + "\n".join(f"- {name}" for name in names[:_MOST_LISTED]) + more


def _context(folder: str, now: datetime, session: str, loaded: str) -> str:
    about = [f"- Date: {now:%Y-%m-%d}", *([f"- Session: {session}"] if session else [])]
    parts = ["## Session Context", *about, "", "## Workspace", f"- Folder: {folder}"]
    if loaded:
        parts += ["", "<loaded_context>", loaded, "</loaded_context>"]
    return "\n".join(parts)


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{text.strip()}\n</{tag.split(maxsplit=1)[0]}>"


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... (cut: {len(text)} characters in all, {most} are left here; read the file for the rest)"


def _read(policy: PathPolicy, name: str) -> str:
    if not name:
        return ""
    try:
        with policy.opened(policy.resolve(name)) as handle:
            return os.read(handle, _MOST_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    except (OSError, PathEscape, ToolFailure):
        return ""


def _files(policy: PathPolicy, folder: str) -> Iterator[str]:
    """Give the files of the folder of knowledge, relative to the agent's folder; hidden ones are left out."""
    try:
        real = policy.resolve(folder)
    except (PathEscape, ToolFailure):
        return
    for place, folders, files in os.walk(real):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name != "KNOWLEDGE.md":
                yield policy.shown(str(Path(place, name)))
