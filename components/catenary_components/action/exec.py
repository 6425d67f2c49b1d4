"""`exec`: run a program of this machine, if the engine allows it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import field_validator

from catenary import FAILURE, SUCCESS, Message, Template, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.errors import ConfigError, Refused, ResourceError, TemplateError
from catenary.expr.files import locate_folder
from catenary.expr.placeholders import split_parts
from catenary.processes import TAIL_BYTES, ProgramOptions, clean_environment, run_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary.processes import Ended, Heard

_WHITELIST: Final = "execNodeWhitelist"
_MODE: Final = "execNodeMode"
_DENY: Final = "execNodeDeny"
_DENY_ARGS: Final = "execNodeDenyArgs"
_ENVIRONMENT: Final = "execNodeEnv"
_MODES: Final = ("allow", "deny")
_BLANKS: Final = re.compile(r"\s+")
_QUOTES: Final = re.compile(r"[\"'`\\]")
_EVENTS: Final = {1: "log.info", 2: "log.error"}


class ExecConfig(Config):
    """Settings of one `exec` node."""

    cmd: Template = option("", help="The program: a name that is looked for in `PATH`, or a path.", examples=["git"])
    args: list[Template] = option(
        [],
        help="The arguments. Each is cut at blanks before its `${...}` are filled in, so that what is filled in stays "
        "one argument; one that begins with a quotation mark is not cut.",
        examples=[["log", "-n 5", "${msg.path}"]],
    )
    log: bool = option(
        False, help="Tell each line of the output as event `log.info`, of the error output as `log.error`."
    )
    replace_data: bool = option(
        False, help="Go on with the output as data, or with the error output if there is no other."
    )
    timeout_ms: int = option(
        600_000, ge=0, unit="milliseconds", help="Longest time; then the program is ended. 0 is no limit."
    )
    max_output_bytes: int = option(
        16 * 1024 * 1024,
        ge=1,
        unit="bytes",
        help="Most that the program may write with `replaceData`, to both outputs; then it is ended.",
    )

    @field_validator("args", mode="before")
    @classmethod
    def _cut(cls, args: Any) -> Any:
        if not isinstance(args, list):
            return args
        return [piece for arg in cast("list[Any]", args) for piece in (_pieces(arg) if isinstance(arg, str) else [arg])]


@register("exec", category="action", since="0.1", label="Run a program")
class Exec(Component[ExecConfig]):
    """Run a program of this machine and go on when it has ended.

    Which programs may be run, whoever runs the engine says by properties, all of them lists with commas: in the mode
    `allow` (`execNodeMode`, the default) those of `execNodeWhitelist` and no others; in the mode `deny` all. Those of
    `execNodeDeny` never, by whatever path or link they are called, nor any call that has one of the texts of
    `execNodeDenyArgs` in it; more blanks, quotes and backslashes do not hide it. For the whitelist the command is
    compared as it is written: `/bin/echo` is not `echo`. Without these properties nothing may run.

    There is no shell and no input. The program works in the folder of `workDir` in the metadata, which must be below
    the folders that the chain may read; without it in that of this process. Of the environment it gets `PATH`, `HOME`,
    the language and the like, and the variables that the property `execNodeEnv` names.

    An exit status other than 0 leaves by `Failure` with the error `exit status N`, `exitCode` and `stderr` (its last
    4 KiB) in the metadata, and the data as it was. What a program leaves running is ended with it, and so is all when
    the run is cancelled.
    """

    relations = (SUCCESS, FAILURE)
    examples = (
        Example(
            "the output becomes the data; `execNodeWhitelist` must have `echo`",
            config={"cmd": "echo", "args": ["-n hello", "${msg.name}"], "replaceData": True},
            inputs=[{"name": "Ann Lee"}],
            leaves_by=["Success"],
            data=["hello Ann Lee"],
            runs=False,
        ),
        Example("nothing may run unless the engine says so", config={"cmd": "ls"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def open(self, ctx: Context) -> None:
        """Look at the properties."""
        _Policy.of(ctx.properties)

    def preview(self, ctx: Any, msg: Message) -> Mapping[str, Json]:
        """Give the command."""
        return {"command": list(self._command(ctx, msg))}

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Run the program."""
        command = self._command(ctx, msg)
        if not command[0]:
            return fail("the option 'cmd' names no program", msg)
        policy = _Policy.of(ctx.properties)
        folder = _folder(ctx, msg)
        refusal = policy.refusal(command, folder)
        if refusal is not None:
            return fail(refusal, msg)
        options = ProgramOptions(
            folder=folder,
            environment=clean_environment(policy.environment),
            timeout_s=self.config.timeout_ms / 1000 or None,
            max_output_bytes=self.config.max_output_bytes if self.config.replace_data else None,
            heard=_teller(ctx) if self.config.log else None,
        )
        ended = await run_program(command, options)
        if ended.code:
            error = ended.stderr[-TAIL_BYTES:].decode("utf-8", "replace")
            return fail(ended.text, msg.put_all({"exitCode": str(ended.code), "stderr": error}))
        return (SUCCESS, _with_output(msg, ended)) if self.config.replace_data else SUCCESS

    def _command(self, ctx: Any, msg: Message) -> list[str]:
        return [self.config.cmd.render(msg, ctx).strip(), *[arg.render(msg, ctx) for arg in self.config.args]]


@dataclass(frozen=True, slots=True)
class _Policy:
    """What the properties of the engine say about programs."""

    allows_all: bool
    allowed: frozenset[str]
    denied: frozenset[str]
    denied_texts: frozenset[str]
    environment: frozenset[str]

    @classmethod
    def of(cls, properties: Mapping[str, Json]) -> _Policy:
        """Read the properties. Raises: ConfigError: when the mode is none."""
        mode = str(properties.get(_MODE) or "allow").strip()
        if mode not in _MODES:
            raise ConfigError(
                f"the property {_MODE} is {mode!r}, and must be one of {', '.join(_MODES)}",
                field=_MODE,
                hint=f"set it to 'allow' to run what {_WHITELIST} names, or to 'deny' to run all but {_DENY}",
            )
        lists = [_listed(properties.get(name)) for name in (_WHITELIST, _DENY, _DENY_ARGS, _ENVIRONMENT)]
        return cls(mode == "deny", *lists)

    def refusal(self, command: list[str], folder: Path | None) -> Refused | None:
        """Give why a command must not be run in a folder; `None` when it may be."""
        if self._denies(command[0], folder) or self._denies_text(" ".join(command)):
            return Refused("cmd is denied error", hint=f"{_DENY} or {_DENY_ARGS} of the engine's properties name it")
        if not self.allows_all and command[0] not in self.allowed:
            hint = (
                f"set the property {_WHITELIST} to what may run: --set global.{_WHITELIST}=NAME,... on the command line"
            )
            return Refused("cmd not allowed error", hint=hint)
        return None

    def _denies(self, program: str, folder: Path | None) -> bool:
        if not self.denied:
            return False
        denied = {name.casefold() for one in self.denied for name in (one, _place(Path(one)) if "/" in one else one)}
        return not denied.isdisjoint(name.casefold() for name in _names(program, folder))

    def _denies_text(self, whole: str) -> bool:
        forms = (whole, _BLANKS.sub(" ", whole), _BLANKS.sub(" ", _QUOTES.sub("", whole)))
        texts = self.denied_texts | {_BLANKS.sub(" ", text) for text in self.denied_texts}
        return any(text in form for text in texts for form in forms)


def _names(program: str, folder: Path | None) -> set[str]:
    """Give what a program may be denied by: as it is written, where it is, and where a link leads to."""
    found = program if "/" in program else shutil.which(program)
    places = {program}
    if found:
        path = (folder or Path()) / found
        places |= {_place(path), str(path.resolve())}
    return places | {Path(place).name for place in places}


def _place(path: Path) -> str:
    """Give a path without links to folders; what it names itself may be a link, as each program of a busybox is."""
    return str(path.parent.resolve() / path.name)


def _listed(value: Json) -> frozenset[str]:
    items = cast("list[Json]", value) if isinstance(value, list) else str(value or "").split(",")
    return frozenset(text for item in items if (text := str(item).strip()))


def _pieces(arg: str) -> list[str]:
    """Cut an argument at the blanks that are in no `${...}`."""
    if arg.startswith('"') or not arg:
        return [arg]
    try:
        parts = split_parts(arg)
    except TemplateError:  # it is told, with its place, when the whole is compiled
        return [arg]
    pieces = [""]
    for text, start, end in parts:
        head, *rest = _BLANKS.split(text)
        pieces[-1] += head
        pieces += rest
        if end >= 0:
            pieces[-1] += f"${{{arg[start:end]}}}"
    return [piece for piece in pieces if piece]


def _folder(ctx: Context, msg: Message) -> Path | None:
    """Give where the program works. Raises: ResourceError: when there is no such folder."""
    path = str(msg.metadata.get("workDir") or "").strip()
    if not path:
        return None
    found = locate_folder(path, ctx.chain.environment)
    if found is None:
        raise ResourceError(f"the folder {path!r} in the metadata `workDir` does not exist")
    return found


def _teller(ctx: Context) -> Heard | None:
    """Give what tells the lines to those who watch the run, if anybody does."""
    if not ctx.watched:
        return None
    return lambda fd, line: ctx.notify(_EVENTS[fd], text=line)


def _with_output(msg: Message, ended: Ended) -> Message:
    output = ended.stdout or ended.stderr
    return msg.with_data(output if msg.data_type == "BINARY" else output.decode("utf-8", "replace"))
