"""What a page is made of, as far as tests ask, and texts that would break a page that trusts them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

from accord.agreement.document import Agreement, Parties
from accord.run.receipt import Receipt
from accord.run.remembered import Remembered

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


# -- hostile texts: names of parties and columns, accounts, paths ----------------------------------------

TAG = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
QUOTES = "\"'><b style='position:fixed;inset:0'>`&amp;&#60;"
TURNED = "abc\u202edcba\u202c\u2066x\u200f\u0000\u001b[31m"
LONG = "W" * 10_000
ALL = (TAG, QUOTES, TURNED, LONG)


def spoil(known: Remembered) -> Remembered:
    """The same run with hostile texts, past every check that would have refused them."""
    agreement = known.agreement.model_copy(
        update={"parties": Parties.model_construct(A=f"{TAG}{TURNED}", B=f"{QUOTES}{LONG}")}
    )
    assert known.receipt is not None
    return replace(
        known,
        agreement=agreement,
        receipt=_spoil_receipt(agreement, known.receipt),
        dataset=f"{TAG}{LONG}",
        snapshot=QUOTES,
        out=f"/{TURNED}/{LONG}",
    )


def _spoil_receipt(agreement: Agreement, receipt: Receipt) -> Receipt:
    said: dict[str, Any] = dict(receipt.facts)
    parties = {"A": agreement.parties.A, "B": agreement.parties.B}
    said["parties"] = {
        side: {**facts, "name": parties[side], "disclosed": [TAG, LONG]}
        for side, facts in said["parties"].items()
    }
    return replace(receipt, facts=said)
