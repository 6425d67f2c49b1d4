"""`wait`: hold a branch until somebody outside answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary import FAILURE, Relation, Template
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.durations import duration_s
from catenary.errors import ConfigError
from catenary.pauses import Ask, Use
from catenary.schema_reading import SchemaProblem, usable

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json

TIMEOUT: Final = Relation("Timeout", help="Nobody answered in time.")


class WaitConfig(Config):
    """Settings of one `wait` node."""

    title: Template = option("", help="A short name of the question, for lists.", examples=["Order ${msg.id}"])
    prompt: Template = option(
        "", help="The question, shown to whoever answers.", examples=["Pay ${msg.amount} EUR to ${msg.payee}?"]
    )
    answerers: Template = option(
        [],
        help="The people and roles who may answer: a list, or one text with commas. Everybody when empty.",
        examples=[["ann", "managers"], "${metadata.owner}"],
    )
    relations: list[str] = option(
        ["Success"],
        min_length=1,
        help="The ways on that an answer may choose; the first one is taken when it chooses none.",
        examples=[["Approved", "Rejected"]],
    )
    timeout: Template = option(
        "",
        help="How long there is time to answer: seconds, or a text such as `30m` or `2h`; for ever when empty.",
        examples=["30m", "${metadata.patience}"],
    )
    answer_schema: dict[str, Any] = option(
        {},
        also=["schema"],
        help=(
            "The JSON Schema that the data of an answer must fit. An answer without data counts as `null`. Loading"
            " refuses a schema that is wrong, or has keywords that nobody would look at."
        ),
        examples=[{"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}}],
    )
    use: Use = option(
        "replace",
        help=(
            "Where the data of an answer goes: in place of the message's data (`replace`), into it key by key"
            " (`merge`), into it under `key` (`field`), into the metadata under `key` (`metadata`), or nowhere"
            " (`ignore`)."
        ),
    )
    key: str = option("answer", min_length=1, help="The key for `use: field` and `use: metadata`.")
    editable: list[str] = option(
        [],
        help="The keys of the message's data that an answer may change, with `replace` and `merge`; all when empty.",
        examples=[["amount", "note"]],
    )


@register("wait", category="flow", since="0.1", label="Wait for an answer")
class Wait(Component[WaitConfig]):
    """Hold a branch until somebody outside answers.

    Other branches go on meanwhile, and a `join` in reach waits for this one. The program answers with
    `engine.answer(run_id, node_id, ...)`, a person with `catenary answer RUN NODE`. An answer may choose among
    `relations`, and bring data, metadata and a note. One that does not fit (a wrong relation, data that the schema
    forbids, somebody who is not named) is refused with the reason, and the node goes on waiting. An answer counts once.

    Who answered is in the metadata as `_answerer`, and a note as `_answerNote`. Without an answer in time the message
    leaves by `Timeout` as it came.

    Loops and sub-chains may wait too. Each visit of the node is a question of its own; `visit` says which one is meant,
    from 1. When the run is cancelled, the question is closed. When the engine is closed, the run ends as paused; with
    a store, another process may answer then, and goes on behind the node in a new run.
    """

    relations = (TIMEOUT, FAILURE)
    free_relations = True
    asks = True
    examples = (
        Example(
            "nobody answers in time",
            config={"prompt": "Pay ${msg.amount} EUR?", "timeout": "20ms"},
            inputs=[{"amount": 12}],
            leaves_by=["Timeout"],
            data=['{"amount":12}'],
        ),
    )

    def __init__(self, config: WaitConfig) -> None:
        super().__init__(config)
        self._schema = _usable(config.answer_schema)
        if any(not name.strip() for name in config.relations):
            raise ValueError("relations: a relation needs a name")
        if config.editable and config.use not in {"replace", "merge"}:
            raise ValueError(f"editable: has no meaning with use {config.use!r}; it goes with 'replace' and 'merge'")
        if isinstance(config.timeout.source, (str, int, float)) and "${" not in str(config.timeout.source):
            _seconds(config.timeout.source)  # what is wrong with every message is told at load

    def named_relations(self) -> list[str]:
        return self.config.relations

    async def run(self, ctx: Context, msg: Message) -> Emission:
        return await ctx.chain.engine.pauses.wait(ctx, self._ask(ctx, msg), msg)

    def _ask(self, ctx: Context, msg: Message) -> Ask:
        config = self.config
        return Ask(
            title=config.title.render(msg, ctx),
            prompt=config.prompt.render(msg, ctx),
            answerers=_names(config.answerers.value(msg, ctx)),
            relations=tuple(dict.fromkeys(config.relations)),
            schema=self._schema or None,
            use=config.use,
            key=config.key,
            editable=tuple(config.editable),
            timeout_s=_seconds(config.timeout.value(msg, ctx)),
        )


def _names(value: Json) -> tuple[str, ...]:
    names = cast("list[Json]", value) if isinstance(value, list) else str(value or "").split(",")
    return tuple(dict.fromkeys(name for item in names if (name := str(item).strip())))


def _usable(schema: dict[str, Json]) -> dict[str, Json]:
    """Give a schema as answers are checked against it. Raises: ConfigError: when that cannot be done."""
    try:
        return usable(schema)
    except SchemaProblem as problem:
        raise ConfigError(f"answerSchema: {problem}", hint=problem.hint) from None


def _seconds(value: Json) -> float | None:
    """Read the time for answers. Raises: ValueError: when it is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        return duration_s(value)
    except ValueError as error:
        raise ValueError(f"timeout: {error}") from None
