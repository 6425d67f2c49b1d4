"""The page of the operators, names and limits of expressions."""

from __future__ import annotations

from typing import Final

from catenary.docsgen.markdown import code, page, table
from catenary.expr import budget, kinds, lexer, lower, operands, parser, regex
from catenary.expr.environment import VARIABLES, Environment

_OPERATORS: Final = {
    "|": "Gives what is before it to the call after it, as its first argument.",
    "or": "True when one side is. The right side is not looked at when the left one is true.",
    "and": "True when both sides are. The right side is not looked at when the left one is false.",
    "==": "Equal by value, at any depth; 1 and 1.0 are equal. Values of different kinds are not.",
    "!=": "Not equal.",
    "<": "Less: two numbers, two strings, two times or two durations. Comparisons may follow each other: `1 < x < 9`.",
    ">": "Greater.",
    "<=": "Less or equal.",
    ">=": "Greater or equal.",
    "in": "An element of a list, or a key of a map; `not in` is the opposite.",
    "matches": "A string in which the regular expression on the right finds something.",
    "contains": "A string in which the other occurs.",
    "startsWith": "A string that begins with the other.",
    "endsWith": "A string that ends with the other.",
    "..": "The list of whole numbers from one to another, both included.",
    "+": "Adds numbers or durations, or a duration to a time; puts strings together.",
    "-": "Subtracts numbers, durations, times (a duration), or a duration from a time.",
    "*": "Multiplies.",
    "/": "Divides, always with a fraction: `4 / 2` is the float 2.",
    "%": "What is left of a division; it has the sign of the left side.",
    "**": "To the power of, always a float; from right to left.",
    "??": "The right side when the left one is nil. Next to other operators it needs parentheses.",
}
_UNARY: Final = {
    "not": "The opposite of a bool.",
    "-": "The number with the other sign.",
    "+": "The number itself.",
}
_AROUND: Final = (
    ("loosest", "`a; b`, `let x = a; b`", "The value of the last one."),
    ("", "`test ? a : b`, `a if test else b`, `if test { a } else { b }`", "A choice; from right to left."),
)
_AFTER: Final = (
    "tightest",
    "`a.b`, `a[b]`, `a[b:c]`, `a?.b`, `a?.[b]`, `f(a)`",
    "A field, an element, a part of a list or string; with `?` nil when what is before it is nil; a call.",
)
_NAMES: Final = {
    "msg": "The data: parsed when it is JSON, else a string. `msg.data` is the data as text, unless it has such a key.",
    "metadata": "The metadata, a map of strings; a key that is not there gives empty text.",
    "data": "The data as text.",
    "dataType": "`JSON`, `TEXT` or `BINARY`.",
    "type": "The message's business type.",
    "msgType": "The same.",
    "id": "The message's id.",
    "ts": "The message's time, in milliseconds since 1970.",
    "global": "The properties of the program; keys may hold dots. One that is not set gives empty text.",
    "vars": "The chain's variables; one that is not set gives empty text.",
    "ruleChain": "The chain: `id`, `name`, `root`, `debugMode`, `disabled`, `additionalInfo`, `configuration`.",
}


def language_page() -> str:
    """Give the page; what it lists is what the parser and the environment know."""
    return page(
        "Operators, names and limits",
        "[The language](../language.md) teaches what is listed here; [functions](functions.md) have a page of their "
        "own.",
        "## Operators, from loosest to tightest",
        table(("Binds", "Operator", "Meaning"), _operator_rows()),
        "A negated test is written `a not in b`, `a not contains b` and so on: `not` binds tighter than `in`.",
        "## Names",
        table(("Name", "What it is"), [(code(name), _NAMES[name]) for name in sorted(VARIABLES)]),
        "The id of a node is a name too: `prepare.msg`, `prepare.metadata` and so on are what node `prepare` put out "
        "last, in this run. In templates and documents the keys of the metadata are names as well. Where names are the "
        "same, those of the table win, then nodes, then keys of the metadata. `$env` is a map of all names. Any other "
        "name is nil. Scripts do not know ids of nodes; hand what they need over as metadata, or in the data.",
        "## Limits",
        table(("Limit", "At most"), _limit_rows()),
        "What is over a limit is an error: when the chain is loaded for what can be seen in the text, else when it "
        "happens.",
    )


def _operator_rows() -> list[tuple[str, str, str]]:
    """Give a row for each level, in order of precedence; what has no word here would be an error."""
    levels: dict[int, list[tuple[str, str]]] = {}
    spellings: dict[str, list[str]] = {}
    for operator in parser.PRECEDENCE:
        spellings.setdefault(parser.LONG.get(operator, operator), []).append(operator)
    for operator, names in spellings.items():
        levels.setdefault(parser.PRECEDENCE[operator], []).append((_written(operator, names), _OPERATORS[operator]))
    for operator, level in parser.UNARY.items():
        if operator in _UNARY:
            shown = "`not a`, `!a`" if operator == "not" else code(f"{operator}a")
            levels.setdefault(level, []).append((shown, _UNARY[operator]))
    rows: list[tuple[str, str, str]] = [*_AROUND]
    for level in sorted(levels):
        for index, (shown, meaning) in enumerate(levels[level]):
            rows.append((str(level) if index == 0 else "", shown, meaning))
    return [*rows, _AFTER]


def _written(operator: str, names: list[str]) -> str:
    negated = [f"not {name}" for name in names if operator in parser.NEGATABLE]
    return ", ".join(code(name) for name in [*names, *negated])


def _limit_rows() -> list[tuple[str, str]]:
    environment = Environment()
    return [
        ("nested parentheses, brackets, conditions", f"{operands.MAX_NESTING:,}"),
        ("tokens of an expression", f"{lexer.MAX_TOKENS:,}"),
        ("nodes of its tree", f"{lower.MAX_NODES:,}"),
        ("a literal string", f"{lexer.MAX_LITERAL:,} characters"),
        ("a literal whole number", f"{operands.MAX_INTEGER:,}"),
        ("a whole number that is worked out", f"{kinds.MAX_BITS:,} bits"),
        ("a string that is made", f"{kinds.MAX_TEXT:,} characters"),
        ("a list that is made", f"{kinds.MAX_ITEMS:,} elements"),
        ("steps of predicates and elements made by one evaluation", f"{budget.UNITS:,}"),
        ("processor time of an evaluation with predicates", f"{budget.SECONDS:g} s"),
        ("a regular expression", f"{regex.MAX_PATTERN:,} characters"),
        ("a file that `include` reads", f"{environment.max_file_bytes:,} bytes"),
        ("time of one call of a script", f"{environment.script_timeout_s:g} s"),
        ("memory of the scripts of a node", f"{environment.script_memory_bytes:,} bytes"),
        ("calls of host functions by one call of a script", f"{environment.script_host_calls:,}"),
    ]
