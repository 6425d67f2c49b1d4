"""Tools whose work is done elsewhere: by another system or a person, or by whoever shows the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import NodeFailure
from catenary_components.ai.tools.schema import SchemaWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.component import Context
    from catenary.jsontext import Json

DONE = "OK"
"""The result of every action."""


class ExternalWork(SchemaWork):
    """Checks the arguments; the result comes from outside."""

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Fail: nobody waits here."""
        raise NodeFailure("its result comes from outside, and nobody waits for it here")


class ActionWork(SchemaWork):
    """Checks the arguments; whoever listens to the run's events does something with them, and nobody waits for that."""

    async def run(self, ctx: Context, arguments: Mapping[str, Json], text: str) -> Json:  # noqa: ARG002 - of the protocol
        """Succeed at once."""
        return DONE
