"""The site as it is built: links, requests, structure, its search; and pages in a reader's browser.

A warning of Sphinx is an error, so that a build that ends well has no broken link between pages, either. What
is checked here is what a browser would be given, from files and without a network.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

import accord
from accord.cli.steps import STEPS
from handbook.contents import CHAPTERS, ELSEWHERE, arrange
from tests.browser import LOOKS, PATIENCE, complain
from tests.docs.pages import DOCS, ROOT

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from playwright.sync_api import Browser

NAMES = sorted(
    {*(str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")), *ELSEWHERE.values()}
)


@dataclass(frozen=True)
class Site:
    """A built site."""

    folder: Path

    @cached_property
    def pages(self) -> dict[str, BeautifulSoup]:
        """All pages, by their path."""
        from bs4 import BeautifulSoup

        found = sorted(self.folder.rglob("*.html"))
        return {str(p.relative_to(self.folder)): BeautifulSoup(p.read_text(), "html.parser") for p in found}

    def links(self, page: str, within: str = "article") -> Iterator[str]:
        """Where the links of a page's text lead, inside of the site: `path#anchor`."""
        for part in self.pages[page].select(within):
            for link in part.select("a[href]"):
                where = urlsplit(str(link["href"]))
                if not where.scheme:
                    path = os.path.normpath(Path(page).parent / unquote(where.path)) if where.path else page
                    yield f"{path}#{unquote(where.fragment)}"


def build(shared: Path) -> Site:
    """Built by the first that asks; processes of tests that run beside each other share a folder."""
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "searchindex.js").exists():
            where = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
            command = [sys.executable, "-m", "handbook", "build", str(folder)]
            done = subprocess.run(command, cwd=ROOT, env=where, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    return Site(folder)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    base = tmp_path_factory.getbasetemp()
    return build(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


def test_every_page_is_on_the_site_and_every_link_leads_somewhere(site: Site) -> None:
    assert {f"{name}.html" for name in NAMES} <= site.pages.keys()
    reached = {link.partition("#")[0] for link in site.links("index.html", ".sidebar-tree")}
    assert {f"{name}.html" for name in NAMES if name != "index"} <= reached, "in the side bar"
    known = {page: {str(tag["id"]) for tag in read.select("[id]")} for page, read in site.pages.items()}
    broken = []
    for page, read in site.pages.items():
        for link in site.links(page, "body"):
            path, _, anchor = link.partition("#")
            if not (site.folder / path).is_file() or (anchor and path in known and anchor not in known[path]):
                broken.append(f"{page}: {link}")
        for outside in (str(a["href"]) for a in read.select("a[href]") if ":" in str(a["href"])):
            if not re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]{2,}(/\S*)?", outside):
                broken.append(f"{page}: {outside}")
    assert broken == []


LOADS = [
    *((tag, "src") for tag in ("script", "img", "iframe", "source", "embed", "video")),
    *((tag, "href") for tag in ("link", "use", "image")),
    *(("img", "srcset"), ("object", "data"), ("form", "action")),
]


def test_no_page_loads_anything_from_another_host(site: Site) -> None:
    """Neither in its elements nor in a style; the browser below listens to what scripts ask for."""
    loads = [
        f"{page}: {tag[at]}"
        for page, read in site.pages.items()
        for name, at in LOADS
        for tag in read.select(f"{name}[{at}]")
        if re.match(r"\s*([a-z]+:)?//", str(tag[at]), re.I)
    ]
    texts = [path for ending in ("css", "html", "svg") for path in site.folder.rglob(f"*.{ending}")]
    remote = re.compile(r"(url\(\s*['\"]?|@import\s+['\"]?)\s*([a-z]+:)?//", re.I)
    assert loads + [path.name for path in texts if remote.search(path.read_text())] == []


def test_pages_have_a_title_a_language_headings_in_order_and_pictures_that_speak(site: Site) -> None:
    titles: dict[str, str] = {}
    for page, read in site.pages.items():
        assert read.html is not None
        assert read.html.get("lang") == "en", page
        assert read.title is not None, page
        assert titles.setdefault(read.title.get_text(), page) == page
        assert len(read.select("main, [role=main]")) == 1, page
        levels = [int(tag.name[1]) for tag in read.select("h1, h2, h3, h4, h5, h6")]
        assert (levels[0], levels.count(1)) == (1, 1), page
        assert all(later <= level + 1 for level, later in pairwise(levels)), page
        assert all(part.get("tabindex") == "0" for part in read.select(".table-wrapper, pre")), page
        assert all(len(str(image.get("alt", ""))) > 8 for image in read.select("img")), page
        for picture in read.select("svg[role=img]"):
            told = [read.find(id=str(picture[part])) for part in ("aria-labelledby", "aria-describedby")]
            assert all(each is not None and len(each.get_text()) > 8 for each in told), page


def test_names_of_python_and_commands_are_documented_in_their_order(site: Site) -> None:
    python = site.pages["reference/python.html"]
    assert [n for n in dir(accord) if not n.startswith("_") and not python.find(id=f"accord.{n}")] == []
    bar = site.pages["index.html"].select(".sidebar-tree li.toctree-l2 > a, .sidebar-tree li.step")
    shown = [part.get_text() for part in bar]
    wanted = [text for step, names in STEPS.items() for text in (step, *(f"accord {n}" for n in names))]
    start = shown.index(wanted[0])
    assert shown[start : start + len(wanted)] == wanted


def test_the_search_knows_every_page_and_needs_no_server(site: Site) -> None:
    found = re.fullmatch(r"Search\.setIndex\((.*)\)\s*", (site.folder / "searchindex.js").read_text(), re.S)
    assert found
    index = json.loads(found[1])
    assert set(NAMES) <= set(index["docnames"])
    assert index["docnames"].index("protocols/laplace") in index["terms"]["dummi"]
    # Of a drawing the markup is not text.
    assert "<svg" not in (site.folder / "searchtexts.js").read_text()
    # Sphinx would fetch summaries, which a browser refuses to a page that is a file.
    options = (site.folder / "_static" / "documentation_options.js").read_text()
    assert re.search(r"SHOW_SEARCH_SUMMARY: (\w+)", options)[1] == "false"  # type: ignore[index]


# -- how pages are staged ----------------------------------------------------------------------------------


def test_a_page_without_a_place_stands_in_the_last_chapter() -> None:
    chapters = arrange(["index", "demo", "brand-new"])
    assert chapters[-1].pages[-1] == "brand-new"
    assert chapters[0].pages == ("demo",)
    assert len(chapters) == len(CHAPTERS)
    assert not any(chapter.pages for chapter in arrange(["reference/commands/link"]))


def test_links_lead_to_pages_or_leave_their_words_and_code_stays() -> None:
    from handbook.stage import relink

    for source, written, moved in (
        ("CONTRIBUTING.md", "[maths](docs/maths.md#1-definitions)", "[maths](maths.md#1-definitions)"),
        ("docs/wire.md", "[the journal](../src/accord/protocols/parts/journal.py)", "the journal"),
        ("docs/quality.md", "```\n[a](../x.py)\n```", "```\n[a](../x.py)\n```"),
    ):
        assert relink(source, written, ROOT) == moved


def test_notebooks_are_listed_with_their_first_words_and_terminals_named(site: Site) -> None:
    page = site.pages["notebooks.html"]
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        title, _, rest = "".join(json.loads(path.read_text())["cells"][0]["source"]).partition("\n\n")
        (section,) = [part.parent for part in page.select("h2") if part.get_text("", True)[:-1] in title]
        assert section is not None
        assert " ".join(rest.split())[:20] in " ".join(section.get_text().split())
        assert section.select(f"a[href$='{path.name}']")
    named = {part.get_text() for part in site.pages["start.html"].select(".caption-text")}
    assert {"north-register", "south-register"} <= named


# -- in a browser ------------------------------------------------------------------------------------------

_DONE = "() => document.querySelector('#search-results h2')?.innerText === 'Search Results'"
_FOUND = """() => Object.fromEntries([...document.querySelectorAll('#search-results li')].map(
  item => [item.querySelector('a').getAttribute('href').split(/[?#]/)[0], item.querySelector('p')?.innerText]
))"""
"""Pages that were found, and what is shown of each."""


def is_alike(page: Path) -> bool:
    """Pages that one function writes look alike: of these one of each kind is looked at."""
    return page.parent.name in ("commands", "agreement") and page.stem not in ("link", "fields")


@pytest.mark.parametrize("part", [0, 1])
def test_a_browser_has_nothing_to_complain_of(part: int, site: Site, browser: Browser) -> None:
    """Each page in one look: both widths and both sets of colours, by turns."""
    files = [
        file for file in sorted(site.folder.rglob("*.html")) if not is_alike(file.relative_to(site.folder))
    ]
    assert len(files) > 25
    assert complain(browser, files[part::2], (LOOKS[0], LOOKS[3])[part : part + 1], site.folder) == []


@pytest.mark.slow
def test_a_browser_has_nothing_to_complain_of_in_any_look(site: Site, browser: Browser) -> None:
    assert complain(browser, sorted(site.folder.rglob("*.html")), LOOKS[:4], site.folder) == []


def test_the_search_box_finds_pages_and_shows_some_of_their_words(site: Site, browser: Browser) -> None:
    page, said = browser.new_page(offline=True), list[str]()
    page.set_default_timeout(PATIENCE)
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
    assert "protocols/laplace.html" in found
    assert sum("dumm" in (words or "").lower() for words in found.values()) > len(found) // 2, found
    page.goto(f"{(site.folder / 'search.html').as_uri()}?q=cut")
    page.wait_for_function(_DONE)
    assert "resume.html" in list(page.evaluate(_FOUND))[:3]
    page.close()
    assert said == []
