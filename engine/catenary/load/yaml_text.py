"""Read YAML text into a JSON value and the place of everything in it; scalars by the core schema of YAML 1.2."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from catenary.errors import ChainSyntaxError
from catenary.load.json_text import Parsed
from catenary.load.places import HALF_PAIR, MAX_DEPTH, Lines, Path, Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.jsontext import Json

MAX_ALIASED: Final = 10_000
"""How many values the aliases of a document may stand for in all."""

_TAG: Final = "tag:yaml.org,2002:"
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_JSON: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def parse_yaml(text: str, *, file: str = "") -> Parsed:
    """Read one YAML document.

    `yes`, `on`, `1_000` and dates are texts, `0o17` is 15. Keys are texts as written. Anchors and aliases work;
    merge keys (`<<`), own tags and values that JSON does not have (`.inf`) are refused.

    Args:
        text: The whole text.
        file: Named in errors.

    Raises:
        ChainSyntaxError: When it is not YAML, or more than one document; names line and column.
    """
    import yaml

    reader = _Reader(text, file)
    try:
        return reader.document(iter(yaml.parse(text, Loader=yaml.SafeLoader)))
    except yaml.reader.ReaderError as error:
        reader.fail(error.position or 0, f"the character {_shown(error.character)} may not stand in YAML", "remove it")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = mark.index if mark else 0
        problem = error.problem or error.context or "this is not YAML"
        reader.fail(at, problem, _hint(text, at, problem))


def core_scalar(text: str) -> Json:
    """Give the value of a plain scalar by the core schema of YAML 1.2.

    Raises:
        ValueError: When it is a number that JSON does not have, or one too long to read.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        if len(text) > 4000:  # Python refuses to read longer ones
            raise ValueError(f"the number has {len(text)} digits; put quotes around it")
        return int(text)
    if _OCTAL_OR_HEX.fullmatch(text):
        return int(text, 0)
    if _NOT_JSON.fullmatch(text):
        raise ValueError(f"{text} is not a value of JSON; put quotes around it to make it a text")
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"the number {text} is too large; put quotes around it to make it a text")
        return value
    return text


def _shown(character: Any) -> str:
    return f"U+{character:04X}" if isinstance(character, int) else repr(character)


def _hint(text: str, at: int, problem: str) -> str:
    if text[at : at + 1] == "\t":
        return "YAML is indented with blanks: replace the tab"
    if "mapping values are not allowed" in problem:
        return "a text that contains ': ' needs quotes around it, or the line is indented too far"
    if "cannot start any token" in problem:
        return "put quotes around a text that begins with this character"
    if "block end" in problem or "block mapping" in problem:
        return "look at the indentation: what belongs together begins in the same column"
    return "look at the indentation and at the quotes of this line and the one before"


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Json
    size: int


def _begin(event: Any) -> int:
    return event.start_mark.index


class _Reader:
    """Builds a value from the parser's events. Each method is given the event that begins what it reads."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.values: dict[Path, int] = {}
        self.keys: dict[Path, int] = {}
        self.duplicates: list[tuple[Path, int]] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.size = 0
        self.aliased = 0

    def document(self, events: Iterator[Any]) -> Parsed:
        from yaml import events as kinds

        self.kinds = kinds
        self.events = events
        value: Json = None
        seen = False
        for event in events:
            if not isinstance(event, kinds.DocumentStartEvent):
                continue
            if seen:
                self.fail(_begin(event), "a second document begins here", "a file holds one chain")
            seen = True
            value = self._value(next(events), (), 0)
        if not seen:
            self.fail(0, "the text is empty", "write a chain, with ruleChain and metadata")
        return Parsed(value, Places(self.text, self.values, self.keys), self.duplicates)

    def _value(self, event: Any, path: Path, depth: int) -> Json:
        at = _begin(event)
        self.values[path] = at
        if isinstance(event, self.kinds.AliasEvent):
            return self._alias(event)
        self.size += 1
        size_before = self.size
        if event.anchor:
            self.anchors[event.anchor] = None
        if isinstance(event, self.kinds.ScalarEvent):
            value = self._scalar(event)
        elif depth >= MAX_DEPTH:
            self.fail(at, f"values are nested more than {MAX_DEPTH} deep", "make the document flatter")
        elif isinstance(event, self.kinds.SequenceStartEvent):
            self._check_tag(event, "seq")
            value = self._sequence(path, depth + 1)
        else:
            self._check_tag(event, "map")
            value = self._mapping(path, depth + 1)
        if event.anchor:
            self.anchors[event.anchor] = _Anchored(value, self.size - size_before + 1)
        return value

    def _alias(self, event: Any) -> Json:
        at = _begin(event)
        if event.anchor not in self.anchors:
            self.fail(at, f"no anchor &{event.anchor} comes before this alias", "define it above, or write the value")
        anchored = self.anchors[event.anchor]
        if anchored is None:
            self.fail(at, f"the alias *{event.anchor} stands inside its own anchor", "a value cannot contain itself")
        self.size += anchored.size
        self.aliased += anchored.size
        if self.aliased > MAX_ALIASED:
            hint = "write the values out, or give the text as JSON"
            self.fail(at, f"the aliases stand for more than {MAX_ALIASED} values", hint)
        return anchored.value

    def _sequence(self, path: Path, depth: int) -> list[Json]:
        result: list[Json] = []
        while not isinstance(event := next(self.events), self.kinds.SequenceEndEvent):
            result.append(self._value(event, (*path, len(result)), depth))
        return result

    def _mapping(self, path: Path, depth: int) -> dict[str, Json]:
        result: dict[str, Json] = {}
        while not isinstance(event := next(self.events), self.kinds.MappingEndEvent):
            key = self._key(event)
            child = (*path, key)
            if key in result:
                self.duplicates.append((child, _begin(event)))
            self.keys[child] = _begin(event)
            result[key] = self._value(next(self.events), child, depth)
        return result

    def _key(self, event: Any) -> str:
        at = _begin(event)
        if not isinstance(event, self.kinds.ScalarEvent):
            self.fail(at, "a key has to be a plain text", "write a text as key, not a list, a mapping or an alias")
        if event.value == "<<" and event.implicit[0]:
            self.fail(at, "merge keys (<<) are not part of YAML 1.2", "write the entries out")
        return self._text(event)

    def _text(self, event: Any) -> str:
        r"""Give the text of a scalar, one character for each pair of escapes such as `\ud83d\ude00`, as in JSON."""
        text: str = event.value
        if not HALF_PAIR.search(text):
            return text
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self.fail(
                _begin(event), "the text has an escape for half a character", "write both halves, or leave it out"
            )

    def _scalar(self, event: Any) -> Json:
        at = _begin(event)
        tag = (event.tag or "").removeprefix(_TAG)
        if not tag:
            tag = "" if event.implicit[0] else "str"
        if tag in {"str", "!"}:
            return self._text(event)
        try:
            value = core_scalar(event.value)
        except ValueError as error:
            self.fail(at, str(error))
        kinds: dict[str, type | tuple[type, ...]] = {
            "int": int,
            "float": (int, float),
            "bool": bool,
            "null": type(None),
        }
        if not tag:
            return value
        if tag not in kinds:
            self.fail(at, f"the tag {event.tag} is not known", "remove it; a chain holds plain JSON values")
        if not isinstance(value, kinds[tag]) or (tag != "bool" and isinstance(value, bool)):
            self.fail(at, f"{event.value!r} is not a value of the tag !!{tag}", "remove the tag")
        return float(value) if tag == "float" else value

    def _check_tag(self, event: Any, expected: str) -> None:
        if event.tag and event.tag not in {_TAG + expected, "!"}:
            hint = "remove it; a chain holds plain JSON values"
            self.fail(_begin(event), f"the tag {event.tag} is not known", hint)

    def fail(self, at: int, text: str, hint: str = "") -> NoReturn:
        place = Lines(self.text).place(min(at, len(self.text)))
        raise ChainSyntaxError(text, file=self.file, line=place.line, column=place.column, hint=hint)
