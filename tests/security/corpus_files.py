"""The corpus of known escapes and bombs: YAML files of `{class, texts}`, and texts too long to be written out."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import yaml


class Entry(NamedTuple):
    """One text of the corpus."""

    name: str
    text: str


def _wide(part: str, times: int) -> str:
    return "[" + ", ".join([part] * times) + "]"


def _nested(opening: str, closing: str, times: int = 5_000) -> str:
    return opening * times + "1" + closing * times


GENERATED: Final[dict[str, list[str]]] = {
    "wide": [
        _wide("repeat('a', 1000000)", 3_000),
        _wide("0..999998", 500),
        _wide("len(sort(split(repeat('ba', 400000), '')))", 2_000),
        _wide("split(repeat('\u6f22', 999999), '')", 500),
        _wide("replace(repeat('a', 1000), 'a', repeat('b', 999))", 2_000),
        _wide("[repeat('a', 999999) + 'b']", 2_000),
        _wide("max(1..999998)", 2_000),
        _wide("fromJSON('[' + repeat('{},', 300000) + '1]')", 500),
        _wide("repeat('a', 999999) matches '(a|b|ab)*c'", 1_000),
        _wide("999998 in (1..999998)", 1_000),
        "let v = repeat('a', 1000000); " + _wide("v + 'b'", 2_000),
    ],
    "parts": [
        "${repeat('a', 1000000)}" * 3_000,
        "${include('fine.txt')}" * 3_000,
        "${toJSON(1..99999)}" * 500,
        "${" * 5_000,
        "${'" * 5_000,
        "${{" * 3_000 + "}}" * 3_000,
        "${'}" * 3_000 + "'}",
        "${/*" * 3_000 + "*/}",
        "${`" * 4_001 + "}",
        "{{ repeat('a', 1000000) }}" * 2_000,
        "{{" * 5_000,
        "{%" * 5_000,
        "{{ 1 }}" * 20_000,
    ],
    "deep": [
        _nested("(", ")"),
        _nested("[", "]"),
        _nested("{a: ", "}"),
        _nested("-", ""),
        _nested("not ", ""),
        _nested("true ? ", " : 2"),
        _nested("len(", ")"),
        _nested("map([1], ", ")"),
        _nested("let a = ", "; 1"),
        _nested("if true { ", " } else { 2 }"),
        "msg" + ".a" * 20_000,
        "msg" + "?.a" * 20_000,
        "msg" + "[0]" * 20_000,
        "1" + " + 1" * 20_000,
        "1" + " ** 1" * 20_000,
        "nil" + " ?? nil" * 20_000,
        "msg" + " | first()" * 5_000,
        "true" + " and true" * 20_000,
        "return " + _nested("(", ")") + ";",
        "return " + _nested("[", "]", 100_000) + ";",
        "return " + _nested("(() => ", ")()") + ";",
        "{" * 50_000 + "}" * 50_000,
        "{% if true %}" * 2_000 + "{% endif %}" * 2_000,
        "{% for x in [1] %}" * 200 + "{% endfor %}" * 200,
        "{{ " + _nested("(", ")") + " }}",
        "{{ 1" + " + 1" * 20_000 + " }}",
        "{{ 'a'" + " | upper" * 5_000 + " }}",
        '"' + "\\" * 100_001,
        "9" * 1_000_000,
        "a" * 1_000_000,
        "'" + "a" * 1_000_000 + "'",
        "\n" * 1_000_000 + "@",
        "/*" * 500_000,
        "\u0000" * 1000,
    ],
}


def entries(name: str) -> list[Entry]:
    """Give all texts of one file of the corpus, each with a name that is fit for a test."""
    found: list[Entry] = []
    groups = yaml.safe_load((Path(__file__).parent / "corpus" / f"{name}.yaml").read_text("utf-8"))
    for group in groups:
        family = group["class"].partition(" (")[0]
        texts = group.get("texts") or GENERATED[group["generated"]]
        found += [Entry(f"{family}: {text[:50]}", text) for text in texts]
    return found
