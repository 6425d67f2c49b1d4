"""`cacheDelete`: forget what was kept between messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary_components.external._caches import CacheKey, Caches, key_of

if TYPE_CHECKING:
    from catenary import Message


class CacheDeleteConfig(Config):
    """Settings of one `cacheDelete` node."""

    keys: list[CacheKey] = option(
        [], help="What to forget.", examples=[[{"key": "user:${msg.id}"}, {"level": "global", "key": "session:*"}]]
    )


@register("cacheDelete", category="external", since="0.1")
class CacheDelete(Component[CacheDeleteConfig]):
    """Forget what was kept between messages.

    A key that ends in `*` stands for all keys that begin so; a `*` that a message brings is part of the key. What is
    not there is no failure. The message leaves unchanged.
    """

    relations = (SUCCESS, FAILURE)
    waits = False
    examples = (
        Example(
            "what is not there is forgotten, too",
            config={"keys": [{"key": "session:*"}, {"level": "global", "key": "user:${msg.id}"}]},
            inputs=[{"id": 7}],
            leaves_by=["Success"],
            data=['{"id":7}'],
        ),
    )

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Take the values out."""
        caches = Caches(ctx)
        for one in self.config.keys:
            await caches.delete(one.level, key_of(one, msg, ctx), is_prefix=one.is_prefix)
        return SUCCESS
