"""The browser that looks at pages: it must see what is wrong with a bad one, and nothing in a good one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import Look, complain

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GOOD = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title>'
    '<meta name="viewport" content="width=device-width"></head>'
    "<body><main><h1>Good</h1>{}</main></body></html>"
)
BAD = {
    "console": ("<script>console.error('no')</script>", "console: no"),
    "script": ("<script>nobody()</script>", "nobody is not defined"),
    "request": ('<img alt="x" src="https://example.org/x.png">', "asks for https://example.org/x.png"),
    "file": ('<img alt="x" src="other.png">', "other.png"),
    "axe": ('<img src="data:,">', "axe: image-alt"),
    "contrast": ('<p style="color:#aaa;background:#fff">pale</p>', "axe: color-contrast"),
    "sideways": ('<div style="width:2000px">wide</div>', "scrolled sideways"),
    "small": ('<svg><text y="9" font-size="6">tiny</text></svg>', "'tiny' is too small"),
    "overlap": (
        '<svg><text y="20">first</text><text x="2" y="21">second</text></svg>',
        "'first' and 'second' overlap",
    ),
}


def _complaints(browser: Browser, folder: Path, body: str) -> list[str]:
    file = folder / "page.html"
    file.write_text(GOOD.format(body))
    return complain(browser, [file], [Look("phone", 390)])


def test_a_good_page_is_complained_of_by_nobody(browser: Browser, tmp_path: Path) -> None:
    assert _complaints(browser, tmp_path, "<p>All is well.</p>") == []


@pytest.mark.parametrize("kind", list(BAD))
def test_a_bad_page_is_complained_of(browser: Browser, tmp_path: Path, kind: str) -> None:
    body, said = BAD[kind]
    found = _complaints(browser, tmp_path, body)
    assert [line for line in found if said in line], found


def test_a_site_may_load_what_is_in_its_folder(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text("body { color: #000; }")
    file = tmp_path / "page.html"
    file.write_text(
        GOOD.format("<p>x</p>").replace("<meta", '<link rel="stylesheet" href="own.css"><meta', 1)
    )
    look = [Look("phone", 390)]
    assert complain(browser, [file], look, within=tmp_path) == []
    assert "asks for" in complain(browser, [file], look)[0]
