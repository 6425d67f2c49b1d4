"""`edit`: parts of text files changed, with the versions before kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from pydantic import Field

from catenary.component import option
from catenary.jsontext import loads
from catenary_components.ai.messages import ToolCall
from catenary_components.ai.state import AgentState
from catenary_components.ai.tools.builtin.backups import Backups
from catenary_components.ai.tools.builtin.base import Arguments, ToolFailure
from catenary_components.ai.tools.builtin.diagnostics import DiagnosticOptions, diagnosed
from catenary_components.ai.tools.builtin.files import FileTool, is_binary, read_bytes, told, write_bytes
from catenary_components.ai.tools.builtin.locks import file_lock
from catenary_components.ai.tools.builtin.paths import PathEscape, PathPolicy
from catenary_components.ai.tools.builtin.replacing import Replacing
from catenary_components.ai.tools.builtin.texts import FileText
from catenary_components.ai.tools.builtin.write import encoded
from catenary_components.ai.tools.threads import in_thread

if TYPE_CHECKING:
    from catenary.component import Context

READ_WITHIN: Final = 20
"""Messages within which a file must have been read, in a session."""

_SHOWN_LINES: Final = 12
_AROUND: Final = 2


class EditConfig(DiagnosticOptions):
    """Settings of `edit`."""

    max_history: int = option(10, ge=0, help="Versions kept of each file, in `.history` of the work directory.")


class EditArguments(Arguments):
    """What is changed."""

    path: str = Field(description="The file.")
    operation: Literal["line", "search", "insert", "delete", "restore", "list_backups"] | None = Field(
        None, description="What to do; guessed from the other arguments if absent."
    )
    search: str | None = Field(None, description="Text to find, to the letter, blanks included; must be unique.")
    replace: str | None = Field(None, description="What takes its place; empty removes it.")
    everywhere: bool = Field(False, alias="global", description="True changes all places.")
    use_regex: bool = Field(False, description="True reads search as a regular expression.")
    line_number: int | None = Field(None, ge=1, description="For line: the line that new_content takes the place of.")
    new_content: str | None = Field(None, description="For line and insert: the new line or lines.")
    insert_after: int | None = Field(None, ge=0, description="For insert: behind this line; 0 is the top.")
    insert_before: int | None = Field(None, ge=1, description="For insert: in front of this line.")
    delete_lines: str | int | list[int] | None = Field(None, description="For delete: lines, as in 3, 5-8 or 1,4-6.")
    version: int | None = Field(None, ge=1, description="For restore: the backup; the latest if absent.")


class Edit(FileTool[EditConfig, EditArguments]):
    """Change a part of a text file: replace a text that is unique in it, or a line, insert or delete lines.

    Read the file first. Lines count from 1. Each version before is kept: operation restore brings it back.
    """

    name = "edit"
    config_type = EditConfig
    arguments_type = EditArguments
    is_serial = True
    main_argument = "path"

    async def run(self, ctx: Context, arguments: EditArguments) -> str:
        """Edit."""
        policy = self.policy.for_run(ctx)
        real = await in_thread(lambda: policy.resolve(arguments.path, writes=True))
        operation = arguments.operation or _guessed(arguments)
        if operation == "list_backups":
            return await in_thread(self._listed, policy, real)
        if operation != "restore":
            _check_was_read(ctx, policy, real)
        text = await in_thread(self._edited, policy, real, operation, arguments)
        return text + await diagnosed(self.config.diagnostics, policy, real)

    def _listed(self, policy: PathPolicy, real: str) -> str:
        versions = Backups(policy, real, self.config.max_history).versions()
        if not versions:
            return f"There are no backups of {policy.shown(real)}"
        return f"Backups of {policy.shown(real)}, the latest last: {', '.join(map(str, versions))}"

    def _edited(self, policy: PathPolicy, real: str, operation: str, arguments: EditArguments) -> str:
        backups = Backups(policy, real, self.config.max_history)
        with file_lock(real), told(arguments.path):
            before = read_bytes(policy, real)
            if operation == "restore":
                version, content = backups.read(arguments.version)
                if content == before:
                    raise ToolFailure(f"Nothing to do - the file is as version {version} has it")
                backups.add(before)
                write_bytes(policy, real, content)
                return f"Restored version {version} of {policy.shown(real)}"
            if is_binary(real, before):
                raise ToolFailure(f"Binary file - {policy.shown(real)} is not text and cannot be edited")
            text = FileText(before)
            changed, what = _changed(text.plain, operation, arguments)
            if changed == text.plain:
                raise ToolFailure("Nothing to do - the file would not change")
            backups.add(before)
            write_bytes(policy, real, text.changed(changed))
        return f"Edited {policy.shown(real)}: {what}\n{_region(text.plain, changed)}"


def _guessed(arguments: EditArguments) -> str:
    if arguments.search is not None:
        return "search"
    if arguments.delete_lines is not None:
        return "delete"
    if arguments.insert_after is not None or arguments.insert_before is not None:
        return "insert"
    if arguments.line_number is not None:
        return "line"
    raise ToolFailure("Missing operation - give search and replace, or another operation with what it needs")


def _changed(text: str, operation: str, arguments: EditArguments) -> tuple[str, str]:
    """Give the changed text, and what was done in words."""
    if operation == "search":
        return _searched(text, arguments)
    ends = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    if operation == "delete":
        numbers = _numbers(arguments.delete_lines, len(lines))
        kept = [line for at, line in enumerate(lines, 1) if at not in numbers]
        return _joined(kept, ends=ends), f"{len(numbers)} lines deleted"
    new = encoded(arguments.new_content or "").decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    if arguments.new_content is None:
        raise ToolFailure("Missing new_content - give the new line or lines")
    if operation == "line":
        at = arguments.line_number
        if at is None or at > len(lines):
            raise ToolFailure(f"Invalid line_number - the file has {len(lines)} lines")
        return _joined([*lines[: at - 1], *new, *lines[at:]], ends=ends), f"line {at} replaced"
    at = arguments.insert_after if arguments.insert_after is not None else (arguments.insert_before or 0) - 1
    if not 0 <= at <= len(lines):
        raise ToolFailure(f"Invalid place - give insert_after or insert_before; the file has {len(lines)} lines")
    return _joined([*lines[:at], *new, *lines[at:]], ends=ends or not lines), f"{len(new)} lines inserted"


def _searched(text: str, arguments: EditArguments) -> tuple[str, str]:
    if not arguments.search:
        raise ToolFailure("Missing search - give the text to find")
    if arguments.replace is None:
        raise ToolFailure("Missing replace - give what takes its place; empty text removes it")
    search, replace = (one.replace("\r\n", "\n") for one in (arguments.search, encoded(arguments.replace).decode()))
    replacing = Replacing(search, replace, arguments.everywhere, arguments.use_regex)
    changed, places = replacing.applied(text)
    return changed, f"replaced at {places} place{'s' if places > 1 else ''}"


def _numbers(given: str | int | list[int] | None, most: int) -> set[int]:
    """Give the lines that `3`, `5-8`, `1,4-6` or a list stand for."""
    parts = given if isinstance(given, list) else str("" if given is None else given).split(",")
    numbers: set[int] = set()
    for part in parts:
        first, _, last = str(part).strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ToolFailure("Invalid delete_lines - give lines as in 3, 5-8 or 1,4-6")
        start, end = int(first), int(last or first)
        if not 1 <= start <= end <= most:
            raise ToolFailure(f"Invalid delete_lines - {part} is not there; the file has {most} lines")
        numbers |= set(range(start, end + 1))
    return numbers


def _joined(lines: list[str], *, ends: bool) -> str:
    return "\n".join(lines) + ("\n" if ends and lines else "")


def _region(before: str, after: str) -> str:
    """Give the lines that changed, with two around them."""
    old, new = before.split("\n"), after.split("\n")
    first = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    same = 0
    while same < min(len(old), len(new)) - first and old[-1 - same] == new[-1 - same]:
        same += 1
    start, end = max(first - _AROUND, 0), min(len(new) - same + _AROUND, len(new))
    shown = [f"{at + 1}: {new[at][:500]}" for at in range(start, end)]
    if len(shown) > _SHOWN_LINES:
        shown = [*shown[: _SHOWN_LINES // 2], "...", *shown[-_SHOWN_LINES // 2 :]]
    return "\n".join(shown).encode("utf-8", "replace").decode()


def _check_was_read(ctx: Context, policy: PathPolicy, real: str) -> None:
    """Refuse to edit, in a session, what the model has not seen of late."""
    state = ctx.scope.get(AgentState)
    if state is None or not state.session_id:
        return
    for message in state.messages[-READ_WITHIN:]:
        for block in message.blocks:
            if isinstance(block, ToolCall) and block.name in ("read", "write") and _names(block, policy, real):
                return
    raise ToolFailure(f"Read first - {policy.shown(real)} was not read within the last {READ_WITHIN} messages")


def _names(call: ToolCall, policy: PathPolicy, real: str) -> bool:
    """Tell whether a call was for this file."""
    try:
        arguments = loads(call.arguments or "{}")
        path = str(cast("dict[str, object]", arguments).get("path", "")) if isinstance(arguments, dict) else ""
        return bool(path) and policy.resolve(path) == real
    except (ValueError, PathEscape, ToolFailure):
        return False
