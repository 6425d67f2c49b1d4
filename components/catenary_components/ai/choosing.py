"""Which model a run is asked with: that of its message, else of its caller, else of its session, else of its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary.jsontext import loads
from catenary.message import metadata_text
from catenary.relation import NodeFailure
from catenary_components.ai.models.wire import as_object
from catenary_components.ai.state import SessionModel

if TYPE_CHECKING:
    from catenary import Message
    from catenary.component import Context
    from catenary_components.ai.state import AgentState


def named(msg: Message) -> SessionModel:
    """Read the model that a message names. Raises: NodeFailure: when its fields are no JSON object."""
    name = metadata_text(msg.metadata.get("session_model")).strip()
    fields = metadata_text(msg.metadata.get("session_extra_fields")).strip()
    if not fields:
        return SessionModel(name)
    try:
        extra = loads(fields)
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise NodeFailure(f"metadata session_extra_fields is not a JSON object: {fields[:100]}")
    return SessionModel(name, as_object(extra))


def chosen(ctx: Context, msg: Message) -> SessionModel:
    """Give the model that a message names; an agent called as a tool inherits its caller's."""
    own, inherited = named(msg), ctx.scope.get(SessionModel)
    if inherited is None:
        return own
    return SessionModel(own.name or inherited.name, own.extra_fields or inherited.extra_fields)


def with_kept(choice: SessionModel, state: AgentState) -> SessionModel:
    """Give a choice with what the session has chosen where it says nothing."""
    kept = state.model
    return SessionModel(choice.name or str(kept.get("name", "")), choice.extra_fields or as_object(kept.get("fields")))


def keep(choice: SessionModel, state: AgentState) -> None:
    """Have a session remember a choice; one that says nothing is that of the agent."""
    told = {"name": choice.name, "fields": dict(choice.extra_fields)}
    state.model = {name: value for name, value in told.items() if value}
