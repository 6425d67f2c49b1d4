"""`memory`: what is worth keeping of messages that leave a conversation goes to files, and can be looked for."""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from catenary.component import Context, option
from catenary.jsontext import dumps, encodable
from catenary_components.ai.compaction import transcript
from catenary_components.ai.hooks.builtin.folder import FolderHook
from catenary_components.ai.hooks.builtin.sweeping import SESSIONS, Sweeper
from catenary_components.ai.models.types import ModelError
from catenary_components.ai.records import message_to_json
from catenary_components.ai.sessions.window import run_starts
from catenary_components.ai.shortening import is_summary
from catenary_components.ai.tools.builtin.base import ToolFailure
from catenary_components.ai.tools.builtin.paths import PathEscape, PathOptions, PathPolicy, open_beneath

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from catenary_components.ai.hooks.base import Proceed
    from catenary_components.ai.hooks.steps import AgentStep, ModelStep
    from catenary_components.ai.messages import ChatMessage

_logger = logging.getLogger(__name__)

NOTHING: Final = "NOTHING"
PROMPT: Final = f"""You keep the memory of an assistant. From a conversation, write down what will be worth knowing in
others: facts about the user and their work, wishes and decisions, names, places and numbers that stay true.

One fact a line, each beginning with "- ", each understandable by itself, in the language of the conversation. No
advice, nothing that holds for this moment only. Answer {NOTHING} when there is no such fact. Do not answer what is
asked in the conversation."""

_MOST_TEXT: Final = 100_000
_MOST_FOUND: Final = 50
_MOST_BYTES: Final = 4_000_000


class MemoryOptions(PathOptions):
    """Settings of the hook `memory`."""

    folder: str = option("memory", help="Where the files are, below `workDir`: one a day, and `sessions/`.")
    facts: bool = option(True, help="Whether the model is asked for facts, which go to the file of the day.")
    offload: bool = option(
        True, help="Whether messages that leave a conversation go to a file of their session, whole."
    )
    each_run: bool = option(
        False, help="Whether facts are looked for at the end of each run, too: one more model call."
    )
    keep_days: int = option(90, ge=0, unit="days", help="How long the file of a day is kept; 0 for ever.")
    keep_session_days: int = option(
        180, ge=0, unit="days", help="How long the messages of a session are kept to which none comes; 0 for ever."
    )
    prompt: str = option("", help="What the model is told that looks for facts, in place of the usual text.")


class Memory(FolderHook[MemoryOptions]):
    """Keeps what leaves a conversation when it is made shorter: facts in a file of the day, messages in another.

    What cannot be kept is told in the log, and the run goes on. When something is kept, files that are too old go.
    Agents with this hook have a tool `memory_search`.
    """

    order = 5
    config_type = MemoryOptions
    _sweeper = Sweeper(0, 0)

    def new(self, ctx: Context) -> Self:
        """Give the instance of an agent. Raises: ValueError: when its folder may not be used."""
        made = super().new(ctx)
        made.tools = (made.memory_search,)
        made._sweeper = Sweeper(self._config.keep_days, self._config.keep_session_days)
        return made

    async def around_summary(self, step: ModelStep, proceed: Proceed) -> None:
        """Keep what a summary has taken the place of."""
        before = list(step.messages)
        await proceed()
        if step.purpose != "compaction":
            return
        left = {message.id for message in step.messages}
        gone = [message for message in before if message.id not in left and not is_summary(message)]
        if gone and self._config.offload:
            lines = "".join(f"{encodable(dumps(message_to_json(message)))}\n" for message in gone)
            await self._append(step, f"{SESSIONS}/{_session(step)}.jsonl", lines)
        if gone and self._config.facts:
            await self._keep_facts(step, gone)

    async def after_agent(self, step: AgentStep) -> None:
        """Keep facts of the run."""
        starts = run_starts(step.messages)
        if self._config.each_run and self._config.facts and starts and not step.state.stop:
            await self._keep_facts(step, [one for one in step.messages[starts[-1] :] if not is_summary(one)])

    async def memory_search(self, words: str, ctx: Context) -> str:
        """Look for words in what was kept of earlier conversations.

        Args:
            words: Lines that have all of these words are found.
            ctx: The context of the call.
        """
        policy = self._policy
        wanted = words.lower().split()
        if policy is None or not wanted:
            return "Say which words to look for."
        found = await asyncio.to_thread(_found, policy.for_run(ctx), self._config.folder, wanted)
        return "\n".join(found) or "Nothing was kept about that."

    async def _keep_facts(self, step: ModelStep | AgentStep, messages: Sequence[ChatMessage]) -> None:
        from catenary_components.ai.phases.aside import ask_aside

        text, prompt = transcript(messages)[-_MOST_TEXT:], self._config.prompt or PROMPT
        message = step.run.message
        try:
            said = await ask_aside(
                step.ctx, message, step.setup, step.state, prompt=prompt, text=text, purpose="memory"
            )
        except ModelError as error:
            _logger.warning("facts of a conversation were not kept: %s", error, extra={"node": step.ctx.node_id})
            return
        facts = said.strip()
        if facts and facts.strip(".").upper() != NOTHING:
            day = datetime.fromtimestamp(step.time_ms / 1000, UTC)
            await self._append(step, f"{day:%Y-%m-%d}.md", f"{facts}\n")

    async def _append(self, step: ModelStep | AgentStep, name: str, text: str) -> None:
        if self._policy is None:
            return
        policy = self._policy.for_run(step.ctx)
        path = f"{self._config.folder}/{name}"
        try:
            await asyncio.to_thread(_append, policy, path, text)
            if self._sweeper.is_due(step.time_ms):
                await asyncio.to_thread(self._sweeper.sweep, policy, self._config.folder, step.time_ms)
        except (OSError, PathEscape, ToolFailure) as error:
            _logger.warning("what left a conversation was not kept: %s", error, extra={"node": step.ctx.node_id})
            return
        step.publish("memory.kept", path=path, characters=len(text))


def _session(step: ModelStep) -> str:
    name = quote(step.state.session_id or step.ctx.node_id, safe="").replace(".", "%2E")
    return name[:100]


def _append(policy: PathPolicy, path: str, text: str) -> None:
    real = Path(policy.resolve(path, writes=True))
    with policy.folder(str(real.parent), make=True) as folder:
        handle = open_beneath(folder, real.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)


def _found(policy: PathPolicy, folder: str, wanted: Sequence[str]) -> list[str]:
    found = [
        f"{name}: {line}"
        for name in _days(policy, folder)
        for line in _lines(policy, f"{folder}/{name}")
        if all(word in line.lower() for word in wanted)
    ]
    return found[:_MOST_FOUND]


def _days(policy: PathPolicy, folder: str) -> Iterator[str]:
    """Give the files of days, the newest first."""
    try:
        names = [path.name for path in Path(policy.resolve(folder)).iterdir()]
    except (OSError, PathEscape, ToolFailure):
        return
    yield from sorted((name for name in names if name.endswith(".md")), reverse=True)


def _lines(policy: PathPolicy, name: str) -> list[str]:
    try:
        with policy.opened(policy.resolve(name)) as handle:
            return os.read(handle, _MOST_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, PathEscape, ToolFailure):
        return []
