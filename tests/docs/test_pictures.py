"""Drawings are functions of text in the repository: what is committed is what is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from handbook.cost import draw_cost, draw_growth
from handbook.neighbours import PANELS, draw_neighbours
from handbook.pictures import drawings
from handbook.screen import draw_screen
from handbook.sequence import draw, parse

ROOT = Path(__file__).parents[2]
DRAWN = drawings(ROOT / "docs")
HEAD = "title T\nsays what is shown\nsides A B\n"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_what_is_committed_is_what_is_drawn(path: Path) -> None:
    assert path.read_text() == DRAWN[path], "run `make pictures`"


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_drawing_is_whole_and_its_words_are_within_it(path: Path) -> None:
    tree = ElementTree.fromstring(DRAWN[path])
    _, _, wide, high = map(float, tree.attrib["viewBox"].split())
    assert tree.findtext(f"{SVG}title")
    assert tree.findtext(f"{SVG}desc")
    for text in tree.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["x"]) < wide
        assert 0 < float(text.attrib["y"]) < high
    # Legible on a phone: a letter is a fortieth of the picture's width or so.
    assert wide <= 520


def test_every_picture_in_the_pages_is_drawn() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    used = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"!\[[^\]]+\]\(([^)]*(?:diagrams|pictures)/[^)]+)\)", page.read_text())
    }
    assert used == set(DRAWN)


def test_messages_are_drawn_in_their_order() -> None:
    drawn = draw(
        parse(HEAD + "A: thinks\nloop again\nA -> B: one\nA <- B: two\nend\nA <-> B: three\nboth: rest\n")
    )
    places = [
        drawn.index(f">{word}<") for word in ("A", "B", "thinks", "again", "one", "two", "three", "rest")
    ]
    assert places == sorted(places)
    # One tip for each direction: 1 + 1 + 2.
    assert drawn.count("<polygon") == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "C -> B: who\n", "line 4"),
        (HEAD + "A => B: how\n", "line 4"),
        ("title T\nA: too early\n", "line 2"),
        (HEAD + "loop for ever\nA: x\n", "needs its `end`"),
        (HEAD + "A: x\nend\n", "needs its `end`"),
    ],
)
def test_a_line_that_is_no_step_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_words_are_escaped() -> None:
    assert "<script" not in draw(parse(HEAD + "A: <script>\n"))
    assert "<script" not in draw_screen("$ <script>\n")


def test_the_screen_is_one_that_the_demo_still_prints() -> None:
    """A picture of a screen is taken seldom; its headings must be those of today."""
    printed = (ROOT / "src" / "accord" / "cli" / "demo_summary.py").read_text()
    screen = (ROOT / "docs" / "pictures" / "demo.txt").read_text()
    headings = re.findall(
        r"^(What each learned about the other|What neither learned|Quality|Spent)", screen, re.M
    )
    assert len(headings) == 4
    assert all(heading in printed for heading in headings)
    assert "learned about" in printed


def test_the_figure_follows_its_results() -> None:
    results = (ROOT / "docs" / "results" / "size.csv").read_text()
    assert draw_cost(results) != draw_cost(results.replace("5085440177", "6085440177"))


def test_the_figure_of_routed_linkage_has_a_dot_for_each_run_and_a_line_for_each_plan() -> None:
    runs, plans = (
        (ROOT / "docs" / "results" / name).read_text() for name in ("routed.csv", "routed-plan.csv")
    )
    drawn = draw_growth(runs, plans)
    # Two panels; places are in another table.
    assert drawn.count("<circle") == 2 * runs.count(",people,")
    assert drawn.count("<polyline") == 2 * 3
    assert draw_growth(runs, plans.replace("117001024", "217001024")) != drawn


def test_the_graphs_of_neighbours_have_their_edges() -> None:
    panels = ElementTree.fromstring(draw_neighbours()).findall(f"{SVG}g")
    found = [edges_drawn(panel) for panel in panels]
    expected = [{frozenset(edge) for edge in panel.edges} for panel in PANELS]
    assert found == expected
    # As in the paper: all is connected; all with one output are; a record of two that match nothing is kept.
    assert [len(edges) for edges in found] == [36, 33, 30]
    assert [panel.parts for panel in PANELS] == [1, 8, 8]
    assert found[1] - found[2] == {
        frozenset(pair) for pair in [((3, 4), (5, 6)), ((3, 5), (4, 6)), ((3, 6), (4, 5))]
    }


def edges_drawn(panel: ElementTree.Element) -> set[frozenset[tuple[int, ...]]]:
    """The pairs of tables that lines join, by the circles at their ends and the words within those."""
    circles, words = panel.findall(f"{SVG}circle"), panel.findall(f"{SVG}text")[2:]
    tables = {}
    for circle, word in zip(circles, words, strict=True):
        assert circle.attrib["cx"] == f"{float(word.attrib['x'])}"
        name = word.text or ""
        tables[circle.attrib["cx"], circle.attrib["cy"]] = tuple(map(int, name.replace("∅", "").split()))
    drawn = [line.attrib for line in panel.findall(f"{SVG}line")]
    found = {frozenset(tables[line[f"x{end}"], line[f"y{end}"]] for end in "12") for line in drawn}
    assert len(found) == len(drawn)
    return found
