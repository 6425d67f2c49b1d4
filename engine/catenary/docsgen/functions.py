"""The page of the functions that expressions and templates may call."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

from catenary.docsgen.markdown import code, json_code, page, table
from catenary.expr import Environment
from catenary.expr.functions.table import functions_of
from catenary.expr.regex import BEYOND, MAX_PATTERN

if TYPE_CHECKING:
    from catenary.expr.functions.function import Function

_METHODS: Final = """\
## Methods of times and durations

`date(...)` and `now()` give times, `duration(...)` and the difference of two times give durations. A time has the
methods `Year()`, `Month()` (1 to 12), `Day()`, `Hour()`, `Minute()`, `Second()`, `Weekday()` (`Saturday`), `YearDay()`,
`Unix()` (seconds), `UnixMilli()`, `UTC()`, `In(timezone(...))`, `Add(duration)`, `Sub(time)`, `Before(time)`,
`After(time)`, `Equal(time)`, `Format(layout)` and `String()`. A duration has `Hours()`, `Minutes()`, `Seconds()` (each
with a fraction), `Milliseconds()` and `String()`. A layout shows how the 2nd of January 2006, 15:04:05, is written:
`2006-01-02 15:04:05`, `02.01.06`, `3:04 PM`. As text a time is RFC 3339 (`2024-02-03T04:05:06Z`) and a duration is like
`1h30m0s`.
"""


def function_page() -> str:
    """Give the page that lists all functions by family and name, each with its examples."""
    families: dict[str, list[Function]] = {}
    for _, entry in sorted(functions_of(Environment()).items()):
        families.setdefault(entry.family, []).append(entry)
    parts: list[str] = []
    for family in sorted(families):
        rows = [(code(signature(entry)), entry.doc, _examples(entry)) for entry in families[family]]
        parts += [f"## {family}", table(("Function", "What it gives", "Examples"), rows)]
    return page(
        "Functions of expressions",
        "They may be called in expressions and inside `${...}`. Arguments that end in `?` may be left out; "
        "`...` stands for any number of them. `predicate` and `step` are expressions that are evaluated for each "
        "element: `#` is the element, `.name` its field, `#index` its place, `#acc` what `reduce` has so far. "
        "The number of arguments and the kinds of literal ones are checked when a chain is loaded; a value of "
        "another kind that comes with a message makes the expression fail, and the error names the function and the "
        "kind. The example of a time or a duration shows its text. A program adds functions of its own with "
        "`Engine(host_functions={...})`.",
        *parts,
        _METHODS,
        "## Regular expressions",
        "`text matches pattern` tells whether the pattern is found anywhere in the text; `^` and `$` bind it to the "
        "ends, `(?i)` takes capitals for small letters, `\\d`, `\\w`, `\\s` and `\\b` know ASCII only. A pattern has "
        f"at most {MAX_PATTERN} characters; a literal one is checked when the chain is loaded. With the extra `regex` "
        "(google-re2) a search takes time in proportion to the length of the text, whatever the pattern is. Without it "
        "`$` also matches before a line break at the end, and patterns that could take very long (repeats or "
        "alternatives within repeats, texts too long for several repeats) are refused with an error that names the "
        "extra. In both cases a pattern cannot have:",
        table(("Pattern", "What it is, and what to do"), BEYOND),
    )


def _examples(entry: Function) -> str:
    return "; ".join(f"{code(source)} = {json_code(value)}" for source, value in entry.examples)


def signature(entry: Function) -> str:
    """Give how a function is called: `replace(text, from, to)`; what may be left out ends in `?`."""
    names = [
        f"{name}..." if parameter.kind is inspect.Parameter.VAR_POSITIONAL else name
        for name, parameter in inspect.signature(entry.call).parameters.items()
    ][entry.counted + entry.contextual :]
    shown = [name + ("?" if index >= entry.least and "..." not in name else "") for index, name in enumerate(names)]
    return f"{entry.name}({', '.join(shown)})"
