"""What a page is made of, as far as tests ask: headings, and whatever a browser could be made to ask for."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Outline(HTMLParser):
    """The headings, and everything that a browser could be made to ask for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.asked: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        self.asked += [f"{tag} {k}" for k, _ in attrs if k in ("src", "href", "action", "data", "poster")]
        self.asked += [f"{tag} {k}" for k, _ in attrs if k.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


def rows_of(page: str) -> set[tuple[str, ...]]:
    """The cells of each row of all tables: of every line and point that is drawn, name and numbers."""
    rows = re.findall("<tr .*?</tr>", page, re.DOTALL)
    return {tuple(unescape(c) for c in re.findall("<t[hd][^>]*>(?:<span>)?([^<]*)<", row)) for row in rows}


def require_quiet(page: str) -> None:
    """Raise unless the page asks for nothing and runs nothing."""
    found = Outline(page)
    assert found.asked == []
    assert not found.tags & {"script", "img", "iframe", "link", "object", "embed", "form", "base"}
    assert POLICY in page
    assert "url(http" not in page
    assert "@import" not in page
