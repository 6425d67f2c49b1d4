"""Halves of characters: some services cut a text in the middle of a character, and JSON readers refuse what is left."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from catenary.jsontext import Json
    from catenary_components.ai.models.types import Piece

_UNREADABLE: Final = "\ufffd"


def parsed_with_halves(text: str) -> Json:
    """Parse JSON text in which halves of characters stand as escapes; those that stay alone become U+FFFD.

    Raises:
        ValueError: When it is no JSON for another reason.
    """
    return _mended(_parsed(text))


def _parsed(text: str) -> Json:
    if "\\ud" not in text.lower():
        raise ValueError("it is no JSON")
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _mended(value: Json) -> Json:
    if isinstance(value, str):
        return _joined(value)
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {_joined(key): _mended(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class HalfJoiner:
    """Joins the halves of characters over the pieces of one reply. It does nothing until there is a half."""

    __slots__ = ("_held", "_is_needed")

    def __init__(self) -> None:
        self._is_needed = False
        self._held: dict[object, str] = {}

    def parsed(self, text: str) -> Json:
        """Parse JSON text in which halves of characters stand as escapes. Raises: ValueError: when it is none."""
        value = _parsed(text)
        self._is_needed = True
        return value

    def join(self, piece: Piece) -> Piece:
        """Give a piece without halves: the first one of a character waits for the piece with the second."""
        if not self._is_needed:
            return piece
        calls = (replace(call, arguments=self._text(call.index, call.arguments)) for call in piece.tool_calls)
        return replace(
            piece,
            content=self._text("content", piece.content),
            reasoning=self._text("reasoning", piece.reasoning),
            tool_calls=tuple(calls),
        )

    def _text(self, channel: object, text: str) -> str:
        if not text:
            return text
        text = self._held.pop(channel, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._held[channel] = text[-1]
            text = text[:-1]
        return _joined(text)

    def end(self) -> str:
        """Give, once, what stands for a half of the text that nothing came after; empty when there is none."""
        return _UNREADABLE if self._held.pop("content", "") else ""
