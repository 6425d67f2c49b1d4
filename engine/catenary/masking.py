"""Secrets that must not be seen: their values are masked in events, records, run logs, errors and pictures."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from catenary.jsontext import dumps
from catenary.relation import NodeFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from catenary.component import Config
    from catenary.jsontext import Json
    from catenary.message import Message
    from catenary.recording import Visit
    from catenary.runtime.ends import End

MASK: Final = "****"
"""What stands in the place of a secret."""

SHORTEST: Final = 4
"""Values shorter than this, in characters, are not looked for: they would be found in ordinary words."""

NO_SECRETS: Final = frozenset(
    [
        "none",
        "null",
        "true",
        "false",
        "empty",
        "test",
        "dummy",
        "unused",
        "memory",
        "ollama",
        "vllm",
        "lm-studio",
        "no-key",
        "not-needed",
    ]
)
"""What stands where no key or no address is needed; everybody says these words."""

PLAIN_HEADERS: Final = frozenset(
    [
        "accept",
        "accept-language",
        "content-type",
        "http-referer",
        "referer",
        "user-agent",
        "x-title",
        "api-version",
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "openai-organization",
        "openai-project",
    ]
)
"""Headers that say who asks and how. What they say may be any word, and is no secret."""


class Masker:
    """Knows the secret values of an engine and puts `****` in their place.

    It costs nothing as long as it knows none. Values may be added at any time; they are never forgotten, for what was
    a secret may still be told of. Safe to use from many threads.
    """

    def __init__(self, values: Iterable[Json] = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self.add(*values)

    def __bool__(self) -> bool:
        """True when there is something to mask."""
        return self._pattern is not None

    def add(self, *values: Json) -> None:
        """Add secret values; of mappings and lists, all values in them. Short ones and plain numbers are left out."""
        known = self._values.union(text for value in values for text in _texts(value))
        if known == self._values:
            return
        self._values = known
        spellings = {spelling for text in known for spelling in (text, _inside_json(text))}
        longest_first = sorted(spellings, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def text(self, text: str) -> str:
        """Give a text with its secrets masked."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def value(self, value: Json) -> Json:
        """Give a JSON value with the secrets in its texts masked."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(MASK, value)
        if isinstance(value, list):
            return [self.value(item) for item in cast("list[Json]", value)]
        if isinstance(value, dict):
            return self.items(cast("dict[str, Json]", value))
        return value

    def items(self, values: Mapping[str, Json]) -> dict[str, Json]:
        """Give a JSON object with the secrets in its names and values masked."""
        return {self.text(key): self.value(item) for key, item in values.items()}

    def message(self, message: Message) -> Message:
        """Give a message with the secrets in its data and metadata masked; the same one when there are none."""
        pattern = self._pattern
        if pattern is None:
            return message
        message = message.writable()
        metadata = {key: self.value(value) for key, value in message.metadata.items()}
        masked = message if metadata == message.metadata else message.with_metadata(metadata)
        text = message.text
        if pattern.search(text) is None:
            return masked
        return masked.with_data(pattern.sub(MASK, text))

    def error(self, error: BaseException) -> BaseException:
        """Give an error of the same kind with the secrets in its text masked; the same one when there are none."""
        text = _text_of(error)
        hidden = self.text(text)
        if hidden == text:
            return error
        made = type(error).__new__(type(error))
        made.args = tuple(self.value(argument) for argument in error.args)
        made.__dict__.update({name: self.value(value) for name, value in vars(error).items()})
        if _text_of(made) != hidden:  # its text is made of something that cannot be reached
            made = NodeFailure(hidden)
        return made.with_traceback(error.__traceback__)

    def end(self, end: End) -> End:
        """Give the end of a branch with the secrets in its message and its error masked."""
        if self._pattern is None:
            return end
        error = end.error if end.error is None else self.error(end.error)
        return end._replace(message=self.message(end.message), error=error)

    def visit(self, visit: Visit) -> Visit:
        """Give a visit with the secrets in its messages, its error and its items masked."""
        if self._pattern is None:
            return visit
        return replace(
            visit,
            message=self.message(visit.message),
            sent=[(relation, self.message(message)) for relation, message in visit.sent],
            error=self.text(visit.error),
            items=[(name, self.items(data)) for name, data in visit.items],
        )


def secrets_in(settings: Any) -> Iterator[Json]:
    """Give the values of the secret options in settings, as they are in force; nested settings included."""
    from catenary.component import Config  # brings pydantic, which an engine without chains can do without

    if isinstance(settings, Config):
        for name, is_secret in _fields(type(settings)):
            value = getattr(settings, name)
            if is_secret:
                yield getattr(value, "source", value)
            else:
                yield from secrets_in(value)
    elif isinstance(settings, (list, tuple)):
        for item in cast("list[Any]", settings):
            yield from secrets_in(item)
    elif isinstance(settings, dict):
        for item in cast("dict[str, Any]", settings).values():
            yield from secrets_in(item)


@cache
def _fields(kind: type[Config]) -> tuple[tuple[str, bool], ...]:
    """Give the names of the options of some settings, and whether each is secret."""
    found: list[tuple[str, bool]] = []
    for name, info in kind.model_fields.items():
        extra = info.json_schema_extra
        found.append((name, isinstance(extra, dict) and bool(cast("dict[str, Any]", extra).get("x-secret"))))
    return tuple(found)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its text cannot be had, so nothing is seen of it
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        text = value.strip()
        if len(text) >= SHORTEST and text != MASK and "${" not in text and text.lower() not in NO_SECRETS:
            yield text
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            if name.lower() not in PLAIN_HEADERS:
                yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("list[Any]", value):
            yield from _texts(item)
    elif hasattr(value, "reveal"):  # a secret that shows itself to nobody else
        yield from _texts(value.reveal())


def _inside_json(text: str) -> str:
    return dumps(text)[1:-1]
