"""What a program wrote, as a model gets it: readable, without secrets, and not too long."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_LINE_BYTES: Final = 1_000
"""Longer lines are cut."""

KEPT_OF_LINE: Final = 240
"""Characters that are kept of a line that is cut."""

_HEAD_SHARE: Final = 0.7
_LOOKED_AT_FOR_ERRORS: Final = 2_000
_MASK: Final = "****"
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])")
_CONTROL: Final = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
_ERRORS: Final = re.compile(
    r"error|exception|traceback|fatal|failed|failure|panic|abort|denied|not found", re.IGNORECASE
)
_TOKEN_RUN: Final = re.compile(r"\b[A-Za-z0-9_-]*")
_SECRETS: Final[Mapping[str, re.Pattern[str]]] = {
    "Bearer": re.compile(r"\b(?P<kept>Bearer[ \t]+)[A-Za-z0-9._~+/=-]{8,}"),
    "eyJ": re.compile(r"\beyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]*"),
    **dict.fromkeys(("AKIA", "ASIA"), re.compile(r"\bA[KS]IA[A-Z0-9]{16}\b")),
    "aws_secret_access_key": re.compile(r"(?P<kept>aws_secret_access_key[ \t]*[=:][ \t]*[\"']?)[A-Za-z0-9/+=]{40}"),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}")),
    "github_pat_": re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    "sk-": re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
    "xox": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "-----BEGIN ": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
"""By how a secret begins, all of it; a search for the beginnings takes no time where there are none."""

_KEY_ENDS: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_RAW: Final = re.compile(r"#\s*(?:nofilter|raw)\s*$")


def asks_for_raw(command: str) -> bool:
    """Tell whether a command ends with `# nofilter` or `# raw`: its output is not made readable then."""
    return bool(_RAW.search(command))


def redacted(text: str) -> str:
    """Put `****` in place of secrets: tokens, keys of clouds and services, and private keys in PEM.

    The time it takes grows with the length of the text and not faster, whatever stands in it.
    """
    pieces: list[str] = []
    at, no_token_before = 0, 0
    for start, word in heapq.merge(*(_places(text, word) for word in _SECRETS)):
        if start < at or (word == "eyJ" and start < no_token_before):
            continue
        found = _SECRETS[word].match(text, start)
        if found is not None:
            end, shown = _hidden(text, found)
            pieces += [text[at:start], shown]
            at = end
        elif word == "eyJ" and (run := _TOKEN_RUN.match(text, start)):  # nor is there one further on in this run
            no_token_before = run.end()
    return "".join([*pieces, text[at:]])


def _places(text: str, word: str) -> Iterator[tuple[int, str]]:
    at = text.find(word)
    while at >= 0:
        yield at, word
        at = text.find(word, at + 1)


def _hidden(text: str, found: re.Match[str]) -> tuple[int, str]:
    """Give where a secret ends, and what stands there in its place."""
    if not found[0].startswith("-----"):
        return found.end(), (found.groupdict().get("kept") or "") + _MASK
    ends = _KEY_ENDS.search(text, found.end())
    if ends is None:
        return len(text), f"{_MASK} (a private key)"
    line = text.find("\n", ends.end())
    return len(text) if line < 0 else line, f"{_MASK} (a private key)"


def cleaned(line: str) -> str:
    """Make a line readable: what a carriage return overwrites and codes of terminals are gone, and its end is cut."""
    plain = _ANSI.sub("", line.rstrip("\r"))
    plain = plain.rpartition("\r")[2].translate(_CONTROL)
    size = len(plain.encode("utf-8", "surrogatepass"))
    if size <= MAX_LINE_BYTES:
        return plain
    return f"{plain[:KEPT_OF_LINE]}... ({size} bytes in this line)"


@dataclass(frozen=True, slots=True)
class Shortened:
    """An output as the model gets it, and whether that is not all of it."""

    text: str
    is_cut: bool


def shortened(text: str, most: int, readable: Callable[[str], str] = str) -> Shortened:
    """Cut a text to `most` characters: its head, or head and tail when the end looks like an error.

    Args:
        text: All of it.
        most: Characters that are kept.
        readable: Makes a line readable; only those that are needed are.
    """
    head, rest = _from_head(text, most, readable)
    if rest >= len(text) and len(head) <= most:
        return Shortened(head, is_cut=False)
    tail = _from_tail(text, max(most, _LOOKED_AT_FOR_ERRORS), readable)
    if not _ERRORS.search(tail[-_LOOKED_AT_FOR_ERRORS:]):
        return Shortened(head[:most], is_cut=True)
    first = int(most * _HEAD_SHARE)
    left_out = len(text) - most
    return Shortened(f"{head[:first]}\n... ({left_out} characters left out) ...\n{tail[first - most :]}", is_cut=True)


def _from_head(text: str, enough: int, readable: Callable[[str], str]) -> tuple[str, int]:
    """Give lines from the top, more than enough characters of them if there are; and where the rest begins."""
    lines: list[str] = []
    size = at = 0
    while at <= len(text) and size <= enough + 1:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(readable(text[at:end]))
        size += len(lines[-1]) + 1
        at = end + 1
    return "\n".join(lines), at


def _from_tail(text: str, enough: int, readable: Callable[[str], str]) -> str:
    """Give lines from the bottom, enough characters of them if there are."""
    lines: list[str] = []
    size, end = 0, len(text)
    while end >= 0 and size <= enough:
        start = text.rfind("\n", 0, end)
        lines.append(readable(text[start + 1 : end]))
        size += len(lines[-1]) + 1
        end = start
    return "\n".join(reversed(lines))
