"""`bash`: commands of a shell, read before they are run, bounded, and ended with all that they started."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from catenary.component import option
from catenary.errors import ResourceError, TooSlow
from catenary.processes import ProgramOptions, clean_environment, run_program
from catenary_components.ai.tools.builtin.base import Arguments, ToolFailure, ToolSettingError
from catenary_components.ai.tools.builtin.files import FileTool, write_bytes
from catenary_components.ai.tools.builtin.paths import PathOptions, PathPolicy
from catenary_components.ai.tools.builtin.plain import PLAIN_COMMANDS, PLAIN_TIMEOUT_S, PlainShell
from catenary_components.ai.tools.builtin.shell.calls import SHELLS
from catenary_components.ai.tools.builtin.shell.judge import ShellRules, danger
from catenary_components.ai.tools.builtin.shell.lists import DEFAULT_ALLOW, DEFAULT_DENY, DEFAULT_DENY_ARGS
from catenary_components.ai.tools.builtin.shell.output import asks_for_raw, cleaned, redacted, shortened
from catenary_components.ai.tools.threads import in_thread
from catenary_components.ai.tools.tool import ToolVerdict

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary_components.ai.tools.builtin.base import Workplace

MAX_TIMEOUT_S: Final = 480.0
"""Longest time that a command may have."""

OUTPUT_FOLDER: Final = ".tool-output"
"""Where below the work directory complete outputs are kept."""

_SPECIAL: Final = re.compile(r"[^\w*?\[\]./:=,+-]")
_RULE: Final = "-" * 40
_MIB: Final = 1024 * 1024
_MOST_READ_BYTES: Final = 10 * _MIB
_MOST_OF_END_BYTES: Final = _MIB
_ENDED_BY_TIME: Final = -1


class BashConfig(PathOptions):
    """Settings of `bash`."""

    timeout: float = option(
        60.0, gt=0, le=MAX_TIMEOUT_S, unit="seconds", help="Longest time when the model names none."
    )
    max_output_size: int = option(
        50_000, ge=100, unit="characters", help="Longest output given to the model, of each of the two outputs."
    )
    mode: Literal["allow", "deny"] = option(
        "allow",
        help="`allow` runs the commands of the list `allow` only; `deny` runs all but those of the list `deny`.",
    )
    allow: list[str] = option(
        [], help="Commands that may be run, by name or path, in place of the usual list.", examples=[["ls", "cat"]]
    )
    deny: list[str] = option([], help="Commands that are never run, in place of the usual list.")
    deny_args: list[str] = option([], help="Parts of commands that are never run, in place of the usual list.")
    shell: bool = option(
        True, help="False has no shell: one command of a short list, cut at blanks, whose paths are looked at."
    )
    shell_path: str = option("", help="The shell, `bash` or a POSIX `sh`; the first that is found if empty.")
    environment: list[str] = option([], help="Names of further variables of this process that commands get.")
    cpu_limit: int = option(0, ge=0, unit="seconds", help="Processor time of each program; 0 for as much as `timeout`.")
    memory_limit: int = option(0, ge=0, unit="MiB", help="Address space of each program; 0 for no limit.")
    file_limit: int = option(1024, ge=1, unit="MiB", help="Largest file that may be written, the output included.")
    process_limit: int = option(0, ge=0, help="Processes of this user, all together; 0 for no limit.")


class BashArguments(Arguments):
    """What is run."""

    command: str = Field(min_length=1, description="The command, as one types it into a shell.")
    args: list[str] = Field([], description="Further arguments; each is passed as it is.")
    work_dir: str = Field("", description="Where it runs, relative to the work directory.")
    timeout: float | None = Field(None, gt=0, description="Longest time in seconds, at most 480.")


@dataclass(frozen=True, slots=True)
class _Output:
    """What a command wrote, or, of very much, the beginning and the end."""

    text: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class _Ran:
    """How a command ended: its exit status, what went wrong with running it, and its outputs."""

    code: int
    error: str
    stdout: _Output
    stderr: _Output


class Bash(FileTool[BashConfig, BashArguments]):
    """Run a command in a shell and get its exit code and output. Pipes, redirections, substitutions and loops work.

    Every program in it must be allowed. A command that cannot be read for certain is refused: write it more simply.
    Files are better read and changed with the file tools. A trailing # raw gives the output as it is.
    """

    name = "bash"
    config_type = BashConfig
    arguments_type = BashArguments
    is_serial = True
    main_argument = "command"
    timeout_s = MAX_TIMEOUT_S + 20

    def __init__(self, config: BashConfig, workplace: Workplace) -> None:
        super().__init__(config, workplace)
        self._plain = PlainShell(config.allow or PLAIN_COMMANDS) if not config.shell else None
        self._shell = _find_shell(config.shell_path) if config.shell else ""
        self._rules = ShellRules(
            mode=config.mode,
            allow=tuple(config.allow) or DEFAULT_ALLOW,
            deny=tuple(config.deny) or DEFAULT_DENY,
            deny_args=tuple(config.deny_args) or DEFAULT_DENY_ARGS,
            is_bash=SHELLS.get(Path(self._shell).name, False),
        )

    def check_permission(self, arguments: BashArguments) -> ToolVerdict | None:
        """Refuse what the lists refuse, and ask for what is dangerous."""
        if self._plain is not None:
            return None
        text = _text_of(arguments)
        if refusal := self._rules.refusal(text):
            return ToolVerdict("deny", refusal)
        if found := danger(text, is_bash=self._rules.is_bash, allowed=self.config.allow):
            return ToolVerdict("ask", f"dangerous command: {found}")
        return None

    def text_for_rules(self, arguments: BashArguments) -> str:
        """Give the whole text; without a shell all in it is escaped but patterns, the only things with a meaning."""
        text = _text_of(arguments)
        return " ".join(_SPECIAL.sub(r"\\\g<0>", word) for word in text.split()) if self._plain is not None else text

    def folder_of(self, ctx: Context, arguments: BashArguments) -> str:
        """Give the folder that the command runs in."""
        work = self.policy.for_run(ctx).work
        return str(Path(work, arguments.work_dir)) if self._plain is None else work

    async def run(self, ctx: Context, arguments: BashArguments) -> str:
        """Run the command."""
        if not arguments.command.strip():
            raise ToolFailure("Missing command - name what to run")
        policy = self.policy.for_run(ctx)
        if self._plain is not None:
            return await self._plain.run(policy, _text_of(arguments), min(self.config.timeout, PLAIN_TIMEOUT_S))
        text = _text_of(arguments)
        if refusal := self._rules.refusal(text):
            raise ToolFailure(f"Permission denied - {refusal}")
        folder = _work_folder(policy, arguments.work_dir)
        start = time.monotonic()
        timeout = min(arguments.timeout or self.config.timeout, MAX_TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="catenary-bash-") as outputs:
            ran = await self._ran(text, folder, Path(outputs), timeout)
        duration = round((time.monotonic() - start) * 1000)
        return await in_thread(self._told, policy, folder, duration, ran, asks_for_raw(text))

    async def _ran(self, text: str, folder: str, outputs: Path, timeout: float) -> _Ran:
        out, err = outputs / "out", outputs / "err"
        command = [self._shell, "-c", self._limits(timeout), self._shell, text, str(out), str(err)]
        options = ProgramOptions(
            folder=Path(folder),
            environment={**clean_environment(self.config.environment), "PWD": folder},
            timeout_s=timeout,
            max_output_bytes=None,
        )
        code, error = _ENDED_BY_TIME, ""
        try:
            ended = await run_program(command, options)
            code, error = ended.code, ended.text if ended.code < 0 else ""
        except TooSlow:
            error = f"the command took longer than {timeout:g} s and was ended with all that it started"
        except ResourceError as failed:
            raise ToolFailure(f"Cannot run - {failed}") from failed
        return _Ran(code, error, await in_thread(_read, out), await in_thread(_read, err))

    def _limits(self, timeout: float) -> str:
        """Give what the shell does before it becomes the one that runs the command."""
        config, unit = self.config, 1024 if self._rules.is_bash else 512
        limits = ["-c 0", f"-t {config.cpu_limit or int(timeout) + 1}", f"-f {config.file_limit * _MIB // unit}"]
        limits += [f"-v {config.memory_limit * 1024}"] if config.memory_limit else []
        limits += [f"-{'u' if self._rules.is_bash else 'p'} {config.process_limit}"] if config.process_limit else []
        set_limits = "".join(f"ulimit {limit} || exit 126; " for limit in limits)
        options = " --norc --noprofile" if self._rules.is_bash else ""
        return f'{set_limits}exec >"$2" 2>"$3"; exec "$0"{options} -c "$1"'

    def _told(self, policy: PathPolicy, folder: str, duration: int, ran: _Ran, is_raw: bool) -> str:
        """Give the result as the model gets it."""
        lines = [f"Work Dir: {folder}", f"Duration: {duration}ms", f"Exit Code: {ran.code}"]
        lines += [f"Error: {ran.error}"] if ran.error else []
        lines.append(_RULE)
        for name, output in (("stdout", ran.stdout), ("stderr", ran.stderr)):
            lines += self._told_output(policy, name, output, is_raw) if output.text else []
        if not ran.stdout.text and not ran.stderr.text:
            lines.append("(no output)")
        return "\n".join(lines)

    def _told_output(self, policy: PathPolicy, name: str, output: _Output, is_raw: bool) -> list[str]:
        safe = redacted(output.text)
        shown = shortened(safe, self.config.max_output_size, str if is_raw else cleaned)
        lines = [f"{name}:", shown.text]
        if shown.is_cut:
            kept = f"{OUTPUT_FOLDER}/{uuid.uuid4().hex[:12]}.{name}.txt"
            how_much = "all of it is" if output.is_whole else "its first 10 MiB and its end are"
            try:
                write_bytes(policy, policy.resolve(f"{policy.work}/{kept}"), safe.encode("utf-8", "replace"))
                lines.append(f"(the output is cut; {how_much} in the file {kept})")
            except Exception as error:
                lines.append(f"(the output is cut; it could not be kept: {error})")
        return lines


def _text_of(arguments: BashArguments) -> str:
    return " ".join([arguments.command, *map(shlex.quote, arguments.args)])


def _work_folder(policy: PathPolicy, path: str) -> str:
    if ".." in Path(path).parts:
        raise ToolFailure(f"Invalid work_dir - {path} must not have .. in it")
    folder = policy.resolve(path or policy.work)
    if not Path(folder).is_dir():
        raise ToolFailure(f"Invalid work_dir - there is no folder {path or folder}")
    return folder


def _find_shell(path: str) -> str:
    wanted = [path] if path else ["bash", "sh"]
    found = next((place for name in wanted if (place := shutil.which(name))), None)
    if found is None:
        raise ToolSettingError("shellPath", f"there is no shell {' or '.join(wanted)}")
    if Path(found).name not in SHELLS:
        raise ToolSettingError("shellPath", f"{path} is not known; it must be one of {', '.join(SHELLS)}")
    return found


def _read(path: Path) -> _Output:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_MOST_READ_BYTES)
            end = max(len(head), size - _MOST_OF_END_BYTES)
            file.seek(end)
            tail = file.read(_MOST_OF_END_BYTES)
    except FileNotFoundError:
        return _Output("")
    left_out = end - len(head)
    gap = f"\n... ({left_out} bytes left out) ...\n" if left_out else ""
    return _Output(f"{head.decode('utf-8', 'replace')}{gap}{tail.decode('utf-8', 'replace')}", is_whole=not left_out)
