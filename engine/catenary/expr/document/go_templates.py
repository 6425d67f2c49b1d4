"""Text templates of Go: recognised in a document, and told as Jinja2.

Chains of the field carry them (`{{ .msg.x }}`, `{{ if gt .msg.t 20 }}`); what is found is translated for the error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from catenary.errors import TemplateError
from catenary.expr.problems import syntax_problem
from catenary.text_places import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from catenary.errors import ExpressionError

_ACTION: Final = re.compile(r"\{\{(-?)(.*?)(-?)\}\}", re.DOTALL)
_STRING: Final = r'"(?:\\.|[^"\\\n])*"|`[^`]*`'
_TOKEN: Final = re.compile(
    rf"\s*({_STRING}|'(?:\\.|[^'\\\n])*'|:=|[()|,=]|[.$]?[\w]+(?:\.\w+)*|[.$][\w.]*|[-+]?[0-9.]+|\S)"
)
_OPERATORS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WORDS: Final = "and|or|eq|ne|lt|le|gt|ge|len|index|slice|print|printf|println|html|js|urlquery|call"
_SIGNS: Final = re.compile(
    rf"\.[A-Za-z_]|\.\s*$|\$[\w.]*|/\*|`"  # `.msg`, `.`, `$x`, a comment, a raw text
    rf"|(?:else\s+)?(?:if|with)\s|range\s+[.$0-9]|(?:define|template|block)\s+\"|:="
    rf"|(?:{_WORDS})\s+[.$\"`0-9]"  # with `(`, it may be a call in Jinja2
)
_INNER_SIGN: Final = re.compile(r"(?<![\w)\]}])\.[A-Za-z_]|(?<!\w)\$\w*|:=")
_DOT: Final = "item"
_COUNTERS: Final = frozenset({"i", "j", "n", "idx", "index", "ix", "pos"})  # else the first of two is a key
_VERBS: Final = (("%+v", "%s"), ("%#v", "%s"), ("%v", "%s"), ("%t", "%s"), ("%q", '\\"%s\\"'))
_PLAIN: Final = re.compile(r"[\w.]+")
_DEFINED: Final = re.compile(r"\{\{-?\s*define\s+[\"`]([^\"`]+)")


def go_problem(source: str, name: str = "") -> ExpressionError | None:
    """Give the error of a text that is a template of Go, `None` when it is none.

    The error names what was found, its place, and the same line in Jinja2.
    """
    for match in _ACTION.finditer(_blanked(source), 0, _end_of_actions(source)):
        text = source[match.start(2) : match.end(2)].strip()
        if _is_go(text):
            return _problem(source, match.start(), source[match.start() : match.end()], name)
    return None


def _end_of_actions(source: str) -> int:
    """Give where the last action ends: a search for the end of one that has none takes as long as the text is."""
    return source.rfind("}}") + 2


def _blanked(source: str) -> str:
    """Give the text with comments and raw parts of Jinja2 blanked out, of the same length."""
    pattern = r"\{#.*?(?:#\}|\Z)|\{%-?\s*raw\s*-?%\}.*?(?:\{%-?\s*endraw\s*-?%\}|\Z)"
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match.group()), source, flags=re.DOTALL)


def _is_go(text: str) -> bool:
    if _SIGNS.match(text):
        return True
    plain = re.sub(rf"{_STRING}|'(?:\\.|[^'\\\n])*'", "x", text)
    return bool(_INNER_SIGN.search(plain))


def _problem(source: str, position: int, found: str, name: str) -> ExpressionError:
    try:
        translated = translate(source)
    except RecursionError:
        translated = ""
    row = source.count("\n", 0, position)
    line = translated.split("\n")[row] if translated.count("\n") == source.count("\n") else ""
    shown = shorten(found)
    text = f"{shown!r} is a template of Go; documents are written in Jinja2"
    hint = f"In Jinja2 this line is: {shorten(line, 400)}" if line.strip() else "Write it in Jinja2."
    where = f"{name}: " if name else ""
    return syntax_problem(TemplateError, where + text, source=source, position=position, hint=hint)


def translate(source: str) -> str:
    """Write a template of Go as Jinja2, as well as that goes by its words alone; lines stay where they are."""
    return _Translator().translate(source)


class _Translator:
    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []  # (how the block ends, what the dot was before)
        self.dot = ""
        self.macros: list[str] = []

    def translate(self, source: str) -> str:
        self.macros = _DEFINED.findall(source)
        end = _end_of_actions(source)
        return _ACTION.sub(self._action, source[:end]) + source[end:]

    def _action(self, match: re.Match[str]) -> str:
        left, text, right = match[1], match[2].strip(), match[3]
        if text.startswith("/*"):
            return f"{{#{left}{text[2:].removesuffix('*/')}{right}#}}"
        tag, is_statement = self._tag(text)
        lines = "\n" * (match[0].count("\n") - tag.count("\n"))
        if is_statement:
            return f"{{%{left} {tag} {right}%}}{lines}"
        return f"{{{{{left} {tag} {right}}}}}{lines}"

    def _tag(self, text: str) -> tuple[str, bool]:
        word, rest = [*text.split(maxsplit=1), "", ""][:2]  # an action may be empty
        if word == "else":
            kind, _, condition = rest.partition(" ")
            return (f"elif {self._value(condition)}" if kind in {"if", "with"} else "else"), True
        if word == "template":
            return self._template(rest)
        handler = _STATEMENTS.get(word)
        if handler is not None:
            return handler(self, rest), True
        name, assigned, value = text.partition(":=")
        if not assigned:
            name, assigned, value = text.partition(" = ")
        if assigned and name.strip().startswith("$"):
            return f"set {name.strip()[1:]} = {self._value(value)}", True
        return self._value(text), False

    def _begin(self, end: str, dot: str | None = None) -> None:
        self.open.append((end, self.dot))
        if dot is not None:
            self.dot = dot

    def _if(self, rest: str) -> str:
        condition = self._value(rest)
        self._begin("endif")
        return f"if {condition}"

    def _with(self, rest: str) -> str:
        name, assigned, value = rest.partition(":=")
        written = self._value(value if assigned else rest)
        if not assigned and _PLAIN.fullmatch(written):
            self._begin("endif", written)
            return f"if {written}"
        target = name.strip()[1:] if assigned else _DOT
        self._begin("endif", target)
        return f"set {target} = {written} %}}{{% if {target}"

    def _range(self, rest: str) -> str:
        names, assigned, value = rest.partition(":=")
        variables = [name.strip().removeprefix("$") for name in names.split(",")] if assigned else []
        values = self._value(value if assigned else rest)
        values = f"range({values})" if values.isdigit() else values
        self._begin("endfor", variables[-1] if variables else _DOT)
        if len(variables) == 2 and variables[0] in _COUNTERS:
            return f"for {variables[1]} in {values} %}}{{% set {variables[0]} = loop.index0"
        if len(variables) == 2 and variables[0] != "_":
            return f"for {variables[0]}, {variables[1]} in {values}.items()"
        return f"for {self.dot} in {values}"

    def _define(self, rest: str) -> str:
        self._begin("endmacro", _DOT)
        return f"macro {_macro(rest)}({_DOT})"

    def _block(self, rest: str) -> str:
        value = self._value(_named(rest)[1])
        self._begin("endblock", value if _PLAIN.fullmatch(value) else None)
        return f"block {_macro(rest)}"

    def _template(self, rest: str) -> tuple[str, bool]:
        name, value = _named(rest)
        if value or name.strip('"`') in self.macros:
            return f"{_macro(name)}({self._value(value)})", False
        return f"include {name}", True

    def _end(self, _: str) -> str:
        end, self.dot = self.open.pop() if self.open else ("endif", "")
        return end

    # Expressions

    def _value(self, text: str) -> str:
        """Translate a pipeline."""
        tokens = list(_TOKEN.findall(text))
        stages: list[list[str]] = [[]]
        depth = 0
        for token in tokens:
            depth += (token == "(") - (token == ")")
            if token == "|" and depth == 0:
                stages.append([])
            else:
                stages[-1].append(token)
        written = self._command(stages[0])
        for stage in stages[1:]:
            written = self._piped(written, stage)
        return written

    def _piped(self, value: str, stage: list[str]) -> str:
        words = self._operands(stage[1:])
        name = stage[0] if stage else ""
        if name in {"printf", "index", "len", "print", "println", "not", "and", "or"} or name in _OPERATORS:
            return _written(name, [*words, _grouped(value)])
        arguments = f"({', '.join(words)})" if words else ""
        return f"{_grouped(value)} | {_FILTERS.get(name, name)}{arguments}"

    def _command(self, tokens: list[str]) -> str:
        if not tokens:
            return ""
        first = tokens[0]
        if re.fullmatch(r"[A-Za-z]\w*", first) and first not in {"true", "false", "nil"} and len(tokens) > 1:
            return _written(first, self._operands(tokens[1:]))
        return " ".join(self._operands(tokens))

    def _operands(self, tokens: list[str]) -> list[str]:
        operands: list[str] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token == "(":
                end = _closing(tokens, at)
                operands.append(f"({self._value(' '.join(tokens[at + 1 : end]))})")
                at = end
            elif token.startswith(".") and operands and tokens[at - 1] == ")":
                operands[-1] += token
            else:
                operands.append(self._name(token))
            at += 1
        return operands

    def _name(self, token: str) -> str:
        if token == ".":
            return self.dot or "msg"
        if token.startswith("$."):
            return token[2:]
        if token.startswith("$"):
            return token[1:] or "msg"
        if token.startswith("."):
            return f"{self.dot}{token}" if self.dot else token[1:]
        if token.startswith("`"):
            return '"' + token[1:-1].replace("\\", "\\\\").replace('"', '\\"') + '"'
        return token


def _closing(tokens: list[str], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == "(") - (tokens[place] == ")")
        if depth == 0:
            return place
    return len(tokens)


def _named(text: str) -> tuple[str, str]:
    """Cut the name in quotes off what is written behind it."""
    match = re.match(_STRING, text)
    end = match.end() if match else len(text)
    return text[:end], text[end:].strip()


def _macro(text: str) -> str:
    return re.sub(r"\W", "_", _named(text)[0].strip('"`')) or "part"


def _grouped(value: str) -> str:
    """Put an operation into parentheses: filters bind tighter than operators."""
    bare = re.sub(rf"{_STRING}|\([^()]*\)", "x", value)
    return f"({value})" if re.search(r" (?:[=!<>]=?|in|and|or|~) |^not ", bare) else value


def _pattern(text: str) -> str:
    """Write the verbs of Go's `printf` that Python does not have."""
    for verb, written in _VERBS:
        text = text.replace(verb, written)
    return text


_FILTERS: Final = {"urlquery": "urlencode", "js": "jsonEscape", "len": "length"}


def _written(name: str, words: list[str]) -> str:
    """Write a call of one of Go's functions."""
    if name in _OPERATORS and len(words) >= 2:
        first, *others = words
        if len(others) > 1:
            return f"{first} in [{', '.join(others)}]"
        return f"{first} {_OPERATORS[name]} {others[0]}"
    if name in {"and", "or"}:
        return f" {name} ".join(words)
    if name == "not":
        return f"not {' '.join(words)}"
    if name == "index" and words:
        return words[0] + "".join([f"[{word}]" for word in words[1:]])
    if name == "slice" and words:
        return f"{words[0]}[{':'.join(words[1:])}]"
    if name in {"print", "println"}:
        return " ~ ".join([*words, '"\\n"'] if name == "println" else words)
    if name == "printf" and words:
        return f"{_pattern(words[0])} | format({', '.join(words[1:])})"
    if name == "len" and words:
        return f"{words[0]} | length"
    if name in {"html", "js", "urlquery", "escape"} and len(words) == 1:
        return f"{words[0]} | {_FILTERS.get(name, name)}"
    return f"{name}({', '.join(words)})"


_STATEMENTS: Final[dict[str, Callable[[_Translator, str], str]]] = {
    "if": _Translator._if,
    "with": _Translator._with,
    "range": _Translator._range,
    "define": _Translator._define,
    "block": _Translator._block,
    "end": _Translator._end,
    "break": lambda _, __: "break",
    "continue": lambda _, __: "continue",
}
