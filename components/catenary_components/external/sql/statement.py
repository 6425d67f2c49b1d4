"""A statement made ready for one kind of database: where its values go, and that values are all that goes in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias, cast

from catenary.errors import TemplateError
from catenary.expr import text_of
from catenary.expr.problems import syntax_problem
from catenary_components.external.sql.text import EDGE
from catenary_components.external.sql.tokens import Token, UnclosedText, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catenary import Message, Template
    from catenary.jsontext import Json
    from catenary_components.external.sql.dialects import Dialect
    from catenary_components.external.sql.text import SqlText

_SLOT: Final = re.compile(rf"{EDGE}(\d+){EDGE}")
_BEFORE_NAMES: Final = frozenset(
    {"INTO", "UPDATE", "TABLE", "JOIN", "VIEW", "INDEX", "DATABASE", "SCHEMA", "SET", "BY"}
)
_END_OF_NAMES: Final = frozenset({"LIMIT", "OFFSET", "FETCH", "FOR", "HAVING", "ROWS", "RANGE", "UNION", "WINDOW"})
_TRANSACTIONS: Final = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "END", "ABORT"})
_OF_TEXTS: Final = frozenset({"PREPARE", "EXECUTE"})
"""What runs a text as a statement."""

_NO_NAME: Final = (
    "Values from messages are bound, and only values can be. Write the name out, or choose between nodes with a switch."
)


class Positional(NamedTuple):
    """A `?` or `$1`: the value of `params` at this number, from 0."""

    number: int


class Inserted(NamedTuple):
    """A `${...}`: the value of its template."""

    template: Template


class Text(NamedTuple):
    """A string with `${...}` in it: the text they make together."""

    pieces: tuple[str | Template, ...]


Value: TypeAlias = Positional | Inserted | Text


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for one kind of database.

    Attributes:
        dialect: The kind of database.
        parts: Text as it is, and what values stand between.
        operation: The first word in capitals, such as `SELECT`.
        needed: How many `params` it takes.
        outline: The statement with a `?` for every value, for those who judge it.
    """

    dialect: Dialect
    parts: tuple[str | Value, ...]
    operation: str
    needed: int
    outline: str

    def bind(self, params: Sequence[Json], msg: Message, ctx: object) -> tuple[str, tuple[Any, ...]]:
        """Give the statement as the driver takes it, and the values to bind.

        A list stands for several values, an empty one for NULL.

        Raises:
            TemplateError: When a `${...}` fails.
        """
        texts: list[str] = []
        values: list[Json] = []
        for part in self.parts:
            if isinstance(part, str):
                texts.append(part.replace("%", "%%") if self.dialect == "mysql" else part)
                continue
            value = _value_of(part, params, msg, ctx)
            several = cast("list[Json]", value) if isinstance(value, list) else [value]
            texts.append(", ".join(self._mark(len(values) + number) for number in range(1, len(several) + 1)) or "NULL")
            values += several
        return "".join(texts), tuple(values)

    def _mark(self, number: int) -> str:
        if self.dialect == "postgres":
            return f"${number}"
        return "%s" if self.dialect == "mysql" else "?"


def _value_of(part: Value, params: Sequence[Json], msg: Message, ctx: object) -> Json:
    if isinstance(part, Positional):
        return params[part.number]
    if isinstance(part, Inserted):
        return part.template.value(msg, ctx)
    return "".join(piece if isinstance(piece, str) else text_of(piece.value(msg, ctx)) for piece in part.pieces)


def make_statement(sql: SqlText, dialect: Dialect) -> Statement:
    """Make a statement ready.

    Raises:
        TemplateError: When it cannot be read, is several statements, or a `${...}` stands where no value can.
    """
    return _Maker(sql, dialect).make()


class _Maker:
    def __init__(self, sql: SqlText, dialect: Dialect) -> None:
        self.sql = sql
        self.dialect: Dialect = dialect
        self.parts: list[str | Value] = []
        self.marks = 0
        self.numbers: set[int] = set()
        self.operation = ""
        self.before = ""  # the last word or sign, in capitals
        self.before_that = ""
        self.is_sorting = False  # between BY and what ends the list of names
        self.open: list[str] = []  # the first word of each parenthesis around
        self.is_over_at = -1
        self.has_body = False  # of a trigger or a procedure, whose statements end in semicolons
        self._takers: dict[str, Callable[[Token], None]] = {
            "word": self._take_word,
            "number": self._take_word,
            "other": self._take_other,
            "numbered": self._take_numbered,
            "name": self._take_name,
            "string": self._take_string,
            "slot": self._take_slot,
        }

    def make(self) -> Statement:
        """Take the statement piece by piece."""
        try:
            for token in tokens(self.sql.marked, self.dialect):
                self._take(token)
        except UnclosedText as error:
            self._refuse(str(error), error.start, "close it")
        if not self.operation:
            self._refuse("sql can not empty", 0, "there are only comments")
        if self.operation in _TRANSACTIONS:
            self._refuse(
                f"{self.operation} has no use here: each execution is a transaction of its own",
                0,
                "to have several statements succeed or fail together, use `batch`",
            )
        if self.operation in _OF_TEXTS and any(not isinstance(part, str) for part in self.parts):
            self._refuse(f"a value of {self.operation} would be a statement", 0, _NO_NAME)
        if self.numbers and self.marks:
            self._refuse("`?` and `$1` cannot be mixed", 0, "use one of them")
        needed = max(self.numbers, default=self.marks)
        outline = "".join(part if isinstance(part, str) else "?" for part in self.parts)
        return Statement(self.dialect, _joined(self.parts), self.operation, needed, outline.strip())

    def _take(self, token: Token) -> None:
        if token.kind in {"space", "comment"}:
            if EDGE in token.text:
                self._refuse("a `${...}` in a comment has no use", token.start, "take it out")
            if token.text.startswith(("/*!", "/*M!")) and ";" in token.text:  # MySQL runs what is in it
                self._refuse_second(token.start)
            self.parts.append(token.text)
            return
        if self.is_over_at >= 0 and not self.has_body:
            self._refuse_second(token.start)
        if token.kind == "mark":
            self.parts.append(Positional(self.marks))
            self.marks += 1
        elif token.kind == "doubled":
            self.parts.append("?")
        else:
            self._takers[token.kind](token)
        self.before_that, self.before = self.before, token.text.upper()

    def _take_word(self, token: Token) -> None:
        word = token.text.upper()
        self.operation = self.operation or word
        self.has_body = self.has_body or (self.operation == "CREATE" and word == "BEGIN")
        if self.open and not self.open[-1]:
            self.open[-1] = word
        self.is_sorting = word == "BY" or (self.is_sorting and word not in _END_OF_NAMES)
        self._not_glued(token.start)
        self.parts.append(token.text)

    def _take_other(self, token: Token) -> None:
        self.is_sorting = self.is_sorting and token.text not in "()"
        if token.text == "(":
            self.open.append("")
        elif token.text == ")" and self.open:
            self.open.pop()
        elif token.text == ";":
            self.is_over_at = token.start
        self.parts.append(token.text)

    def _take_numbered(self, token: Token) -> None:
        number = int(token.text[1:])
        if number < 1:
            self._refuse("the first parameter is `$1`", token.start, "count from 1")
        self.numbers.add(number)
        self.parts.append(Positional(number - 1))

    def _take_name(self, token: Token) -> None:
        if EDGE in token.text:
            self._refuse("a `${...}` cannot be a name", token.start, _NO_NAME)
        self.parts.append(token.text)

    def _take_string(self, token: Token) -> None:
        if EDGE not in token.text:
            self.parts.append(token.text)
            return
        quote = token.text[0]
        if quote not in {"'", '"'}:
            self._refuse("a `${...}` can only be in a plain string", token.start, "write it without the quotes")
        if "\\" in token.text and self.dialect == "mysql":
            self._refuse("a string with a `${...}` has no backslashes", token.start, "use `concat(...)`")
        inside = token.text[1:-1].replace(quote * 2, quote)
        pieces = _SLOT.split(inside)
        self.parts.append(
            Text(tuple(self.sql.slots[int(piece)] if number % 2 else piece for number, piece in enumerate(pieces)))
        )

    def _take_slot(self, token: Token) -> None:
        if not self.operation:
            self._refuse("a `${...}` cannot be the statement", token.start, _NO_NAME)
        is_next_name = self.is_sorting and self.before == ","
        if self.before in _BEFORE_NAMES or is_next_name or self._is_after_from():
            self._refuse(f"a `${{...}}` behind {self.before} would be a name", token.start, _NO_NAME)
        self._not_glued(token.start)
        if self.before in {".", "@", ":"}:
            self._refuse("a `${...}` cannot be part of a name", token.start, _NO_NAME)
        self.parts.append(Inserted(self.sql.slots[int(token.text[1:-1])]))

    def _is_after_from(self) -> bool:
        """Tell whether a table's name follows; in `IS DISTINCT FROM` and `extract(day FROM ...)` it is a value."""
        if self.before != "FROM" or self.before_that == "DISTINCT":
            return False
        return not self.open or self.open[-1] in {"SELECT", "WITH", "DELETE"}

    def _not_glued(self, start: int) -> None:
        """Refuse `table_${msg.x}` and `${msg.x}_table`, which would be one name."""
        marked = self.sql.marked
        if start and (marked[start - 1] == EDGE or (marked[start] == EDGE and re.match(r"[\w$]", marked[start - 1]))):
            self._refuse("a `${...}` cannot be part of a name", start, _NO_NAME)

    def _refuse_second(self, start: int) -> NoReturn:
        self._refuse("more than one statement", start, "use a node for each, or `batch`")

    def _refuse(self, text: str, start: int, hint: str) -> NoReturn:
        position = self.sql.offset(start)
        raise syntax_problem(TemplateError, text, source=str(self.sql.source), position=position, hint=hint)


def _joined(parts: list[str | Value]) -> tuple[str | Value, ...]:
    """Put texts together that follow each other."""
    joined: list[str | Value] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(last := joined[-1], str):
            joined[-1] = last + part
        else:
            joined.append(part)
    return tuple(joined)
