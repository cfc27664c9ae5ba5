"""Series whose runs are cut: what was drawn is used as it is, nothing is charged again or lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from accord.notices import tell_nobody
from accord.protocols.parts.batches import Look, encode_look
from accord.run.link import get_ready
from accord.run.request import SeriesPart
from accord.run.stages import Linked, Ready
from accord.side import Side
from accord.state.folder import open_state
from accord.state.runs import list_runs
from accord.table.layout import Layout
from tests.protocols.parts.test_batches import Table
from tests.run import faults
from tests.run.faults import Wire
from tests.run.test_series import A_TABLES, B_TABLES, FOUND

pytestmark = pytest.mark.usefixtures("quick")

Pairs = set[tuple[str, str]]


@dataclass
class SeriesOffice(faults.Office):
    """One organisation that goes on with a series."""

    part: SeriesPart = field(default_factory=lambda: SeriesPart("monthly"))
    layout: Layout = field(default_factory=Layout)

    def ready(self) -> Ready:
        asked = self.request(snapshot=None, series=self.part, layout=self.layout)
        return get_ready(asked, self.state, tell_nobody)

    def hold(self, table: Table) -> None:
        """This is its table from now on."""
        rows = "".join(f"{name},{x},{y}\n" for name, (x, y) in table.items())
        self.data.write_text(f"id,x,y\n{rows}")

    @property
    def looks(self) -> list[bytes]:
        book = self.ledger.series("table", "monthly")
        return [] if book is None else [encode_look(look) for look in book.looks]

    @property
    def batches(self) -> list[Look]:
        book = self.ledger.series("table", "monthly")
        return [] if book is None else [look for look in book.looks if look.batch is not None]


def agreement(kind: str) -> Agreement:
    series = {"first": {"A": 8, "B": 8}, "arrivals": {"A": 4, "B": 4}}
    return Agreement.model_validate(faults.agreement(kind).model_dump(mode="json") | {"series": series})


def offices(folder: Path, kind: str = "plain") -> dict[Side, SeriesOffice]:
    agreed = agreement(kind)
    return {
        side: SeriesOffice(side, agreed, office.state, office.data, office.out)
        for side, office in faults.offices(folder, kind).items()
    }


def unfinished(both: dict[Side, SeriesOffice]) -> str | None:
    """The run that both know and that is not done on both sides."""
    runs = [{run.manifest.run: run.manifest.done for run in list_runs(o.state)[0]} for o in both.values()]
    found = [name for name in runs[0] if name in runs[1] and not (runs[0][name] and runs[1][name])]
    assert len(found) <= 1
    return found[0] if found else None


def go_on(both: dict[Side, SeriesOffice], wire: Wire, resuming: bool) -> faults.Ending:
    """What the two administrators do next: finish what both have begun, or link."""
    offices_ = dict[Side, faults.Office](both)
    name = unfinished(both) if resuming else None
    return faults.resume(offices_, name, wire) if name else faults.link(offices_, wire)


def pairs(ending: faults.Ending) -> Pairs:
    found = []
    for side in Side:
        linked = ending[side]
        if isinstance(linked, BaseException):
            raise linked
        assert isinstance(linked, Linked), f"{side} waits"
        table = linked.found.table()
        found.append(set(zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True)))
    assert found[0] == found[1]
    return found[0]


def hold(both: dict[Side, SeriesOffice], number: int) -> None:
    """Both have the tables of this run."""
    for office, tables in zip(both.values(), (A_TABLES, B_TABLES), strict=True):
        office.hold(tables[number])


def go_whole(both: dict[Side, SeriesOffice], number: int) -> int:
    """A run that nobody cuts; how many frames it had."""
    hold(both, number)
    wire = Wire()
    assert pairs(go_on(both, wire, resuming=True)) == FOUND[number]
    return len(wire.passed)


def copied(both: dict[Side, SeriesOffice], folder: Path) -> dict[Side, SeriesOffice]:
    """The same two, as they stand, in another folder."""
    found = {}
    for side, office in both.items():
        home = folder / side.value
        shutil.copytree(office.data.parent, home)
        state = open_state(home / "state", {})
        found[side] = SeriesOffice(side, office.agreement, state, home / "data.csv", home / "pairs.csv")
    return found


def check_cut(both: dict[Side, SeriesOffice], cut: Wire, at: int) -> None:
    """Run number `at` is cut and gone on with; then the series goes on to its end."""
    hold(both, at)
    before = {side: office.looks for side, office in both.items()}
    ending = go_on(both, cut, resuming=True)
    drawn = {side: office.looks for side, office in both.items()}
    if not all(isinstance(result, Linked) for result in ending.values()):
        ending = go_on(both, Wire(), resuming=True)
    assert pairs(ending) == FOUND[at]
    receipts = {linked.receipt.read_bytes() for linked in ending.values() if isinstance(linked, Linked)}
    assert len(receipts) == 1
    for side, office in both.items():
        assert drawn[side][: len(before[side])] == before[side]
        assert office.looks[: len(drawn[side])] == drawn[side], "a look is final"
        assert len(office.batches) == at + 1, "what was drawn is used as it is"
        assert office.out.read_text().count("\n") == len(FOUND[at]) + 1
    for number in range(at + 1, len(FOUND)):
        go_whole(both, number)
    for office in both.values():
        assert sum(row.paid for row in office.ledger.runs()) == 1
        assert {row.drawing for row in office.ledger.runs()} == {1}


Cut = Callable[[int], Wire]
CUTS: list[Cut] = [
    lambda number: Wire(frames=number),
    lambda number: Wire(frames=number, lost=True),
    lambda number: Wire(to={Side.A: number // 2}),
    lambda number: Wire(to={Side.B: number // 2}),
]
"""After so many frames: those on their way arrive; they are lost; those to one side are lost."""


@dataclass(frozen=True)
class Standing:
    """Two organisations before each run of a series, and how many frames that has."""

    before: list[dict[Side, SeriesOffice]]
    frames: list[int]


@pytest.fixture(scope="module", params=["greedy", pytest.param("plain", marks=pytest.mark.slow)])
def standing(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Standing:
    """Tests copy what they change."""
    folder = tmp_path_factory.mktemp("standing")
    both = offices(folder / "0", request.param)
    before, frames = [both], []
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        for number in range(len(FOUND)):
            after = copied(both, folder / str(number + 1))
            frames.append(go_whole(after, number))
            before.append(after)
            both = after
    return Standing(before, frames)


def test_a_series_that_is_not_cut(standing: Standing) -> None:
    assert min(standing.frames) > 10
    for office in standing.before[-1].values():
        assert sum(row.paid for row in office.ledger.runs()) == 1


EVERY = 9


@pytest.mark.parametrize(
    ("at", "every"), [(0, 4 * EVERY), *(pytest.param(at, EVERY, marks=pytest.mark.slow) for at in (0, 1, 2))]
)
def test_a_run_that_is_cut_at_some_frames(standing: Standing, tmp_path: Path, at: int, every: int) -> None:
    """At every ninth frame, each run of a series at others, and in another way each time."""
    for place, number in enumerate(range(1 + 2 * at, standing.frames[at] + 2, every)):
        cut = CUTS[(place + at) % len(CUTS)]
        check_cut(copied(standing.before[at], tmp_path / str(number)), cut(number), at)


@pytest.mark.slow
@pytest.mark.parametrize("how", range(len(CUTS)))
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_run_that_is_cut_at_every_frame(standing: Standing, tmp_path: Path, at: int, how: int) -> None:
    for number in range(standing.frames[at] + 2):
        folder = tmp_path / str(number)
        check_cut(copied(standing.before[at], folder), CUTS[how](number), at)
        shutil.rmtree(folder)


def test_a_run_that_is_repeated_brings_the_batch_that_was_drawn(tmp_path: Path) -> None:
    """After a cut both link anew, with tables that have changed again: nothing new is drawn."""
    both = offices(tmp_path)
    for office, table in zip(both.values(), (A_TABLES[0], B_TABLES[0]), strict=True):
        office.hold(table)
    # After both have charged, and before anything is compared.
    go_on(both, Wire(frames=9), resuming=True)
    drawn = {side: office.looks for side, office in both.items()}
    assert all(len(looks) == 1 for looks in drawn.values())
    both[Side.A].hold({"q": (9, 9), "n": (1, 2)})
    assert pairs(go_on(both, Wire(), resuming=False)) == set(), "p is gone, and n waits for the next batch"
    for side, office in both.items():
        assert office.looks[:1] == drawn[side]
        assert (len(office.looks), len(office.batches)) == (2, 1)
    assert pairs(go_on(both, Wire(), resuming=False)) == {("n", "u")}
    assert len(both[Side.A].batches) == 2


def test_an_id_that_was_away_for_a_repeated_run_is_gone_for_good(tmp_path: Path) -> None:
    both = offices(tmp_path)
    for office, table in zip(both.values(), (A_TABLES[0], B_TABLES[0]), strict=True):
        office.hold(table)
    go_on(both, Wire(frames=9), resuming=True)
    both[Side.A].hold({"q": (9, 9)})
    assert pairs(go_on(both, Wire(), resuming=False)) == set()
    both[Side.A].hold(A_TABLES[0])
    assert pairs(go_on(both, Wire(), resuming=False)) == set(), "one version was declared"
