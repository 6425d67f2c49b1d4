"""A browser and its tabs, driven by playwright, which asks before every address whether it may be called."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from catenary.errors import CatenaryError
from catenary_components.ai.tools.builtin.base import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catenary.http import Guard

MAX_SNAPSHOT: Final = 20_000
"""Characters of what is told about a page."""

MAX_TABS: Final = 20
"""Tabs of one browser."""

_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_QUIET: Final = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-features=Translate,MediaRouter",
)  # fmt: skip
_HARMLESS_SCHEMES: Final = frozenset(["data", "blob", "about"])

_ELEMENTS: Final = """() => {
  const wanted = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],'
    + '[role=checkbox],[role=tab],[role=menuitem],[contenteditable=true],[onclick]';
  const told = [];
  document.querySelectorAll('[data-catenary]').forEach(one => one.removeAttribute('data-catenary'));
  for (const one of document.querySelectorAll(wanted)) {
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    if (!box.width || !box.height || style.visibility === 'hidden' || told.length >= 300) continue;
    one.setAttribute('data-catenary', String(told.length));
    const text = one.innerText || one.value || one.placeholder || one.getAttribute('aria-label') || one.title || '';
    const kind = one.tagName.toLowerCase() + (one.type && one.tagName === 'INPUT' ? ' ' + one.type : '');
    told.push(`[${told.length}] <${kind}> ${text.replace(/\\s+/g, ' ').trim().slice(0, 100)}`);
  }
  return told;
}"""


@dataclass(frozen=True, slots=True)
class BrowserOptions:
    """How a browser is started.

    Attributes:
        headless: Whether it has no window.
        disable_security: Whether pages may read each other.
        arguments: More arguments of the program.
        program: Its path; looked for if empty.
        proxy: Address of a proxy.
        user_data_dir: Folder of its profile; one of its own that is thrown away if empty.
        timeout_s: Longest time of one thing that it does.
    """

    headless: bool
    disable_security: bool
    arguments: Sequence[str]
    program: str
    proxy: str
    user_data_dir: str
    timeout_s: float


class Browser:
    """A browser that runs. Belongs to the event loop it was started in; for one task at a time."""

    def __init__(self, playwright: Any, context: Any, guards: Sequence[Guard]) -> None:
        self._playwright = playwright
        self._context = context
        self._guards = guards
        self.page: Any = None

    @classmethod
    async def start(cls, options: BrowserOptions, guards: Sequence[Guard]) -> Browser:
        """Start one. Raises: ToolFailure: when playwright or the browser is missing, or it does not start."""
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise ToolFailure(
                "Cannot start - browser_use needs the package playwright: pip install 'catenary[browser]'"
            ) from error
        program = options.program or next((path for name in _PROGRAMS if (path := shutil.which(name))), "")
        playwright = await async_playwright().start()
        try:
            context = await cls._launched(playwright, options, program)
            context.set_default_timeout(options.timeout_s * 1000)
            browser = cls(playwright, context, guards)
            await context.route("**/*", browser._look_at)
            await context.route_web_socket("**/*", browser._look_at_socket)
            browser.page = context.pages[0] if context.pages else await context.new_page()
            context.on("page", browser._take)
        except BaseException as error:
            await playwright.stop()
            if isinstance(error, Error):
                raise ToolFailure(f"Cannot start - {_first_line(error)}") from error
            raise
        return browser

    @staticmethod
    async def _launched(playwright: Any, options: BrowserOptions, program: str) -> Any:
        arguments = [*_QUIET, *options.arguments]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []  # which cannot be had as root
        arguments += ["--disable-web-security"] if options.disable_security else []
        told: dict[str, Any] = {"headless": options.headless, "args": arguments, "timeout": 30_000}
        told |= {"executable_path": program} if program else {}
        told |= {"proxy": {"server": options.proxy}} if options.proxy else {}
        if options.user_data_dir:
            return await playwright.chromium.launch_persistent_context(options.user_data_dir, **told)
        browser = await playwright.chromium.launch(**told)
        return await browser.new_context(accept_downloads=False, service_workers="block")

    async def _look_at(self, route: Any) -> None:
        """Let a request of a page go, unless its address must not be called."""
        try:
            self.check(route.request.url)
        except ToolFailure:
            await route.abort("blockedbyclient")
        else:
            await route.continue_()

    def _look_at_socket(self, socket: Any) -> Any:
        """Let a WebSocket of a page go, unless its address must not be called."""
        try:
            self.check(socket.url)
        except ToolFailure:
            return socket.close()
        return socket.connect_to_server()

    def check(self, url: str) -> None:
        """Refuse an address that must not be called. Raises: ToolFailure: when it is one."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme in ("https", "wss") else 80)
        except ValueError as error:
            raise ToolFailure(f"Invalid URL - {error}") from error
        if parts.scheme in _HARMLESS_SCHEMES:
            return
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ToolFailure("Invalid URL - it must begin with http:// or https://")
        try:
            for guard in self._guards:
                guard.check_host(parts.hostname, port)
        except CatenaryError as error:
            raise ToolFailure(f"Cannot open - {error}") from error

    @property
    def tabs(self) -> list[Any]:
        """The tabs, in the order they were opened."""
        return list(self._context.pages)

    async def open_tab(self) -> None:
        """Open another tab and go to it. Raises: ToolFailure: when there are too many."""
        if len(self.tabs) >= MAX_TABS:
            raise ToolFailure(f"Too many tabs - close one, there are {MAX_TABS}")
        self.page = await self._context.new_page()

    def _take(self, page: Any) -> None:
        """Go to a tab that a page has opened."""
        self.page = page

    async def follow_into_tab(self, element: Any) -> None:
        """Click an element that opens a tab, and wait for the page in it."""
        async with self._context.expect_page() as opening:
            await element.click()
        self.page = await opening.value
        await self.page.wait_for_load_state("domcontentloaded")

    def tab(self, number: int | None) -> Any:
        """Give a tab by its number. Raises: ToolFailure: when there is none."""
        if number is None or not 0 <= number < len(self.tabs):
            raise ToolFailure(f"No such tab - tab_id must be from 0 to {len(self.tabs) - 1}")
        return self.tabs[number]

    async def close_tab(self, number: int | None) -> None:
        """Close a tab, the present one if none is named; there is always one left."""
        page = self.page if number is None else self.tab(number)
        await page.close()
        if page is self.page or self.page.is_closed():
            self.page = self.tabs[-1] if self.tabs else await self._context.new_page()

    def element(self, index: int | None) -> Any:
        """Give an element of the page by the number that the last snapshot has for it."""
        if index is None:
            raise ToolFailure("Missing index - give the number of an element")
        return self.page.locator(f'[data-catenary="{index}"]').first

    async def snapshot(self) -> str:
        """Tell where the browser is, and what can be clicked and read there."""
        if self.page.is_closed():
            self.page = self.tabs[-1] if self.tabs else await self._context.new_page()
        elements: list[str] = await self.page.evaluate(_ELEMENTS)
        text = await self.text()
        tabs = [f"{'*' if one is self.page else ' '} {at}: {one.url}" for at, one in enumerate(self.tabs)]
        lines = [f"URL: {self.page.url}", f"Title: {await self.page.title()}", "Tabs:", *tabs]
        whole = "\n".join([*lines, "Elements:", *elements, "Text:", text])
        return whole if len(whole) <= MAX_SNAPSHOT else f"{whole[:MAX_SNAPSHOT]}\n(cut after {MAX_SNAPSHOT} characters)"

    async def text(self) -> str:
        """Give the text of the page as a person sees it."""
        return await self.page.evaluate("() => document.body ? document.body.innerText : ''")

    async def close(self) -> None:
        """End the browser."""
        try:
            async with asyncio.timeout(10):
                browser = self._context.browser
                await self._context.close()
                if browser is not None:
                    await browser.close()
        finally:
            await self._playwright.stop()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0]
