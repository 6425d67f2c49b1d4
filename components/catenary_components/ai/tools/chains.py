"""Rule chains as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import FAILURE, STREAM, Message, NodeFailure
from catenary_components.ai.tools.schema import problems
from catenary_components.ai.tools.tool import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json

MESSAGE_TYPE: Final = "TOOL_CALL"


class ChainWork:
    """Runs a chain with the arguments as a JSON message of type `TOOL_CALL`, without metadata.

    The result is the data of the branch that ended last; a branch that ended as `Failure` makes the call fail.
    """

    def __init__(self, chain_id: str, parameters: Mapping[str, Json]) -> None:
        self._chain_id = chain_id
        self._parameters = parameters

    def check(self, arguments: Mapping[str, Json]) -> None:
        """Check against the declared schema. Raises: ToolInputError: naming every argument that does not fit."""
        found = list(problems(dict(arguments), self._parameters))
        if found:
            raise ToolInputError("; ".join(found))

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Run the chain. Raises: Exception: what made it fail."""
        ends = await ctx.run_chain(self._chain_id, Message(text, MESSAGE_TYPE))
        answers = [end for end in ends if end.relation != STREAM]
        failed = next((end for end in answers if end.relation == FAILURE), None)
        if failed is not None:
            raise failed.error or NodeFailure(failed.reason)
        return answers[-1].message.text if answers else ""
