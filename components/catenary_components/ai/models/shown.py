"""What a model that cannot see is shown in place of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catenary_components.ai.messages import ImagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary_components.ai.messages import MediaPart
    from catenary_components.ai.models.registry import Profile


def shown_parts(parts: Sequence[MediaPart], profile: Profile) -> Sequence[MediaPart]:
    """Give the parts in their order, each picture as a text that names it when the model does not see."""
    if profile.sees or not any(isinstance(part, ImagePart) for part in parts):
        return parts
    return [TextPart(_named(part)) if isinstance(part, ImagePart) else part for part in parts]


def _named(picture: ImagePart) -> str:
    return "[a picture]" if picture.url.startswith("data:") else f"[a picture: {picture.url}]"
