"""Rules of permission: which calls they are about, and what is to become of these."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from catenary.errors import ExpressionError
from catenary.expr import Expression
from catenary.message import JSON, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json

Behavior: TypeAlias = Literal["allow", "ask", "deny"]
Mode: TypeAlias = Literal["listed", "default", "accept_edits", "explore", "dont_ask", "bypass"]

BEHAVIORS: Final = ("allow", "ask", "deny")
MODES: Final = ("listed", "default", "accept_edits", "explore", "dont_ask", "bypass")

_SHORT: Final = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
SCOPES: Final = ("session", "run")
_MEMBERS: Final = frozenset({"tool", "match", "when", "behavior", "source", "scope", "by", "time"})


class RuleError(ValueError):
    """A rule cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        tool: The name of a tool; `*` and `?` stand for any letters.
        match: A pattern for the tool's main argument; empty for every call.
        when: A condition on all arguments, which are `msg`.
        behavior: What is to become of the calls.
        source: Who made it: `config` the author of the chain, `accepted` somebody who was asked, `suggested` nobody.
        by: The name of whoever accepted it.
        time_ms: When, in milliseconds since 1970.
        scope: How long an accepted rule holds: as long as the `session`, or until the `run` is over.
    """

    tool: str
    match: str = ""
    when: Expression | None = None
    behavior: Behavior = "allow"
    source: str = "config"
    by: str = ""
    time_ms: int = 0
    scope: str = "session"

    def is_about(self, tool: str) -> bool:
        """Whether it is about a tool at all."""
        return fnmatchcase(tool, self.tool)

    def holds(self, arguments: Mapping[str, Json]) -> bool:
        """Whether the condition holds. One that cannot be evaluated never lets a call pass, and always stops it."""
        if self.when is None:
            return True
        try:
            return self.when.evaluate(Message(dict(arguments), data_type=JSON)) is True
        except ExpressionError:
            return self.behavior != "allow"

    @property
    def text(self) -> str:
        """The rule in words."""
        match = f"({self.match})" if self.match else ""
        when = f" when {self.when.source}" if self.when else ""
        return f"{self.tool}{match}{when}"

    def to_json(self) -> dict[str, Json]:
        """Give the rule as JSON; what is absent is left out."""
        members: dict[str, Json] = {
            "tool": self.tool,
            "match": self.match,
            "when": self.when.source if self.when else "",
            "behavior": self.behavior,
            "source": self.source,
            "by": self.by,
            "time": self.time_ms,
            "scope": self.scope if self.scope != "session" else "",
        }
        return {name: member for name, member in members.items() if member}


def read_rule(value: Json, *, behavior: Behavior = "allow", source: str = "config") -> Rule:
    """Read a rule: a text such as `bash(git *)`, or an object.

    Args:
        value: The rule.
        behavior: What it says when it does not say so itself.
        source: Who made it.

    Raises:
        RuleError: When it is none.
    """
    if isinstance(value, str):
        found = _SHORT.fullmatch(value)
        if not found:
            raise RuleError(f"{value!r} is no rule; write a tool's name, or tool(pattern)")
        return Rule(found[1], found[2] or "", behavior=behavior, source=source)
    if not isinstance(value, dict):
        raise RuleError("a rule is a text such as bash(git *), or an object with tool, match and when")
    members = cast("dict[str, Json]", value)
    unknown = sorted(set(members) - _MEMBERS)
    if unknown:
        raise RuleError(f"a rule has no {', '.join(map(repr, unknown))}; it has tool, match, when and behavior")
    said = members.get("behavior") or behavior
    if said not in BEHAVIORS:
        raise RuleError(f"the behavior of a rule is allow, ask or deny, not {said!r}")
    scope = _text(members, "scope") or "session"
    if scope not in SCOPES:
        raise RuleError(f"the scope of a rule is session or run, not {scope!r}")
    tool, match = _text(members, "tool"), _text(members, "match")
    if not tool:
        raise RuleError("a rule needs the name of a tool; '*' is about all of them")
    return Rule(tool, match, _condition(_text(members, "when")), said, source, scope=scope)


def stored_rule(value: Json) -> Rule:
    """Read a rule as `to_json` wrote it. Raises: RuleError: when it is none."""
    members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    rule = read_rule(value, source=_text(members, "source") or "accepted")
    time_ms = members.get("time")
    return replace(rule, by=_text(members, "by"), time_ms=time_ms if isinstance(time_ms, int) else 0)


def _condition(text: str) -> Expression | None:
    try:
        return Expression.compile(text) if text.strip() else None
    except ExpressionError as error:
        raise RuleError(f"the condition of a rule cannot be read: {error}") from None


def _text(members: Mapping[str, Json], name: str) -> str:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise RuleError(f"{name} of a rule must be text, not {value!r}")
    return value or ""
