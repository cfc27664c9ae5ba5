"""Series whose runs are cut: what was drawn is used as it is, nothing is charged again or lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from accord.protocols.batches import Look, encode_look
from accord.records.layout import Layout
from accord.session.course import Linked, Ready
from accord.session.link import get_ready
from accord.session.notices import tell_nobody
from accord.session.series_table import Part
from accord.session.store import list_runs
from accord.side import Side
from tests.protocols.test_batches import Table
from tests.session import faults
from tests.session.faults import Wire
from tests.session.test_series import A_TABLES, B_TABLES, FOUND

pytestmark = pytest.mark.usefixtures("quick")

Pairs = set[tuple[str, str]]


@dataclass
class SeriesOffice(faults.Office):
    """One organisation that goes on with a series."""

    part: Part = field(default_factory=lambda: Part("monthly"))

    def ready(self) -> Ready:
        return get_ready(
            self.state, self.agreement, self.partner, self.data, Layout(), "table", None, self.out,
            self.reach(), tell_nobody, part=self.part,
        )  # fmt: skip

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


def check_series(folder: Path, cut: Wire, at: int, kind: str = "plain") -> int:
    """A series whose run number `at` is cut and gone on with; how many frames that run had if it was not."""
    both, frames = offices(folder, kind), 0
    for number, tables in enumerate(zip(A_TABLES, B_TABLES, strict=True)):
        for office, table in zip(both.values(), tables, strict=True):
            office.hold(table)
        if number == at:
            ending = go_on(both, cut, resuming=True)
            frames = len(cut.passed)
            drawn = {side: office.looks for side, office in both.items()}
            if not all(isinstance(result, Linked) for result in ending.values()):
                ending = go_on(both, Wire(), resuming=True)
            for side, office in both.items():
                assert office.looks[: len(drawn[side])] == drawn[side], "a look is final"
                assert len(office.batches) == number + 1, "what was drawn is used as it is"
        else:
            ending = go_on(both, Wire(), resuming=True)
        assert pairs(ending) == FOUND[number]
    for office in both.values():
        assert sum(row.paid for row in office.ledger.runs()) == 1
        assert {row.drawing for row in office.ledger.runs()} == {1}
    return frames


KINDS = ("plain", "greedy")


@pytest.mark.parametrize("kind", KINDS)
def test_a_series_that_is_not_cut(tmp_path: Path, kind: str) -> None:
    assert check_series(tmp_path, Wire(), 1, kind) > 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 2])
def test_a_run_that_is_cut_at_some_frames(tmp_path: Path, at: int, kind: str) -> None:
    for number in (1, 5, 6, 7, 9, 13):
        wire = Wire(frames=number, lost=bool(number % 2))
        check_series(tmp_path / str(number), wire, at, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_run_that_is_cut_at_every_frame(tmp_path: Path, at: int, kind: str) -> None:
    frames = check_series(tmp_path / "whole", Wire(), at, kind) + 2
    for number in range(frames):
        for lost in (False, True):
            check_series(tmp_path / f"{number} {lost}", Wire(frames=number, lost=lost), at, kind)
        for side in Side:
            check_series(tmp_path / f"{number} {side.value}", Wire(to={side: number // 2}), at, kind)


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
