"""`fieldFilter`: let a message choose between `True` and `False` by the fields it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import field_validator

from catenary import FAILURE, FALSE, TRUE, Message, fail
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.message import JSON

if TYPE_CHECKING:
    from collections.abc import Collection

    from catenary.jsontext import Json


class FieldFilterConfig(Config):
    """Settings of one `fieldFilter` node."""

    check_all_keys: bool = option(False, help="True when all listed fields must be there; else one is enough.")
    data_names: str = option(
        "", help="Keys of the payload, separated by commas; a key may hold dots.", examples=["temperature, humidity"]
    )
    metadata_names: str = option("", help="Keys of the metadata, separated by commas.", examples=["deviceId"])

    @field_validator("data_names", "metadata_names", mode="before")
    @classmethod
    def _join_list(cls, value: Json) -> Json:
        """Take the names also as a list."""
        return ",".join(map(str, cast("list[Json]", value))) if isinstance(value, list) else value


@register("fieldFilter", category="filter", since="0.1", label="Field filter")
class FieldFilter(Component[FieldFilterConfig]):
    """Let a message choose between `True` and `False` by the fields it has.

    What counts is that a key is there: null, 0 and empty text do. Keys are looked for at the top level, as they are
    written: `a.b` is one key. With no names at all, all of them are there and none is, so that `checkAllKeys` decides.

    The payload of a `JSON` message must be an object, or null, which has no keys; any other one leaves by `Failure`,
    even where only metadata is looked at. Payloads of other data types have no keys. The message goes on unchanged.
    """

    relations = (TRUE, FALSE, FAILURE)
    pure = True
    examples = (
        Example(
            "one of the fields is enough",
            config={"dataNames": "temperature, humidity"},
            inputs=[{"humidity": None}, {"pressure": 1013}],
            leaves_by=["True", "False"],
        ),
        Example(
            "all of them have to be there",
            config={"checkAllKeys": True, "dataNames": "temperature", "metadataNames": "deviceId"},
            inputs=[Message({"temperature": 20}, metadata={"deviceId": "a"}), {"temperature": 20}],
            leaves_by=["True", "False"],
        ),
        Example("a list has no fields", config={"dataNames": "a"}, inputs=["[1]"], leaves_by=["Failure"]),
    )

    def __init__(self, config: FieldFilterConfig) -> None:
        super().__init__(config)
        self._data_names = _names(config.data_names)
        self._metadata_names = _names(config.metadata_names)
        self._combine = all if config.check_all_keys else any

    def run(self, ctx: Context, msg: Message) -> Emission:  # noqa: ARG002 - what every component is called with
        keys = _keys(msg)
        if keys is None:
            return fail("the payload is no JSON object, so it has no fields to look for", msg)
        metadata = msg.metadata
        present = [name in keys for name in self._data_names]
        present += [name in metadata for name in self._metadata_names]
        return TRUE if self._combine(present) else FALSE


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _keys(msg: Message) -> Collection[str] | None:
    """Give the keys of a payload; `None` for one that should be an object and is none."""
    if msg.data_type != JSON:
        return ()
    value = msg.value
    if isinstance(value, dict):
        is_blank = not value and not msg.data.strip()  # an empty payload reads as an empty object
        return None if is_blank else cast("dict[str, Json]", value)
    return () if value is None else None
