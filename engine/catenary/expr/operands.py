"""What operators stand between: literals, names, calls, predicates, and what may follow them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final, cast

from catenary.expr.habits import LIST_HINT, PREFIX_HINT, following_hint, leading_hint
from catenary.expr.problems import syntax_problem
from catenary.expr.syntax import (
    AllNames,
    Call,
    Chain,
    Constant,
    Field,
    Index,
    Item,
    ItemKind,
    ListOf,
    MapOf,
    Method,
    Name,
    Node,
    Predicate,
    Slice,
    Span,
)

if TYPE_CHECKING:
    from catenary.errors import ExpressionError
    from catenary.expr.lexer import Token, TokenKind

MAX_INTEGER: Final = 2**63 - 1
"""The largest integer that may be written; those that come with messages and out of arithmetic have any size."""

MAX_NESTING: Final = 80
"""How deep parentheses, brackets, braces and signs may be nested; rows of operators may have any length."""

PREDICATE_FUNCTIONS: Final = frozenset({
    "all", "any", "none", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "sum",
    "groupBy", "sortBy", "reduce",
})  # fmt: skip
"""Functions whose second argument is evaluated for each element."""

CONSTANTS: Final = {"true": True, "false": False, "nil": None, "True": True, "False": False, "None": None}
WORDS: Final = frozenset({
    "and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "else", "let", "if",
})  # fmt: skip


class Operands:
    """The part of the parser below the operators."""

    def __init__(self, source: str, tokens: list[Token], kind: type[ExpressionError]) -> None:
        self.source = source
        self.tokens = tokens
        self.kind = kind
        self.at = 0
        self.scope: list[str] = []
        self.predicates: list[str] = []  # the functions whose predicates are open
        self._depth = 0

    @abstractmethod
    def expression(self) -> Node:
        """Parse one expression."""

    @abstractmethod
    def sequence(self) -> Node:
        """Parse expressions separated by semicolons."""

    # -- tokens

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.at]

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    @property
    def previous_end(self) -> int:
        """Where the last token read ends."""
        return self.tokens[max(self.at - 1, 0)].span.end

    def advance(self) -> Token:
        """Read one token."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def is_operator(self, text: str, kind: TokenKind = "operator") -> bool:
        """Tell whether this token comes next."""
        return self.token.kind == kind and self.token.text == text

    def take(self, kind: TokenKind, text: str) -> bool:
        """Read this token if it comes next."""
        found = self.is_operator(text, kind)
        if found:
            self.at += 1
        return found

    def expect(self, kind: TokenKind, text: str, hint: str) -> None:
        """Read this token. Raises: ExpressionError: when another one comes."""
        if not self.take(kind, text):
            raise self.stray(f"expected '{text}', found {self.shown(self.token)}", self.habit() or hint)

    def is_at_end(self) -> bool:
        """Tell whether nothing follows."""
        return self.token.kind == "end"

    def ends_sequence(self) -> bool:
        """Tell whether nothing of this sequence follows."""
        return self.token.kind == "end" or (self.token.kind == "operator" and self.token.text in {"}", ")"})

    def shown(self, token: Token) -> str:
        """Name a token in an error."""
        if token.kind == "end":
            return "the end"
        return repr(self.source[token.span.start : token.span.end])

    def problem(self, text: str, token: Token, hint: str = "") -> ExpressionError:
        """Make the error for the place of a token."""
        return syntax_problem(self.kind, text, source=self.source, position=token.span.start, hint=hint)

    def stray(self, text: str, hint: str = "") -> ExpressionError:
        """Make the error for the token that comes next and that nobody wants; a word before it may be the reason."""
        before, token = self.tokens[max(self.at - 1, 0)], self.token
        if before.kind == "name" and token.kind in {"name", "text", "number", "item"}:
            is_prefix = token.kind == "text" and before.span.end == token.span.start
            told = PREFIX_HINT if is_prefix else leading_hint(before.text)
            if told:
                return self.problem(f"unexpected {self.shown(before)}", before, told)
        return self.problem(text, token, hint or self._stray_hint())

    def habit(self) -> str:
        """Say what to do about a token that is none here, but is in other languages; empty when it is not one."""
        token, before = self.token, self.tokens[max(self.at - 1, 0)]
        if token.kind == "name":
            told = following_hint(token.text)
            is_word = token.text not in WORDS and token.text.lower() in WORDS
            return told or (f"Write `{token.text.lower()}`." if is_word else "")
        if token.kind == "number" and token.text.startswith(".") and before.kind != "number":
            return "An element is read by its index, as in `list[1]`; a key as in `msg['1']`."
        if token.kind == "operator" and token.text == ":" and before.text == "?":
            return "Write `a ?? b` for the first that is not nil."
        return "Compare with `==`." if self.is_operator("=") else ""

    def _stray_hint(self) -> str:
        token, before = self.token, self.tokens[max(self.at - 1, 0)]
        if told := self.habit():
            return told
        if before.kind == "text" and before is not token and before.span.end == token.span.start:
            return "A quote within a text is written with a backslash before it."
        if self.is_operator("not", kind="name"):
            return "Write `not a`, or `a not in b`."
        if token.kind in {"name", "text", "number"}:
            return "An operator is missing before it."
        if self.is_operator(","):
            return LIST_HINT
        return "Nothing is open that it closes." if token.text in {")", "]", "}"} else ""

    def _missing(self, token: Token) -> ExpressionError:
        """Make the error for what stands where a value should."""
        text = f"expected a value, found {self.shown(token)}"
        if token.kind == "end":
            return self.problem(text, token, "Something is missing at the end.")
        if token.text in {"contains", "startsWith", "endsWith", "matches"}:
            return self.problem(text, token, f"It stands between two texts, as in `text {token.text} 'part'`.")
        if token.text == "/":
            return self.problem(text, token, "A pattern is written as text, as in `text matches 'b+'`.")
        if token.text in {"[", "(", "{", "."}:
            return self.problem(text, token)
        return self.problem(text, token, self.habit() or "A value is missing before it.")

    def __enter__(self) -> None:
        """Go one level of nesting deeper. Raises: ExpressionError: when there are too many."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.problem("the expression is nested too deeply", self.token, "Split it with `let`.")

    def __exit__(self, *_: object) -> None:
        """Come back from one level of nesting."""
        self._depth -= 1

    # -- operands

    def operand(self) -> Node:
        """Parse a literal, a name, a call, or something in parentheses."""
        token = self.token
        if token.kind == "number" or token.kind == "bytes":
            self._check_width(token)
            self.advance()
            return Constant(token.span, token.value)
        if token.kind == "text":
            self.advance()
            return Constant(token.span, token.text)
        if token.kind == "item":
            self.advance()
            return self._item(token, cast("ItemKind", token.text))
        if token.kind == "name":
            return self._named(token)
        if token.kind == "operator":
            return self._bracketed(token)
        raise self._missing(token)

    def _check_width(self, token: Token) -> None:
        """Raises: ExpressionError: when an integer has more than 64 bits; the lowest one stands after a minus."""
        value = token.value
        if not isinstance(value, int) or value <= MAX_INTEGER:
            return
        if value > MAX_INTEGER + 1 or self.at == 0 or self.tokens[self.at - 1].text != "-":
            hint = f"Write int('{value}'), which takes integers of any size, or a number with a fraction."
            raise self.problem("the integer has more than 64 bits", token, hint)

    def _item(self, token: Token, kind: ItemKind) -> Node:
        if not self.predicates:
            raise self.problem(f"{token.text!r} outside of a predicate", token, "Use it as in `filter(list, # > 1)`.")
        if kind == "#acc" and self.predicates[-1] != "reduce":
            raise self.problem("'#acc' outside of `reduce`", token, "Use it as in `reduce(list, #acc + #)`.")
        return Item(token.span, kind)

    def _named(self, token: Token) -> Node:
        if token.text in WORDS:
            raise self._missing(token)
        self.advance()
        if token.text in CONSTANTS:
            return Constant(token.span, CONSTANTS[token.text])
        if token.text == "$env":
            return AllNames(token.span)
        if self.is_operator("("):
            arguments = self._arguments(token.text, ())
            return Call(Span(token.span.start, self.previous_end), token.text, arguments)
        return Name(token.span, token.text)

    def _bracketed(self, token: Token) -> Node:
        if self.take("operator", "("):
            node = self.sequence()
            is_list = self.is_operator(",")
            self.expect("operator", ")", LIST_HINT if is_list else "The parenthesis opened before is not closed.")
            return node
        if self.take("operator", "["):
            items = self._items("]")
            return ListOf(Span(token.span.start, self.previous_end), tuple(items))
        if self.take("operator", "{"):
            return self._map(token.span.start)
        if token.text == "." and self.predicates and self.following.kind == "name":
            return Item(Span(token.span.start, token.span.start), "#")  # `.name` is `#.name`
        raise self._missing(token)

    def _items(self, close: str) -> list[Node]:
        items: list[Node] = []
        while not self.is_operator(close):
            items.append(self.expression())
            if not self.take("operator", ","):
                break
        self.expect("operator", close, "A comma, or the closing bracket, is missing.")
        return items

    def _map(self, start: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self.is_operator("}"):
            key = self._key()
            self.expect("operator", ":", "A map is written `{key: value}`.")
            entries.append((key, self.expression()))
            if not self.take("operator", ","):
                break
        self.expect("operator", "}", "A comma, or the closing brace, is missing.")
        return MapOf(Span(start, self.previous_end), tuple(entries))

    def _key(self) -> Node:
        token = self.advance()
        if token.kind in {"name", "text", "number"}:
            return Constant(token.span, token.text)
        if token.kind == "operator" and token.text == "(":
            key = self.expression()
            self.expect("operator", ")", "The parenthesis opened before is not closed.")
            return key
        hint = "A map is written `{key: value}`."
        if token.text == "{":
            hint = "Take off the outer braces: `{{ ... }}` belongs into documents."
        raise self.problem(f"expected a key, found {self.shown(token)}", token, hint)

    # -- calls

    def piped(self, left: Node) -> Node:
        """Parse the right side of `|`, a call that gets `left` as its first argument."""
        token = self.token
        if token.kind != "name" or self.following.kind != "operator" or self.following.text != "(":
            raise self.problem(
                "the right side of '|' must be a call", token, "Write it as in `list | map(# + 1)`; `||` is or."
            )
        self.advance()
        arguments = self._arguments(token.text, (left,))
        return self.postfix(Call(Span(left.span.start, self.previous_end), token.text, arguments))

    def _arguments(self, name: str, first: tuple[Node, ...]) -> tuple[Node, ...]:
        self.expect("operator", "(", "")
        arguments = list(first)
        while not self.is_operator(")"):
            if len(arguments) == 1 and name in PREDICATE_FUNCTIONS:
                arguments.append(self._predicate(name))
            else:
                arguments.append(self.expression())
            if not self.take("operator", ","):
                break
        self.expect("operator", ")", f"A comma, or the closing parenthesis of `{name}(`, is missing.")
        return tuple(arguments)

    def _predicate(self, name: str) -> Node:
        start = self.token.span.start
        self.predicates.append(name)
        if self.is_operator("{") and not self._is_map_ahead():
            self.advance()
            body = self.sequence()
            self.expect("operator", "}", "The brace opened before is not closed.")
        else:
            body = self.expression()
        self.predicates.pop()
        return Predicate(Span(start, self.previous_end), body)

    def _is_map_ahead(self) -> bool:
        """Tell whether the brace here opens a map, which no block can begin like."""
        after = self.tokens[min(self.at + 2, len(self.tokens) - 1)]
        if self.following.kind == "operator" and self.following.text == "}":
            return True
        return self.following.kind in {"name", "text"} and after.kind == "operator" and after.text == ":"

    # -- what follows an operand

    def postfix(self, node: Node) -> Node:
        """Parse the accesses that follow an operand."""
        optional = False
        while self.token.kind == "operator":
            text = self.token.text
            if text == "[" or (text == "?." and self._is_bracket_after()):
                optional |= text == "?."
                node = self._access(node, optional=text == "?.")
            elif text in {".", "?."}:
                optional |= text == "?."
                node = self._field(node, optional=text == "?.")
            else:
                break
        return Chain(node.span, node) if optional else node

    def _is_bracket_after(self) -> bool:
        return self.following.kind == "operator" and self.following.text == "["

    def _field(self, target: Node, *, optional: bool) -> Node:
        dot = self.advance()
        name = self.advance()
        if name.kind != "name" or name.text == "$env":
            raise self.problem(f"expected a name after '{dot.text}', found {self.shown(name)}", name)
        if name.text.startswith("__"):
            raise self.problem(f"{name.text!r} is not readable", name, "Names that begin with `__` are reserved.")
        span = Span(target.span.start, name.span.end)
        if not self.is_operator("("):
            return Field(span, target, name.text, optional=optional)
        arguments = self._arguments(name.text if name.text not in PREDICATE_FUNCTIONS else "", ())
        return Method(Span(target.span.start, self.previous_end), target, name.text, arguments, optional=optional)

    def _access(self, target: Node, *, optional: bool) -> Node:
        if optional:
            self.advance()
        self.advance()
        low = None if self.is_operator(":") else self.expression()
        if self.take("operator", ":"):
            high = None if self.is_operator("]") else self.expression()
            has_step = self.is_operator(":")
            hint = "A slice has no step." if has_step else "The bracket opened before is not closed."
            self.expect("operator", "]", hint)
            return Slice(Span(target.span.start, self.previous_end), target, low, high)
        self.expect("operator", "]", "The bracket opened before is not closed.")
        assert low is not None
        return Index(Span(target.span.start, self.previous_end), target, low, optional=optional)
