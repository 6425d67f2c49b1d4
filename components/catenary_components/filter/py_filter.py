"""`pyFilter`: let a message choose between `True` and `False` by a Python expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from catenary import FAILURE, FALSE, TRUE, Message
from catenary.component import Component, Config, Context, Example, option, register
from catenary.expr import PythonExpression  # noqa: TC001 - settings are read by their annotations

from ._shared import not_blank

if TYPE_CHECKING:
    from catenary import Relation


class PyFilterConfig(Config):
    """Settings of one `pyFilter` node."""

    expr: PythonExpression = option(
        help="The condition, a Python expression.",
        examples=["msg['t'] > 40 and metadata.get('kind') == 'a'", "any(x.alarm for x in msg.items)"],
    )

    _is_not_blank = field_validator("expr", mode="before")(not_blank)


@register("pyFilter", category="filter", since="0.1", label="Python filter")
class PyFilter(Component[PyFilterConfig]):
    """Let a message choose between `True` and `False` by a Python expression.

    It sees `msg metadata msgType type dataType id ts data global vars ruleChain` and the ids of other nodes, and has
    Python's operators, truth, comprehensions, f-strings and slices. `msg.t` is `msg['t']`; a key that is not there is
    an error, and `msg.get('t', 0)` is none. Functions are Python's that are safe (`len int float str bool round abs
    sum min max any all sorted reversed range enumerate zip list tuple dict set next ...`) and those of expressions
    that take no predicate (`upper trim now toJSON ...`); values have those of their methods that change nothing.

    `True` is chosen only when the result is `True` itself: 1 and `'yes'` count as `False`. An expression that fails on
    a message leaves by `Failure`. The message goes on unchanged.
    """

    relations = (TRUE, FALSE, FAILURE)
    pure = True
    examples = (
        Example(
            "payload and metadata",
            config={"expr": "msg['t'] > 40 and metadata.get('kind') == 'a'"},
            inputs=[Message({"t": 60}, metadata={"kind": "a"}), {"t": 60}],
            leaves_by=["True", "False"],
        ),
        Example(
            "any element of a list",
            config={"expr": "any(x.t > 50 for x in msg.items)"},
            inputs=[{"items": [{"t": 20}, {"t": 60}]}, {"items": []}],
            leaves_by=["True", "False"],
        ),
        Example(
            "only true is true", config={"expr": "msg.n"}, inputs=[{"n": True}, {"n": 1}], leaves_by=["True", "False"]
        ),
        Example("a key that is not there", config={"expr": "msg.t > 50"}, inputs=[{}], leaves_by=["Failure"]),
    )

    def __init__(self, config: PyFilterConfig) -> None:
        super().__init__(config)
        self._holds = config.expr.call

    def run(self, ctx: Context, msg: Message) -> Relation:
        return TRUE if self._holds(msg, ctx) is True else FALSE
