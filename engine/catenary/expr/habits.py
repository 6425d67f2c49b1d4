"""What people write who have another language in their fingers, and what it is called here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.expr.functions.function import Function

SIGNS: Final = {
    "===": "Compare with `==`.",
    "!==": "Compare with `!=`.",
    "<>": "Compare with `!=`.",
    "=<": "Compare with `<=`.",
    "=>": "Compare with `>=`; what is done to each element is written with `#`, as in `filter(list, # > 1)`.",
    "->": "A field is read with `.`; what is done to each element is written with `#`, as in `filter(list, # > 1)`.",
    "=~": "Write `text matches 'pattern'`.",
    ">>": "Write `bitshr(number, places)`.",
    "<<": "Write `bitshl(number, places)`.",
    ":=": "`let` is written `let name = value; expression`.",
    **dict.fromkeys(
        ("+=", "-=", "*=", "/=", "%="), "Nothing can be changed here; `let name = value; ...` names a value."
    ),
}
"""Signs of other languages that no expression can hold, and what to do instead."""

SIGN: Final = re.compile("|".join(map(re.escape, sorted(SIGNS, key=len, reverse=True))))

_CHARACTERS: Final = {
    "&": "Write `&&` or `and`.",
    "~": "A pattern is tried with `text matches 'pattern'`; `bitnot(number)` turns bits.",
    "@": "The payload is `msg`, its keys are `msg.key`.",
    **dict.fromkeys("“”‘’„«»´", "Use straight quotes."),
}

# words that stand before what they are about, and those that stand behind it
_LEADING: Final = {
    "not": "Write `not`.",
    "return": "An expression is its own result; leave out `return`.",
    **dict.fromkeys(("var", "const"), "A value is named as in `let name = value; expression`."),
    "typeof": "Write `type(x)`.",
    **dict.fromkeys(
        ("lambda", "function", "fn", "def"),
        "What is done to each element is written with `#`, as in `map(list, # * 2)`.",
    ),
    **dict.fromkeys(("await", "async", "new"), "Call it without this word."),
    "case": "Write `test ? value : other`.",
}
_FOLLOWING: Final = {
    "is": "Compare with `==`, as in `x == nil` or `x != nil`.",
    **dict.fromkeys(
        ("like", "ilike", "regexp", "rlike"), "Write `text contains 'part'`, `startsWith`, `endsWith` or `matches`."
    ),
    "includes": "Write `text contains 'part'`, or `element in list`.",
    "between": "Write `1 <= x <= 5`.",
    "for": "Write `map(list, # * 2)` or `filter(list, # > 1)`.",
    "div": "Write `int(a / b)`.",
    "mod": "Write `a % b`.",
    "xor": "Write `a != b`.",
    "eq": "Write `==`.", "ne": "Write `!=`.", "gt": "Write `>`.", "lt": "Write `<`.", "ge": "Write `>=`.",
    "le": "Write `<=`.", "equals": "Write `==`.",
    "instanceof": "Write `type(x) == 'map'`.",
    "then": "Write `if test { value } else { other }`, or `test ? value : other`.",
    "as": "Convert with `int(x)`, `float(x)` or `string(x)`.",
}  # fmt: skip

CALLS: Final = {
    **dict.fromkeys(("length", "size", "count", "Count", "Length"), "len"),
    **dict.fromkeys(("toUpperCase", "toUpper", "ToUpper", "uppercase", "ucase"), "upper"),
    **dict.fromkeys(("toLowerCase", "toLower", "ToLower", "lowercase", "lcase"), "lower"),
    **dict.fromkeys(("parseInt", "toInt", "Integer"), "int"),
    **dict.fromkeys(("parseFloat", "Number", "toFloat"), "float"),
    **dict.fromkeys(("toString", "str", "String", "to_s"), "string"),
    **dict.fromkeys(("parse", "loads", "json_decode", "fromJson"), "fromJSON"),
    **dict.fromkeys(("stringify", "dumps", "json_encode", "toJson", "tojson"), "toJSON"),
    **dict.fromkeys(("strip", "trimSpace"), "trim"),
    **dict.fromkeys(("average", "avg"), "mean"),
    **dict.fromkeys(("some",), "any"),
    **dict.fromkeys(("every",), "all"),
    **dict.fromkeys(("sorted",), "sort"),
    **dict.fromkeys(("reversed",), "reverse"),
    **dict.fromkeys(("unique", "distinct"), "uniq"),
    **dict.fromkeys(("head",), "first"),
    **dict.fromkeys(("btoa", "b64encode"), "toBase64"),
    **dict.fromkeys(("atob", "b64decode"), "fromBase64"),
    **dict.fromkeys(("isoformat", "toISOString", "strftime"), "string"),
    **dict.fromkeys(("typeof", "typeOf"), "type"),
}
"""Functions and methods of other languages by what they are called here."""

_OPERATORS: Final = {
    **dict.fromkeys(("includes", "contains", "Contains"), "`x contains 'part'`, or `element in x`"),
    **dict.fromkeys(("startsWith", "startswith", "HasPrefix"), "`x startsWith 'part'`"),
    **dict.fromkeys(("endsWith", "endswith", "HasSuffix"), "`x endsWith 'part'`"),
    **dict.fromkeys(("match", "matches", "test", "search"), "`x matches 'pattern'`"),
    **dict.fromkeys(("slice", "substring", "substr"), "`x[1:3]`"),
    **dict.fromkeys(("has", "hasKey", "hasOwnProperty", "containsKey", "has_key"), "`'key' in x`"),
    **dict.fromkeys(("equals", "isEqual"), "`x == y`"),
    **dict.fromkeys(("coalesce", "ifnull", "nvl", "IFNULL", "COALESCE", "isnull", "default"), "`x ?? other`"),
    **dict.fromkeys(("iif", "ifelse", "cond", "IF"), "`test ? value : other`"),
    **dict.fromkeys(("forEach",), "`map(x, # * 2)`"),
    **dict.fromkeys(("items", "entries"), "`toPairs(x)`"),
    **dict.fromkeys(("push", "append"), "`concat(x, [y])`"),
    **dict.fromkeys(("isNaN",), "`x != x`"),
    **dict.fromkeys(("NOT", "Not"), "`not x`"),
}


LIST_HINT: Final = "A list is written in brackets, as in `x in [1, 2]`."
"""What to do about a comma in parentheses."""

PREFIX_HINT: Final = "Texts have no prefix but `b`; they are joined with `+`, as in `'a' + string(x)`."
"""What to do about a letter right before a text."""


def sign_hint(character: str) -> str:
    """Say what to do about a character that nothing begins with."""
    plain = normalize("NFKC", character)
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if plain != character and plain.isascii() and plain.strip():
        return f"Use the plain `{plain}`."
    return ""


def leading_hint(word: str) -> str:
    """Say what to do about a word that stands alone before a value; empty when it is a name like any other."""
    return _LEADING.get(word.lower(), "")


def following_hint(word: str) -> str:
    """Say what to do about a word that stands behind a value; empty when it is a name like any other."""
    return _FOLLOWING.get(word.lower(), "")


def converting_hint(operator: str, kinds: set[str]) -> str:
    """Say how two operands of these kinds become such that an operator takes; empty when there is no one way."""
    if kinds == {"time", "string"}:
        return "; `date(text)` reads a time"
    if kinds in ({"time", "int"}, {"time", "float"}):
        return "; a duration is written as in `duration('90s')`"
    return (
        "; `string(x)` makes a string" if operator == "+" and kinds in ({"string", "int"}, {"string", "float"}) else ""
    )


def call_hint(name: str, known: Mapping[str, Function]) -> str:
    """Say how a function or method of another language is written here; empty when it is not known.

    Args:
        name: What was called, without its owner.
        known: The functions of the language.
    """
    if name in _OPERATORS:
        return f"write {_OPERATORS[name]}"
    function = known.get(CALLS.get(name, name))
    return "" if function is None else f"write `{function.name}(x{', ...' * (function.least > 1)})`"
