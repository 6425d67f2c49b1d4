"""`fetch`: pages and files of the web, by the engine's HTTP clients and under their guard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

from pydantic import Field

from catenary.component import Config, option
from catenary.errors import CatenaryError
from catenary.http import Guard, HttpOptions
from catenary_components.ai.tools.builtin.base import Arguments, Builtin, ToolFailure
from catenary_components.ai.tools.builtin.files import is_binary
from catenary_components.ai.tools.builtin.webtext import html_to_text

if TYPE_CHECKING:
    from catenary.component import Context
    from catenary.http import HttpResponse
    from catenary_components.ai.tools.builtin.base import Workplace

MAX_REDIRECTS: Final = 5
"""Redirects that are followed."""

_HTML: Final = frozenset(["text/html", "application/xhtml+xml"])
_MOVED: Final = frozenset([301, 302, 303, 307, 308])
_MIB: Final = 1024 * 1024


class FetchConfig(Config):
    """Settings of `fetch`."""

    timeout: float = option(30.0, gt=0, unit="seconds", help="Longest time of a call, redirects included.")
    max_size: int = option(5, ge=1, unit="MiB", help="Largest answer.")
    max_length: int = option(50_000, ge=100, unit="characters", help="Longest text that one call gives.")
    allowed_hosts: list[str] = option(
        [],
        help="When given, only these hosts are called: names, `*.example.com`, addresses or networks, each with or "
        "without a port. The engine's own list holds, too.",
        examples=[["docs.example.com", "*.example.org"]],
    )
    user_agent: str = option("catenary", help="What is said about who asks.")


class FetchArguments(Arguments):
    """What is fetched."""

    url: str = Field(min_length=1, max_length=8_000, description="An http:// or https:// address.")
    format: Literal["text", "raw"] = Field("text", description="text makes HTML readable, raw gives it as it is.")
    start: int = Field(0, ge=0, description="From which character on, to go on with a long text.")


class Fetch(Builtin[FetchConfig, FetchArguments]):
    """Fetch a page or a text file from the web by GET. HTML comes as readable text with its links."""

    name = "fetch"
    config_type = FetchConfig
    arguments_type = FetchArguments
    is_read_only = True
    main_argument = "url"

    def __init__(self, config: FetchConfig, workplace: Workplace) -> None:
        super().__init__(config, workplace)
        guard = workplace.http.guard
        self._guard = Guard(allowed_hosts=config.allowed_hosts, allow_link_local=guard.allow_link_local)
        self._client = workplace.http.client(
            HttpOptions(
                read_timeout_s=config.timeout,
                total_timeout_s=config.timeout,
                max_response_bytes=config.max_size * _MIB,
            )
        )

    async def run(self, ctx: Context, arguments: FetchArguments) -> str:  # noqa: ARG002 - it needs no run
        """Fetch."""
        try:
            async with asyncio.timeout(self.config.timeout):
                answer, address = await self._answer(arguments.url.strip())
        except TimeoutError:
            raise ToolFailure(f"Timeout - no answer within {self.config.timeout:g} s") from None
        except (CatenaryError, UnicodeError) as error:  # a host with a label that is too long is the latter
            raise ToolFailure(f"Cannot fetch - {error}") from error
        head = f"URL: {address}\nStatus: {answer.status} {answer.reason}\nType: {answer.media_type or 'not told'}\n\n"
        return head + self._shown(await asyncio.to_thread(_text_of, answer, address, arguments.format), arguments.start)

    async def _answer(self, address: str) -> tuple[HttpResponse, str]:
        """Ask, and follow redirects; each address is looked at first."""
        for _ in range(MAX_REDIRECTS + 1):
            place = self._checked(address)
            headers = {"User-Agent": self.config.user_agent, "Accept": "text/html, text/*, application/json, */*;q=0.5"}
            answer = await self._client.request("GET", place, headers=headers)
            target = answer.headers.get("location", "")
            if answer.status not in _MOVED or not target:
                return answer, place
            address = urljoin(place, target)
        raise ToolFailure(f"Too many redirects - more than {MAX_REDIRECTS}")

    def _checked(self, address: str) -> str:
        try:
            parts = urlsplit(address)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise ToolFailure(f"Invalid URL - {error}") from error
        if parts.scheme not in ("http", "https", "mock") or not parts.hostname:
            raise ToolFailure("Invalid URL - it must begin with http:// or https://")
        if parts.username or parts.password:
            raise ToolFailure("Invalid URL - it must not carry a password")
        self._guard.check_host(parts.hostname, port)
        return urlunsplit(parts._replace(fragment=""))

    def _shown(self, text: str, start: int) -> str:
        if start and start >= len(text):
            raise ToolFailure(f"Invalid start - the text has {len(text)} characters")
        end = start + self.config.max_length
        if len(text) <= end:
            return text[start:]
        return f"{text[start:end]}\n(cut; go on with start={end}, of {len(text)} characters)"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _text_of(answer: HttpResponse, address: str, kind: str) -> str:
    if is_binary("", answer.content):
        size = len(answer.content)
        raise ToolFailure(f"Not text - the answer is {answer.media_type or 'of no known type'} of {size} bytes")
    text = answer.text
    is_html = answer.media_type in _HTML or (not answer.media_type and text.lstrip()[:1] == "<")
    return html_to_text(text, address) if kind == "text" and is_html else text
