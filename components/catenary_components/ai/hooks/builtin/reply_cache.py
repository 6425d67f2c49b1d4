"""`reply_cache`: a request that was answered before gets the same reply, and the model is not asked."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from catenary.cache import CacheMiss
from catenary.component import Config, option
from catenary.jsontext import dumps, loads
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.messages import ToolCall
from catenary_components.ai.models.types import Reply
from catenary_components.ai.models.wire import messages_to_wire
from catenary_components.ai.phases._runaway import CONTENT_LOOP, THINKING_ONLY
from catenary_components.ai.state import SessionModel

if TYPE_CHECKING:
    from typing import Self

    from catenary.component import Context
    from catenary_components.ai.hooks.steps import ModelStep

_NOT_WHOLE: Final = ("length", "content_filter", CONTENT_LOOP, THINKING_ONLY)


class ReplyCacheOptions(Config):
    """Settings of the hook `reply_cache`."""

    ttl: str = option("1h", help="How long a reply is kept, such as `10m`; empty for ever.", examples=["10m", "24h"])
    scope: str = option("", help="Replies are shared by agents with the same word here; one agent alone if empty.")


class ReplyCache(AgentHook):
    """Keeps replies in the cache of the engine, by everything that is sent: model, messages, tools and options.

    It stands inside of all hooks of the usual orders, so that what they change counts. A reply out of the cache is no
    model call: it costs no tokens and is not counted. Replies that were cut off or say nothing are not kept.
    """

    order = 950
    config_type = ReplyCacheOptions

    def __init__(self, config: ReplyCacheOptions) -> None:
        self._config = config
        self._scope = config.scope

    def new(self, ctx: Context) -> Self:
        """Give the instance of an agent: without a scope of its own it shares replies with no other."""
        made = type(self)(self._config)
        made.order = self.order
        made._scope = self._scope or f"{ctx.chain_id}/{ctx.node_id}"
        return made

    async def around_model_call(self, step: ModelStep, proceed: Any) -> None:
        """Answer out of the cache, or ask and keep the reply."""
        key = self._key(step)
        kept = _get(step.ctx, key)
        if kept is not None:
            step.publish("model.cached", model=step.setup.model.name)
            step.reply = kept
            return
        await proceed()
        reply = step.reply
        if reply is None or reply.is_empty or step.state.stop or reply.finish_reason in _NOT_WHOLE:
            return
        step.ctx.global_cache.set(key, _written(reply), self._config.ttl)

    def _key(self, step: ModelStep) -> str:
        chosen = step.ctx.scope.get(SessionModel)
        asked: dict[str, Any] = {
            "model": step.setup.model.name,
            "extra": dict(chosen.extra_fields) if chosen is not None else {},
            "system": step.system_prompt,
            "messages": [wire for message in step.messages for wire in messages_to_wire(message)],
            "tools": [[tool.name, tool.description, dict(tool.parameters), tool.is_strict] for tool in step.tools],
            "choice": step.tool_choice,
            "options": step.options,
            "schema": dict(step.response_schema) if step.response_schema is not None else None,
        }
        digest = hashlib.sha256(dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()
        return f"ai.reply:{self._scope}:{digest}"


def _get(ctx: Context, key: str) -> Reply | None:
    try:
        kept = ctx.global_cache.get(key)
    except CacheMiss:
        return None
    try:
        value: Any = loads(str(kept))
        made: list[Any] = value["calls"]
        calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in made)
        return Reply(value["content"], value["reasoning"], calls, value["finishReason"], model=value["model"])
    except (KeyError, TypeError, ValueError):
        return None  # something else has written there


def _written(reply: Reply) -> str:
    return dumps(
        {
            "content": reply.content,
            "reasoning": reply.reasoning,
            "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls],
            "finishReason": reply.finish_reason,
            "model": reply.model,
        }
    )
