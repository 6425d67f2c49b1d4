"""`switch`: choose a way by the first of several conditions that holds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from catenary import DEFAULT, Relation
from catenary.component import Component, Context, Example, register
from catenary.errors import ExpressionError

from ._shared import CasesConfig

if TYPE_CHECKING:
    from catenary import Message

_logger = logging.getLogger(__name__)


class SwitchConfig(CasesConfig):
    """Settings of one `switch` node."""


@register("switch", category="common", since="0.1", label="Switch")
class Switch(Component[SwitchConfig]):
    """Choose a way by the first of several conditions that holds; `Default` when none does.

    A condition holds only when its result is the boolean true. One that fails on a message is passed over, with a
    line in the log at level DEBUG, so a missing value is never a `Failure`. The message goes on unchanged.
    """

    relations = (DEFAULT,)
    free_relations = True
    pure = True
    examples = (
        Example(
            "the first case that holds wins",
            config={"cases": [{"case": "msg.t > 50", "then": "Hot"}, {"case": "msg.t > 20", "then": "Warm"}]},
            inputs=[{"t": 60}, {"t": 30}, {"t": 10}],
            leaves_by=["Hot", "Warm", "Default"],
        ),
        Example(
            "a case that fails is passed over",
            config={"cases": [{"case": "msg.t > 50", "then": "Hot"}, {"case": "true", "then": "Other"}]},
            inputs=[{}],
            leaves_by=["Other"],
        ),
    )

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self._cases = [(case.case.call, Relation(case.then)) for case in config.cases]

    def named_relations(self) -> list[str]:
        return [case.then for case in self.config.cases]

    def run(self, ctx: Context, msg: Message) -> Relation:
        for holds, relation in self._cases:
            try:
                if holds(msg, ctx) is True:
                    return relation
            except ExpressionError as error:
                _logger.debug(
                    "a case of a switch failed and was passed over",
                    extra={"node_id": ctx.node_id, "case": relation, "error": str(error)},
                )
        return DEFAULT
