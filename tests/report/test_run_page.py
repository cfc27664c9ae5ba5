"""A run's report: for its owner with all that is known; for others of agreement and receipt alone."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accord.agreement.adjusting import adjust
from accord.errors import AccordError
from accord.report.receipt_page import share
from accord.report.run_page import describe_run
from accord.run.remembered import Remembered, remember
from accord.side import Side
from tests.report.outline import Outline, require_quiet
from tests.run import faults
from tests.run.faults import Office
from tests.run.test_receipt import accord


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    """A run that is done; tests only read it."""
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.require_done(faults.link(both), both, both[Side.A].out.read_bytes())
    return both


def _remembered(office: Office) -> Remembered:
    assert office.run is not None
    found = remember(office.state, office.run.manifest.run)
    assert isinstance(found, Remembered)
    return found


@pytest.mark.parametrize("whose", ["own", "shared"])
def test_a_page_asks_for_nothing(done: dict[Side, Office], whose: str) -> None:
    known = _remembered(done[Side.A])
    assert known.receipt is not None
    page = describe_run(known) if whose == "own" else share(known.agreement, known.receipt)
    require_quiet(page)


def test_its_owner_is_told_everything_in_order(done: dict[Side, Office]) -> None:
    known = _remembered(done[Side.A])
    page = describe_run(known)
    assert Outline(page).headings[1:] == [
        *(
            "The run",
            "What was agreed",
            "What is guaranteed, and when",
            "What each side learned, step by step",
        ),
        *(
            "What it cost",
            "From all pairs to the matches",
            "Bins and dummies",
            "Time and bytes",
            "The receipt",
        ),
    ]
    assert "missing" not in re.findall(r'class="(\w+)"', page)
    assert known.bins is not None
    assert f"{int(known.bins.dummies.sum()):,}" in page


@pytest.mark.parametrize("kind", ["plain", "greedy"])
def test_the_funnel_has_no_bar_that_nobody_can_know(kind: str, tmp_path: Path) -> None:
    """What greedy has spared is not kept; without it, the counts tell what was compared."""
    both = faults.offices(tmp_path, kind)
    faults.link(both)
    known = _remembered(both[Side.A])
    assert known.bins is not None
    assert known.receipt is not None
    assert (known.bins.compared is None) == (kind == "greedy") == (_REAL not in describe_run(known))
    if known.bins.compared is not None:
        assert known.receipt.facts["matches"] <= known.bins.compared <= known.receipt.facts["comparisons"]


_REAL = "with a real record of yours"


def test_nothing_is_said_of_dummies_where_there_are_none(tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "all-pairs")
    faults.link(both)
    known = _remembered(both[Side.A])
    assert known.receipt is not None
    page = share(known.agreement, known.receipt)
    assert "dummies are among them" not in page
    assert "Noisy totals" not in page
    assert "no match is missed" in page


def test_what_a_protocol_may_miss_is_said(done: dict[Side, Office]) -> None:
    known = _remembered(done[Side.A])
    assert known.receipt is not None
    assert "no match is missed" in share(known.agreement, known.receipt)
    pruned = adjust(known.agreement, prune=90)
    page = share(pruned, known.receipt)
    assert "no match is missed" not in page
    assert "matches may be missed" in page
    assert "prune = 90 compares only bins" in page


def test_the_receipt_of_another_run_is_none(tmp_path: Path) -> None:
    both = [faults.offices(tmp_path / name) for name in ("first", "second")]
    for each in both:
        faults.link(each)
    first, second = (each[Side.A].run for each in both)
    assert first is not None
    assert second is not None
    first.keep({"receipt": second.read("receipt")})
    office, run = both[0][Side.A], first.manifest.run
    assert _remembered(office).receipt is None
    assert "is not the one that both signed" in describe_run(_remembered(office))
    for typed in (["receipt", run], ["report", run, "--share", "--out", str(tmp_path / "x.html")]):
        with pytest.raises(AccordError, match=r"the receipt of another run|is not the one that both signed"):
            accord(office, *typed)


def test_limits_are_those_of_the_ledger(done: dict[Side, Office]) -> None:
    known = _remembered(done[Side.A])
    assert known.account is not None
    limited = replace(known.account, budget=replace(known.account.budget, runs=3), left=None)
    assert "2 runs" in describe_run(replace(known, account=limited))
    free = replace(known.account, budget=replace(known.account.budget, runs=None), left=None)
    assert "no limit was set" in describe_run(replace(known, account=free))


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ("waits", "no receipt yet"),
        ("most_matches", "It has no receipt: "),
        ("no_table", "It has no receipt: "),
    ],
)
def test_a_run_that_is_not_done_is_not_told_as_if_it_were(
    done: dict[Side, Office], ended: Any, said: str
) -> None:
    known = replace(_remembered(done[Side.A]), receipt=None, ended=ended)
    page = describe_run(known)
    assert "What each side learned" not in page
    assert "What each side learns in a run that is done" in page
    assert said in page
    assert ("none yet; at its end" in page) == (ended == "waits")


def test_what_is_not_kept_is_said(done: dict[Side, Office]) -> None:
    known = replace(
        _remembered(done[Side.A]), receipt=None, bins=None, phases=None, account=None, ended="waits"
    )
    page = describe_run(known)
    assert re.findall(r'class="(\w+)"', page).count("missing") == 5
    assert f"accord resume {known.name}" in page


def test_others_are_shown_what_both_sides_have(done: dict[Side, Office]) -> None:
    """The page is given nothing else, and is the same whichever side makes it."""
    pages = set()
    for side in Side:
        known = _remembered(done[side])
        assert known.receipt is not None
        pages.add(share(known.agreement, known.receipt))
    assert len(pages) == 1
    assert list(inspect.signature(share).parameters) == ["agreement", "receipt"]


def test_a_shared_page_holds_nothing_of_one_side(done: dict[Side, Office]) -> None:
    known = _remembered(done[Side.A])
    assert known.receipt is not None
    assert known.bins is not None
    page = share(known.agreement, known.receipt)
    own = describe_run(known)
    canaries = [
        f"the data set &#x27;{known.dataset}&#x27;",
        known.out,
        f"{int(known.bins.dummies.sum()):,} (",
    ]
    for canary in canaries:
        assert canary in own
        assert canary not in page


def test_the_command_writes_both_and_replaces_nothing(done: dict[Side, Office], tmp_path: Path) -> None:
    office = done[Side.A]
    assert office.run is not None
    run, out = office.run.manifest.run, tmp_path / "run.html"
    assert "your own eyes" in accord(office, "report", run, "--out", str(out))
    with pytest.raises(Exception, match="the file already exists"):
        accord(office, "report", run, "--out", str(out))
    assert out.stat().st_mode & 0o77 == 0, "for its owner's eyes"
    accord(office, "report", run, "--out", str(out), "--share", "--force")
    assert "made from the agreement and the receipt" in out.read_text()
    with pytest.raises(Exception, match=r"\.html"):
        accord(office, "report", run, "--out", str(tmp_path / "run.pdf"))
