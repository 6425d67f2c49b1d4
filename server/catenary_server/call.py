"""One request, as the handlers of the API see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect

from catenary import json_schema, jsontext
from catenary_server.api_error import ApiError
from catenary_server.operation import JSON_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from catenary.jsontext import Json
    from catenary_server.operation import Operation
    from catenary_server.service import Service

_FORM_TYPE: Final = "application/x-www-form-urlencoded"
"""What `curl -d` says when nobody says otherwise."""


class Call:
    """One request for one operation.

    Attributes:
        service: What answers.
        request: The request.
        operation: What is asked for.
        parts: The variable parts of the path.
        query: What the query says, checked.
    """

    __slots__ = ("operation", "parts", "query", "request", "service")

    def __init__(
        self,
        service: Service,
        request: Request,
        operation: Operation,
        parts: Mapping[str, str],
        query: Mapping[str, Any],
    ) -> None:
        self.service = service
        self.request = request
        self.operation = operation
        self.parts = parts
        self.query = query

    @property
    def media(self) -> str:
        """The media type of the body, without its parameters."""
        return self.request.headers.get("content-type", "").partition(";")[0].strip().lower()

    def accepts(self, media: str) -> bool:
        """Tell whether the client asks for a media type by name."""
        given = self.request.headers.get("accept", "")
        return any(one.partition(";")[0].strip().lower() == media for one in given.split(","))

    async def text(self) -> str:
        """Give the body as text.

        Raises:
            ApiError: When it is too large, or no UTF-8 text.
        """
        raw = await self._raw()
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            text = f"the body is not UTF-8 text (byte {error.start + 1})"
            raise ApiError(400, "request.body", text, hint="send UTF-8") from None

    async def json(self) -> Any:
        """Give the body, which is JSON and fits what the operation asks for.

        Raises:
            ApiError: When it does not.
        """
        self.check_media(JSON_TYPE)
        text = await self.text()
        if not text and self.operation.body is not None and self.operation.body.may_be_absent:
            return {}
        try:
            value = jsontext.loads(text)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            hint = "send a JSON object" + (f", such as {_example(self.operation)}" if not text.strip() else "")
            raise ApiError(400, "request.body", f"the body is not JSON: {reason}", hint=hint) from None
        self._check(value)
        return value

    def check_media(self, *allowed: str) -> None:
        """See that the body is of one of these media types, or of none. Raises: ApiError: when it is not."""
        media = self.media
        is_json = media in {"", _FORM_TYPE} or media.endswith("+json")
        if media not in allowed and not (is_json and JSON_TYPE in allowed):
            hint = f"send it as {' or '.join(allowed)}"
            raise ApiError(415, "request.media", f"a body of type {media!r} is not understood here", hint=hint)

    def _check(self, value: Json) -> None:
        body = self.operation.body
        wrong = [] if body is None else list(json_schema.problems(value, dict(body.schema), "body"))
        if body is not None and wrong:
            problems = [_problem(text) for text in wrong]
            raise ApiError(400, "request.body", wrong[0], hint=_hint_for(wrong[0], body.schema), problems=problems)

    async def _raw(self) -> bytes:
        limit = self.service.settings.max_body_bytes
        declared = self.request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            raise _too_large(limit)
        raw = bytearray()
        try:
            async for chunk in self.request.stream():
                raw += chunk
                if len(raw) > limit:
                    raise _too_large(limit)
        except ClientDisconnect:
            raise ApiError(400, "request.body", "the client went away before the body was there") from None
        return bytes(raw)


def _too_large(limit: int) -> ApiError:
    hint = "send less, or start the server with a larger --max-body"
    return ApiError(
        413,
        "request.too-large",
        f"the body has more than {limit} bytes",
        hint=hint,
        headers={"connection": "close"},
    )


def _hint_for(wrong: str, schema: Mapping[str, Json]) -> str:
    """Give what the key says that a problem is about; else which keys there are."""
    keys: Any = schema.get("properties", {})
    about = re.match(r"body\.(\w+)", wrong)
    description: str = keys.get(about[1], {}).get("description", "") if about else ""
    return description or f"the body may have: {', '.join(keys)}"


def _problem(text: str) -> dict[str, Json]:
    return {
        "code": "request.body",
        "text": text,
        "hint": "",
        "file": "",
        "line": 0,
        "column": 0,
        "severity": "error",
    }


def _example(operation: Operation) -> str:
    example = operation.body.example if operation.body else None
    return jsontext.dumps_in_order(example if example is not None else {})
