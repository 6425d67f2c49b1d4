"""What tools give: JSON values, and texts with pictures and other media among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from catenary_components.ai.messages import AudioPart, DataPart, ImagePart, TextPart
from catenary_components.ai.records import block_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catenary.jsontext import Json
    from catenary_components.ai.messages import MediaPart

_PARTS: Final = (TextPart, ImagePart, AudioPart, DataPart)
_SHOWN: Final = {ImagePart: "a picture", AudioPart: "a sound", DataPart: "a file"}


def parts_of(value: Any) -> tuple[MediaPart, ...]:
    """Give the parts of what a tool gave: one part, or a list of them in which texts may stand bare.

    Returns: nothing for any other value, which is JSON.
    """
    if isinstance(value, _PARTS):
        return (value,)
    if not isinstance(value, list | tuple):
        return ()
    given = cast("Sequence[Any]", value)
    if not any(isinstance(part, _PARTS) for part in given):
        return ()
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in given)
    return parts if all(isinstance(part, _PARTS) for part in parts) else ()


def text_of(parts: Iterable[MediaPart]) -> str:
    """Give the text of parts; where another medium stands, the text says so."""
    return "\n".join(part.text if isinstance(part, TextPart) else f"[{_SHOWN[type(part)]}]" for part in parts)


def shown(value: Any) -> Json:
    """Give what a tool gave as JSON: a part as the block that records have, several as a list of them."""
    parts = parts_of(value)
    if not parts:
        return value
    blocks: list[Json] = [block_to_json(part) for part in parts]
    return blocks[0] if len(blocks) == 1 else blocks
