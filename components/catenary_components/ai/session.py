"""`ai/session`: look at what an agent remembers, add to it, or make it forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Example, option, register
from catenary_components.ai.choosing import named
from catenary_components.ai.conversation import said_in
from catenary_components.ai.messages import timed_by
from catenary_components.ai.options.session import SessionOptions
from catenary_components.ai.records import state_to_json
from catenary_components.ai.sessions.keys import SESSION_KEY
from catenary_components.ai.sessions.node import NodeSessions
from catenary_components.ai.sessions.places import packages_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary import Message
    from catenary.component import Context, Emission
    from catenary.jsontext import Json


class SessionConfig(SessionOptions):
    """Settings of one `ai/session` node: where the sessions of an agent are, as that agent has it, and what to do."""

    op: Literal["read", "observe", "model", "title", "clear", "delete", "list", "purge"] = option(
        "read",
        help="`read` gives the session, `observe` adds the message to it, `model` chooses its model, `title` gives it "
        "a title, `clear` empties the conversation, `delete` forgets all of it, `list` gives the keys that begin with "
        "`key`, `purge` forgets those of them in which nothing was said for longer than `ttl`.",
    )
    limit: int = option(0, ge=0, help="`read` gives the last messages only, `list` that many keys; 0 for all.")
    offset: int = option(0, ge=0, help="`list` leaves out that many keys at the beginning.")
    details: bool = option(
        False, help="Whether `list` gives objects: `key`, `title`, `model`, `messages`, `begun`, `last`, `paused`."
    )


@register("ai/session", category="ai", since="0.1", label="Session")
class Session(Component[SessionConfig]):
    """Look at what an agent remembers, add to it, or make it forget; no model is asked.

    The session is found as an `ai/agent` node finds it that has the same settings; without a key, `agent` has to name
    that agent, as in `chain/node`. What changes a session takes its turn among the calls that use it.

    `read` leaves with the session as a JSON object, `{}` when there is none; `list` and `purge` with a list of keys.
    After the others the message goes on unchanged. What `observe` adds is the text of the message, said by the user,
    or a conversation as `ai/agent` takes it. `model` takes metadata `session_model` and `session_extra_fields` for the
    messages of the session to come that name no other; without them the agent's own model counts again. `title` takes
    the text of the message; without a title, a list has how a session begins. Metadata `sessionKey` has the key.
    """

    relations = (SUCCESS, FAILURE)
    examples = (
        Example(
            "what was said elsewhere is put before the agent",
            config={"key": "ann", "op": "observe"},
            inputs=["The customer has called."],
            leaves_by=["Success"],
            data=["The customer has called."],
        ),
        Example(
            "a session that was never used is empty",
            config={"key": "${metadata.user}:nobody", "op": "read"},
            inputs=[{}],
            leaves_by=["Success"],
            data=["{}"],
        ),
    )

    def needs(self) -> Mapping[str, Sequence[str]]:
        """Give the packages that the store needs."""
        return packages_of(self.config.store)

    def open(self, ctx: Context) -> None:
        """Get the store. Raises: ConfigError: when it cannot be used."""
        self._sessions = NodeSessions(self.config, ctx)

    async def run(self, ctx: Context, msg: Message) -> Emission:
        """Do what `op` says."""
        sessions = self._sessions.sessions
        config = self.config
        if config.op in ("list", "purge"):
            return SUCCESS, msg.with_data(await self._keys(config.key.render(msg, ctx)), "JSON")
        key = self._sessions.key(ctx, msg)
        told = msg.put(SESSION_KEY, key)
        match config.op:
            case "read":
                state = await sessions.read(key)
                if state is not None and config.limit:
                    state.messages = state.messages[-config.limit :]
                record: Json = state_to_json(state) if state else {}
                return SUCCESS, told.with_data(record, "JSON")
            case "observe":
                with timed_by(ctx.clock):
                    said = said_in(msg)
                await sessions.observe(key, said)
            case "model":
                await sessions.choose_model(key, named(msg))
            case "title":
                await sessions.entitle(key, msg.text.strip())
            case "clear":
                await sessions.clear(key)
            case "delete":
                await sessions.delete(key)
        return SUCCESS, told

    async def _keys(self, prefix: str) -> Json:
        """Give the list of sessions, or forget what is over."""
        sessions, config = self._sessions.sessions, self.config
        if config.op == "purge":
            return [*await sessions.purge(prefix)][config.offset :][: config.limit or None]
        keys = [*await sessions.keys(prefix)][config.offset :][: config.limit or None]
        return [one.to_json() for one in await sessions.overview(keys)] if config.details else [*keys]

    async def close(self) -> None:
        """Close the store."""
        sessions = getattr(self, "_sessions", None)
        if sessions is not None:
            await sessions.close()
