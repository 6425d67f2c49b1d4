"""Renders the options of one node for a message, and tells where each part came from."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.cli._formula import failure_text
from catenary.cli._options import options_of
from catenary.cli._origins import MASK, cut, is_secret_name, pieces_of, source_of_name
from catenary.errors import CatenaryError, ExpressionError, TemplateError
from catenary.reasons import reason_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    from catenary.cli._given import Given
    from catenary.cli._options import Option
    from catenary.cli._origins import Mask, Piece
    from catenary.component import Component
    from catenary.definition import NodeDefinition
    from catenary.expr import Environment
    from catenary.jsontext import Json
    from catenary.message import Message

FAILED_PART: Final = "<failed>"
"""Stands in a text for a part that failed."""

_PLAIN: Final = re.compile(r"(global|vars)\.([\w.\-]+)")

Told = dict[str, Any]
"""What is told about an option or a part of it, in the shape of the JSON output."""


class Rendering:
    """Renders nodes of one chain.

    Args:
        environment: What the chain's expressions see.
        given: The message, and the outputs of other nodes.
        sources: Where each property came from, by its dotted key.
        mask: Hides secrets.
    """

    def __init__(self, environment: Environment, given: Given, sources: Mapping[str, str], mask: Mask) -> None:
        self._environment = environment
        self._given = given
        self._sources = sources
        self._mask = mask

    def node(self, node: NodeDefinition, component: Component[Any]) -> Told:
        """Render all options of a node. Returns: `{"id", "type", "ok", "options", "sends", "error"}`."""
        from catenary.expr import resolve_placeholders

        written = dict(node.configuration)
        resolved = resolve_placeholders(written, self._environment)
        found = list(options_of(component.config, written, resolved))
        for option in found:
            if option.is_secret:  # known before anything is shown
                self._option(option)
        options = [self._option(option) for option in found]
        told: Told = {"id": node.id, "type": node.type, "options": options}
        try:
            told["sends"] = self._hidden(component.preview(self._given, self._given.message))
        except Exception as error:  # what is not known of components and their settings: it is all told
            told["error"] = self._failure(error)
        told["ok"] = "error" not in told and all(option["ok"] for option in options)
        return told

    def _option(self, option: Option) -> Told:
        kind = _kind_of(option.compiled)
        told: Told = {"option": option.path, "kind": kind}
        if option.is_secret:
            self._mask.add(option.resolved)
        told |= {
            "template": self._template,
            "expression": self._expression,
            "python": self._expression,
            "script": self._script,
            "document": self._document,
        }.get(kind, self._plain)(option)
        told.setdefault("ok", "error" not in told)
        if option.is_secret:
            self._mask.add(told.get("text"))
            told.update({key: MASK for key in ("value", "text") if told.get(key) not in {None, ""}})
        return told

    # -- the kinds of options

    def _template(self, option: Option) -> Told:
        if not isinstance(option.resolved, str):
            return {"value": self._hidden(option.resolved)}
        parts = list(self._parts(option))
        told: Told = {"parts": parts} if len(parts) > 1 or any(part["kind"] != "text" for part in parts) else {}
        with self._noting(told):
            value = option.compiled.value(self._given.message, self._given)
            told |= {"value": self._hidden(value), "text": self._mask.hide(_text(value))}
        if any("error" in part for part in parts):
            told |= {"ok": False, "partial": "".join(part.get("text", FAILED_PART) for part in parts)}
        return told

    def _parts(self, option: Option) -> Iterator[Told]:
        """Give the parts of a template: text, what placeholders stood for, expressions with their values."""
        from catenary.expr.placeholders import split_parts

        pieces = pieces_of(str(option.written), self._environment)
        at = 0
        for _, start, end in split_parts(option.resolved):
            stop = start - 2 if start >= 0 else len(option.resolved)
            yield from self._written_parts(cut(pieces, at, stop), option)
            if start >= 0:
                yield self._evaluated(option.resolved, start, end)
                at = end + 1

    def _written_parts(self, pieces: list[Piece], option: Option) -> Iterator[Told]:
        for piece in pieces:
            is_secret = piece.name.startswith("secrets.") or (piece.name and is_secret_name(piece.name))
            hidden = option.is_secret or is_secret
            text = MASK if hidden and piece.text else self._mask.hide(piece.text)
            if not piece.name:
                yield {"kind": "text", "text": text}
                continue
            source = source_of_name(piece.name, self._sources)
            yield {"kind": "placeholder", "name": piece.name, "text": text, "source": source}

    def _evaluated(self, source: str, start: int, end: int) -> Told:
        """Evaluate one `${...}`."""
        from catenary.expr.includes import nesting
        from catenary.expr.kinds import kind_of
        from catenary.expr.program import compile_program

        told: Told = {"kind": "expression", "source": self._mask.hide(source[start:end].strip())}
        self._note_unset(told, told["source"])
        with self._noting(told):
            program = compile_program(
                source, self._environment, start=start, end=end, kind=TemplateError, in_template=True
            )
            self._note_missing(told, program.references)
            call = nesting(program.call) or program.call
            value = call(self._given.message, self._given)
            told |= {"value": self._hidden(value), "type": kind_of(value), "text": self._mask.hide(_text(value))}
        return told

    def _expression(self, option: Option) -> Told:
        from catenary.expr.kinds import kind_of

        told: Told = {"source": self._mask.hide(str(option.resolved))}
        self._note_placeholders(told, option)
        self._note_unset(told, str(option.resolved).strip().removeprefix("${").removesuffix("}"))
        with self._noting(told):
            self._note_missing(told, option.compiled.node_references)
            value = option.compiled.evaluate(self._given.message, self._given)
            told |= {"value": self._hidden(value), "type": kind_of(value), "text": self._mask.hide(_text(value))}
        return told

    def _script(self, option: Option) -> Told:
        return self._as_text(option)

    def _plain(self, option: Option) -> Told:
        if isinstance(option.resolved, str):
            told = self._as_text(option)
            if "${" in option.resolved and not isinstance(option.compiled, (dict, list)):
                self._note_unresolved(told, option.resolved)
            return told
        return {"value": self._hidden(option.resolved)}

    def _document(self, option: Option) -> Told:
        from pydantic import TypeAdapter

        from catenary.expr import Document

        told: Told = {}
        asking = _Asking(self._given)  # what the files name that it includes is not known before they are read
        self._note_placeholders(told, option)
        with self._noting(told):
            context = {"environment": replace(self._environment)}  # which has read no file yet: all of them are noted
            document = TypeAdapter(Document).validate_python(option.resolved, context=context)
            text = self._mask.hide(document.render(self._given.message, asking))
            told |= {"value": text, "text": text}
        self._note_missing(told, asking.asked)
        return told

    def _as_text(self, option: Option) -> Told:
        text = self._mask.hide(option.resolved)
        told: Told = {"value": text, "text": text}
        self._note_placeholders(told, option)
        return told

    # -- what is noted beside a value

    def _note_placeholders(self, told: Told, option: Option) -> None:
        if not isinstance(option.written, str):
            return
        pieces = [piece for piece in pieces_of(option.written, self._environment) if piece.name]
        if pieces:
            told["parts"] = list(self._written_parts(pieces, option))

    def _note_unresolved(self, told: Told, text: str) -> None:
        from catenary.load.names import UNRESOLVED

        match = UNRESOLVED.search(text)
        if match is not None:
            name = match[1]
            hint = f"give --set {name}=VALUE" if name.startswith("global.") else "add it to the chain's vars"
            text = f"${{{name}}} has no value"
            told["error"] = {"text": text, "shown": text, "hint": hint}

    def _note_unset(self, told: Told, source: str) -> None:
        """Note a property or chain variable that is all of an expression and is not set."""
        from catenary.expr.environment import find_path

        match = _PLAIN.fullmatch(source.strip())
        if match and not find_path(self._environment.root(match[1]), match[2])[0]:
            told["unset"] = match[0]

    def _note_missing(self, told: Told, references: Any) -> None:
        missing = sorted(node for node in references if self._given.output(node) is None)
        if missing:
            told["missingOutputs"] = missing

    @contextmanager
    def _noting(self, told: Told) -> Generator[None]:
        """Note the files that are read while this is open, and the error that ends it."""
        from catenary.expr.files import read_files

        files: list[Path] = []
        token = read_files.set(files.append)
        try:
            yield
        except Exception as error:  # functions of a host raise anything
            told["error"] = self._failure(error)
        finally:
            read_files.reset(token)
            if files:
                told["files"] = list(dict.fromkeys(map(str, files)))

    def _failure(self, error: Exception) -> Told:
        text = reason_of(error)
        shown = failure_text(error) if isinstance(error, ExpressionError) else text
        hint = error.hint if isinstance(error, CatenaryError) else ""
        return {
            "text": self._mask.hide(text.partition("\n")[0]),
            "shown": self._mask.hide(shown),
            "hint": self._mask.hide(hint),
        }

    def _hidden(self, value: Json) -> Json:
        """Give a value in which secrets are masked and everything is JSON."""
        if isinstance(value, dict):
            mapping = cast("dict[Any, Json]", value)
            return {
                self._mask.hide(str(key)): MASK
                if isinstance(item, str) and item and is_secret_name(str(key))
                else self._hidden(item)
                for key, item in mapping.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._hidden(item) for item in cast("list[Json]", value)]
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float) and value - value == 0:
            return value
        return self._mask.hide(_text(value))


class _Asking:
    """Passes on a context, and keeps the nodes whose outputs it was asked for."""

    def __init__(self, given: Given) -> None:
        self.asked: set[str] = set()
        self._given = given

    def output(self, node_id: str) -> Message | None:
        """Give what a node put out; `None` when nobody said."""
        self.asked.add(node_id)
        return self._given.output(node_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._given, name)


def _kind_of(compiled: Any) -> str:
    from catenary import expr

    kinds: dict[type[Any], str] = {
        expr.Template: "template",
        expr.Expression: "expression",
        expr.PythonExpression: "python",
        expr.Script: "script",
        expr.Document: "document",
    }
    return next((name for kind, name in kinds.items() if isinstance(compiled, kind)), "value")


def _text(value: Json) -> str:
    from catenary.expr import text_of

    return text_of(value)
