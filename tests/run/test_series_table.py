"""Tables that a series hardly knows again, and more arrivals than a run has room for: refused until said."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import DataError, FullBatchError, OtherIdsError, SeriesError
from accord.protocols.parts.batches import Known, Look, find_changes
from accord.run.request import SeriesPart
from accord.run.series import OwnSeries, require_plausible
from accord.side import Side
from tests.protocols.parts.test_batches import Table, look, members
from tests.run.faults import Wire
from tests.run.test_series_cuts import go_on, offices, pairs

FIRST: Table = {f"r{i}": (i, i) for i in range(10)}


def judge(
    table: Table, part: SeriesPart, declared: int = 20, due: bool = True, first: Table | None = FIRST
) -> None:
    """What is said of a table after a first one."""
    looks: list[Look] = []
    if first is not None:
        look(looks, first)
    known = Known.of(looks)
    changes = find_changes(known, members(table), declared if due else 0)
    require_plausible(changes, known, part, "people", declared, due)


def test_a_table_that_goes_on_as_expected_passes() -> None:
    half = {name: row for name, row in FIRST.items() if row[0] < 5}
    for table in (FIRST, FIRST | {"s": (1, 1)}, half):
        for due in (True, False):
            judge(table, SeriesPart("monthly"), due=due)


def test_a_part_of_the_table_is_asked_about() -> None:
    """An extract that was cut short: what is gone would not come back."""
    with pytest.raises(OtherIdsError, match="a part of the table"):
        judge({"r1": (1, 1)}, SeriesPart("monthly"))
    judge({"r1": (1, 1)}, SeriesPart("monthly", mostly_new=True))


@pytest.mark.parametrize("due", [True, False])
def test_ids_that_were_numbered_anew_are_asked_about_with_the_numbers(due: bool) -> None:
    table = {f"s{i}": (i, i) for i in range(12)} | {"r1": (1, 1), "r2": (9, 9)}
    with pytest.raises(OtherIdsError) as refused:
        judge(table, SeriesPart("monthly"), due=due)
    assert isinstance(refused.value, SeriesError)
    told = str(refused.value)
    assert "of the 10 records that it knows 1 are as they were, 1 changed and 8 are gone" in told
    assert "12 records are new, where 20 are declared for a run" in told
    assert "Were the ids numbered anew" in told
    assert "Nothing was drawn and nothing was charged" in told
    assert "`mostly_new=True`" in told
    judge(table, SeriesPart("monthly", mostly_new=True), due=due)


def test_more_arrivals_than_declared_wait_only_if_that_is_said() -> None:
    table = FIRST | {f"s{i}": (i, i) for i in range(4)}
    judge(table, SeriesPart("monthly"), declared=4)
    with pytest.raises(FullBatchError) as refused:
        judge(table, SeriesPart("monthly", mostly_new=True), declared=3)
    told = str(refused.value)
    assert "has 4 records that are new or changed, and the agreement declares 3" in told
    assert "With `let_wait=True` 3 of the records take part now and 1 wait" in told
    assert "for those who come now (ε, δ) does not hold" in told
    judge(table, SeriesPart("monthly", let_wait=True), declared=3)
    judge(table, SeriesPart("monthly"), declared=3, due=False)


def test_a_table_that_is_right_though_new_must_fit_all_the_same() -> None:
    table = {f"s{i}": (i, i) for i in range(9)}
    with pytest.raises(OtherIdsError):
        judge(table, SeriesPart("monthly", let_wait=True), declared=3)
    with pytest.raises(FullBatchError):
        judge(table, SeriesPart("monthly", mostly_new=True), declared=3)


def test_the_first_table_fits_or_nothing_begins() -> None:
    with pytest.raises(DataError, match=r"It has 10 records, .* declares 9"):
        judge(FIRST, SeriesPart("monthly", mostly_new=True, let_wait=True), declared=9, first=None)
    judge(FIRST, SeriesPart("monthly"), declared=10, first=None)


@pytest.mark.usefixtures("quick")
def test_nothing_is_drawn_before_the_owner_has_said_so(tmp_path: Path) -> None:
    """Other ids, and one record more than the four that are declared."""
    both = offices(tmp_path)
    own = both[Side.A]
    own.hold({"p": (1, 1), "q": (9, 9)})
    both[Side.B].hold({"u": (1, 2), "v": (5, 5)})
    assert pairs(go_on(both, Wire(), resuming=False)) == {("p", "u")}
    drawn = own.looks
    own.hold({"n1": (5, 6), "n2": (9, 9), "n3": (14, 1), "n4": (14, 9), "n5": (1, 1)})
    for part, error in (
        (SeriesPart("monthly"), OtherIdsError),
        (SeriesPart("monthly", let_wait=True), OtherIdsError),
        (SeriesPart("monthly", mostly_new=True), FullBatchError),
    ):
        own.part = part
        with pytest.raises(error):
            own.ready()
        assert (own.looks, len(own.ledger.runs())) == (drawn, 1)
    found = set()
    for part, waiting in (
        (SeriesPart("monthly", mostly_new=True, let_wait=True), 1),
        (SeriesPart("monthly"), 0),
    ):
        own.part = part
        series = own.ready().standing
        assert isinstance(series, OwnSeries)
        assert series.entered.changes.waiting == waiting
        found |= pairs(go_on(both, Wire(), resuming=False))
    assert found == {("n1", "v"), ("n5", "u")}
