"""The settings of what one run of an agent may use up."""

from __future__ import annotations

from catenary.component import Config, option


class BudgetOptions(Config):
    """What a run may use up at most; 0 is no limit."""

    tokens: int = option(0, ge=0, unit="tokens", help="Most tokens, read and written; 0 for no limit.")
    cost: float = option(0.0, ge=0, unit="US dollars", help="Most money, where prices are known; 0 for no limit.")
    model_calls: int = option(0, ge=0, unit="calls", help="Most calls of models; 0 for no limit.")
    tool_calls: int = option(0, ge=0, unit="calls", help="Most calls of tools; 0 for no limit.")
    seconds: float = option(0.0, ge=0, unit="seconds", help="Longest time, without waits for people; 0 for no limit.")


class BudgetSetting(Config):
    """The one option of an agent that gives it a budget."""

    budget: BudgetOptions | None = option(
        None,
        help="What one run may use up, with all agents and chains that it calls. What would go beyond ends the run by "
        "`Failure` (`budget.exceeded`), or with what is known when `onLimit` is `answer`.",
        examples=[{"tokens": 50000, "cost": 0.1}, {"modelCalls": 20, "seconds": 60}],
    )
