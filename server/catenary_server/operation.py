"""What the API can do, one `Operation` each: routes, checks of what comes in, and OpenAPI are all made of these."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import parse_qsl

from catenary import json_schema
from catenary.load.names import did_you_mean
from catenary_server.api_error import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.responses import Response

    from catenary.jsontext import Json
    from catenary_server.call import Call

    Handler: TypeAlias = Callable[[Call], Awaitable[Response]]

JSON_TYPE: Final = "application/json"
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A part of the path, of the query, or a header.

    Args:
        name: Its name.
        text: What it says, for the document.
        place: Where it stands.
        schema: What its value must fit.
        required: True when it must be there; parts of the path always are.
    """

    name: str
    text: str
    place: Literal["path", "query", "header"] = "query"
    schema: Mapping[str, Json] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a request carries.

    Args:
        text: What it is, for the document.
        schema: What its JSON must fit.
        media: The media types.
        example: One that works.
        may_be_absent: True when no body is as good as an empty object.
    """

    text: str
    schema: Mapping[str, Json]
    media: tuple[str, ...] = (JSON_TYPE,)
    example: Json = None
    may_be_absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer.

    Args:
        text: When it comes.
        schema: What its JSON fits; the name of a shared schema as a text. `None`: it has no body.
        media: The media type; of one that may have several, each with its schema, in `others`.
        others: More media types, each with its schema.
        headers: Its headers, with what they say.
    """

    text: str
    schema: Mapping[str, Json] | str | None = None
    media: str = JSON_TYPE
    others: Mapping[str, Mapping[str, Json]] = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Args:
        method: `GET` and its like.
        path: The path, with `{name}` for its variable parts.
        name: A unique name, for clients that are generated.
        tag: Where it belongs.
        summary: What it does, in a line.
        text: What else is to know, in Markdown.
        handler: What answers.
        parameters: What may be said besides the body.
        body: The body; `None` for none.
        replies: The answers by status; those that any operation may give are added by the document.
        is_open: True when it needs no key.
        answers_draining: True when it answers while the server stops.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    handler: Handler
    text: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    replies: Mapping[int, Reply] = field(default_factory=dict[int, Reply])
    is_open: bool = False
    answers_draining: bool = False


def read_query(operation: Operation, query: str) -> dict[str, Any]:
    """Give what the query says, by name, in the kinds that the operation asks for.

    Raises:
        ApiError: When a parameter is unknown, given twice, or has a wrong value.
    """
    known = {one.name: one for one in operation.parameters if one.place == "query"}
    found: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True, errors="replace"):
        if name not in known:
            hint = did_you_mean(name, known, f"it may have: {', '.join(known) or 'none'}")
            raise ApiError(400, "request.unknown-parameter", f"there is no query parameter {name!r}", hint=hint)
        if name in found:
            raise ApiError(400, "request.parameter", f"the query parameter {name!r} is there twice", hint="give one")
        found[name] = _value_of(known[name], text)
    missing = [name for name, one in known.items() if one.required and name not in found]
    if missing:
        text = f"the query parameter {missing[0]!r} is missing"
        raise ApiError(400, "request.parameter", text, hint=known[missing[0]].text)
    return found


def check_headers(operation: Operation, headers: Mapping[str, str]) -> None:
    """See that the headers that an operation looks at have values that it knows. Raises: ApiError: when not."""
    for parameter in operation.parameters:
        value = headers.get(parameter.name) if parameter.place == "header" else None
        if value is not None:
            _value_of(parameter, value)


def _value_of(parameter: Parameter, text: str) -> Json:
    kind = parameter.schema.get("type")
    value: Json = text
    if kind == "integer" and _WHOLE.fullmatch(text):
        value = int(text)
    elif kind == "boolean" and text in {"true", "false"}:
        value = text == "true"
    wrong = next(json_schema.problems(value, dict(parameter.schema), parameter.name), None)
    pattern = parameter.schema.get("pattern")
    if wrong is None and pattern is not None and not re.search(pattern, text):
        wrong = f"{parameter.name} must be like {pattern}, which {text[:60]!r} is not"
    if wrong is not None:
        raise ApiError(400, "request.parameter", wrong, hint=parameter.text)
    return value
