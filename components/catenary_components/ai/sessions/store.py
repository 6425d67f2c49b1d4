"""What keeps sessions: records of JSON by keys, each with a version that a writer has to know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from catenary.errors import StoreError

if TYPE_CHECKING:
    from catenary.jsontext import Json

ANY_VERSION: Final = -1
NEW: Final = 0


class Record(NamedTuple):
    """What is kept under a key. The version is 1 when it is made, and one more each time it is written."""

    version: int
    value: Json


class SessionError(StoreError):
    """The session of an agent cannot be used."""

    code = "session.error"


class SessionConflict(SessionError):  # noqa: N818 - says what has happened
    """Somebody else has written a session since it was read.

    Usual cause: Two processes answer for the same session at the same time.

    Cure: Let one process answer for a session, or say with `onConflict` what is to become of both conversations.
    """

    code = "session.conflict"

    def __init__(self, key: str, expected: int, found: int) -> None:
        there = f"version {found} is there" if found else "it is gone"
        read = f"version {expected} was read" if expected else "none was there when it was read"
        super().__init__(
            f"session {key!r} was written by somebody else meanwhile: {read}, and {there}",
            hint="let one process answer for a session, or set `onConflict`",
        )
        self.found = found


class SessionBusy(SessionError):  # noqa: N818 - says what it is
    """A session is in use by another call.

    Usual cause: The caller did not wait for the answer to what was said before.

    Cure: Wait for the answer, or let calls wait for each other with `whenBusy: queue`.
    """

    code = "session.busy"


class NotSaved(SessionError):  # noqa: N818 - says what has happened
    """An agent has answered, and what was said could not be kept.

    Usual cause: The disk is full, or the database of the sessions cannot be reached.

    Cure: Look at the reason in the text. The answer itself is in the metadata of the failure, under `answer`.
    """

    code = "session.not-saved"

    def __init__(self, answer: str, reason: BaseException) -> None:
        self.answer = answer
        hint = getattr(reason, "hint", "")
        super().__init__(f"the agent has answered, but its session could not be saved: {reason}", hint=hint)


class DamagedRecord(SessionError):  # noqa: N818 - says what it is
    """What is kept of a session cannot be read."""

    code = "session.damaged"


class SessionStore(Protocol):
    """Keeps records by keys, which are any text but the empty one. Safe to use from many tasks and event loops.

    Every operation may raise a `SessionError` or a `ResourceError`.
    """

    @property
    def place(self) -> str:
        """Where the records are, without what is secret; two stores of the same place have the same records."""
        ...

    async def load(self, key: str) -> Record | None:
        """Give the record under a key; `None` when there is none. Raises: DamagedRecord: when it cannot be read."""
        ...

    async def save(self, key: str, text: str, expected: int) -> int:
        """Write a record: all of it, or nothing.

        Args:
            key: Where.
            text: What, as JSON.
            expected: The version that has to be there; `NEW` for none, `ANY_VERSION` for whatever is there.

        Returns: the version that is there now.

        Raises:
            SessionConflict: When another version is there.
        """
        ...

    async def delete(self, key: str) -> bool:
        """Take a record out. Returns: whether there was one."""
        ...

    async def set_aside(self, key: str, suffix: str) -> str:
        """Put the record of a key where it is in nobody's way, damaged as it is. Returns: where it is then."""
        ...

    async def keys(self, prefix: str = "") -> list[str]:
        """Give the keys that begin with `prefix`, in the order of their names; not of records set aside."""
        ...

    async def close(self) -> None:
        """Close what is open. May be called again; used after that, it opens anew."""
        ...


def aside_suffix(time_ms: int) -> str:
    """Give what is put behind the name of a record that is set aside: `.corrupt-20260131T120000000Z`."""
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f".corrupt-{moment:%Y%m%dT%H%M%S}{time_ms % 1000:03}Z"


def is_set_aside(key: str) -> bool:
    """Whether the key is one that a record was set aside under."""
    _, found, time = key.rpartition(".corrupt-")
    return bool(found) and len(time) == 19 and time[8] == "T" and time.endswith("Z") and time[:8].isdigit()


def check_version(key: str, expected: int, found: int) -> None:
    """Compare the versions. Raises: SessionConflict: when it is not the one that has to be there."""
    if expected not in {ANY_VERSION, found}:
        raise SessionConflict(key, expected, found)


def check_key(key: str) -> str:
    """Give the key. Raises: SessionError: when it is empty."""
    if not key:
        raise SessionError("the key of the session is empty", hint="say whose session it is, as with ${metadata.user}")
    return key
