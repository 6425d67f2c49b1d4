"""Chains and components as hooks: what passes is their message, and what they answer is what goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from catenary import FAILURE, Message, NodeFailure
from catenary.component import answer_of
from catenary_components.ai.hooks.base import AgentHook
from catenary_components.ai.hooks.functions import METHODS
from catenary_components.ai.hooks.steps import ActingStep, AgentStep, ModelStep, PromptStep, ToolStep
from catenary_components.ai.messages import object_or_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catenary import Chain
    from catenary.component import Context
    from catenary.jsontext import Json
    from catenary_components.ai.hooks.steps import Step
    from catenary_components.ai.messages import ChatMessage

MESSAGE_TYPE: Final = "AGENT_HOOK"
PLACES: Final = tuple(name for name in METHODS if name.startswith(("before_", "after_")))
"""The points that a chain may fill."""


class ChainHook(AgentHook):
    """Runs a chain at one point.

    Args:
        at: The point.
        chain: The chain, or its id, which is looked up when it is run.
    """

    def __init__(self, at: str, chain: Chain | str) -> None:
        if at not in PLACES:
            raise ValueError(f"a chain cannot stand at {at!r}; it can at {', '.join(PLACES)}")
        self._at = at
        self._chain = chain
        setattr(self, at, self._run)

    @classmethod
    def of(cls, at: str, chain: str, component: str, config: Mapping[str, Json], ctx: Context) -> ChainHook:
        """Make one of a chain, or of a component, which is a chain of one node.

        Raises:
            ValueError: When it cannot stand there.
            ChainInvalid: When the component cannot be made.
        """
        if chain:
            return cls(at, chain)
        node = {"id": "hook", "type": component, "configuration": dict(config)}
        name = f"{ctx.chain.id}.{ctx.node_id}.{at}"
        made = ctx.chain.engine.make(
            {"ruleChain": {"id": name, "name": name, "root": False}, "metadata": {"nodes": [node], "connections": []}}
        )
        return cls(at, made)

    @property
    def name(self) -> str:
        """The chain, or the component."""
        return self._chain if isinstance(self._chain, str) else self._chain.definition.nodes[0].type

    async def close(self) -> None:
        """Close the chain of a component; one with an id belongs to the engine."""
        if not isinstance(self._chain, str):
            await self._chain.close()

    async def _run(self, step: Step) -> None:
        message = Message(_shown(step), MESSAGE_TYPE, metadata={"at": self._at, "node": step.ctx.node_id})
        ends = await step.ctx.run_chain(self._chain, message)
        failed = next((end for end in ends if end.relation == FAILURE), None)
        if failed is not None:
            raise failed.error or NodeFailure(failed.reason)
        answer = answer_of(ends)
        said = answer.message.value if answer else None
        if isinstance(said, dict):
            _take(step, self._at, cast("Mapping[str, Json]", said))


def _shown(step: Step) -> dict[str, Json]:
    """Give what passes as JSON."""
    for kind, shown in _SHOWN.items():
        if isinstance(step, kind):
            return shown(step)
    return {}


def _model(step: ModelStep) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "purpose": step.purpose,
        "systemPrompt": step.system_prompt,
        "messages": [_message(one) for one in step.messages],
        "tools": [tool.name for tool in step.tools],
        "toolChoice": step.tool_choice,
        "options": step.options,
    }
    if step.reply is not None:
        shown |= {"content": step.reply.content, "reasoning": step.reply.reasoning}
        shown["calls"] = [
            {"id": call.id, "name": call.name, "arguments": object_or_text(call.arguments)}
            for call in step.reply.tool_calls
        ]
    return shown


def _agent(step: AgentStep) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "systemPrompt": step.system_prompt,
        "messages": [_message(one) for one in step.messages],
    }
    return shown if step.answer is None else {**shown, "answer": step.answer.text}


def _tool(step: ToolStep) -> dict[str, Json]:
    shown: dict[str, Json] = {"id": step.call.id, "name": step.call.name, "arguments": step.arguments}
    return shown if step.result is None else {**shown, "result": step.result.text, "isError": bool(step.result.error)}


def _acting(step: ActingStep) -> dict[str, Json]:
    return {
        "calls": [{"id": one.id, "name": one.name, "arguments": object_or_text(one.arguments)} for one in step.calls],
        "results": [{"id": one.call.id, "result": one.text, "isError": bool(one.error)} for one in step.results],
    }


def _prompt(step: PromptStep) -> dict[str, Json]:
    return {"prompt": step.prompt}


_SHOWN: Final[Mapping[type, Callable[[Any], dict[str, Json]]]] = {
    ModelStep: _model,
    AgentStep: _agent,
    ToolStep: _tool,
    ActingStep: _acting,
    PromptStep: _prompt,
}


def _message(message: ChatMessage) -> Json:
    content = message.text or "\n".join(result.text for result in message.results)
    return {"role": message.role, "content": content}


def _take(step: Step, at: str, said: Mapping[str, Json]) -> None:
    """Change the step as the chain says; what it does not name stays as it is."""
    if isinstance(step, AgentStep | ModelStep):
        prompt = said.get("systemPrompt")
        step.system_prompt = prompt if isinstance(prompt, str) else step.system_prompt
    if isinstance(step, PromptStep):
        prompt = said.get("prompt")
        step.prompt = prompt if isinstance(prompt, str) else step.prompt
    elif isinstance(step, ModelStep):
        _take_model(step, said)
    elif isinstance(step, AgentStep):
        answer = said.get("answer")
        if step.answer is not None and isinstance(answer, str):
            step.answer = step.answer.with_data(answer)
    elif isinstance(step, ToolStep):
        _take_tool(step, at, said)
    stop, goto = said.get("stop"), said.get("goto")
    if stop:
        step.stop(stop if isinstance(stop, str) else "")
    elif isinstance(goto, str):
        step.goto(goto)


def _take_model(step: ModelStep, said: Mapping[str, Json]) -> None:
    options, content, choice = said.get("options"), said.get("content"), said.get("toolChoice")
    step.options = cast("dict[str, Json]", options) if isinstance(options, dict) else step.options
    step.tool_choice = choice if isinstance(choice, str) else step.tool_choice
    if step.reply is not None and isinstance(content, str):
        step.reply = replace(step.reply, content=content)


def _take_tool(step: ToolStep, at: str, said: Mapping[str, Json]) -> None:
    arguments, result = said.get("arguments"), said.get("result")
    if at == "before_tool" and isinstance(arguments, dict):
        step.arguments = cast("dict[str, Json]", arguments)
    if step.result is not None and isinstance(result, str):
        step.result = replace(step.result, text=result)
