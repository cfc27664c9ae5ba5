"""Every kind of page as a reader's browser shows it: quiet, readable by all, on a phone, a desk and paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.forecast.plan import plan
from accord.protocols.parts.answers import decode_answer
from accord.report.plan_page import describe_plan
from accord.report.receipt_page import share
from accord.report.run_page import describe_forgotten, describe_run
from accord.report.simulation_page import PairCells, describe_simulation
from accord.run.remembered import Forgotten, Remembered
from accord.simulation.pair import simulate
from tests.browser import LOOKS, Look, complain
from tests.report.outline import ALL, TAG, Outline, require_quiet, spoil
from tests.report.test_run_pages import TABLE, agreed, done, known

if TYPE_CHECKING:
    from playwright.sync_api import Browser


__all__ = ["done", "known"]


def _simulated() -> str:
    """With examples, values and all."""
    people = generate_people(60, None, 1)
    result = simulate(people.a, people.b, adjust(starter("people"), epsilon="8", delta="1e-3"), seed=1)
    quality = result.quality(people.truth, 2)
    columns = ["given", "surname"]
    a, b = (
        {row["id"]: [row[name] for name in columns] for row in table.to_pylist()}
        for table in (people.a, people.b)
    )
    return describe_simulation(result, quality, PairCells(columns, a, b))


def _answered(known: Remembered) -> Remembered:
    """The same run, had it been asked for numbers."""
    asked = agreed(output=TABLE, disclose={"A": [], "B": []})
    told = decode_answer(asked.output, [(4, 6), (3, 6), (17, 6)])
    return replace(known, agreement=asked, answer=told, matches=None, bins=None)


def _pages(known: Remembered) -> Iterator[tuple[str, str]]:
    assert known.receipt is not None
    assert known.account is not None
    assert known.charged is not None
    yield "run", describe_run(known)
    yield "shared", share(known.agreement, known.receipt)
    yield "answer", describe_run(_answered(known))
    gone = Forgotten("r", "bob", "table", "", "00", "2026", known.charged, known.account)
    yield "forgotten", describe_forgotten(gone)
    yield "plan", describe_plan(plan(starter("products"), records=(300, 200)))
    yield "simulated", _simulated()


def _written(known: Remembered, folder: Path) -> list[Path]:
    """Every kind of page, as a file."""
    files = []
    for name, content in _pages(known):
        files.append(folder / f"{name}.html")
        files[-1].write_text(content)
    return files


def test_a_browser_has_nothing_to_complain_of(known: Remembered, browser: Browser, tmp_path: Path) -> None:
    assert complain(browser, _written(known, tmp_path)) == []


def test_hostile_texts_do_not_break_the_layout(known: Remembered, browser: Browser, tmp_path: Path) -> None:
    """On a phone alone: a name of ten thousand letters makes a page that takes long to draw."""
    file = tmp_path / "hostile.html"
    file.write_text(describe_run(spoil(known)))
    assert complain(browser, [file], LOOKS[:1]) == []


def test_who_reads_in_the_dark_prints_on_white_paper(
    known: Remembered, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "run.html"
    file.write_text(describe_run(known))
    look = Look("paper-dark", 794, "dark", "print")
    assert complain(browser, [file], [look]) == []
    page = browser.new_page(color_scheme="dark")
    page.goto(file.as_uri())
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) != "rgb(255, 255, 255)"
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.close()


def test_hostile_texts_are_shown_as_they_are_spelt(known: Remembered) -> None:
    spoilt = spoil(known)
    assert spoilt.receipt is not None
    for page in (describe_run(spoilt), share(spoilt.agreement, spoilt.receipt)):
        require_quiet(page)
        assert TAG not in page
        assert "&lt;script&gt;" in page
        assert not [c for c in page if not c.isprintable() and c != "\n"]
        assert Outline(page).headings[-1] == "The receipt"
    assert len({*ALL}) == 4
