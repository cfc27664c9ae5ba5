"""Every page of the site as a reader's browser shows it, from files and without a network; and its search.

Pages are dealt out to as many tests as a small machine has cores, so that these share the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import LOOKS, PATIENCE, Look, complain
from tests.docs.site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_PARTS = 2
_DONE = "() => document.querySelector('#search-results h2')?.innerText === 'Search Results'"
_FOUND = """() => Object.fromEntries([...document.querySelectorAll('#search-results li')].map(
  item => [item.querySelector('a').getAttribute('href').split(/[?#]/)[0], item.querySelector('p')?.innerText]
))"""
"""Pages that were found, and what is shown of each."""


@pytest.mark.parametrize(
    "looks",
    [
        # Both widths and both sets of colours, each once.
        (LOOKS[0], LOOKS[3]),
        pytest.param(LOOKS[:4], marks=pytest.mark.slow),
    ],
    ids=["two looks", "all looks"],
)
@pytest.mark.parametrize("part", range(_PARTS))
def test_a_browser_has_nothing_to_complain_of(
    part: int, looks: tuple[Look, ...], site: Site, browser: Browser
) -> None:
    files = sorted(site.folder.rglob("*.html"))
    assert len(files) > 40
    if len(looks) < len(LOOKS[:4]):
        # Pages that one function writes look alike: of these one of each kind; and each page in one look.
        files = [file for file in files if not _is_alike(file.relative_to(site.folder))]
        looks = looks[part : part + 1]
    assert complain(browser, files[part::_PARTS], looks, site.folder) == []


def _is_alike(page: Path) -> bool:
    return page.parent.name in ("commands", "agreement") and page.stem not in ("link", "fields")


def test_the_search_box_finds_pages_and_shows_some_of_their_words(site: Site, browser: Browser) -> None:
    page = browser.new_page(offline=True)
    page.set_default_timeout(PATIENCE)
    said = list[str]()
    page.on("console", lambda line: said.append(line.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((site.folder / "index.html").as_uri())
    box = page.locator(".sidebar-search").first
    box.fill("dummies")
    box.press("Enter")
    page.wait_for_url("**/search.html?q=dummies*")
    # Results are added one after the other; the heading changes when all are there.
    page.wait_for_function(_DONE)
    found: dict[str, str | None] = page.evaluate(_FOUND)
    page.close()
    assert said == []
    assert "protocols/laplace.html" in found
    assert sum("dumm" in (words or "").lower() for words in found.values()) > len(found) // 2, found


def test_a_run_that_was_cut_is_among_the_first_that_are_found(site: Site, browser: Browser) -> None:
    page = browser.new_page(offline=True)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{(site.folder / 'search.html').as_uri()}?q=cut")
    page.wait_for_function(_DONE)
    found: dict[str, str | None] = page.evaluate(_FOUND)
    page.close()
    assert "resume.html" in list(found)[:3], list(found)


def test_on_a_phone_names_leave_room_for_words(site: Site, browser: Browser) -> None:
    """In a table the names of commands wrap, and cells begin at the same height."""
    page = browser.new_page(offline=True, viewport={"width": 400, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto((site.folder / "reference" / "commands.html").as_uri())
    names, words = (page.locator(f"article table td:nth-child({n})").first for n in (1, 2))
    room = [box["width"] if (box := cell.bounding_box()) else 0 for cell in (names, words)]
    assert 0 < room[0] < room[1]
    assert sum(room) <= 400
    assert names.evaluate("cell => getComputedStyle(cell).verticalAlign") == "top"
    page.close()


def test_what_is_wrong_with_a_page_of_a_site_is_seen(browser: Browser, tmp_path: Path) -> None:
    """Colours, too, of a kind that stands on a later page alone; and what a page asks for."""
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title></head>'
    body = '<body><main><h1>Page</h1><p>Some <span style="color:{}">words</span>.</p>{}</main></body></html>'
    (tmp_path / "a.html").write_text(head + body.format("#000", ""))
    link = '<p>Words and a <a href="a.html" style="color:#222;text-decoration:none">link</a> among them.</p>'
    (tmp_path / "b.html").write_text(head + body.format("#ddd", f'<img src="../other.png">{link}'))
    files = [tmp_path / "a.html", tmp_path / "b.html"]
    assert complain(browser, files[:1], LOOKS[:4], tmp_path) == []
    found = complain(browser, files, LOOKS[:4], tmp_path)
    assert all(line.startswith("b.html") for line in found)
    for said in ("axe: color-contrast", "axe: link-in-text-block", "axe: image-alt", "asks for"):
        assert [line for line in found if said in line], said
