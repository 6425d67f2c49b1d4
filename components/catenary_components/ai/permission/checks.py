"""Checks: what looks dangerous in the arguments of a call is found, and the strictest finding decides."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from catenary.expr.regex import PatternError, finder_of, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.permission.rules import Behavior
    from catenary_components.ai.permission.subject import Subject

Severity: TypeAlias = Literal["critical", "high", "medium", "low", "info"]
Category: TypeAlias = Literal[
    "command_injection",
    "data_exfiltration",
    "path_traversal",
    "sensitive_file_access",
    "network_abuse",
    "credential_exposure",
    "resource_abuse",
    "code_execution",
    "privilege_escalation",
]

SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "high", "medium", "low", "info")
"""The worst one first."""

_BY_SEVERITY: Final[Mapping[Severity, Behavior]] = {
    "critical": "deny",
    "high": "ask",
    "medium": "ask",
    "low": "allow",
    "info": "allow",
}
_STRICTEST: Final[tuple[Behavior, ...]] = ("deny", "ask", "allow")
_AROUND: Final = 20
_UNREAD: Final = "(not looked at: {error})"


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: Its name.
        patterns: Regular expressions that are all found in one text of the call.
        title: What it finds, in words.
        severity: How bad that is.
        decision: What becomes of the call; by its severity if `None`: critical is denied, high and medium are asked
            about.
        category: The kind of danger; empty for none.
        tool: The name of a tool; `*` and `?` stand for any letters.
        parameter: The argument that is looked at; all of them if empty.
        exclude: A regular expression; what it is found in is no finding.
        remedy: What to do instead.
    """

    id: str
    patterns: tuple[str, ...]
    title: str = ""
    severity: Severity = "high"
    decision: Behavior | None = None
    category: Category | Literal[""] = ""
    tool: str = "*"
    parameter: str = ""
    exclude: str = ""
    remedy: str = ""

    @property
    def behavior(self) -> Behavior:
        """What becomes of a call in which it finds something."""
        return self.decision or _BY_SEVERITY[self.severity]

    def compile(self) -> None:
        """Look at its patterns. Raises: PatternError: when one of them is wrong."""
        for pattern in (*self.patterns, self.exclude):
            pattern_of(pattern)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found.

    Attributes:
        check: The check.
        parameter: The argument.
        snippet: What was found, with a little around it; secrets are masked.
    """

    check: Check
    parameter: str
    snippet: str

    @property
    def text(self) -> str:
        """The finding in words, for whoever decides and for the model."""
        what = self.check.title or self.check.id
        remedy = f". {self.check.remedy}" if self.check.remedy else ""
        return f"{what} ({self.check.severity}, {self.check.id}){remedy}"

    def to_json(self) -> dict[str, Json]:
        """Give the finding as JSON; what is absent is left out."""
        check = self.check
        members: dict[str, Json] = {
            "ruleId": check.id,
            "severity": check.severity,
            "decision": check.behavior,
            "category": check.category,
            "title": check.title,
            "remediation": check.remedy,
            "paramName": self.parameter,
            "matchedPattern": check.patterns[0],
            "snippet": self.snippet,
        }
        return {name: member for name, member in members.items() if member}


def findings_of(checks: Iterable[Check], subject: Subject) -> tuple[Finding, ...]:
    """Give what checks find in a call, the strictest first; one finding of each check."""
    texts = list(_texts(subject))
    found = [
        finding
        for check in checks
        if fnmatchcase(subject.tool.name, check.tool) and (finding := _found(check, texts)) is not None
    ]
    return tuple(sorted(found, key=_strictness))


def worst(findings: Sequence[Finding]) -> Severity:
    """Give the worst severity; `info` when there is no finding."""
    found = {finding.check.severity for finding in findings}
    for severity in SEVERITIES:
        if severity in found:
            return severity
    return "info"


def _strictness(finding: Finding) -> tuple[int, int]:
    return _STRICTEST.index(finding.check.behavior), SEVERITIES.index(finding.check.severity)


def _found(check: Check, texts: Iterable[tuple[str, str]]) -> Finding | None:
    for parameter, text in texts:
        if check.parameter and parameter.partition(".")[0] != check.parameter:
            continue
        try:
            if not all(pattern_of(pattern)(text) for pattern in check.patterns):
                continue
            if check.exclude and pattern_of(check.exclude)(text):
                continue
        except PatternError as error:  # the text is too long for it: what nobody has looked at is taken for found
            return Finding(check, parameter, _UNREAD.format(error=error))
        return Finding(check, parameter, _snippet(check, text))
    return None


def _snippet(check: Check, text: str) -> str:
    found = finder_of(check.patterns[0])(text)
    if check.category == "credential_exposure":
        return f"{found[:4]}****{found[-4:]}" if len(found) > 12 else "****"
    start = max(text.find(found), 0)
    return text[max(start - _AROUND, 0) : start + len(found) + _AROUND]


def _texts(subject: Subject) -> Iterator[tuple[str, str]]:
    """Give the texts of a call with the arguments they stand in; of a shell text also each program and each output."""
    for name, value in subject.arguments.items():
        yield from _strings(name, value)
    if subject.is_shell:
        for text in subject.programs():
            yield subject.tool.main_argument, text


def _strings(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for member, inner in cast("dict[str, Json]", value).items():
            yield from _strings(f"{name}.{member}", inner)
    elif isinstance(value, list):
        for inner in cast("list[Json]", value):
            yield from _strings(name, inner)
