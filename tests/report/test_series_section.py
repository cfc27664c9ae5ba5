"""Reports of runs of a series: declared sizes, what met in a run, and who paid, for owners and others."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from accord.privacy.events import NO_COST
from accord.protocols.parts.standing import BatchMeeting
from accord.report import series_section
from accord.report.receipt_page import share
from accord.report.run_page import describe_forgotten, describe_run
from accord.run.receipt import read_receipt
from accord.run.remembered import Forgotten, Found, Remembered, remember
from accord.side import Side
from accord.state.runs import StoredRun, list_runs
from tests.report.outline import Outline, require_quiet
from tests.run import faults
from tests.run.faults import Wire
from tests.run.test_receipt import accord
from tests.run.test_series import A_TABLES, B_TABLES, FOUND
from tests.run.test_series_cuts import SeriesOffice, go_on, offices, pairs

KINDS = ("plain", "greedy")
ARRIVED = {Side.A: [2, 1, 2], Side.B: [2, 1, 1]}
GONE = {Side.A: [0, 0, 1], Side.B: [0, 0, 1]}


@dataclass(frozen=True)
class Done:
    """Both sides after three runs."""

    both: dict[Side, SeriesOffice]

    def folder(self, side: Side, run: int) -> StoredRun:
        runs = list_runs(self.both[side].state)[0]
        return next(found for found in runs if found.manifest.series_run == run)

    def known(self, side: Side, run: int) -> Remembered:
        found = remember(self.both[side].state, self.folder(side, run).manifest.run)
        assert isinstance(found, Remembered)
        return found


def make_series(folder: Path, kind: str, runs: int = 3) -> Done:
    """A series of so many runs."""
    both = offices(folder, kind)
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        for number in range(runs):
            for office, tables in zip(both.values(), (A_TABLES, B_TABLES), strict=True):
                office.hold(tables[number])
            assert pairs(go_on(both, Wire(), resuming=False)) == FOUND[number]
    return Done(both)


@pytest.fixture(scope="module", params=KINDS)
def done(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Done:
    """Three runs; tests only read them."""
    return make_series(tmp_path_factory.mktemp("series"), request.param)


def _seen(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.split("<body>")[1])).split())


def _missing(page: str) -> int:
    return re.findall(r'class="(\w+)"', page).count("missing")


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("run", [1, 2, 3])
def test_its_owner_is_told_of_the_series(done: Done, side: Side, run: int) -> None:
    known = done.known(side, run)
    page = describe_run(known)
    require_quiet(page)
    assert _missing(page) == 0
    headings = Outline(page).headings
    assert headings[headings.index("What was agreed") + 1] == "The run in its series"
    shown, announced = _seen(page), 8 + 4 * (run - 1)
    arrived, gone = ARRIVED[side][run - 1], GONE[side][run - 1]
    assert known.series is not None
    assert known.series.found == Found(arrived, gone)
    batches = "1 batch" if run == 1 else f"{run} batches"
    left = "1 record is gone or changed" if gone else "none is gone or changed"
    for told in (
        f"run {run} of 'monthly' with {known.agreement.party(side.other)}",
        f"{announced} records are declared for {batches}",
        f"{arrived} record{'s' * (arrived != 1)}, of {4 if run > 1 else 8} declared; {left}",
        f"4 bins in each of {batches}, the largest" if run > 1 else "4 bins, the largest",
    ):
        assert told in shown


@pytest.mark.parametrize("side", list(Side))
def test_the_first_run_was_charged_for_all_and_later_ones_nothing(done: Done, side: Side) -> None:
    charged = [done.known(side, run).charged for run in (1, 2, 3)]
    assert [cost == NO_COST for cost in charged] == [False, True, True]
    shown = [_seen(describe_run(done.known(side, run))) for run in (1, 2, 3)]
    paid = "for all runs of the series 'monthly', however many there will be"
    nothing = "ε = 0, δ = 0: the first run of the series 'monthly' paid for all"
    assert [paid in page for page in shown] == [True, False, False]
    assert [nothing in page for page in shown] == [False, True, True]


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("run", [1, 2, 3])
def test_the_funnel_is_that_of_the_batches_that_had_not_met(done: Done, side: Side, run: int) -> None:
    known, folder = done.known(side, run), done.folder(side, run)
    assert known.receipt is not None
    assert known.bins is not None
    said, task = known.receipt.facts, known.agreement.task
    declared, before = 8 + 4 * (run - 1), 8 + 4 * (run - 2) if run > 1 else 0
    assert series_section.all_pairs(known.agreement, said) == (declared**2, declared**2 - before**2)
    slots, theirs = folder.slots(), folder.partner_counts()
    assert theirs is not None
    met = run - 1
    real = [0, 0]
    for place, own in enumerate((known.bins.real, slots.counts)):
        a, b = (own, theirs) if side is Side.A else (theirs, own)
        for left, right in zip(*task.blocking.pairs(), strict=True):
            for i in range(run):
                for j in range(run):
                    if i >= met or j >= met:
                        real[place] += int(a[i * 4 + left] * b[j * 4 + right])
    if getattr(known.agreement.protocol, "greedy", False):
        assert known.bins.compared is None, "what greedy spared is not kept"
    else:
        assert known.bins.compared == real[0]
        assert said["comparisons"] == real[1], "what is counted is what was compared"
    shown = _seen(describe_run(known))
    share_of = said["comparisons"] / (declared**2 - before**2)
    assert (
        f"{declared**2:,} pairs, {declared**2 - before**2:,} of them of batches that had not met; "
        f"{said['comparisons']:,} comparisons were made ({share_of:.2%} of these)"
    ) in shown


def test_others_are_shown_the_series_and_nothing_of_one_side(done: Done) -> None:
    for run in (1, 2, 3):
        pages = set()
        for side in Side:
            known = done.known(side, run)
            assert known.receipt is not None
            pages.add(share(known.agreement, known.receipt))
        (page,) = pages
        require_quiet(page)
        assert _missing(page) == 0
        shown = _seen(page)
        assert f"linked their tables, run {run} of the series 'monthly': {len(FOUND[run - 1])} new" in shown
        assert "each record, once for all runs of the series" in shown
        assert "announced are 8 records of A and 8 of B in the first run, 4 and 4 more in every" in shown
        own = _seen(describe_run(done.known(Side.A, run)))
        declared = "of 4 declared;" if run > 1 else "of 8 declared;"
        for private in ("the data set 'table'", declared, "All runs of"):
            assert private not in shown
            assert private in own


@pytest.mark.parametrize(
    ("met", "batches", "told"),
    [
        ((0, 0), (1, 1), "the first batch of A with the first batch of B: nothing had met before"),
        ((0, 0), (3, 1), "the first 3 batches of A with the first batch of B: nothing had met before"),
        ((1, 1), (2, 2), "the new batch of A with all 2 batches of B, and 1 older batch of A with the new"),
        ((2, 4), (3, 7), "the new batch of A with all 7 batches of B, and 2 older batches of A with 3 new"),
    ],
)
def test_what_met_in_a_run_is_said(met: tuple[int, int], batches: tuple[int, int], told: str) -> None:
    """Several batches at once: of an account with several partners."""
    said = {"met": dict(zip("AB", met, strict=True)), "batches": dict(zip("AB", batches, strict=True))}
    assert series_section.tell_compared(said).startswith(f"Compared were {told}")
    assert len(BatchMeeting(met, batches).pairs()[0]) == batches[0] * batches[1] - met[0] * met[1]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """A run that was cut has no receipt; one that was forgotten leaves what the ledger knows."""
    series = make_series(tmp_path, "plain", 1)
    both = series.both
    for office, tables in zip(both.values(), (A_TABLES, B_TABLES), strict=True):
        office.hold(tables[1])
    go_on(both, Wire(frames=9), resuming=False)
    cut = series.known(Side.A, 2)
    page = describe_run(cut)
    assert cut.series is not None
    assert cut.series.found == Found(1, 0)
    # What met, the funnel, the times and the receipt.
    assert _missing(page) == 4
    assert "The receipt says which batches met" in _seen(page)
    name = series.folder(Side.A, 1).manifest.run
    assert read_receipt(series.folder(Side.A, 1).receipt).facts["series"]["met"] == {"A": 0, "B": 0}
    accord(both[Side.A], "forget", name, "--force")
    forgotten = remember(both[Side.A].state, name)
    assert isinstance(forgotten, Forgotten)
    told = _seen(describe_forgotten(forgotten))
    assert "Series 'monthly'" in told
    assert "for all runs of the series 'monthly'" in told
    left = series.known(Side.A, 2)
    assert left.series is not None
    assert left.series.found is None
    assert "what the series had stored was forgotten" in _seen(describe_run(left))
    assert np.array_equal(left.series.meeting.seen, (1, 1))
