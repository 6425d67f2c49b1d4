"""Read a reply that is a JSON object with `reasoningSummary` and `finalText` while it comes, piece by piece."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary.jsontext import loads
from catenary_components.ai.models.types import Piece
from catenary_components.ai.models.wire import as_object

if TYPE_CHECKING:
    from catenary_components.ai.models.types import Reply

PROMPT: Final = (
    "Answer with one JSON object and nothing else. It has two members, both strings: `reasoningSummary`, how you came "
    "to the answer in a few sentences, and `finalText`, the answer as the user is to read it."
)

_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PLAIN: Final = re.compile(r'[^"\\]+')
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")


class _Member:
    """The string of one member, decoded as far as it has come."""

    def __init__(self, name: str) -> None:
        self._start = re.compile(rf'"{name}"\s*:\s*"')
        self._place = -1
        self._is_over = False
        self.text = ""

    def read(self, source: str) -> str:
        """Give what has come in addition."""
        if self._place < 0:
            found = self._start.search(source)
            if found is None:
                return ""
            self._place = found.end()
        start = len(self.text)
        while not self._is_over and self._place < len(source):
            taken = self._next(source)
            if taken == 0:
                break
            self._place += taken
        return self.text[start:]

    def _next(self, source: str) -> int:
        """Read what needs no decoding, or one escape. Returns: its length; 0 when the rest has not come yet."""
        mark = source[self._place]
        if mark == '"':
            self._is_over = True
            return 1
        if mark != "\\":
            plain = _PLAIN.match(source, self._place)
            self.text += plain.group() if plain else ""
            return len(plain.group()) if plain else 0
        return self._escape(source[self._place + 1 : self._place + 12])

    def _escape(self, rest: str) -> int:
        if not rest:
            return 0
        if rest[0] != "u":
            self.text += _ESCAPES.get(rest[0], rest[0])
            return 2
        if len(rest) < 5:
            return 0
        if _HEX.fullmatch(rest[1:5]) is None:
            self.text += "\\u"
            return 2
        return self._character(int(rest[1:5], 16), rest)

    def _character(self, code: int, rest: str) -> int:
        if not 0xD800 <= code <= 0xDBFF:
            self.text += "\ufffd" if 0xDC00 <= code <= 0xDFFF else chr(code)
            return 6
        if len(rest) < 11 and "\\u"[: len(rest) - 5] == rest[5:7]:
            return 0  # the other half of a pair is still to come
        low = int(rest[7:11], 16) if rest[5:7] == "\\u" and _HEX.fullmatch(rest[7:11]) else 0
        if 0xDC00 <= low <= 0xDFFF:
            self.text += chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            return 12
        self.text += "\ufffd"
        return 6


class FinalTextReader:
    """Turns pieces of such a reply into pieces of reasoning and of text.

    A Markdown fence around the object does no harm. What is no such object at all is the text as it stands.
    """

    def __init__(self) -> None:
        self._source = ""
        self._summary = _Member("reasoningSummary")
        self._final = _Member("finalText")

    def feed(self, piece: Piece) -> Piece:
        """Give the piece as it is to be shown: the reasoning first, whatever the order in the object."""
        if not piece.content:
            return piece
        self._source += piece.content
        reasoning = self._summary.read(self._source)
        return replace(piece, content=self._final.read(self._source), reasoning=piece.reasoning + reasoning)

    def finish(self, reply: Reply) -> tuple[Reply, Piece]:
        """Give the reply as it is meant, and what of it has not been shown yet."""
        shown = self._final.text
        value = _object_in(reply.content)
        final = value.get("finalText")
        text = final if isinstance(final, str) else shown or reply.content
        summary = value.get("reasoningSummary")
        reasoning = reply.reasoning + (summary if isinstance(summary, str) else self._summary.text)
        rest = text if not shown else ""
        return replace(reply, content=text, reasoning=reasoning), Piece(rest)


def _object_in(text: str) -> dict[str, object]:
    start, end = text.find("{"), text.rfind("}")
    try:
        return dict(as_object(loads(text[start : end + 1]))) if 0 <= start < end else {}
    except (ValueError, RecursionError):
        return {}
