"""`browser_use` in a real Chromium with local pages."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from catenary.testing import serve
from catenary_components.ai.tools.builtin import browser, browsing

if TYPE_CHECKING:
    from collections.abc import Generator

    from .conftest import Shop

CHROMIUM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), "")
pytestmark = pytest.mark.timeout(60)  # for a browser that starts
needs_browser = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium")
FIRST = """<title>First</title><h1>Bolts</h1><a href="/second?x=1">Go on</a>
<input id=i placeholder="Name" oninput="o.textContent='Hello ' + i.value"
onkeydown="if(event.key=='Enter')o.textContent='sent'">
<p id=o></p><button style="display:none">hidden</button><div style="height:5000px"></div>
<img src="http://169.254.169.254/x.png" onerror="o.textContent='blocked'">"""
SECOND = "<title>Second</title><p>There are 120.</p><a href='/' target=_blank>New tab</a>"
requests: list[str] = []


async def _site(scope: Any, receive: Any, send: Any) -> None:
    requests.append(scope["path"] + "?" + scope["query_string"].decode())
    page = SECOND if scope["path"] in ("/second", "/search") else FIRST
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": page.encode()})


@pytest.fixture(scope="module")
def site() -> Generator[str]:
    pytest.importorskip("playwright")
    with serve(_site) as server:
        yield server.url


@needs_browser
async def test_a_model_goes_through_pages(shop: Shop, site: str) -> None:
    first = await shop.call("browser_use", action="go_to_url", url=f"{site}/")
    assert first.startswith(
        f"URL: {site}/\nTitle: First\nTabs:\n* 0: {site}/\nElements:\n[0] <a> Go on\n[1] <input text> Name"
    )
    assert "Text:\nBolts" in first
    assert "hidden" not in first
    typed = await shop.call("browser_use", action="input_text", index=1, text="Ann")
    assert "Hello Ann" in typed
    assert "sent" in await shop.call("browser_use", action="send_keys", keys="Enter")
    second = await shop.call("browser_use", action="click_element", index=0)
    assert f"URL: {site}/second?x=1" in second
    assert "There are 120." in second
    opened = await shop.call("browser_use", action="click_element", index=0)
    assert f"  0: {site}/second?x=1\n* 1: {site}/" in opened
    assert "Title: Second" in await shop.call("browser_use", action="switch_tab", tab_id=0)
    assert "* 0: " in await shop.call("browser_use", action="close_tab", tab_id=1)
    assert "Title: First" in await shop.call("browser_use", action="go_back")
    extracted = await shop.call("browser_use", action="extract_content", goal="numbers")
    assert extracted.startswith(f"URL: {site}/\nGoal: numbers\n\nFirst\n\n# Bolts\n\n[Go on]({site}/second?x=1)")


@needs_browser
async def test_no_page_reaches_what_is_refused(shop: Shop, site: str) -> None:
    text = await shop.call("browser_use", action="go_to_url", url=f"{site}/")
    while "blocked" not in text:
        text = await shop.call("browser_use", action="wait", seconds=0.1)
    for url in ("file:///etc/passwd", "http://169.254.169.254/", "chrome://version", "javascript:1"):
        assert (await shop.call("browser_use", action="go_to_url", url=url)).startswith("Error: ")


@needs_browser
async def test_an_agent_may_have_a_list_of_hosts_for_its_browser(shop: Shop, site: str) -> None:
    shop.make("browser_use", allowedHosts=["*.example.com"])
    refused = await shop.call("browser_use", action="go_to_url", url=site)
    assert "is not one of the allowed hosts" in refused


@needs_browser
async def test_the_web_is_searched_by_the_engine_that_is_set(shop: Shop, site: str) -> None:
    shop.make("browser_use", searchEngine=f"{site}/search?q=%s")
    assert "There are 120." in await shop.call("browser_use", action="web_search", query="bolts & nuts")
    assert requests[-1].startswith(("/search?q=bolts+%26+nuts", "/favicon"))
    assert (await shop.call("browser_use", action="set_search_engine", search_engine="x")).startswith("Error: Invalid")
    assert "bing" in await shop.call("browser_use", action="set_search_engine", search_engine="bing")
    assert (await shop.call("browser_use", action="web_search", query=" ")).startswith("Error: Missing query")


@needs_browser
async def test_what_an_action_lacks_is_a_result(shop: Shop, site: str) -> None:
    shop.make("browser_use", timeout=1)
    for arguments in (
        {"action": "go_to_url"},
        {"action": "click_element"},
        {"action": "click_element", "index": 99},
        {"action": "send_keys"},
        {"action": "switch_tab", "tab_id": 7},
        {"action": "set_timeout"},
    ):
        assert (await shop.call("browser_use", **arguments)).startswith("Error: ")  # type: ignore[arg-type]
    assert "blocked_invalid_arguments" in await shop.call("browser_use", action="fly")
    assert "begins anew" in await shop.call("browser_use", action="set_headless", headless=True)


@needs_browser
async def test_a_tab_may_be_opened_with_a_page(shop: Shop, site: str) -> None:
    assert "  0: about:blank\n* 1: " in await shop.call("browser_use", action="open_tab", url=site)


@needs_browser
async def test_nothing_of_a_browser_is_left_when_its_tool_is_closed(shop: Shop, site: str) -> None:
    tool: Any = shop.make("browser_use")
    await shop.call("browser_use", action="go_to_url", url=site)
    await tool.work.close()
    await tool.work.close()
    assert "Title: First" in await shop.call("browser_use", action="go_to_url", url=site)


@needs_browser
async def test_a_browser_that_nobody_uses_ends_and_begins_anew(
    shop: Shop, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser.IDLE_S == 30 * 60
    own: Any = shop.make("browser_use")
    own = own.work.builtin
    monkeypatch.setattr(browser, "IDLE_S", 0.0)
    await shop.call("browser_use", action="open_tab", url=site)
    while own._browser is not None:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    await own._ending
    monkeypatch.setattr(browser, "IDLE_S", 60.0)
    assert "  1: " not in await shop.call("browser_use", action="go_to_url", url=site)


@needs_browser
async def test_a_page_is_shown_up_to_20000_characters(shop: Shop, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert browsing.MAX_SNAPSHOT == 20_000
    monkeypatch.setattr(browsing, "MAX_SNAPSHOT", 60)
    told = await shop.call("browser_use", action="go_to_url", url=f"{site}/")
    assert told.endswith("\n(cut after 60 characters)")


async def test_a_browser_that_is_missing_is_a_result(shop: Shop) -> None:
    pytest.importorskip("playwright")
    shop.make("browser_use", chromeInstancePath=os.devnull)
    assert (await shop.call("browser_use", action="go_to_url", url="http://127.0.0.1/")).startswith(
        "Error: Cannot start"
    )


async def test_a_search_engine_that_is_none_is_a_load_error(shop: Shop) -> None:
    with pytest.raises(ValueError, match="builtin tool browser_use: searchEngine: Invalid search engine - altavista"):
        shop.make("browser_use", searchEngine="altavista")
