"""`write`: new files, whole new contents, and additions at the end."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from catenary.component import option
from catenary_components.ai.tools.builtin.base import Arguments, ToolFailure
from catenary_components.ai.tools.builtin.diagnostics import DiagnosticOptions, diagnosed
from catenary_components.ai.tools.builtin.files import FileTool, told, write_bytes
from catenary_components.ai.tools.builtin.locks import file_lock
from catenary_components.ai.tools.builtin.paths import PathPolicy, open_beneath
from catenary_components.ai.tools.threads import check_stopped, in_thread

if TYPE_CHECKING:
    from catenary.component import Context

_RULE: Final = "-" * 40


class WriteConfig(DiagnosticOptions):
    """Settings of `write`."""

    max_file_size: int = option(
        10 * 1024 * 1024, ge=0, unit="bytes", help="Largest file that may be written; 0 for no limit."
    )


class WriteArguments(Arguments):
    """What is written."""

    path: str = Field(description="The file.")
    content: str = Field(description="What is written; must not be empty.")
    mode: Literal["create", "overwrite", "append"] = Field(
        "create",
        description="create makes a file and fails if there is one, overwrite takes its place, append adds at its end.",
    )


class Write(FileTool[WriteConfig, WriteArguments]):
    """Write a text file, whole or not at all; missing folders are made. To change a part of a file, use edit."""

    name = "write"
    config_type = WriteConfig
    arguments_type = WriteArguments
    is_serial = True
    main_argument = "path"

    async def run(self, ctx: Context, arguments: WriteArguments) -> str:
        """Write."""
        policy = self.policy.for_run(ctx)
        real, text = await in_thread(self._write, policy, arguments)
        return text + await diagnosed(self.config.diagnostics, policy, real)

    def _write(self, policy: PathPolicy, arguments: WriteArguments) -> tuple[str, str]:
        if not arguments.content:
            raise ToolFailure("Missing content - an empty file cannot be written")
        real = policy.resolve(arguments.path, writes=True)
        content = encoded(arguments.content)
        if arguments.mode == "append":
            content = encoded(self._addition(arguments.content))
        if self.config.max_file_size and len(content) > self.config.max_file_size:
            raise ToolFailure(f"Content too large - {len(content)} bytes, at most {self.config.max_file_size}")
        shown = policy.shown(real)
        with file_lock(real), told(arguments.path):
            if arguments.mode == "append":
                self._append(policy, real, content)
                return real, f"Appended {len(content)} bytes to {shown}"
            try:
                write_bytes(policy, real, content, is_new=arguments.mode == "create")
            except FileExistsError as error:
                raise ToolFailure(f"File exists - {shown}; use mode overwrite or append, or the tool edit") from error
        return real, f"Wrote {len(content)} bytes to {shown}"

    def _addition(self, content: str) -> str:
        now = datetime.fromtimestamp(self.workplace.clock.time_ms() / 1000).astimezone()
        return f"\n{_RULE}\nTime: {now:%Y-%m-%d %H:%M:%S}\n{_RULE}\n{content}\n"

    def _append(self, policy: PathPolicy, real: str, content: bytes) -> None:
        with policy.folder(str(Path(real).parent), make=True) as folder:
            handle = open_beneath(folder, Path(real).name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with os.fdopen(handle, "ab") as file:
                size = os.fstat(handle).st_size + len(content)
                if self.config.max_file_size and size > self.config.max_file_size:
                    raise ToolFailure(f"Content too large - {size} bytes, at most {self.config.max_file_size}")
                check_stopped()
                file.write(content)


def encoded(text: str) -> bytes:
    """Give a text as UTF-8. Raises: ToolFailure: when it has characters that are none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure(f"Invalid content - character {error.start + 1} is half of a surrogate pair") from error
