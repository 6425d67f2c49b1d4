"""The log of the server, on stderr: lines for people, or JSON. The library configures no logging; the server does."""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    from starlette.types import Scope

    from catenary.masking import Masker

Form: TypeAlias = Literal["text", "json"]

access_log = logging.getLogger("catenary.access")

_QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_KNOWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_BREAKS: Final = {ord(one): repr(one)[1:-1] for one in "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029\x1b\x00"}


class LogFormatter(logging.Formatter):
    """Writes a record with all that was said beside its message, in one line; secrets are masked.

    Args:
        form: `text` for people, `json` for programs.
        masker: What knows the secrets.
    """

    def __init__(self, form: Form, masker: Masker) -> None:
        super().__init__()
        self._is_json = form == "json"
        self._masker = masker

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record; in text, the trace of an exception follows."""
        said = ((name, value) for name, value in vars(record).items() if name not in _KNOWN)
        parts = {name: value for name, value in said if value is not None and value != ""}
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        message = record.getMessage()
        if self._is_json:
            return self._masker.text(_json(record, message, parts, trace))
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        shown = " ".join(f"{name}={_shown(value)}" for name, value in parts.items())
        line = f"{moment} {record.levelname.lower():7} {record.name}: {message.translate(_BREAKS)}"
        text = f"{line}  {shown}" if shown else line
        return self._masker.text(f"{text}\n{trace}" if trace else text)


def _json(record: logging.LogRecord, message: str, parts: dict[str, Any], trace: str) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    told = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "message": message}
    if trace:
        told["trace"] = trace
    return json.dumps({**told, **parts}, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value).translate(_BREAKS)
    return json.dumps(text, ensure_ascii=False) if " " in text or not text else text


def configure(form: Form, level: str, masker: Masker, stream: TextIO | None = None) -> None:
    """Write the logs of the process to stderr from now on, in the place of whatever was configured before.

    Args:
        form: How a record is written.
        level: The lowest level that is written.
        masker: What knows the secrets.
        stream: Where to write instead.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LogFormatter(form, masker))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel("WARNING")
    for name in ("catenary", "catenary_components", "catenary_server"):
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel("WARNING")
    logging.captureWarnings(capture=True)


def log_request(scope: Scope, route: str, status: int, took_s: float) -> None:
    """Log a request that was answered; those of probes only when all is logged."""
    level = logging.DEBUG if route in _QUIET else logging.INFO
    if not access_log.isEnabledFor(level):
        return
    client = scope.get("client")
    access_log.log(
        level,
        "%s %s",
        scope["method"],
        scope["path"][:500],
        extra={
            "status": status,
            "took_ms": round(took_s * 1000, 2),
            "client": client[0] if client else "",
        },
    )
