"""HTML as text that a model reads: headings, lists, links and code are kept, scripts and styles are not."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

_SKIPPED: Final = frozenset(["script", "style", "noscript", "template", "svg", "head", "iframe", "object"])
_BLOCKS: Final = frozenset([
    "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "table", "tr", "form",
    "blockquote", "figure", "figcaption", "dl", "dt", "dd", "hr", "address", "details", "summary", "fieldset",
])  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_VOID: Final = frozenset(["br", "hr", "img", "input", "meta", "link", "wbr", "source", "track", "area", "base", "col"])
_MOST_NESTED: Final = 10_000


def html_to_text(html: str, address: str = "") -> str:
    """Give the text of a page.

    Args:
        html: The page; it need not be well-formed.
        address: Where it is from; links are completed with it.
    """
    reader = _Reader(address)
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._pieces: list[str] = []
        self._skipping: list[str] = []
        self._is_title = False
        self._is_code = 0
        self._links: list[str] = []
        self.title = ""

    def text(self) -> str:
        body = re.sub(r"[ \t]*\n[ \t]*(?=\n)", "\n", "".join(self._pieces))
        body = re.sub(r"\n{3,}", "\n\n", body).strip()
        title = " ".join(self.title.split())
        return f"{title}\n\n{body}" if title and not body.startswith(f"# {title}") else body

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._is_title = not self.title
        elif tag in _SKIPPED:
            if len(self._skipping) < _MOST_NESTED:
                self._skipping.append(tag)
        elif self._skipping:
            return
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "pre":
            self._is_code += 1
            self._pieces.append("\n\n```\n")
        elif tag == "a":
            self._open_link(dict(attrs).get("href") or "")
        elif tag == "img":
            alt = dict(attrs).get("alt")
            self._pieces.append(f"[image: {alt}]" if alt else "")
        else:
            self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._pieces.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._pieces.append("\n- ")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")
        elif tag == "code" and not self._is_code:
            self._pieces.append("`")
        elif tag in _BLOCKS:
            self._pieces.append("\n\n" if tag in ("p", "ul", "ol", "table", "blockquote") else "\n")

    def _open_link(self, target: str) -> None:
        shown = "" if target.startswith(("#", "javascript:", "data:")) else target
        try:
            self._links.append(urljoin(self._address, shown) if shown else "")
        except ValueError:
            self._links.append("")
        if self._links[-1]:
            self._pieces.append("[")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._is_title = False
        elif tag in _SKIPPED:
            if tag in self._skipping:
                del self._skipping[self._skipping.index(tag) :]
        elif self._skipping or tag in _VOID:
            return
        elif tag == "pre" and self._is_code:
            self._is_code -= 1
            self._pieces.append("\n```\n\n")
        elif tag == "a" and self._links:
            target = self._links.pop()
            self._pieces.append(f"]({target})" if target else "")
        elif tag == "code" and not self._is_code:
            self._pieces.append("`")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._pieces.append("\n\n" if tag in _HEADINGS or tag in ("p", "ul", "ol", "table", "blockquote") else "\n")

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title += data
        elif not self._skipping:
            self._pieces.append(data if self._is_code else re.sub(r"\s+", " ", data))
