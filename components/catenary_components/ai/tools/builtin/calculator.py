"""`calculator`: numbers worked out by the expression language, for models are bad at it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from catenary import Message
from catenary.component import Config
from catenary.errors import CatenaryError
from catenary.expr import Environment, Expression, json_text
from catenary.expr.kinds import EvaluationError
from catenary_components.ai.tools.builtin.base import Arguments, Builtin, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary.component import Context

MAX_LENGTH: Final = 2_000
"""Characters of an expression."""


def _rounded(value: float, digits: int = 0) -> float:
    return round(value, int(digits))


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "radians": math.radians,
    "degrees": math.degrees,
    "hypot": math.hypot,
    "gcd": math.gcd,
    "lcm": math.lcm,
    "round": _rounded,
    "pi": lambda: math.pi,
    "e": lambda: math.e,
}
"""What there is besides the functions of the expression language."""


class CalculatorArguments(Arguments):
    """What is worked out."""

    expression: str = Field(
        max_length=MAX_LENGTH,
        description="What to work out, as in (12.5 + 3) * 4 ** 2 / 7, round(2 / 3, 2), max(3, 5), sqrt(2) * pi().",
    )


class Calculator(Builtin[Config, CalculatorArguments]):
    """Work out an arithmetic expression. There are + - * / % ** and parentheses, comparisons, and functions: abs, ceil,
    floor, round, min, max, sum, mean, median, sqrt, exp, log, log10, sin, cos, tan, asin, acos, atan, radians,
    degrees, gcd, lcm, pi() and e().
    """

    name = "calculator"
    arguments_type = CalculatorArguments
    is_read_only = True
    main_argument = "expression"

    async def run(self, ctx: Context, arguments: CalculatorArguments) -> str:  # noqa: ARG002 - it needs no run
        """Evaluate the expression, which sees no message, no properties and no files."""
        try:
            value = Expression.compile(arguments.expression, Environment(functions=FUNCTIONS)).evaluate(Message(""))
            if isinstance(value, float) and not math.isfinite(value):
                raise ToolFailure("the result is no finite number; there may be a division by zero in it")
            return json_text(value)
        except (CatenaryError, EvaluationError) as error:
            raise ToolFailure(str(error)) from error
