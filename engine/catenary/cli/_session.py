"""Evaluates texts one after the other over one message, and writes what they give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from catenary.cli._formula import compiled, failure_text, say, shown, tell_failure, tell_warning
from catenary.cli.errors import FAILED
from catenary.errors import ExpressionError
from catenary.text_places import place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary.cli._formula import Kind
    from catenary.cli._given import Given
    from catenary.expr import Environment
    from catenary.jsontext import Json

_RETURN: Final = re.compile(r"\breturn\b")
_SIGNS: Final = {"${": "--template", "{{": "--document", "{%": "--document", "return ": "--js", "=>": "--js"}


class Session:
    """What texts are evaluated in, and how their values are written.

    Args:
        environment: What they see besides the message.
        given: The message, and the outputs of other nodes. May be replaced between two texts.
        kind: What the texts are.
        raw: True to write values as text.
        form: `text`, or `json` for an object a value.
    """

    def __init__(self, environment: Environment, given: Given, kind: Kind, *, raw: bool, form: str) -> None:
        self.environment = environment
        self.given = given
        self.kind: Kind = kind
        self.raw = raw
        self.form = form

    def lines(self, stream: Iterable[bytes], *, explain: bool) -> int:
        """Evaluate each line that is not blank. Returns: the exit code, which is that of the worst line."""
        codes = {0}
        for number, line in enumerate(stream, start=1):
            text = line.decode("utf-8", "replace").strip("\ufeff\r\n")
            if text.strip():
                codes.add(self.one(text, explain=explain, label=f"line {number}: "))
        return max(codes)

    def one(self, source: str, *, explain: bool = False, label: str = "") -> int:
        """Evaluate one text and write its value, or why there is none. Returns: the exit code."""
        if explain:
            return self._explained(source, label)
        result = self.result(source)
        if self.form == "json":
            self._write_json(result)
        elif result["ok"]:
            say(result["text"] if self.raw else result["json"])
            for warning in result.get("warnings", ()):
                tell_warning(label + warning)
        else:
            tell_failure(label + result["error"]["shown"], result["error"]["hint"])
        return 0 if result["ok"] else FAILED

    def result(self, source: str) -> dict[str, Any]:
        """Give what a text comes to: `ok`, `value`, `kind`, `text`, `json`, or `error`."""
        from catenary.expr.kinds import EvaluationError, kind_of

        try:
            value = compiled(self.kind, source, self.environment)(self.given.message, self.given)
        except ExpressionError as error:
            return {"ok": False, "error": _told(error, self.kind)}
        result: dict[str, Any] = {"ok": True, "kind": kind_of(value), "value": value}
        wanted = ("text",) if self.raw else ("json", "text")
        try:
            for form in wanted:
                result[form] = shown(value, raw=form == "text")
        except EvaluationError as error:
            hint = "" if self.raw else "Print it as text with --raw."
            return {"ok": False, "error": {"text": str(error), "shown": str(error), "hint": hint}}
        warnings = self._warnings(source, value)
        return {**result, "warnings": warnings} if warnings else result

    def _warnings(self, source: str, value: Json) -> list[str]:
        """Tell what is probably not meant so: names nobody knows that are like known ones, a script without return."""
        from catenary.expr.advice import doubtful

        if self.kind == "script" and value is None and not _RETURN.search(source):
            return ["the script gives nothing: it has no `return`"]
        if self.kind != "expression":
            return []
        return [str(doubt) for doubt in doubtful(source, self.environment) if doubt.close]

    def _write_json(self, result: dict[str, Any]) -> None:
        say(_as_json(result))

    def _explained(self, source: str, label: str) -> int:
        from catenary.cli._explain import explain
        from catenary.cli._explained import lines_of

        result = self.result(source)
        explanation = explain(self.kind, source, self.environment, self.given)
        if self.form == "json":
            say(_as_json(result, explanation))
        else:
            for line in lines_of(explanation, result):
                say(line)
            if not result["ok"]:
                tell_failure(label + result["error"]["shown"], result["error"]["hint"])
        return 0 if result["ok"] else FAILED


def _told(error: ExpressionError, kind: Kind) -> dict[str, Json]:
    hint = (_other_kind(error.source) if kind == "expression" else "") or error.hint
    told: dict[str, Json] = {"text": str(error).partition("\n")[0], "shown": failure_text(error), "hint": hint}
    if error.source and error.position >= 0:
        told["line"], told["column"] = place(error.source, error.position)
    return told


def _other_kind(source: str) -> str:
    """Give a hint for a text that fails as an expression and looks like another kind of text."""
    option = next((option for sign, option in _SIGNS.items() if sign in source), "")
    return f"An expression is meant here; give {option} for a text like this." if option else ""


def _as_json(result: dict[str, Any], explanation: dict[str, Json] | None = None) -> str:
    """Give a result as one line of JSON; what no JSON can hold, such as a time, is its text there."""
    from catenary.jsontext import loads

    shown = {key: value for key, value in result.items() if key not in {"json", "value"}}
    if "error" in shown:
        shown["error"] = {key: value for key, value in shown["error"].items() if key != "shown"}
    if "json" in result:
        shown["value"] = loads(result["json"])
    if explanation is not None:
        shown["explain"] = explanation
    import json

    return json.dumps(shown, ensure_ascii=False)
