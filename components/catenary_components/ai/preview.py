"""What an agent would ask its model first, for those who look before a call is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.message import metadata_text
from catenary_components.ai.conversation import conversation
from catenary_components.ai.models.wire import message_to_wire

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json
    from catenary_components.ai.agent import AgentConfig


def first_request(config: AgentConfig, ctx: Any, msg: Message) -> dict[str, Json]:
    """Give address, model, conversation, parameters and the names of the tools; the key is not among them.

    Raises:
        ConversationError, TemplateError: As the agent itself would.
    """
    messages = conversation(msg, ctx, config.system_prompt, config.messages)
    tools = [tool if isinstance(tool, str) else tool.name for tool in config.tools]
    request: dict[str, Json] = {
        "url": f"{config.url.rstrip('/')}/chat/completions",
        "model": metadata_text(msg.metadata.get("session_model")).strip() or config.model,
        "messages": [message_to_wire(message) for message in messages],
        **config.params.body(),
    }
    return {**request, "tools": tools} if tools else request
