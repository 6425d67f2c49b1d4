"""Where the pieces of an option's text come from once its placeholders are resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.expr import Environment

_SECRET_NAME: Final = re.compile(
    r"(?:^|[_.\-])(?:keys?|tokens?|secrets?|passwords?|passwd|credentials?|auth|authorization|cookie)$", re.IGNORECASE
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MASK: Final = "****"
_SHORTEST_SECRET: Final = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a resolved text: as it was written, or what a placeholder stood for.

    Attributes:
        start: Where it begins in the resolved text.
        text: The text.
        name: The placeholder's name, such as `global.site`; empty for text as it was written.
    """

    start: int
    text: str
    name: str = ""

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.start + len(self.text)


def pieces_of(written: str, environment: Environment) -> list[Piece]:
    """Cut a text as it is after the init pass at the placeholders that the pass has resolved."""
    from catenary.expr.placeholders import resolved_pieces

    pieces: list[Piece] = []
    for text, name in resolved_pieces(written, environment):
        if text or name:
            pieces.append(Piece(pieces[-1].end if pieces else 0, text, name))
    return pieces


def cut(pieces: Sequence[Piece], start: int, end: int) -> list[Piece]:
    """Give what of the pieces lies between two offsets."""
    found: list[Piece] = []
    for piece in pieces:
        low, high = max(piece.start, start), min(piece.end, end)
        if low < high or (piece.name and start <= piece.start < end):
            found.append(Piece(low, piece.text[low - piece.start : high - piece.start], piece.name))
    return found


def source_of_name(name: str, sources: Mapping[str, str]) -> str:
    """Say where `global.a.b` got its value: from what set it, or set something around it."""
    root, _, path = name.partition(".")
    if root != "global":
        return {"vars": "the chain's vars", "secrets": "the chain's secrets"}.get(root, "the head of the chain")
    while path:
        if path in sources:
            return sources[path]
        path = path.rpartition(".")[0]
    return ""


def is_secret_name(name: str) -> bool:
    """Tell whether a key is called as secrets are: `apiKey`, `db.password`, `Authorization`."""
    return _SECRET_NAME.search(_CAMEL.sub("_", name)) is not None


class Mask:
    """Hides secrets: those it was told, wherever they stand in what is shown."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def add(self, secret: object) -> None:
        """Hide a text from here on; one of a few characters is hidden only where it is known to be one."""
        if isinstance(secret, str) and len(secret.strip()) >= _SHORTEST_SECRET:
            self._secrets.add(secret.strip())

    def add_properties(self, properties: Mapping[str, object], name: str = "") -> None:
        """Hide all properties that are called as secrets are."""
        for key, value in properties.items():
            path = f"{name}.{key}"
            if isinstance(value, dict):
                self.add_properties(value, path)  # type: ignore[arg-type]
            elif is_secret_name(path):
                self.add(value)

    def add_all(self, secrets: Mapping[str, object]) -> None:
        """Hide all texts of a mapping, at any depth."""
        for secret in secrets.values():
            if isinstance(secret, dict):
                self.add_all(secret)  # type: ignore[arg-type]
            else:
                self.add(secret)

    def hide(self, text: str) -> str:
        """Give a text with the secrets in it masked."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text
