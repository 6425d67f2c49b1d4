"""The gate: every call of a tool goes through it before anything runs, whatever kind of tool it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from glob import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from catenary_components.ai.logbook import write
from catenary_components.ai.models.wire import as_list
from catenary_components.ai.permission.checks import findings_of, worst
from catenary_components.ai.permission.dangerous import Dangers
from catenary_components.ai.permission.rules import MODES, Behavior, Mode, Rule, RuleError, stored_rule
from catenary_components.ai.permission.subject import Subject, is_below
from catenary_components.ai.permission.trees import secret_below
from catenary_components.ai.tools.builtin.base import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.messages import ToolCall
    from catenary_components.ai.permission.checks import Check, Finding
    from catenary_components.ai.permission.guard import Guard
    from catenary_components.ai.state import AgentState
    from catenary_components.ai.tools.tool import Tool

LOG_LENGTH: Final = 200
"""How many decisions the record of an agent keeps."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call.

    Attributes:
        decision: Whether it is run, somebody is asked, or it is refused.
        reason: Why.
        by: What decided: `rule`, `check`, `guard`, `tool`, `danger`, `accepted` or `mode`.
        suggested: Rules that whoever is asked may accept, so that a call like this one passes later.
        findings: What checks have found in the call, whatever decided.
    """

    decision: Behavior
    reason: str
    by: str = "mode"
    suggested: tuple[Rule, ...] = ()
    findings: tuple[Finding, ...] = ()

    def facts(self) -> dict[str, Json]:
        """Give what checks have found, as JSON; nothing when they found nothing."""
        found: list[Json] = [finding.to_json() for finding in self.findings]
        return {"findings": found, "maxSeverity": worst(self.findings)} if found else {}


@dataclass(frozen=True, slots=True)
class Policy:
    """What the author of an agent has set.

    Attributes:
        mode: What becomes of calls that no rule is about.
        rules: The rules.
        working_directories: Folders in which `accept_edits` lets files be changed; the first one of the chain if none.
        dangers: Files and folders that are asked about.
        checks: What is looked for in arguments.
        guard: Looks at each call as well.
    """

    mode: Mode = "listed"
    rules: tuple[Rule, ...] = ()
    working_directories: tuple[str, ...] = ()
    dangers: Dangers = field(default_factory=Dangers)
    checks: tuple[Check, ...] = ()
    guard: Guard | None = None


class Gate:
    """Decides about calls: deny and ask rules with the checks, dangerous files, the tool itself, allow rules, the mode.

    Args:
        policy: What the author has set.
        base: The folder that paths are relative to.
    """

    def __init__(self, policy: Policy | None = None, base: str = "") -> None:
        self.policy = policy or Policy()
        self._notes_all = policy is not None
        self._base = base

    async def close(self) -> None:
        """Close the guard."""
        if self.policy.guard is not None:
            await self.policy.guard.close()

    async def judge(
        self, ctx: Context, state: AgentState, tool: Tool, call: ToolCall, arguments: Mapping[str, Json]
    ) -> Verdict:
        """Decide about a call, and write down what was decided.

        Args:
            ctx: The context of the phase.
            state: The record of the agent, which has what was accepted.
            tool: The tool.
            call: The call.
            arguments: Its arguments, which fit the tool.
        """
        mode = mode_of(state) or self.policy.mode
        subject = Subject(tool, arguments, _base_of(ctx, tool, arguments) or self._base)
        findings = findings_of(self.policy.checks, subject) if self.policy.checks else ()
        verdict = await self._decide(ctx, state, subject, mode, findings)
        if findings:
            verdict = replace(verdict, findings=findings)
        if verdict.decision == "ask" and mode == "dont_ask":
            reason = f"nobody may be asked (mode dont_ask): {verdict.reason}"
            verdict = replace(verdict, decision="deny", reason=reason, suggested=())
        self._record(ctx, state, call, verdict, mode)
        return verdict

    async def _decide(
        self, ctx: Context, state: AgentState, subject: Subject, mode: Mode, findings: Sequence[Finding]
    ) -> Verdict:
        found = findings[0] if findings else None
        rules = (*self.policy.rules, *accepted_rules(state))
        if denied := _stopping(subject, rules, "deny"):
            return Verdict("deny", f"denied by the rule {denied.text}", "rule")
        if found and found.check.behavior == "deny":
            return Verdict("deny", found.text, "check")
        guarded = await self.policy.guard.judge(ctx, state, subject) if self.policy.guard else None
        if guarded is not None and guarded.decision != "allow":
            return Verdict(guarded.decision, guarded.reason, "guard")
        if (asked := _stopping(subject, rules, "ask")) and not _was_accepted(subject, rules):
            return Verdict("ask", f"asked about by the rule {asked.text}", "rule", suggestions(subject))
        if found and found.check.behavior == "ask" and not _was_accepted(subject, rules):
            return Verdict("ask", found.text, "check", suggestions(subject))
        return self._of_tool(subject) or self._of_allow(subject, rules, mode) or self._of_mode(subject, mode)

    def _of_tool(self, subject: Subject) -> Verdict | None:
        """Ask the lists of dangerous things, and the tool itself; no rule and no mode goes before these."""
        own = subject.tool.check_permission
        said = own(subject.arguments) if own else None
        if said is not None and said.decision == "deny":
            return Verdict("deny", said.reason, "tool")
        for path in subject.paths():
            if found := self.policy.dangers.of_path(path, subject.base):
                return Verdict("ask", f"{path} is a dangerous place ({found})", "danger")
        for folder in subject.trees():
            if found := secret_below(self.policy.dangers, folder, subject.base):
                return Verdict("ask", f"all of {folder} is read, and in it is a dangerous place ({found})", "danger")
        try:
            for pattern in subject.patterns():
                if found := self.policy.dangers.of_pattern(pattern, subject.base):
                    return Verdict("ask", f"{pattern} may be a dangerous place ({found})", "danger")
        except ToolFailure as error:
            return Verdict("ask", f"what a pattern stands for cannot be told: {error}", "danger")
        return Verdict(said.decision, said.reason, "tool") if said is not None else None

    @staticmethod
    def _of_allow(subject: Subject, rules: Sequence[Rule], mode: Mode) -> Verdict | None:
        if mode == "explore" and not subject.is_read_only:
            return None
        rule = subject.is_allowed_by([rule for rule in rules if rule.behavior == "allow"])
        if rule is None:
            return None
        return Verdict("allow", f"allowed by the rule {rule.text}", "accepted" if rule.source == "accepted" else "rule")

    def _of_mode(self, subject: Subject, mode: Mode) -> Verdict:
        if mode in ("listed", "bypass"):
            return Verdict("allow", f"allowed by the mode {mode}")
        if subject.is_read_only:
            return Verdict("allow", "it changes nothing")
        if mode == "explore":
            return Verdict("deny", "the mode explore lets nothing be changed")
        if mode == "accept_edits" and subject.is_edit and self._is_inside(subject):
            return Verdict("allow", "it changes a file in the working folders")
        return Verdict("ask", "no rule allows it", suggested=suggestions(subject))

    def _is_inside(self, subject: Subject) -> bool:
        import os

        folders = self.policy.working_directories or (subject.base,)
        return any(
            is_below(subject.real_path, os.path.realpath(os.path.join(subject.base, folder)))  # noqa: PTH118
            for folder in folders
        )

    def hides(self, tool: str) -> bool:
        """Whether the model need not hear of a tool, as none of its calls can ever run."""
        denied = (rule for rule in self.policy.rules if rule.behavior == "deny" and not rule.match and not rule.when)
        return any(rule.is_about(tool) for rule in denied)

    def _record(self, ctx: Context, state: AgentState, call: ToolCall, verdict: Verdict, mode: Mode) -> None:
        entry: dict[str, Json] = {
            "toolCallId": call.id,
            "toolName": call.name,
            "decision": verdict.decision,
            "reason": verdict.reason,
            "by": verdict.by,
            "mode": mode,
            **verdict.facts(),
        }
        write(ctx, "tool %s: %s (%s)", call.name, verdict.decision, verdict.reason)
        if ctx.watched:
            ctx.notify("permission.decided", **entry)
        if self._notes_all or verdict.decision != "allow" or mode != "listed" or verdict.by != "mode":
            note(state, {**entry, "time": ctx.clock.time_ms()})


# What the record of an agent has of permissions


def mode_of(state: AgentState) -> Mode | None:
    """Give the mode that was set for a session; `None` when it is the agent's own."""
    mode = state.permissions.get("mode")
    return mode if mode in MODES else None


def accepted_rules(state: AgentState) -> list[Rule]:
    """Give the rules that were accepted in a session. One that cannot be read asks about everything of its tool."""
    return [_accepted(value) for value in as_list(state.permissions.get("rules"))]


def accept(state: AgentState, rules: Sequence[Rule], *, by: str, time_ms: int) -> None:
    """Put rules into the record of an agent."""
    new = [replace(rule, source="accepted", by=by, time_ms=time_ms).to_json() for rule in rules]
    if new:
        state.permissions["rules"] = [*as_list(state.permissions.get("rules")), *new]


def note(state: AgentState, entry: dict[str, Json]) -> None:
    """Put an entry into the log of decisions."""
    log = as_list(state.permissions.get("log"))
    log.append(entry)
    state.permissions["log"] = log[-LOG_LENGTH:] if len(log) > LOG_LENGTH else log


def _accepted(value: Json) -> Rule:
    try:
        return stored_rule(value)
    except RuleError:
        return Rule("*", behavior="ask", source="damaged")


# Inside


def _stopping(subject: Subject, rules: Sequence[Rule], behavior: Behavior) -> Rule | None:
    return next((rule for rule in rules if rule.behavior == behavior and subject.is_stopped_by(rule)), None)


def _was_accepted(subject: Subject, rules: Sequence[Rule]) -> bool:
    """Tell whether somebody who was asked has said that calls like this one pass."""
    accepted = [rule for rule in rules if rule.source == "accepted" and rule.behavior == "allow"]
    return subject.is_allowed_by(accepted) is not None


def suggestions(subject: Subject) -> tuple[Rule, ...]:
    """Give narrow rules that let this call pass: for an address all below its host, else this call alone."""
    text = subject.main
    if not subject.is_shell and not subject.is_path:
        try:
            url = urlsplit(text)
            host = url.netloc if url.scheme in ("http", "https") and "@" not in url.netloc else ""
        except ValueError:
            host = ""
        if host:
            return (Rule(subject.tool.name, escape(f"{urlsplit(text).scheme}://{host}/") + "*", source="suggested"),)
    return (Rule(subject.tool.name, escape(text), source="suggested"),)


def _base_of(ctx: Context, tool: Tool, arguments: Mapping[str, Json]) -> str:
    """Give the folder in which a tool works; empty when it has none of its own."""
    return tool.folder_of(ctx, arguments) if tool.folder_of else ""
