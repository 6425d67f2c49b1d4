"""`cacheSet`: keep values between messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary import FAILURE, SUCCESS, Template
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary_components.external._caches import LEVEL_HELP, Caches

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json


class CacheItem(Config):
    """One value to keep."""

    level: str = option("chain", help=LEVEL_HELP, examples=["chain", "global"])
    key: Template = option(help="The key.", examples=["user:${msg.id}"])
    value: Template = option("", help="The value, of any kind.", examples=["${msg}", 5])
    ttl: Template = option(
        "", help="How long it stays, such as `10s`, `1h30m`, `500ms`; blank, `0` or negative is for ever."
    )


class CacheSetConfig(Config):
    """Settings of one `cacheSet` node."""

    items: list[CacheItem] = option(
        [{"level": "chain", "key": "last", "value": "${msg}", "ttl": "10m"}],
        help="What to keep, one after the other.",
        examples=[[{"level": "global", "key": "user:${msg.id}", "value": "${msg}", "ttl": "10m"}]],
    )


@register("cacheSet", category="external", since="0.1")
class CacheSet(Component[CacheSetConfig]):
    """Keep values between messages, in the memory of the process or, where the engine says so, in Redis.

    A value keeps its kind: a lone `${...}` of an object keeps the object, a number the number. What is kept under
    `chain` is the chain's own: reloads keep it, and it goes when the chain is removed. The message leaves unchanged.
    An item that fails makes the node fail; those before it are kept by then. In memory there are at most 100,000
    values; the one that was not used for the longest time goes first.
    """

    relations = (SUCCESS, FAILURE)
    waits = False
    examples = (
        Example(
            "a reading is kept for ten minutes",
            config={"items": [{"key": "reading:${msg.device}", "value": "${msg.degrees}", "ttl": "10m"}]},
            inputs=[{"device": "a", "degrees": 20}],
            leaves_by=["Success"],
            data=['{"degrees":20,"device":"a"}'],
        ),
        Example(
            "a time to live needs a unit",
            config={"items": [{"key": "k", "value": 1, "ttl": "10"}]},
            inputs=[{}],
            leaves_by=["Failure"],
        ),
    )

    def preview(self, ctx: Any, msg: Message) -> dict[str, Json]:
        """Give what would be kept, by key."""
        return {item.key.render(msg, ctx): item.value.value(msg, ctx) for item in self.config.items}

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Keep the values."""
        caches = Caches(ctx)
        for item in self.config.items:
            key, value, ttl = item.key.render(msg, ctx), item.value.value(msg, ctx), item.ttl.render(msg, ctx)
            await caches.set(item.level, key, value, ttl)
        return SUCCESS
