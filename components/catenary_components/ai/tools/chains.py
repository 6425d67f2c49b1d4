"""Rule chains as tools, and single components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import FAILURE, Message, NodeFailure
from catenary.component import answer_of
from catenary_components.ai.setup import AgentSetup
from catenary_components.ai.tools.live import CURRENT
from catenary_components.ai.tools.schema import SchemaWork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary import Chain
    from catenary.component import Context, End
    from catenary.expr import Template
    from catenary.jsontext import Json

MESSAGE_TYPE: Final = "TOOL_CALL"
KEY: Final = "idempotencyKey"


class ChainWork(SchemaWork):
    """Runs a chain with the arguments as a JSON message of type `TOOL_CALL`.

    Its metadata has what `passes` names of that of the agent's message, and nothing else of it. A call that somebody
    has approved has `idempotencyKey` there: the same when it is begun once more.

    The result is the data of the branch that ended last; a branch that ended as `Failure` makes the call fail.
    """

    may_ask = True

    def __init__(self, chain: Chain | str, parameters: Mapping[str, Json], passes: Sequence[str] = ()) -> None:
        super().__init__(parameters)
        self._chain = chain
        self._passes = passes

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:
        """Run the chain. Raises: Exception: what made it fail."""
        info = CURRENT.get(None)
        limits = (info.limit,) if info is not None and info.limit is not None else None
        message = self._message(arguments, text)
        if self._passes:
            message = message.put_all(self._passed(ctx))
        ends = await ctx.run_chain(self._chain, message, scope=limits)
        failed = next((end for end in ends if end.relation == FAILURE), None)
        if failed is not None:
            raise failed.error or NodeFailure(failed.reason)
        answer = answer_of(ends)
        return self._result(answer) if answer else ""

    def _passed(self, ctx: Context) -> dict[str, Json]:
        setup = ctx.scope.get(AgentSetup)
        if setup is None:
            return {}
        given = setup.metadata
        return {name: given[name] for name in self._passes if name in given and name != KEY}

    def _message(self, arguments: Mapping[str, Json], text: str) -> Message:  # noqa: ARG002 - for those that map them
        info = CURRENT.get(None)
        key = info.idempotency_key if info is not None and info.is_approved else ""
        return Message(text, MESSAGE_TYPE, metadata={KEY: key} if key else None)

    def _result(self, end: End) -> Json:
        return end.message.text


class ComponentWork(ChainWork):
    """Runs one component, as a chain of its own.

    Args:
        chain: The chain with the component; closed with the tool.
        parameters: JSON Schema of the arguments.
        data: Makes the data of its message of the arguments, which it sees as `msg`; `None` for the arguments.
        metadata: The same for its metadata.
        result: Makes the result of what the component gave; `None` for its data.
        passes: Names in the metadata of the agent's message that its message gets as well.
    """

    def __init__(
        self,
        chain: Chain,
        parameters: Mapping[str, Json],
        *,
        data: Template | None = None,
        metadata: Mapping[str, Template] | None = None,
        result: Template | None = None,
        passes: Sequence[str] = (),
    ) -> None:
        super().__init__(chain, parameters, passes)
        self._made = chain
        self._data = data
        self._metadata = metadata or {}
        self._made_result = result

    def _message(self, arguments: Mapping[str, Json], text: str) -> Message:
        message = super()._message(arguments, text)
        metadata = {key: template.render(message) for key, template in self._metadata.items()}
        if self._data is not None:
            value = self._data.value(message)
            message = message.with_data(value, "TEXT" if isinstance(value, str) else "JSON")
        return message.put_all(metadata) if metadata else message

    def _result(self, end: End) -> Json:
        return super()._result(end) if self._made_result is None else self._made_result.value(end.message)

    async def close(self) -> None:
        """Close the component."""
        await self._made.close()
