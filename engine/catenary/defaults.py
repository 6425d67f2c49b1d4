"""What holds for chains that do not say otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from catenary.runtime.compiled import Limits

if TYPE_CHECKING:
    from catenary.definition import ChainDefinition


@dataclass(frozen=True, slots=True)
class ChainDefaults:
    """What holds for the chains of an engine that do not say otherwise in `ruleChain.configuration`.

    Args:
        allow_cycle: True to allow connections that lead back.
        max_visits: How often a node on a cycle may be visited in one run.
        max_depth: How deep sub-runs and emissions may be nested.
        max_rounds: How many rounds a `while` may make that says nothing about it; 0 for no limit.
        strict: True to make every warning about a chain an error.
        lenient_templates: True to render a part of a template that fails as empty text.
        script_engine: What runs scripts: quickjs (extra `js`), the quicker one for short scripts, or V8 (extra `v8`),
            for those that compute for milliseconds.
        script_timeout_s: Seconds of processor time of its thread that one call of a script may take; 0 for no limit.
        script_memory_bytes: Bytes that the scripts of one thread may hold together.
        script_host_calls: How often one call of a script may call host functions and `$ctx`.
        run_log_mode: What the engine's own completion callbacks get: with `off` no visits, with `summary` and
            `detail` the whole record. `ruleChain.additionalInfo.runLogMode` of a chain wins.
    """

    allow_cycle: bool = False
    max_visits: int = 10_000
    max_depth: int = 100
    max_rounds: int = 0
    strict: bool = False
    lenient_templates: bool = False
    script_engine: Literal["quickjs", "v8"] = "quickjs"
    script_timeout_s: float = 2.0
    script_memory_bytes: int = 64 * 2**20
    script_host_calls: int = 1000
    run_log_mode: Literal["off", "summary", "detail"] = "off"

    def limits_of(self, definition: ChainDefinition) -> Limits:
        """Give how far the runs of a chain may go: by its own settings, else by these."""
        from catenary.load import chain_settings

        own = chain_settings(definition)
        return Limits(
            own.max_visits or self.max_visits,
            own.max_depth or self.max_depth,
            own.on_failure == "stop",
            self.max_rounds if own.max_rounds is None else own.max_rounds,
        )
