"""Texts in files as tools see them: lines counted alike by all, ends of lines and byte order marks kept."""

from __future__ import annotations

from typing import Final

_BOM: Final = "\ufeff"


def lines_of(text: str) -> list[str]:
    """Give the lines of a text, without their ends: LF, or CR and LF, as in an editor; nothing else ends a line."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class FileText:
    """A text from a file, to be changed.

    Bytes that are no UTF-8 survive, and so do a byte order mark and the ends of the lines that are not changed.

    Attributes:
        plain: The text with LF at the ends of lines.

    Args:
        content: What the file holds.
    """

    def __init__(self, content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        self._mark = _BOM if text.startswith(_BOM) else ""
        self._text = text.removeprefix(_BOM)
        self.plain = self._text.replace("\r\n", "\n")

    def changed(self, plain: str) -> bytes:
        """Give what the file holds when its text is another one, with LF at the ends of lines."""
        return (self._mark + self._with_ends(plain)).encode("utf-8", "surrogateescape")

    def _with_ends(self, plain: str) -> str:
        breaks = self._text.count("\r\n")
        if not breaks:
            return plain
        if breaks == self._text.count("\n"):
            return plain.replace("\n", "\r\n")
        return "\n".join(self._with_old_ends(plain.split("\n")))

    def _with_old_ends(self, lines: list[str]) -> list[str]:
        """Give lines with a CR at the end where the file has one: for each line, or those before and after a change."""
        before = self._text.split("\n")
        ends = ["\r" if line.endswith("\r") else "" for line in before[:-1]]
        more = len(lines) - len(before)
        if more:
            first, last = _unchanged(self.plain.split("\n"), lines)
            usual = ends[min(first, len(ends) - 1)]
            ends = [*ends[:first], *[usual] * (len(lines) - 1 - first - last), *ends[len(ends) - last :]]
        return [line + end for line, end in zip(lines, [*ends, ""], strict=True)]


def _unchanged(before: list[str], after: list[str]) -> tuple[int, int]:
    """Give how many lines are the same at the top and, of the rest, at the bottom, the very last one aside."""
    most = min(len(before), len(after)) - 1
    first = next((at for at in range(most) if before[at] != after[at]), most)
    last = next((at for at in range(most - first) if before[-2 - at] != after[-2 - at]), most - first)
    return first, last
