"""Under which key a connection is known: templates that are evaluated on what it sends, until one gives something."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from catenary.errors import TemplateError
from catenary.expr import Environment, Template
from catenary.expr.regex import finder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary import Message
    from catenary.jsontext import Json

logger = logging.getLogger(__name__)

_OF_A_MESSAGE: Final = re.compile(r"(?<![\w.])(?:msg|data|dataType|id|ts|type|msgType)\b|messageType")


def _hex(value: Any) -> str:
    """Give the bytes of a text, or bytes, as lower-case hex digits."""
    return str(value).encode("utf-8", "surrogateescape").hex()


def _re_find(pattern: str, text: Any) -> str:
    """Give what a regular expression finds first: its first group, or all of it if it has none; else empty text."""
    return finder_of(pattern)(str(text))


_FUNCTIONS: Final = {"hex": _hex, "reFind": _re_find}


class SessionKey(Template):
    """A template for the key of a connection, which may use `hex(s)` and `reFind(pattern, s)`.

    A part that fails gives no key.
    """

    __slots__ = ("is_of_message",)

    def __init__(self, source: Json) -> None:
        super().__init__(source)
        self.is_of_message = bool(_OF_A_MESSAGE.search(str(source)))

    @classmethod
    def compile(cls, source: Json, environment: Environment | None = None) -> Self:
        """Compile it, with the functions that only it has. Raises: TemplateError: as for other templates."""
        known = environment or Environment()
        return super().compile(source, replace(known, functions={**_FUNCTIONS, **known.functions}))


def find_key(templates: Sequence[SessionKey], message: Message, *, is_first: bool = False) -> str:
    """Give the first key that is not empty; empty text when there is none.

    Args:
        templates: What is tried, in order.
        message: What they see.
        is_first: True when nothing was sent yet, and only the metadata count.
    """
    if isinstance(message.data, bytes):  # as text, of which `hex` can tell which bytes it was
        message = message.with_data(message.data.decode("utf-8", "surrogateescape"), "TEXT")
    for template in templates:
        if is_first and template.is_of_message:
            continue
        try:
            key = template.render(message).strip()
        except TemplateError as error:
            logger.debug("a message gives no session key", extra={"reason": str(error)})
            continue
        if key:
            return key.encode("utf-8", "replace").decode()
    return ""
