"""All pages of the site are read: links, pictures, headings.

A warning of Sphinx is an error, so that a build that ends well has no broken link between pages, either; what
is checked here is what a browser would be given.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from handbook.contents import CHAPTERS, ELSEWHERE, INSIDE, arrange
from handbook.stage import caption, list_notebooks, relink
from tests.docs.site import ROOT, Site

SOURCES = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
NAMES = sorted({*map(str, SOURCES), *ELSEWHERE.values()})


def test_every_page_of_the_documentation_is_on_the_site(site: Site) -> None:
    assert {f"{name}.html" for name in NAMES} <= site.pages.keys()


def test_every_page_is_in_the_side_bar(site: Site) -> None:
    reached = {link.partition("#")[0] for link in site.links("index.html", ".sidebar-tree")}
    assert {f"{name}.html" for name in NAMES if name != "index"} <= reached


def test_links_lead_to_pages_and_to_anchors_that_are_there(site: Site) -> None:
    known = {page: {str(tag["id"]) for tag in read.select("[id]")} for page, read in site.pages.items()}
    checked, broken = 0, []
    for page in site.pages:
        for link in site.links(page, "body"):
            path, _, anchor = link.partition("#")
            checked += bool(anchor)
            if not (site.folder / path).is_file() or (anchor and path in known and anchor not in known[path]):
                broken.append(f"{page}: {link}")
    assert not broken
    assert checked > 300


def test_links_to_elsewhere_are_well_formed(site: Site) -> None:
    outside = {
        str(link["href"])
        for read in site.pages.values()
        for link in read.select("a[href]")
        if ":" in str(link["href"])
    }
    for link in outside:
        assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]{2,}(/\S*)?", link), link


LOADS = (
    *(
        ("script", "src"),
        ("img", "src"),
        ("img", "srcset"),
        ("iframe", "src"),
        ("source", "src"),
        ("object", "data"),
    ),
    *(
        ("link", "href"),
        ("use", "href"),
        ("image", "href"),
        ("embed", "src"),
        ("video", "src"),
        ("form", "action"),
    ),
)
REMOTE = re.compile(r"^\s*(?:[a-z]+:)?//", re.I)
IN_STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"]?)\s*((?:[a-z]+:)?//)", re.I)
IN_SCRIPT = re.compile(
    r"(?:fetch|import|importScripts|open|EventSource|WebSocket|sendBeacon)\s*\(\s*[^)]{0,40}?['\"`](?:[a-z]+:)?//|"
    r"(?:src|href)\s*=\s*['\"`](?:[a-z]+:)?//",
    re.I,
)


def remote_requests(site: Site) -> list[str]:
    """Everything in a site that a browser would ask another host for."""
    from bs4 import BeautifulSoup

    found = []
    for path in sorted(p for p in site.folder.rglob("*") if p.suffix in (".html", ".css", ".js", ".svg")):
        text = path.read_text()
        if path.suffix in (".html", ".svg"):
            page = site.pages.get(str(path.relative_to(site.folder)))
            read = page or BeautifulSoup(text, "html.parser")
            asked = [str(tag[at]) for name, at in LOADS for tag in read.select(f"{name}[{at}]")]
            found += [f"{path.name}: {one}" for one in asked if REMOTE.match(one)]
            text = "\n".join(
                [
                    *(str(tag.string) for tag in read.select("style, script")),
                    *(str(t["style"]) for t in read.select("[style]")),
                ]
            )
        found += [f"{path.name}: {hit[0]}" for hit in (*IN_STYLE.finditer(text), *IN_SCRIPT.finditer(text))]
    return found


def test_no_page_asks_anybody_for_anything(site: Site) -> None:
    assert not remote_requests(site)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", '<script src="https://cdn.example.org/mathjax.js"></script>'),
        ("page.html", '<link rel="stylesheet" href="//fonts.example.org/css">'),
        ("page.html", '<p style="background: url(https://example.org/a.png)">'),
        ("page.html", '<script>fetch("https://example.org/hit")</script>'),
        ("look.css", '@import "https://example.org/a.css";'),
        ("look.css", "@font-face { src: url('//example.org/a.woff') }"),
        ("act.js", 'script.src = "https://example.org/a.js"'),
    ],
)
def test_a_request_to_another_host_would_be_found(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert remote_requests(Site(tmp_path))


def test_pages_have_a_title_a_language_a_main_part_and_headings_in_order(site: Site) -> None:
    titles: dict[str, str] = {}
    for page, read in site.pages.items():
        assert read.html is not None
        assert read.html.get("lang") == "en", page
        assert read.title is not None, page
        assert titles.setdefault(read.title.get_text(), page) == page
        assert len(read.select("main, [role=main]")) == 1, page
        levels = [int(tag.name[1]) for tag in read.select("h1, h2, h3, h4, h5, h6")]
        assert levels.count(1) == 1, page
        assert levels[0] == 1, page
        assert all(later <= level + 1 for level, later in pairwise(levels)), (
            page,
            levels,
        )


def test_side_bars_have_names_and_what_scrolls_can_be_reached(site: Site) -> None:
    for page, read in site.pages.items():
        names = [str(bar.get("aria-label")) for bar in read.select("aside")]
        assert len(names) == len(set(names)), page
        assert "None" not in names, page
        assert all(part.get("tabindex") == "0" for part in read.select(".table-wrapper, pre")), page
        assert all(part.get("aria-level") for part in read.select("[role=heading]")), page


def test_pictures_say_what_they_show(site: Site) -> None:
    from bs4 import Tag

    drawn = 0
    for page, read in site.pages.items():
        for image in read.select("img"):
            assert len(str(image.get("alt", ""))) > 8, (page, image)
        for picture in read.select("svg[role=img]"):
            drawn += 1
            for part in ("aria-labelledby", "aria-describedby"):
                told = read.find(id=str(picture[part]))
                assert isinstance(told, Tag), page
                assert len(told.get_text()) > 8, page
    assert drawn >= 9


def test_every_protocol_has_a_drawing_a_theorem_its_cost_and_its_file(site: Site) -> None:
    for name in INSIDE["protocols/index"]:
        read = site.pages[f"{name}.html"]
        text = read.get_text()
        assert read.select("article svg[role=img]"), name
        assert "Theorem" in text, name
        assert "Cost" in text or "cost" in text, name
        assert re.search(r"protocols/\w+\.py", text), name


def indexed(site: Site) -> dict[str, object]:
    found = re.fullmatch(r"Search\.setIndex\((.*)\)\s*", (site.folder / "searchindex.js").read_text(), re.S)
    assert found
    index = json.loads(found[1])
    assert isinstance(index, dict)
    return index


def test_the_search_knows_every_page_and_needs_no_server(site: Site) -> None:
    index = indexed(site)
    assert isinstance(index["docnames"], list)
    assert isinstance(index["terms"], dict)
    assert set(NAMES) <= set(index["docnames"])
    places = index["terms"]["dummi"]
    assert index["docnames"].index("protocols/laplace") in places
    scripts = [str(tag["src"]) for tag in site.pages["search.html"].select("script[src]")]
    assert any(script.startswith("searchindex.js") for script in scripts)
    # Of a drawing the markup is not text.
    texts = (site.folder / "searchtexts.js").read_text()
    assert "Noise hides one record" in texts
    assert "<svg" not in texts
    # Sphinx would fetch summaries, which a browser refuses to a page that is a file.
    assert "SHOW_SEARCH_SUMMARY: false" in (site.folder / "_static" / "documentation_options.js").read_text()


ANSWERS = {
    "how to install": ("demo.html", "pip install"),
    "what my partner learns": ("security.html", "what the partner receives"),
    "how to choose ε": ("epsilon.html", "Start from what you could defend"),
    "what it costs": ("epsilon.html", "accord plan"),
    "what if it is cut": ("resume.html", "accord resume"),
    "what if the partner cheats": ("threat-model.html", "What stops or detects it"),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_a_newcomer_finds_an_answer_within_two_clicks(question: str, site: Site) -> None:
    page, words = ANSWERS[question]
    reached = {"index.html"}
    for _ in range(2):
        reached |= {
            link.partition("#")[0] for seen in reached if seen in site.pages for link in site.links(seen)
        }
        if page in reached:
            break
    assert page in reached
    assert words in " ".join(site.pages[page].select("article")[0].get_text().split())


def test_the_threat_model_reads_on_a_phone(site: Site) -> None:
    """Sentences in a table would have to be scrolled sideways: there is one, of a few words a cell."""
    page = site.pages["threat-model.html"].select("article")[0]
    (table,) = page.select("table")
    assert max(len(cell.get_text()) for cell in table.select("td")) <= 20
    parts = [part.get_text() for part in page.select("h3")]
    assert len(parts) == 3
    for words in ("It can", "What stops or detects it.", "Write into the contract"):
        assert len([strong for strong in page.select("strong") if strong.get_text() == words]) == 3


def test_the_home_page_answers_every_question_with_a_link(site: Site) -> None:
    rows = site.pages["index.html"].select("article table tbody tr")
    asked = {row.select("td")[0].get_text().strip(): row.select("a") for row in rows}
    assert len(asked) >= len(ANSWERS)
    assert all(asked.values())


def test_a_page_without_a_place_stands_in_the_last_chapter() -> None:
    chapters = arrange(["index", "demo", "brand-new"])
    assert chapters[-1].pages[-1] == "brand-new"
    assert chapters[0].pages == ("demo",)
    assert len(chapters) == len(CHAPTERS)


@pytest.mark.parametrize(
    ("source", "written", "moved"),
    [
        ("CONTRIBUTING.md", "[maths](docs/maths.md#1-definitions)", "[maths](maths.md#1-definitions)"),
        ("docs/quality.md", "[lab](../reproduction/README.md)", "[lab](reproduction.md)"),
        ("reproduction/README.md", "[how](../CONTRIBUTING.md)", "[how](contributing.md)"),
        ("docs/wire.md", "[the journal](../src/accord/protocols/parts/journal.py)", "the journal"),
        (
            "docs/protocols/psi.md",
            "[limits](../security.md#limitations)",
            "[limits](../security.md#limitations)",
        ),
        ("docs/protocols/psi.md", "![m](../diagrams/psi.svg)", "![m](../diagrams/psi.svg)"),
        ("docs/quality.md", "```\n[a](../x.py)\n```", "```\n[a](../x.py)\n```"),
        ("docs/quality.md", "[b](https://example.org) [c](#here)", "[b](https://example.org) [c](#here)"),
    ],
)
def test_links_are_moved_to_where_pages_are(source: str, written: str, moved: str) -> None:
    assert relink(source, written, ROOT) == moved


def test_notebooks_are_listed_or_said_to_be_missing(tmp_path: Path) -> None:
    pages, examples = tmp_path / "pages", tmp_path / "examples"
    pages.mkdir()
    page = pages / "notebooks.md"
    page.write_text("# Notebooks\n")
    list_notebooks(pages, tmp_path)
    assert "none yet" in page.read_text()
    examples.mkdir()
    first = {
        "cell_type": "markdown",
        "source": ["# People\n", "\n", "Two [registers](x.md)\n", "meet.\n", "\n", "More."],
    }
    (examples / "people.ipynb").write_text(json.dumps({"cells": [first]}))
    page.write_text("# Notebooks\n")
    list_notebooks(pages, tmp_path)
    assert "## People\n\nTwo registers meet.\n\n[people.ipynb](people.ipynb)" in page.read_text()
    assert (pages / "people.ipynb").exists()


def test_notebooks_stand_in_the_order_of_their_own_page(site: Site) -> None:
    told = (ROOT / "examples" / "README.md").read_text()
    shown = [link.get_text() for link in site.pages["notebooks.html"].select("article a.download")]
    assert shown == re.findall(r"\((\w+\.ipynb)\)", told)


def test_every_block_of_a_terminal_says_whose_it_is(site: Site) -> None:
    written = re.findall(r"^```(?:sh|text) (\S+)$", (ROOT / "docs" / "start.md").read_text(), re.M)
    captions = site.pages["start.html"].select(".literal-block-wrapper > .code-block-caption .caption-text")
    assert [part.get_text() for part in captions] == written
    assert len(set(written)) >= 2


def test_only_a_block_with_a_name_gets_a_caption() -> None:
    assert caption("```sh north\nls\n```") == "```{code-block} sh\n:caption: north\n\nls\n```"
    assert caption("```text python\nx = 1\n```").startswith("```{code-block} python\n:caption: python\n\n")
    for plain in ("```sh\nls\n```", "```\nsh north\n```", "`sh north`"):
        assert caption(plain) == plain
