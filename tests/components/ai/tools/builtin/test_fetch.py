"""`fetch` over real sockets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary.testing import serve
from catenary_components.ai.tools.builtin.webtext import html_to_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from .conftest import Shop

PAGE = """<!doctype html><html><head><title>Bolts &amp; nuts</title><style>p {}</style></head><body>
<script>evil()</script><h1>Stock</h1><p>There are <b>120</b> <a href="/bolts?x=1#y">bolts</a>.</p>
<ul><li>one</li><li>two</li></ul><pre>a
  b</pre><table><tr><td>1</td><td>2</td></tr></table><img alt="a bolt" src="x.png"></body></html>"""

ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "/page": (200, "text/html; charset=utf-8", PAGE.encode()),
    "/latin": (200, "text/plain; charset=latin-1", "café".encode("latin-1")),
    "/json": (200, "application/json", b'{"a": 1}'),
    "/long": (200, "text/plain", b"0123456789" * 30),
    "/picture": (200, "image/png", b"\x89PNG\0\0"),
    "/missing": (404, "text/plain", b"no such page"),
    "/big": (200, "text/plain", b"x" * (1024 * 1024 + 1)),
    "/moved": (302, "/page", b""),
    "/round": (302, "/round", b""),
    "/meta": (302, "http://169.254.169.254/latest", b""),
    "/away": (302, "http://other.example/", b""),
    "/file": (302, "file:///etc/passwd", b""),
}


async def _site(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/slow":
        await asyncio.Event().wait()
    status, kind, body = ANSWERS[scope["path"]]
    name = b"location" if status == 302 else b"content-type"
    await send({"type": "http.response.start", "status": status, "headers": [(name, kind.encode())]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def site() -> Generator[str]:
    with serve(_site) as server:
        yield server.url


async def test_a_page_comes_as_readable_text(shop: Shop, site: str) -> None:
    text = await shop.call("fetch", url=f"{site}/page#part")
    assert text == (
        f"URL: {site}/page\nStatus: 200 OK\nType: text/html\n\nBolts & nuts\n\n# Stock\n\n"
        f"There are 120 [bolts]({site}/bolts?x=1#y).\n\n- one\n- two\n\n```\na\n  b\n```\n\n | 1 | 2\n\n[image: a bolt]"
    )


async def test_other_texts_come_as_they_are(shop: Shop, site: str) -> None:
    assert (await shop.call("fetch", url=f"{site}/json")).endswith('\n\n{"a": 1}')
    assert (await shop.call("fetch", url=f"{site}/latin")).endswith("café")
    assert (await shop.call("fetch", url=f"{site}/page", format="raw")).endswith(PAGE)
    assert "Status: 404 Not Found\nType: text/plain\n\nno such page" in await shop.call("fetch", url=f"{site}/missing")


async def test_a_long_text_comes_in_parts(shop: Shop, site: str) -> None:
    shop.make("fetch", maxLength=100)
    first = await shop.call("fetch", url=f"{site}/long")
    assert first.endswith("0123456789\n(cut; go on with start=100, of 300 characters)")
    last = await shop.call("fetch", url=f"{site}/long", start=290)
    assert last.endswith("\n\n0123456789")
    assert "Invalid start" in await shop.call("fetch", url=f"{site}/long", start=300)


async def test_redirects_are_followed_and_each_address_is_looked_at(shop: Shop, site: str) -> None:
    assert f"URL: {site}/page\n" in await shop.call("fetch", url=f"{site}/moved")
    assert "Error: Too many redirects - more than 5" in await shop.call("fetch", url=f"{site}/round")
    assert "link-local or metadata address" in await shop.call("fetch", url=f"{site}/meta")
    assert "Invalid URL" in await shop.call("fetch", url=f"{site}/file")
    shop.make("fetch", allowedHosts=["127.0.0.1"])
    assert "Status: 200" in await shop.call("fetch", url=f"{site}/moved")
    assert "other.example:80 is not one of the allowed hosts" in await shop.call("fetch", url=f"{site}/away")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a/b", "http://", "javascript:1", "http://a:b@c/", "http://x:99999/", "a b"]
)
async def test_what_is_no_web_address_is_refused(shop: Shop, url: str) -> None:
    assert (await shop.call("fetch", url=url)).startswith("Error: Invalid URL")


async def test_metadata_services_are_refused(shop: Shop) -> None:
    for host in ("169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "0xa9fea9fe"):
        assert (await shop.call("fetch", url=f"http://{host}/")).startswith("Error: Cannot fetch - ")


async def test_what_is_too_large_no_text_or_too_slow_is_a_result(shop: Shop, site: str) -> None:
    shop.make("fetch", maxSize=1)
    assert "is larger than 1048576 bytes" in await shop.call("fetch", url=f"{site}/big")
    assert "Not text - the answer is image/png of 6 bytes" in await shop.call("fetch", url=f"{site}/picture")
    for url in ("http://127.0.0.1:1/", f"http://{'a' * 64}.example/"):
        assert (await shop.call("fetch", url=url)).startswith("Error: Cannot fetch - ")
    shop.make("fetch", timeout=0.5)
    slow = await shop.call("fetch", url=f"{site}/slow")
    assert slow.startswith("Error: ")
    assert "0.5 s" in slow


@given(st.text(alphabet="<>/=\"'!-&; abprescodhtml#1\n", max_size=200))
@settings(max_examples=times(100), deadline=None)
def test_any_text_is_read_as_html(html: str) -> None:
    html_to_text(html, "http://a/")


def test_what_is_in_scripts_and_styles_is_left_out() -> None:
    for tag in ("script", "style", "template", "noscript"):
        assert html_to_text(f"<p>a</p><{tag}>hidden <b>x</b></{tag}><p>b</p>") == "a\n\nb"
