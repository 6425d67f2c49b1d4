"""Errors as the API tells them: one JSON form, `{code, message, hint, problems}`, with a status that fits."""

from __future__ import annotations

import dataclasses
import logging
import uuid
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from catenary import jsontext
from catenary.errors import (
    AnswererRefused,
    AnswerInvalid,
    CatenaryError,
    ChainError,
    ChainInvalid,
    EngineError,
    PauseError,
    Problem,
    Refused,
)
from catenary.life.versions import SHUTTING_DOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catenary.jsontext import Json

logger = logging.getLogger(__name__)

RETRY_AFTER_S: Final = 1
"""After how many seconds a client that was refused for want of room may ask again."""

_STATUSES: Final[tuple[tuple[type[CatenaryError], int], ...]] = (
    (ChainError, 422),
    (AnswererRefused, 403),
    (AnswerInvalid, 422),
    (PauseError, 409),
    (Refused, 403),
    (EngineError, 409),
)


class ApiError(Exception):
    """What a client is told instead of an answer.

    Args:
        status: The HTTP status.
        code: A stable name.
        message: What happened.
        hint: What to do about it.
        problems: What is wrong in detail, as `catenary check --format json` gives it.
        headers: Headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str = "",
        problems: Sequence[Mapping[str, Json]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.problems = list(problems)
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, Json]:
        """Give the JSON form."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "problems": self.problems}

    def response(self) -> Response:
        """Give the answer."""
        return json_response(self.to_dict(), self.status, self.headers)


def json_response(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Give an answer with a JSON value, its keys in the order in which they are there."""
    try:
        text = jsontext.dumps_in_order(value)
    except (TypeError, ValueError):  # a host, or a component, has put something in that is no JSON
        text = jsontext.dumps_in_order(jsontext.writable(value))
    body = text.encode("utf-8", "replace")
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, media_type="application/json")


def problem_dict(problem: Problem, *, without_file: bool = False) -> dict[str, Any]:
    """Give a problem as JSON; without its file when the client has sent the text."""
    written = dataclasses.asdict(problem)
    return {**written, "file": ""} if without_file else written


def api_error_of(error: CatenaryError, *, without_file: bool = False) -> ApiError:
    """Give an error of the engine as one of the API."""
    if str(error) == SHUTTING_DOWN:
        return ApiError(503, "chain.stopping", "the chain is being stopped", hint=error.hint)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 422)
    return ApiError(status, error.code, _message_of(error), hint=error.hint, problems=_problems_of(error, without_file))


def _message_of(error: CatenaryError) -> str:
    if not isinstance(error, ChainInvalid):
        return str(error)
    errors = sum(problem.severity == "error" for problem in error.problems)
    return f"the chain has {errors} error{'' if errors == 1 else 's'}"


def _problems_of(error: CatenaryError, without_file: bool) -> list[dict[str, Any]]:
    if isinstance(error, ChainInvalid):
        return [problem_dict(problem, without_file=without_file) for problem in error.problems]
    if isinstance(error, ChainError):
        problem = Problem(error.code, str(error), error.hint, error.file, error.line, error.column)
        return [problem_dict(problem, without_file=without_file)]
    return []


def unexpected(error: Exception) -> ApiError:
    """Log an error that is a bug, and give what the client is told: a number to find it by, and nothing of it."""
    number = uuid.uuid4().hex[:12]
    logger.error("an answer failed", exc_info=error, extra={"incident": number})
    return ApiError(500, "server.error", "something went wrong here", hint=f"look for incident {number} in the log")


def busy(limit: int) -> ApiError:
    """Give the error for a run that there is no room for."""
    text = f"{limit} runs are under way, which is as many as may be"
    return ApiError(503, "server.busy", text, hint="try again later", headers={"retry-after": str(RETRY_AFTER_S)})


def starting() -> ApiError:
    """Give the error for what comes before the server is ready."""
    headers = {"retry-after": str(RETRY_AFTER_S)}
    hint = "ask again in a moment; /readyz says when it is ready"
    return ApiError(503, "server.starting", "the server is starting", hint=hint, headers=headers)


def stopping() -> ApiError:
    """Give the error for what comes while the server stops."""
    headers = {"retry-after": str(RETRY_AFTER_S), "connection": "close"}
    return ApiError(503, "server.stopping", "the server is shutting down", hint="ask another one", headers=headers)
