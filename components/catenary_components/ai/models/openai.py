"""A client of services that speak the OpenAI chat wire format."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from catenary_components.ai.models.client import HttpModel
from catenary_components.ai.models.wire import read_piece, read_reply, request_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catenary.jsontext import Json
    from catenary_components.ai.models.client import Wire
    from catenary_components.ai.models.key import ApiKey
    from catenary_components.ai.models.registry import Profile
    from catenary_components.ai.models.types import ChatRequest, Piece, Reply


class OpenAIWire:
    """The OpenAI chat wire format."""

    def address(self, url: str) -> str:
        """Give the address of a chat call: `/chat/completions` is appended."""
        return f"{url}/chat/completions"

    def headers(self, key: ApiKey) -> dict[str, str]:
        """Give the bearer token."""
        return {"Authorization": f"Bearer {key.reveal()}"}

    def body(
        self, request: ChatRequest, model: str, parameters: Mapping[str, Json], profile: Profile, *, stream: bool
    ) -> dict[str, Json]:
        """Give the body of a request."""
        return request_body(request, model, parameters, stream=stream, profile=profile)

    def read_reply(self, body: Json) -> Reply:
        """Read a whole reply. Raises: ModelError: when it is none."""
        return read_reply(body)

    def reader(self) -> OpenAIReader:
        """Give what reads the events of one reply."""
        return OpenAIReader()


class OpenAIReader:
    """Reads the events of one streamed reply, which is over when it says why, or with `[DONE]`."""

    __slots__ = ("is_at_end", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self.is_at_end = False

    def read(self, event: str, data: Json) -> Piece:
        """Give the piece that an event is. Raises: ModelError: when it is an error."""
        piece = read_piece(data, is_error=event == "error")
        if piece.finish_reason:
            self.is_over = True
        return piece


class OpenAIModel(HttpModel):
    """One model of a service that speaks the OpenAI chat wire format."""

    __slots__ = ()

    wire: ClassVar[Wire] = OpenAIWire()
