"""`browser_use`: a browser that the model leads through pages, one action a call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote_plus

from pydantic import Field

from catenary.component import Config, option
from catenary.http import Guard
from catenary_components.ai.tools.builtin.base import Arguments, Builtin, ToolFailure, ToolSettingError
from catenary_components.ai.tools.builtin.browsing import MAX_SNAPSHOT, Browser, BrowserOptions
from catenary_components.ai.tools.builtin.webtext import html_to_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catenary.component import Context
    from catenary_components.ai.tools.builtin.base import Workplace

IDLE_S: Final = 1800.0
"""Seconds after which a browser that nobody uses is ended."""

_MAX_WAIT_S: Final = 60.0
_SCROLLED: Final = 600
_ENGINES: Final = {
    "baidu": "https://www.baidu.com/s?wd=%s",
    "bing": "https://www.bing.com/search?q=%s",
    "duckduckgo": "https://html.duckduckgo.com/html/?q=%s",
}

Action = Literal[
    "go_to_url", "click_element", "input_text", "send_keys", "scroll_down", "scroll_up", "wait", "extract_content",
    "switch_tab", "open_tab", "close_tab", "web_search", "set_timeout", "set_search_engine", "set_headless", "go_back",
]  # fmt: skip


class BrowserConfig(Config):
    """Settings of `browser_use`."""

    headless: bool = option(True, help="False shows the window of the browser.")
    disable_security: bool = option(False, help="True lets pages read each other.")
    extra_chromium_args: list[str] = option([], help="More arguments of the browser.", also=["chromiumFlags"])
    chrome_instance_path: str = option("", help="The browser's program; Chromium or Chrome is looked for if empty.")
    proxy_server: str = option("", help="Address of a proxy.", examples=["http://127.0.0.1:3128"])
    user_data_dir: str = option("", help="Folder of the browser's profile; a new one each time if empty.")
    search_engine: str = option(
        "baidu", help="`baidu`, `bing`, `duckduckgo`, or an address with `%s` where the query goes."
    )
    timeout: float = option(30.0, gt=0, le=300, unit="seconds", help="Longest time of one action.")
    allowed_hosts: list[str] = option(
        [], help="When given, pages may call only these hosts: names, `*.example.com`, addresses or networks."
    )


class BrowserArguments(Arguments):
    """One action, and what it needs."""

    action: Action = Field(description="What to do.")
    url: str = Field("", max_length=8_000, description="For go_to_url and open_tab.")
    index: int | None = Field(None, ge=0, description="Number of an element, for click_element and input_text.")
    text: str = Field("", description="For input_text.")
    keys: str = Field("", description="For send_keys: Enter, Escape, Control+a ...")
    scroll_amount: int | None = Field(None, ge=1, description="Pixels, for scroll_down and scroll_up.")
    tab_id: int | None = Field(None, ge=0, description="For switch_tab and close_tab.")
    query: str = Field("", max_length=1_000, description="For web_search.")
    goal: str = Field("", description="For extract_content: what is looked for.")
    seconds: float | None = Field(None, gt=0, description="For wait and set_timeout.")
    search_engine: str = Field("", description="For set_search_engine.")
    headless: bool | None = Field(None, description="For set_headless.")


class BrowserUse(Builtin[BrowserConfig, BrowserArguments]):
    """Use a web browser, one action at a time: open pages, click, type, scroll, search the web.

    Each result shows the page: its address, its tabs, the elements that can be clicked with their numbers, its text.
    """

    name = "browser_use"
    config_type = BrowserConfig
    arguments_type = BrowserArguments
    is_serial = True
    main_argument = "url"

    def __init__(self, config: BrowserConfig, workplace: Workplace) -> None:
        super().__init__(config, workplace)
        engine = workplace.http.guard
        self._guards = (engine, Guard(allowed_hosts=config.allowed_hosts, allow_link_local=engine.allow_link_local))
        self._browser: Browser | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._timeout_s = config.timeout
        self._search = config.search_engine
        try:
            _search_address(config.search_engine, "")
        except ToolFailure as error:
            raise ToolSettingError("searchEngine", str(error)) from error
        self._headless = config.headless

    async def run(self, ctx: Context, arguments: BrowserArguments) -> str:  # noqa: ARG002 - it needs no run
        """Do one action."""
        async with self._lock:
            if arguments.action.startswith("set_"):
                return await self._set(arguments)
            browser = await self._started()
            try:
                async with asyncio.timeout(self._timeout_s + _MAX_WAIT_S):
                    return await self._acted(browser, arguments)
            except TimeoutError:
                raise ToolFailure(f"Timeout - {arguments.action} took longer than {self._timeout_s:g} s") from None

    async def _acted(self, browser: Browser, arguments: BrowserArguments) -> str:
        from playwright.async_api import Error

        try:
            told = await _ACTIONS[arguments.action](self, browser, arguments)
            return told if told is not None else await browser.snapshot()
        except Error as error:
            first = str(error).strip().split("\n", maxsplit=1)[0]
            raise ToolFailure(f"Failed - {arguments.action}: {first}") from error

    async def _set(self, arguments: BrowserArguments) -> str:
        if arguments.action == "set_timeout" and arguments.seconds:
            self._timeout_s = min(arguments.seconds, 300.0)
        elif arguments.action == "set_search_engine" and arguments.search_engine:
            _search_address(arguments.search_engine, "")
            self._search = arguments.search_engine
            return f"The search engine is {arguments.search_engine}."
        elif arguments.action == "set_headless" and arguments.headless is not None:
            self._headless = arguments.headless
        else:
            raise ToolFailure(f"Missing argument - {arguments.action} needs what to set")
        await self._end()  # it begins anew with the next action
        return "Done; the browser begins anew."

    async def _started(self) -> Browser:
        """Give the browser; one of another event loop, which is gone, is left alone."""
        loop = asyncio.get_running_loop()
        if self._browser is None or self._loop is not loop:
            config = self.config
            options = BrowserOptions(
                headless=self._headless,
                disable_security=config.disable_security,
                arguments=config.extra_chromium_args,
                program=config.chrome_instance_path,
                proxy=config.proxy_server,
                user_data_dir=config.user_data_dir,
                timeout_s=self._timeout_s,
            )
            self._browser, self._loop = await Browser.start(options, self._guards), loop
        if self._idle is not None:
            self._idle.cancel()
        self._idle = loop.call_later(IDLE_S, self._end_later)
        return self._browser

    def _end_later(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self._end())

    async def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        browser, self._browser = self._browser, None
        if browser is not None and self._loop is asyncio.get_running_loop():
            await browser.close()

    async def close(self) -> None:
        """End the browser."""
        await self._end()

    # Actions: what they give is the result; `None` is a snapshot of the page

    async def _go_to_url(self, browser: Browser, arguments: BrowserArguments) -> None:
        await self._go(browser, arguments.url)

    async def _go(self, browser: Browser, url: str) -> None:
        address = url.strip()
        if not address:
            raise ToolFailure("Missing url - give an address")
        browser.check(address)
        await browser.page.goto(address, wait_until="domcontentloaded")

    async def _go_back(self, browser: Browser, arguments: BrowserArguments) -> None:  # noqa: ARG002 - like the others
        await browser.page.go_back(wait_until="domcontentloaded")

    async def _click(self, browser: Browser, arguments: BrowserArguments) -> None:
        element = browser.element(arguments.index)
        if await element.get_attribute("target") == "_blank":
            await browser.follow_into_tab(element)
            return
        await element.click()
        await self._settle(browser)

    async def _input(self, browser: Browser, arguments: BrowserArguments) -> None:
        await browser.element(arguments.index).fill(arguments.text)

    async def _send_keys(self, browser: Browser, arguments: BrowserArguments) -> None:
        if not arguments.keys:
            raise ToolFailure("Missing keys - name one, such as Enter")
        await browser.page.keyboard.press(arguments.keys)
        await self._settle(browser)

    async def _settle(self, browser: Browser) -> None:
        """Wait until a page that was gone to is there."""
        await browser.page.wait_for_load_state("domcontentloaded")

    async def _scroll_down(self, browser: Browser, arguments: BrowserArguments) -> None:
        await browser.page.evaluate("y => window.scrollBy(0, y)", arguments.scroll_amount or _SCROLLED)

    async def _scroll_up(self, browser: Browser, arguments: BrowserArguments) -> None:
        await browser.page.evaluate("y => window.scrollBy(0, y)", -(arguments.scroll_amount or _SCROLLED))

    async def _wait(self, browser: Browser, arguments: BrowserArguments) -> None:  # noqa: ARG002 - like the others
        await asyncio.sleep(min(arguments.seconds or 3.0, _MAX_WAIT_S))

    async def _extract(self, browser: Browser, arguments: BrowserArguments) -> str:
        text = html_to_text(await browser.page.content(), browser.page.url)
        head = f"URL: {browser.page.url}\n" + (f"Goal: {arguments.goal}\n" if arguments.goal else "")
        cut = f"\n(cut after {MAX_SNAPSHOT} characters)" if len(text) > MAX_SNAPSHOT else ""
        return f"{head}\n{text[:MAX_SNAPSHOT]}{cut}"

    async def _switch_tab(self, browser: Browser, arguments: BrowserArguments) -> None:
        browser.page = browser.tab(arguments.tab_id)
        await browser.page.bring_to_front()

    async def _open_tab(self, browser: Browser, arguments: BrowserArguments) -> None:
        await browser.open_tab()
        if arguments.url:
            await self._go(browser, arguments.url)

    async def _close_tab(self, browser: Browser, arguments: BrowserArguments) -> None:
        await browser.close_tab(arguments.tab_id)

    async def _web_search(self, browser: Browser, arguments: BrowserArguments) -> None:
        if not arguments.query.strip():
            raise ToolFailure("Missing query - give what to search for")
        await self._go(browser, _search_address(self._search, arguments.query))


def _search_address(engine: str, query: str) -> str:
    address = _ENGINES.get(engine.lower(), engine)
    if "%s" not in address or not address.startswith(("http://", "https://")):
        raise ToolFailure(
            f"Invalid search engine - {engine}; it must be one of {', '.join(_ENGINES)}, or have %s in it"
        )
    return address.replace("%s", quote_plus(query))


_ACTIONS: Final[dict[str, Callable[[BrowserUse, Browser, BrowserArguments], Awaitable[str | None]]]] = {
    "go_to_url": BrowserUse._go_to_url,
    "go_back": BrowserUse._go_back,
    "click_element": BrowserUse._click,
    "input_text": BrowserUse._input,
    "send_keys": BrowserUse._send_keys,
    "scroll_down": BrowserUse._scroll_down,
    "scroll_up": BrowserUse._scroll_up,
    "wait": BrowserUse._wait,
    "extract_content": BrowserUse._extract,
    "switch_tab": BrowserUse._switch_tab,
    "open_tab": BrowserUse._open_tab,
    "close_tab": BrowserUse._close_tab,
    "web_search": BrowserUse._web_search,
}
