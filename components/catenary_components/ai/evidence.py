"""Evidence: whether an answer names files and classes that no tool of the agent has shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary_components.ai.shortening import is_summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catenary_components.ai.messages import ChatMessage

_ENDINGS: Final = (
    "bash|cc|cfg|clj|cpp|cs|css|cxx|dart|env|erl|ex|exs|fs|go|gradle|h|hpp|hs|html|ini|ipynb|java|js|json|jsx|jl|kt|kts|"
    "less|lua|m|md|ml|mm|php|pl|properties|proto|ps1|py|pyi|rb|rs|rst|sass|scala|scss|sh|sql|svelte|swift|tf|toml|ts|"
    "tsx|vue|xml|yaml|yml"
)
_FILE: Final = re.compile(rf"(?<![\w.:/@+~-])(?:[\w.@~+-]*/)*([\w+-][\w.+-]*\.(?:{_ENDINGS}))(?![\w/-])", re.IGNORECASE)
_CLASS: Final = re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b")
_FENCED: Final = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_PRODUCTS: Final = re.compile(r"(?:node|vue|next|nuxt|react|express|three|d3|chart|ember)\.(?:js|ts)", re.IGNORECASE)
_WARNING: Final = "\n\n[No tool has shown this: {names}. Check it before you rely on it.]"
_MOST_NAMES: Final = 10
_LONGEST: Final = 200_000


def names_in(text: str) -> set[str]:
    """Give the names of files and classes in what a tool gave; those of files without folders, in small letters.

    Of a longer text the first 200,000 characters count.
    """
    text = text[:_LONGEST]
    return {match[1].lower() for match in _FILE.finditer(text)} | set(_CLASS.findall(text))


def claimed_in(answer: str) -> list[str]:
    """Give the names of source files in an answer, and those of classes that it writes as code, in their order.

    What stands in blocks of code is the answer's own text, and names nothing that is there.
    """
    prose = _FENCED.sub("", answer)
    files = [match[1] for match in _FILE.finditer(prose) if not _PRODUCTS.fullmatch(match[1])]
    classes = [name for code in _CODE.findall(prose) for name in _CLASS.findall(_FILE.sub("", code))]
    return list(dict.fromkeys([*files, *classes]))


def seen_in(messages: Iterable[ChatMessage]) -> set[str]:
    """Give the names that the results of tools in a conversation show, and summaries of older ones."""
    told = [result.text for message in messages for result in message.results]
    told += [message.text for message in messages if is_summary(message)]
    return {name for text in told for name in names_in(text)}


def unproven(answer: str, seen: Iterable[str]) -> list[str]:
    """Give the names in an answer that were never seen."""
    known = set(seen)
    return [name for name in claimed_in(answer) if name not in known and name.lower() not in known]


def warning_about(names: list[str]) -> str:
    """Give what stands behind an answer with such names."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return _WARNING.format(names=", ".join(names[:_MOST_NAMES]) + more)
