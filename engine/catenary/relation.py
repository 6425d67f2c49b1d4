"""Relations: the labels by which a message leaves a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from catenary.errors import TemplateError

if TYPE_CHECKING:
    from catenary.message import Message


class Relation(str):
    """The name of a way out of a node, with a sentence about it for forms and docs.

    A relation is a `str`: it equals its plain name, so `"Success"` may be written wherever `SUCCESS` may.
    Names are compared exactly, upper and lower case count.
    """

    __slots__ = ("help",)
    help: str

    def __new__(cls, name: str, *, help: str = "") -> Self:  # noqa: A002 - the word the rest of the API uses
        relation = super().__new__(cls, name)
        relation.help = help
        return relation

    def __repr__(self) -> str:
        return f"Relation({str.__str__(self)!r})"


SUCCESS = Relation("Success", help="The work is done.")
FAILURE = Relation("Failure", help="Something went wrong; `errorMsg` in the metadata says what.")
TRUE = Relation("True", help="The condition holds.")
FALSE = Relation("False", help="The condition does not hold.")
STREAM = Relation("Stream", help="One piece of an answer that comes in pieces.")
DEFAULT = Relation("Default", help="None of the cases matched.")
AWAIT_CONFIRM = Relation("AwaitConfirm", help="Somebody has to agree before it can go on.")
AWAIT_EXTERNAL = Relation("AwaitExternal", help="A result from elsewhere has to come before it can go on.")
LATE = Relation("Late", help="The join had gone on already, by its quorum or its time limit.")
PAUSED = Relation("Paused", help="The branch stood here when its run was put off, because a node waits for an answer.")
PAUSES = frozenset({AWAIT_CONFIRM, AWAIT_EXTERNAL})
"""The relations that pause a branch where they are not connected."""


class Failed(Relation):
    """A `Failure` that carries its error, so that the next node and the end of the branch can see it."""

    __slots__ = ("error",)
    error: BaseException

    def __new__(cls, error: BaseException) -> Self:
        relation = super().__new__(cls, "Failure", help=FAILURE.help)
        relation.error = error
        return relation


class OrElse(Relation):
    """A relation with another one to take when it is not connected: `return OrElse("Hot", DEFAULT), msg`.

    The next node sees the relation that was taken. When neither is connected, the branch ends with the one asked for.
    """

    __slots__ = ("default",)
    default: str

    def __new__(cls, name: str, default: str) -> Self:
        relation = super().__new__(cls, name)
        relation.default = default
        return relation


class EndHere(Relation):
    """A relation by which a branch ends right at its node, whatever is connected: `return EndHere("Stopped"), msg`.

    The end is an answer also in chains with `end` nodes. It equals no name, so no connection leads on from it; the
    outcome shows the plain name.

    Args:
        name: The relation that the end shows.
        error: Why it ends, for `Failure`; its text goes to `errorMsg`.
    """

    __slots__ = ("error",)
    error: BaseException | None

    def __new__(cls, name: str, error: BaseException | str | None = None) -> Self:
        relation = super().__new__(cls, name)
        relation.error = NodeFailure(error) if isinstance(error, str) else error
        return relation

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__


class NodeFailure(Exception):  # noqa: N818 - a failure told, not a bug: the text is what `errorMsg` gets
    """Raise it in `run` to leave by `Failure` with this text and, if given, with another message."""

    def __init__(self, text: str, message: Message | None = None) -> None:
        super().__init__(text)
        self.message = message


def fail(error: BaseException | str, message: Message) -> tuple[Relation, Message]:
    """Give the emission that leaves by `Failure` with `error`, and `errorMsg` put into the message's metadata.

    For a template that failed, `errorMsg` names the node too: a message may have come a long way when it is read.

    Args:
        error: What went wrong; a text becomes a `NodeFailure`.
        message: The message that goes on.
    """
    cause = NodeFailure(error) if isinstance(error, str) else error
    name = type(cause).__name__
    try:
        text = str(cause) or name
    except Exception:  # an error whose own text cannot be had is a failure all the same
        text = name
        cause = NodeFailure(text)
        cause.__cause__ = error if isinstance(error, BaseException) else None
    if isinstance(cause, TemplateError) and cause.node_id:
        text = f"node {cause.node_id!r}: {text}"
    return Failed(cause), message.put("errorMsg", text)
