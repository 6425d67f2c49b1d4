"""`inclusive`: choose all ways whose conditions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import DEFAULT, FAILURE, Relation
from catenary.component import Component, Context, Emission, Example, register

from ._shared import CasesConfig

if TYPE_CHECKING:
    from catenary import Message


class InclusiveConfig(CasesConfig):
    """Settings of one `inclusive` node."""


@register("inclusive", category="common", since="0.1", label="Inclusive switch")
class Inclusive(Component[InclusiveConfig]):
    """Choose all ways whose conditions hold; `Default` when none does.

    The message goes on unchanged, once for each case that holds, in the order of the cases: two with the same `then`
    send it twice. A condition holds only when its result is the boolean true. When one fails on a message, the message
    leaves by `Failure` and by nothing else. A `join` brings the branches together.
    """

    relations = (DEFAULT, FAILURE)
    free_relations = True
    pure = True
    examples = (
        Example(
            "a message may go several ways, of which the last is shown here",
            config={"cases": [{"case": "msg.t > 20", "then": "Warm"}, {"case": "msg.t > 50", "then": "Hot"}]},
            inputs=[{"t": 60}, {"t": 30}, {"t": 10}],
            leaves_by=["Hot", "Warm", "Default"],
        ),
        Example(
            "a case that fails is a failure",
            config={"cases": [{"case": "true", "then": "Any"}, {"case": "msg.t > 50", "then": "Hot"}]},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    def __init__(self, config: InclusiveConfig) -> None:
        super().__init__(config)
        self._cases = [(case.case.call, Relation(case.then)) for case in config.cases]

    def named_relations(self) -> list[str]:
        return [case.then for case in self.config.cases]

    def run(self, ctx: Context, msg: Message) -> Emission:
        return [relation for holds, relation in self._cases if holds(msg, ctx) is True] or DEFAULT
