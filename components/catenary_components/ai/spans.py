"""Spans of OpenTelemetry around agents, model calls and tools, in programs that have set up where spans go.

The program sets up a tracer provider, or is started by `opentelemetry-instrument`; there is nothing to be turned on
here. Where there is none, a span costs one look into a table. What is said in a conversation is in no span.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import Token

    from opentelemetry.context import Context as SpanContext
    from opentelemetry.trace import Span, Tracer

    from catenary.component import Context

Operation = Literal["invoke_agent", "chat", "execute_tool"]

_LIBRARY: Final = "catenary"


class OpenSpan:
    """A span that lasts as long as its block, and is the current one in it; or, without a tracer, nothing at all.

    Enter and leave it in one task.
    """

    __slots__ = ("_attributes", "_is_call", "_name", "_span", "_token", "_tracer")

    def __init__(self, tracer: Tracer | None, name: str, attributes: Mapping[str, Any], *, is_call: bool) -> None:
        self._tracer = tracer
        self._name = name
        self._attributes = attributes
        self._is_call = is_call
        self._span: Span | None = None
        self._token: Token[SpanContext] | None = None

    def __enter__(self) -> Self:
        if self._tracer is not None:
            from opentelemetry import context, trace

            kind = trace.SpanKind.CLIENT if self._is_call else trace.SpanKind.INTERNAL
            self._span = self._tracer.start_span(self._name, kind=kind, attributes=_told(self._attributes))
            self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._span is None or self._token is None:
            return
        from opentelemetry import context

        if error is not None:
            self.fail(type(error).__name__, str(error))
        context.detach(self._token)
        self._span.end()

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; those that are empty are left out."""
        if self._span is not None:
            self._span.set_attributes(_told(attributes))

    def note(self, event: str, attributes: Mapping[str, Any]) -> None:
        """Take note of what happens meanwhile."""
        if self._span is not None:
            self._span.add_event(event, _told(attributes))

    def fail(self, kind: str, text: str) -> None:
        """Mark it as failed; the first error that is told counts."""
        if self._span is not None and self._tracer is not None:
            from opentelemetry.trace import StatusCode

            self._tracer = None
            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR, text)


def span(operation: Operation, ctx: Context, name: str, attributes: Mapping[str, Any] | None = None) -> OpenSpan:
    """Give the span of a piece of an agent's work, named as the conventions for generative AI want it.

    Args:
        operation: What is done.
        ctx: Where it is done.
        name: Of the agent, the model or the tool.
        attributes: What is known of it; what is empty is left out.
    """
    tracer = _tracer()
    if tracer is None:
        return OpenSpan(None, "", {}, is_call=False)
    place = {
        "gen_ai.operation.name": operation,
        "catenary.run.id": ctx.run_id,
        "catenary.chain.id": ctx.chain.id,
        "catenary.node.id": ctx.node_id,
    }
    return OpenSpan(tracer, f"{operation} {name}".strip(), {**place, **(attributes or {})}, is_call=operation == "chat")


def _tracer() -> Tracer | None:
    """Give the tracer of a program that has set one up; what was not even imported has not."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    from catenary import __version__

    return trace.get_tracer(_LIBRARY, __version__)


def _told(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None and value != ""}
