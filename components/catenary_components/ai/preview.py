"""What an agent would ask its model first, for those who look before a call is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catenary.message import metadata_text
from catenary_components.ai.conversation import conversation
from catenary_components.ai.messages import system_message
from catenary_components.ai.models.anthropic import AnthropicModel
from catenary_components.ai.models.client import full_address
from catenary_components.ai.models.openai import OpenAIModel
from catenary_components.ai.models.registry import resolve
from catenary_components.ai.models.types import ChatRequest

if TYPE_CHECKING:
    from catenary import Message
    from catenary.jsontext import Json
    from catenary_components.ai.agent import AgentConfig


def first_request(config: AgentConfig, ctx: Any, msg: Message) -> dict[str, Json]:
    """Give address, model, conversation, parameters and the names of the tools; the key is not among them.

    The address of a provider is its own one, whatever the environment says.

    Raises:
        ConversationError, TemplateError: As the agent itself would.
        ValueError: When it cannot be told where the model is.
    """
    prompt, said = conversation(msg, ctx, config.system_prompt, config.messages, config.caller_system)
    messages = [system_message(prompt), *said] if prompt else said
    tools = [tool if isinstance(tool, str) else tool.name for tool in config.tools]
    chosen = metadata_text(msg.metadata.get("session_model")).strip() or config.model
    spec = resolve(chosen, {}, url=config.url, is_offline=True)
    wire = AnthropicModel.wire if spec.profile.wire == "anthropic" else OpenAIModel.wire
    body = wire.body(ChatRequest(tuple(messages)), spec.name, config.params.body(), spec.profile, stream=False)
    request: dict[str, Json] = {"url": full_address(wire, spec.url, config.endpoint_path), **body}
    return {**request, "tools": tools} if tools else request
