"""The settings of who may run what, and of how people are asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import field_validator

from catenary.component import Config, option
from catenary.expr import Expression  # noqa: TC001 - read by pydantic
from catenary.expr.regex import PatternError
from catenary_components.ai.permission.checks import Category, Check, Severity
from catenary_components.ai.permission.dangerous import FILES, FOLDERS, Dangers
from catenary_components.ai.permission.rules import Behavior, Mode, Rule, read_rule
from catenary_components.ai.permission.standard_checks import STANDARD


class RuleOption(Config):
    """One rule about calls of tools."""

    tool: str = option(help="The name of a tool; `*` and `?` stand for any letters.", examples=["bash"])
    match: str = option(
        "",
        help="A pattern for the tool's main argument (`*`, `?`, `[...]`): each command of a shell text, a path, an "
        "address; for a tool without one, all arguments as JSON. Empty for every call.",
        examples=["git *", "src/*", "https://a.example/*"],
    )
    when: Expression | None = option(
        None, help="A condition on the arguments, which are `msg`.", examples=["msg.amount > 100"]
    )


class CheckOption(Config):
    """One check of arguments; with the id of one that comes with it, what is set changes that one."""

    id: str = option(min_length=1, help="Its name.", examples=["sql.drop"])
    pattern: list[str] | str | None = option(
        None,
        help="A regular expression, or several that are all found: in an argument, or in a program of a shell text.",
    )
    exclude: str | None = option(None, help="A regular expression; what it is found in is no finding.")
    tool: str | None = option(None, help="The name of a tool, `*` and `?` for any letters; absent, every tool.")
    parameter: str | None = option(None, help="The argument that is looked at; absent, all of them.")
    title: str | None = option(None, help="What it finds, in words.")
    remedy: str | None = option(None, help="What to do instead; the model is told.")
    category: Category | None = option(None, help="The kind of danger; secrets are masked where findings are shown.")
    severity: Severity | None = option(
        None, help="How bad it is: `critical` is denied, `high` and `medium` are asked about, `low` and `info` noted."
    )
    decision: Behavior | None = option(None, help="What becomes of the call, whatever the severity.")
    enabled: bool = option(True, help="Whether it is there at all.")

    def laid_over(self, below: Check | None) -> Check:
        """Give the check, with what is absent from the one it changes. Raises: ValueError: when it has no pattern."""
        patterns = (self.pattern,) if isinstance(self.pattern, str) else tuple(self.pattern or ())
        if not patterns and below is None:
            raise ValueError(f"the check {self.id!r} needs a pattern: none that comes with it has this id")
        told = self.model_dump(exclude_none=True, exclude={"id", "pattern", "enabled"})
        made = replace(below or Check(self.id, patterns), **told)
        made = replace(made, patterns=patterns or made.patterns)
        try:
            made.compile()
        except PatternError as error:
            raise ValueError(f"the pattern of the check {self.id!r}: {error}") from None
        return made


class PermissionOptions(Config):
    """Who may run what. Of all that is about a call, the first of these decides: deny, ask, the tool, allow, mode."""

    mode: Mode = option(
        "listed",
        help="What becomes of calls that no rule is about. `listed`, `bypass`: they run. `default`: those that change "
        "nothing run, others are asked about. `accept_edits`: the same, and files in the working folders may be "
        "changed. `explore`: nothing may be changed. `dont_ask`: what would be asked about is refused.",
    )
    allow: list[RuleOption | str] = option([], help="What may run.", examples=[["bash(git *)", "read"]])
    ask: list[RuleOption | str] = option([], help="What is asked about.")
    deny: list[RuleOption | str] = option([], help="What never runs, whoever says so.")
    working_directories: list[str] = option(
        [], help="Folders in which `accept_edits` lets files be changed; the folder of the tool if empty."
    )
    dangerous_files: list[str] = option(
        list(FILES), help="Files that are asked about in every mode: names, ends of paths, or whole paths."
    )
    dangerous_folders: list[str] = option(list(FOLDERS), help="Names of folders that are asked about in every mode.")
    checks: list[CheckOption | Literal["builtin"]] = option(
        [],
        help="What is looked for in the arguments of each call: `builtin` for the checks that come with it, objects "
        "for others and for changes; the strictest finding decides.",
        examples=[["builtin", {"id": "git.force-push", "decision": "deny"}]],
    )
    guard: str = option(
        "", help="A chain that looks at each call: its id, or a file. It gives JSON with `decision` and `reason`."
    )

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _know_rules(cls, value: list[RuleOption | str]) -> list[RuleOption | str]:
        for rule in value:
            if isinstance(rule, str):
                read_rule(rule)
        return value

    @field_validator("checks")
    @classmethod
    def _know_checks(cls, value: list[CheckOption | Literal["builtin"]]) -> list[CheckOption | Literal["builtin"]]:
        _checks(value)
        return value

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """All checks."""
        return _checks(self.checks)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules."""
        return (*_rules(self.deny, "deny"), *_rules(self.ask, "ask"), *_rules(self.allow, "allow"))

    @property
    def dangers(self) -> Dangers:
        """The lists of dangerous files and folders."""
        return Dangers(self.dangerous_files, self.dangerous_folders)


class PermissionSetting(Config):
    """The options of an agent that are about permission and questions."""

    permission: PermissionOptions | Mode | None = option(
        None,
        help="Who may run what: a mode, or an object. Without it all listed tools run, and dangerous files and "
        "commands are asked about.",
        examples=["default", {"mode": "default", "allow": ["bash(git *)"], "deny": ["bash(git push*)"]}],
    )
    after_denial: Literal["tell_model", "end"] = option(
        "tell_model", help="What happens when somebody denies a call: the model is told, or the agent ends."
    )
    approvers: list[str] = option([], help="People and roles who may answer questions; everybody if empty.")
    approval_timeout: int = option(30 * 60_000, gt=0, unit="milliseconds", help="How long a question can be answered.")

    @property
    def permission_options(self) -> PermissionOptions | None:
        """The settings of permission; `None` when there are none."""
        if isinstance(self.permission, str):
            return PermissionOptions(mode=self.permission)
        return self.permission


def _checks(entries: list[CheckOption | Literal["builtin"]]) -> tuple[Check, ...]:
    found: dict[str, Check] = {}
    for entry in entries:
        if isinstance(entry, str):
            found |= {check.id: check for check in STANDARD}
        elif entry.enabled:
            found[entry.id] = entry.laid_over(found.get(entry.id))
        else:
            found.pop(entry.id, None)
    return tuple(found.values())


def _rules(entries: list[RuleOption | str], behavior: Behavior) -> list[Rule]:
    return [
        read_rule(entry, behavior=behavior)
        if isinstance(entry, str)
        else Rule(entry.tool, entry.match, entry.when, behavior)
        for entry in entries
    ]
