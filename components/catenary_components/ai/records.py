"""Messages and the record of an agent as JSON, by a schema that has a version: what a session keeps of them.

Names are camelCase. What has its default is left out, so that a record of a later program with more attributes can be
read as long as its version is the same.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic.alias_generators import to_camel

from catenary.errors import CatenaryError
from catenary.jsontext import dumps, encodable, loads
from catenary_components.ai.messages import (
    AudioPart,
    Block,
    ChatMessage,
    DataPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
)
from catenary_components.ai.recordshapes import fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.state import AgentState

VERSION: Final = 1

NEVER_KEPT: Final = frozenset(
    {
        "last_usage",
        "results",
        "answer",
        "reasoning",
        "answered_by",
        "service_reason",
        "finish_reason",
        "is_unshown",
        "unverified",
        "stop",
        "status",
        "announced",
    }
)
"""The attributes of an agent's state that belong to one process or to one call alone."""

_BLOCKS: Final[Mapping[str, type]] = {
    "text": TextPart,
    "thinking": ThinkingPart,
    "image": ImagePart,
    "audio": AudioPart,
    "data": DataPart,
    "tool_use": ToolCall,
    "tool_result": ToolResult,
}
_NAMES: Final = {kind: name for name, kind in _BLOCKS.items()}


class RecordError(CatenaryError):
    """The record of an agent cannot be read: it is damaged, or no such record.

    Usual cause: The record was changed by hand or by another program, or its disk is damaged.

    Cure: Look at the record that the text names, which was put aside; the session begins anew.
    """

    code = "agent.record"


class NewerRecord(RecordError):  # noqa: N818 - says what the record is
    """The record of an agent was written by a later version of this program, which knows more than this one.

    Usual cause: Two versions of the program use the same sessions.

    Cure: Bring this program up to date. The record is left as it is.
    """

    code = "agent.newer-record"


def state_to_json(state: AgentState) -> dict[str, Json]:
    """Give a state as JSON: all that a session keeps, and the counters of a run that is paused."""
    return {"version": VERSION, **_members(state, NEVER_KEPT)}


def state_from_json(record: Json) -> AgentState:
    """Read a state.

    Raises:
        NewerRecord: When a later version of the program has written it.
        RecordError: When it is no such record.
    """
    from catenary_components.ai.state import AgentState

    given = _object(record, "the record")
    version = given.get("version")
    if type(version) is not int or version < 1:
        raise RecordError(f"the record of the agent has no version, but {_shown(version)}")
    if version > VERSION:
        raise NewerRecord(
            f"the record of the agent has version {version}, and this program knows versions up to {VERSION}",
            hint="bring this program up to date, or give the session another key",
        )
    return AgentState(**_arguments(AgentState, given, "the record"))


def state_to_text(state: AgentState) -> str:
    """Give a state as JSON text. Halves of surrogate pairs, which are no text, become U+FFFD."""
    return encodable(dumps(state_to_json(state)))


def state_from_text(text: str) -> AgentState:
    """Read a state from JSON text. Raises: RecordError: when it is none, see `state_from_json`."""
    try:
        record = loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the record of the agent is not JSON: {error}") from None
    return state_from_json(record)


def message_to_json(message: ChatMessage) -> dict[str, Json]:
    """Give a message as JSON, with its id and its time."""
    return _members(message)


def block_to_json(block: Block) -> dict[str, Json]:
    """Give a block of a message as JSON; its `type` says what it is."""
    return {"type": _NAMES[type(block)], **_members(block)}


def block_from_json(value: Json) -> Block:
    """Read a block of a message. Raises: RecordError: when it is none."""
    return _block(value, "a block")


def message_from_json(value: Json) -> ChatMessage:
    """Read a message. Raises: RecordError: when it is none."""
    return _made(ChatMessage, _object(value, "a message"), "a message")


# Any of the dataclasses above


def _members(value: Any, left_out: frozenset[str] = frozenset()) -> dict[str, Json]:
    """Give the attributes of a dataclass that do not have their default, by their names in camelCase."""
    found: dict[str, Json] = {}
    for name, written, default in _fields(cast("type[Any]", type(value))):
        if name not in left_out and (attribute := getattr(value, name)) != default:
            found[written] = _plain(attribute)
    return found


def _plain(value: Any) -> Json:
    kind = _NAMES.get(cast("type[Block]", type(value)))
    if kind is not None:
        return {"type": kind, **_members(value)}
    if isinstance(value, (ChatMessage, Usage)):
        return _members(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


@cache
def _fields(kind: type[Any]) -> list[tuple[str, str, Any]]:
    """Give name, written name and default of each field; a default of its own kind when there is none."""
    found: list[tuple[str, str, Any]] = []
    for field in fields(kind):
        default = MISSING if field.name in {"id", "time_ms"} else field.default
        if field.default_factory is not MISSING and field.name not in {"id", "time_ms"}:
            default = field.default_factory()
        found.append((field.name, to_camel(field.name), default))
    return found


def _made(kind: type[Any], given: Mapping[str, Json], place: str) -> Any:
    try:
        return kind(**_arguments(kind, given, place))
    except (TypeError, ValueError) as error:
        raise RecordError(f"{place} in the record of the agent cannot be read: {error}") from None


def _arguments(kind: type, given: Mapping[str, Json], place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, written, default in _fields(kind):
        if written in given:
            found[name] = _read(name, given[written], default, f"{written} of {place}")
    return found


def _read(name: str, value: Json, default: Any, place: str) -> Any:
    """Read one attribute, which is of the kind of its default."""
    match name:
        case "messages":
            return [_made(ChatMessage, _object(one, "a message"), "a message") for one in _list(value, place)]
        case "blocks" | "parts":
            return tuple(_block(one, place) for one in _list(value, place))
        case "usage":
            return _made(Usage, _object(value, place), place)
        case "usage_by_model":
            return {model: _made(Usage, _object(one, place), place) for model, one in _object(value, place).items()}
        case _:
            return _checked(name, value, default, place)


def _checked(name: str, value: Json, default: Any, place: str) -> Json:
    if not fits(name, value, default=default, has_default=default is not MISSING):
        raise RecordError(f"{place} is not as it must be: {_shown(value)}")
    return value


def _block(value: Json, place: str) -> Block:
    given = _object(value, place)
    kind = _BLOCKS.get(str(given.get("type")))
    if kind is None:
        raise RecordError(f"{place} has a block of a kind that nobody knows: {_shown(given.get('type'))}")
    return _made(kind, given, f"a block of kind {given['type']}")


def _object(value: Json, place: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise RecordError(f"{place} must be an object, not {_shown(value)}")
    return cast("Mapping[str, Json]", value)


def _list(value: Json, place: str) -> list[Json]:
    if not isinstance(value, list):
        raise RecordError(f"{place} must be a list, not {_shown(value)}")
    return cast("list[Json]", value)


def _shown(value: Json) -> str:
    text = dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
