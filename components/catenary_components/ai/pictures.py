"""Pictures in files: read from the folders that a chain may read, made small, and sent as data."""

from __future__ import annotations

import asyncio
import base64
import io
import logging
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from catenary.expr.files import locate
from catenary.expr.kinds import EvaluationError
from catenary_components.ai.messages import ChatMessage, ImagePart, TextPart, user_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from catenary.expr.environment import Environment
    from catenary_components.ai.messages import Block

LONGEST_SIDE: Final = 1024
"""Pixels that a picture has at most on its longer side, where the extra `images` is there to make it smaller."""
LARGEST_FILE: Final = 20 * 1024 * 1024
"""Bytes of the largest file that is read."""
MOST_PIXELS: Final = 64_000_000
"""A picture of more pixels is not unfolded."""

_QUALITY: Final = 92
_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_KINDS: Final = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"))

_logger = logging.getLogger(__name__)


class _Unreadable(Exception):  # noqa: N818 - said in place of the picture
    """A picture cannot be read; the text says why."""


def with_pictures(messages: list[ChatMessage], addresses: Sequence[str]) -> list[ChatMessage]:
    """Add pictures to what the user said last; empty addresses are left out."""
    pictures = tuple(ImagePart(address.strip()) for address in addresses if address.strip())
    if not pictures:
        return messages
    place = next((at for at in reversed(range(len(messages))) if messages[at].role == "user"), None)
    if place is None:
        return [*messages, user_message(pictures)]
    said = messages[place]
    return [*messages[:place], replace(said, blocks=(*said.blocks, *pictures)), *messages[place + 1 :]]


async def with_local_pictures(messages: list[ChatMessage], environment: Environment) -> list[ChatMessage]:
    """Put the pictures of files in the place of their paths.

    One that cannot be read becomes a text that says so: the others, and what was said, still count.
    """
    if not any(_is_local(block) for message in messages for block in message.blocks):
        return messages
    return await asyncio.to_thread(lambda: [_with_data(message, environment) for message in messages])


def _is_local(block: Block) -> bool:
    if not isinstance(block, ImagePart):
        return False
    address = block.url.lower()
    return address.startswith("file:") or ("://" not in address and address.endswith(_ENDINGS))


def _with_data(message: ChatMessage, environment: Environment) -> ChatMessage:
    if not any(map(_is_local, message.blocks)):
        return message
    blocks = (
        _read(block, environment) if isinstance(block, ImagePart) and _is_local(block) else block
        for block in message.blocks
    )
    return replace(message, blocks=tuple(blocks))


def _read(picture: ImagePart, environment: Environment) -> ImagePart | TextPart:
    path = picture.url
    if path.lower().startswith("file:"):
        path = unquote(urlsplit(path).path)
    try:
        kind, content = _scaled(_content(path, environment))
    except (_Unreadable, EvaluationError) as error:
        _logger.warning("a picture cannot be read", extra={"picture": path, "reason": str(error)})
        return TextPart(f"[a picture that cannot be read: {path.rpartition('/')[2]}]")
    return replace(picture, url=f"data:image/{kind};base64,{base64.b64encode(content).decode()}")


def _content(path: str, environment: Environment) -> bytes:
    found = locate(path, environment)
    if found is None:
        raise _Unreadable("there is no such file")
    try:
        content = _bytes(found)
    except OSError as error:
        raise _Unreadable(error.strerror or str(error)) from None
    if len(content) > LARGEST_FILE:
        raise _Unreadable(f"it is larger than {LARGEST_FILE} bytes")
    return content


def _bytes(found: Path) -> bytes:
    """Read a file whose links are resolved: one that was put there since is not followed, a pipe not waited for."""
    handle = os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _Unreadable("it is no file")
        return file.read(LARGEST_FILE + 1)


def _kind(content: bytes) -> str:
    """Tell what a picture is by its first bytes; its name says nothing."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    kind = next((kind for start, kind in _KINDS if content.startswith(start)), None)
    if kind is None:
        raise _Unreadable("it is no PNG, JPEG, GIF, WebP or BMP")
    return kind


def _scaled(content: bytes) -> tuple[str, bytes]:
    """Give a picture that is not too large: JPEG, or PNG if it was one. What is small enough stays as it is."""
    kind = _kind(content)
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        return kind, content
    broken = (OSError, ValueError, SyntaxError, EOFError, UnidentifiedImageError)
    try:
        with Image.open(io.BytesIO(content), formats=[kind.upper()]) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                raise _Unreadable(f"it has more than {MOST_PIXELS} pixels")
            if max(width, height) <= LONGEST_SIDE and kind != "bmp":
                return kind, content
            picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            upright = ImageOps.exif_transpose(picture)
            made = io.BytesIO()
            if kind == "png":
                upright.save(made, "PNG")
                return "png", made.getvalue()
            upright.convert("RGB").save(made, "JPEG", quality=_QUALITY)
            return "jpeg", made.getvalue()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _Unreadable(f"it has more than {MOST_PIXELS} pixels") from None
    except broken as error:
        raise _Unreadable(f"it is damaged: {error}") from None
