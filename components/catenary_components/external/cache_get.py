"""`cacheGet`: go on with what was kept between messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import field_validator

from catenary import FAILURE, SUCCESS
from catenary.cache import CacheMiss
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import text_of
from catenary_components.external._caches import CacheKey, Caches, key_of

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json


class CacheGetConfig(Config):
    """Settings of one `cacheGet` node."""

    keys: list[CacheKey] = option(
        [], help="What to look for.", examples=[[{"level": "global", "key": "user:${msg.id}"}, {"key": "last:*"}]]
    )
    output_mode: int = option(
        2,
        ge=0,
        le=2,
        help="Where the values go: 0 into the metadata, as text; 1 into the object that is the data; 2 they are the "
        "data, an object of all keys.",
    )
    when_key_not_found: str = option(
        "",
        help="What to do when nothing at all is there: `failure` or `success`; if blank, `failure` in mode 2, else "
        "`success`.",
        examples=["success"],
    )

    @field_validator("when_key_not_found")
    @classmethod
    def _is_known(cls, name: str) -> str:
        known = name.strip().lower()
        if known not in {"", "failure", "success"}:
            raise ValueError("must be blank, `failure` or `success`")
        return known

    @property
    def fails_without(self) -> bool:
        """Whether the node fails when no key is there."""
        return self.when_key_not_found == "failure" or (not self.when_key_not_found and self.output_mode == 2)


@register("cacheGet", category="external", since="0.1")
class CacheGet(Component[CacheGetConfig]):
    """Go on with what was kept between messages: by `cacheSet`, by scripts (`$ctx`), or by the program.

    A key that ends in `*` stands for all keys that begin so, each under its own name; `*` is all. The `*` has to be
    written in the chain: one that a message brings is part of the key. A key that is not
    there is empty text in the metadata, and `null` in data. Only when nothing at all is there does `whenKeyNotFound`
    decide; the failure is `cache: key is missing`. With mode 1 the data has to be a JSON object. The data type stays.
    """

    relations = (SUCCESS, FAILURE)
    waits = False
    examples = (
        Example(
            "what is not there is null",
            config={"keys": [{"key": "last:${msg.id}"}], "outputMode": 1, "whenKeyNotFound": "success"},
            inputs=[{"id": 7}],
            leaves_by=["Success"],
            data=['{"id":7,"last:7":null}'],
        ),
        Example(
            "nothing at all is a failure, unless it is said to be none",
            config={"keys": [{"level": "global", "key": "nothing"}]},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Look the keys up."""
        config = self.config
        base = _object_of(msg) if config.output_mode == 1 else {}
        caches = Caches(ctx)
        values: dict[str, Json] = {}
        is_any_there = False
        for one in config.keys:
            key = key_of(one, msg, ctx)
            found = await caches.get(one.level, key, is_prefix=one.is_prefix)
            is_any_there = is_any_there or bool(found)
            values |= found if found or one.is_prefix else {key: None}
        if not is_any_there and config.fails_without:
            raise CacheMiss
        if config.output_mode == 0:
            return SUCCESS, msg.put_all({key: text_of(value) for key, value in values.items()})
        merged = {**base, **values}
        return SUCCESS, msg.with_data(merged if msg.data_type == "JSON" else text_of(merged))


def _object_of(msg: Message) -> dict[str, Json]:
    """Give the object that the data is. Raises: ValueError: when it is none."""
    if msg.data_type != "JSON":
        raise ValueError("data type must be JSON type")
    value = msg.value
    if not isinstance(value, dict):
        raise ValueError("the data must be a JSON object to take values in")  # noqa: TRY004 - it is of a message
    return cast("dict[str, Json]", value)
