"""The message: what travels along a chain."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from catenary.jsontext import Json, dumps, loads, writable

if TYPE_CHECKING:
    from typing import Self

Metadata: TypeAlias = Mapping[str, Json]

JSON: Final = "JSON"
TEXT: Final = "TEXT"
BINARY: Final = "BINARY"

UNREAD: Final[Any] = object()
"""What `_value` holds while the data is not parsed, and `_data` while the value is not written."""

_NO_METADATA: Final[Metadata] = MappingProxyType({})
_new: Final = object.__new__
_WIRE: Final[Mapping[str, tuple[type[Any], str]]] = {
    "ts": (int, "a whole number"),
    "id": (str, "a text"),
    "type": (str, "a text"),
    "dataType": (str, "a text"),
    "metadata": (Mapping, "a mapping"),
}


class Message:
    """One message: data, what kind of data it is, a business type, metadata, an id and a time.

    A message is a value: nothing about it changes once it is made. `with_...` and `put` give another one that
    shares id and time. Data may be given as text, as bytes, or as a JSON value (which is then written as text only
    when somebody asks for it); text is parsed at the first look at `value`, and never twice.

    Args:
        data: The payload. A `str` is taken as it is, also for `JSON`; any other JSON value is kept as a value.
        type: The business type, which scripts see as `msgType`.
        data_type: `JSON`, `TEXT` or `BINARY`; any other name is handled as text.
        metadata: Texts by key. Hosts may put any JSON value.
        id: A unique name; a random UUID is made when it is first read.
        ts: Milliseconds since 1970; the present time, taken when it is first read, if absent or not positive.
    """

    __slots__ = ("_data", "_data_type", "_metadata", "_origin", "_type", "_value")
    _data: Any
    _value: Any
    _type: str
    _data_type: str
    _metadata: Metadata
    _origin: list[Any]  # [id, ts], each None until it is read; shared by all messages made from this one

    def __init__(
        self,
        data: Json | bytes = "",
        type: str = "",  # noqa: A002 - the field's name on the wire
        data_type: str = JSON,
        metadata: Metadata | None = None,
        id: str | None = None,  # noqa: A002 - the field's name on the wire
        ts: int | None = None,
    ) -> None:
        kind = data.__class__
        if kind is str or kind is bytes:
            self._data = data
            self._value = UNREAD
        elif kind is dict or kind is list:
            self._data = UNREAD
            self._value = data
        elif isinstance(data, (str, bytes, bytearray, memoryview)):
            self._data = _raw(data)
            self._value = UNREAD
        else:
            self._data = UNREAD
            self._value = data
        self._type = type
        self._data_type = data_type
        self._metadata = MappingProxyType(dict(metadata)) if metadata else _NO_METADATA
        self._origin = [id, ts if ts is not None and ts > 0 else None]

    if TYPE_CHECKING:

        @property
        def type(self) -> str:
            """The business type of the message."""
            ...

        @property
        def data_type(self) -> str:
            """`JSON`, `TEXT` or `BINARY`."""
            ...

        @property
        def metadata(self) -> Metadata:
            """The metadata, read-only."""
            ...

    else:  # read without a Python frame: every node does it
        type = property(attrgetter("_type"))
        data_type = property(attrgetter("_data_type"))
        metadata = property(attrgetter("_metadata"))

    @property
    def data(self) -> str | bytes:
        """The payload as it came: text, or bytes. A payload given as a JSON value is written as compact JSON.

        Raises:
            TypeError, ValueError: When a value given as data cannot be written as JSON.
        """
        data = self._data
        if data is UNREAD:
            value = self._value
            data = self._data = dumps(value)
        return data

    @property
    def text(self) -> str:
        """The payload as text; bytes are read as UTF-8, what is no UTF-8 as U+FFFD."""
        data = self.data
        return data if isinstance(data, str) else data.decode("utf-8", "replace")

    @property
    def value(self) -> Json:
        """The payload as expressions see it under the name `msg`; not to be changed, for it is shared.

        JSON is parsed; empty JSON is `{}`; JSON that does not parse, text and bytes are the text.
        """
        value: Json = self._value
        if value is UNREAD:
            data = self._data
            try:
                value = loads(data) if self._data_type == JSON else self.text
            except (ValueError, RecursionError):  # too deeply nested counts as no JSON
                value = self.text if data and not data.isspace() else {}
            self._value = value
        return value

    @property
    def id(self) -> str:
        """The unique name of the message; the same for all messages made from it."""
        origin = self._origin
        if origin[0] is None:
            origin[0] = str(uuid.uuid4())
        return cast("str", origin[0])

    @property
    def ts(self) -> int:
        """When the message came to be, in milliseconds since 1970."""
        origin = self._origin
        if origin[1] is None:
            origin[1] = time.time_ns() // 1_000_000
        return cast("int", origin[1])

    def _copy(self) -> Self:
        other = _new(self.__class__)
        other._data = self._data
        other._value = self._value
        other._type = self._type
        other._data_type = self._data_type
        other._metadata = self._metadata
        other._origin = self._origin
        return other

    def with_data(self, data: Json | bytes, data_type: str | None = None) -> Self:
        """Give the message with another payload (as for `Message`), and another data type if one is named."""
        other = _new(self.__class__)
        kind = data.__class__
        if kind is dict:
            other._data = UNREAD
            other._value = data
        elif kind is str or kind is bytes:
            other._data = data
            other._value = UNREAD
        elif isinstance(data, (str, bytes, bytearray, memoryview)):
            other._data = _raw(data)
            other._value = UNREAD
        else:
            other._data = UNREAD
            other._value = data
        other._type = self._type
        other._data_type = self._data_type if data_type is None else data_type
        other._metadata = self._metadata
        other._origin = self._origin
        return other

    def with_type(self, type: str) -> Self:  # noqa: A002 - the field's name on the wire
        """Give the message with another business type."""
        other = self._copy()
        other._type = type
        return other

    def with_data_type(self, data_type: str) -> Self:
        """Give the message with its data called by another data type, and so read anew."""
        other = self._copy()
        if data_type != self._data_type:
            other._data = self.data
            other._value = UNREAD
            other._data_type = data_type
        return other

    def with_metadata(self, metadata: Metadata) -> Self:
        """Give the message with all of its metadata replaced; the mapping is copied."""
        other = self._copy()
        other._metadata = MappingProxyType(dict(metadata)) if metadata else _NO_METADATA
        return other

    def put(self, key: str, value: Json) -> Self:
        """Give the message with one metadata entry added or replaced. An empty key changes nothing."""
        if not key:
            return self
        other = self._copy()
        other._metadata = MappingProxyType({**self._metadata, key: value})
        return other

    def put_all(self, entries: Metadata) -> Self:
        """Give the message with several metadata entries added or replaced. Empty keys are left out."""
        other = self._copy()
        merged = {**self._metadata, **entries}
        merged.pop("", None)
        other._metadata = MappingProxyType(merged)
        return other

    def without(self, *keys: str) -> Self:
        """Give the message without these metadata keys."""
        return self.with_metadata({key: value for key, value in self._metadata.items() if key not in keys})

    def writable(self) -> Message:
        """Give the message itself; or one in which data and metadata that are no JSON are as Python shows them.

        What tells of a message goes by this one: a number that is none must not keep a whole run from being told of.
        """
        made = self
        try:
            _ = self.data
        except (TypeError, ValueError, RecursionError):
            made = self.with_data(writable(self.value))
        metadata = self._metadata
        odd = {key: shown for key, value in metadata.items() if (shown := writable(value)) is not value}
        return made.put_all(odd) if odd else made

    def to_dict(self) -> dict[str, Json]:
        """Give the wire form: `{"ts", "id", "dataType", "type", "data", "metadata"}`.

        `data` is text always: bytes, and whatever is `BINARY`, as lower-case hex. Metadata values that are no text
        are written as compact JSON.
        """
        data = self.data
        if self._data_type == BINARY or isinstance(data, bytes):
            raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
            data = raw.hex() if self._data_type == BINARY else _text_or_hex(raw)
        return {
            "ts": self.ts,
            "id": self.id,
            "dataType": self._data_type,
            "type": self._type,
            "data": data,
            "metadata": {key: metadata_text(value) for key, value in self._metadata.items()},
        }

    @classmethod
    def from_dict(cls, wire: Mapping[str, Json]) -> Self:
        """Read the wire form. `data` is decoded from hex only when `dataType` is `BINARY`.

        Raises:
            ValueError: When `BINARY` data is no hex, or a part is of the wrong kind.
        """
        for key, (kind, name) in _WIRE.items():
            part = wire.get(key)
            if part is not None and (not isinstance(part, kind) or isinstance(part, bool)):
                raise ValueError(f"{key!r} of a message must be {name}, not {part!r:.60}")
        data_type = wire.get("dataType") or JSON
        data = wire.get("data", "")
        if data_type == BINARY and isinstance(data, str):
            try:
                data = bytes.fromhex(data)
            except ValueError:
                raise ValueError(f"'data' of a BINARY message must be hex digits, not {data!r:.60}") from None
        return cls(
            data, wire.get("type") or "", data_type, wire.get("metadata"), wire.get("id") or None, wire.get("ts")
        )

    def __eq__(self, other: object) -> bool:
        """Tell whether data, types, metadata and id are the same."""
        if not isinstance(other, Message):
            return NotImplemented
        return (self.data, self._type, self._data_type, self._metadata, self.id) == (
            other.data,
            other._type,
            other._data_type,
            other._metadata,
            other.id,
        )

    def __hash__(self) -> int:
        return hash((self.id, self.data))

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        return f"Message({shown!r}, type={self._type!r}, data_type={self._data_type!r})"


def metadata_text(value: Json) -> str:
    """Give a metadata value as text: a text as it is, `None` as nothing, all else as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


def _raw(data: Any) -> str | bytes:
    """Give a text, or bytes, of some kind of its own as a plain one."""
    return str.__str__(data) if isinstance(data, str) else bytes(data)


def _text_or_hex(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.hex()
