"""A chain that an option of an agent names, as a file or by its id: its loop, its guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.errors import ConfigError, EngineError
from catenary.expr.files import locate
from catenary.load.named_files import SUFFIXES

if TYPE_CHECKING:
    from pathlib import Path

    from catenary import Chain
    from catenary.component import Context


class NamedChain:
    """A chain that an option names. What is wrong with a file was told before (`Component.chain_options`).

    Args:
        ctx: The context of the agent's node.
        field: The option.
        name: A file beside the agent's chain, or the id of a chain, which is looked up when it is run.
        hint: What to do when there is no such chain.
        own: A file that comes with the program, to take in place of what `name` says.

    Attributes:
        made: The chain, when it was made of a file and is of this node alone.

    Raises:
        ChainInvalid: When the file holds no valid chain.
        ConfigError, EvaluationError: When there is no such file, or it may not be read.
    """

    def __init__(self, ctx: Context, field: str, name: str, *, hint: str = "", own: Path | None = None) -> None:
        self._engine = ctx.chain.engine
        self._field = field
        self._name = name
        self._hint = hint
        self.made: Chain | None = None
        if own is not None:
            self.made = self._engine.make(own)
        elif name.endswith(SUFFIXES):
            self.made = self._read(ctx)

    @property
    def chain(self) -> Chain:
        """The chain. Raises: EngineError: when none has the id."""
        if self.made is not None:
            return self.made
        try:
            return self._engine.get(self._name)
        except EngineError as error:
            raise EngineError(f"{self._field}: {error}", hint=self._hint or error.hint) from error

    def _read(self, ctx: Context) -> Chain:
        path = locate(self._name, ctx.chain.environment)
        if path is None:  # it was there when the chain around it was checked
            raise ConfigError(
                f"{self._field}: there is no file {self._name!r}",
                node_id=ctx.node_id,
                node_type=ctx.node_type,
                field=self._field,
            )
        return self._engine.make(path, inside=ctx.chain_id)

    async def close(self) -> None:
        """Close the chain, unless it was loaded by somebody else."""
        if self.made is not None:
            await self.made.close()
