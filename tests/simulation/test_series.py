"""Whole series in memory: they find what was there together, and compare nothing twice."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError, UsageError
from accord.fields.columns import Records
from accord.protocols.binned import Binned
from accord.protocols.parts.batches import (
    Known,
)
from accord.protocols.parts.standing import BatchMeeting
from accord.secure.dual.engine import DualEngine
from accord.secure.ideal import IdealEngine
from accord.secure.ot.engine import OtEngine
from accord.secure.party import run_pair
from accord.side import Side
from accord.simulation.series import SeriesSide, rehearse, rehearse_run
from tests.protocols import worlds
from tests.protocols.parts.test_batches import Table, records
from tests.protocols.test_series import agreement

Ints = NDArray[np.int64]

small = st.dictionaries(
    st.sampled_from([f"r{i}" for i in range(6)]), st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=6
)
several = st.lists(st.tuples(small, small), min_size=1, max_size=5)


def matching(a: Table, b: Table) -> set[tuple[str, str]]:
    """The ids of all pairs that match, by the formula."""
    return {
        (i, j)
        for (i, (x, y)), (j, (u, v)) in product(a.items(), b.items())
        if (x - u) ** 2 + (y - v) ** 2 <= 1
    }


def loaded(series: list[tuple[Table, Table]]) -> list[tuple[Records, Records]]:
    return [(records(a), records(b)) for a, b in series]


@given(several, st.sampled_from(["neighbours", "replicate"]), st.booleans(), st.integers(0, 9))
def test_a_series_finds_all_that_was_there_together(
    series: list[tuple[Table, Table]], style: str, greedy: bool, seed: int
) -> None:
    """With room and versions for everything; a pair that two versions make twice is found twice."""
    agreed = agreement({"versions": 5}, style=style, greedy=greedy)
    found = [run.pairs() for run in rehearse(agreed, loaded(series), Seeded(seed))]
    assert set().union(*found) == set().union(*(matching(a, b) for a, b in series))
    for pairs, (a, b) in zip(found, series, strict=True):
        assert pairs <= matching(a, b), "what is gone is not found"


@given(several, st.booleans(), st.integers(0, 9))
def test_with_one_version_only_what_never_changed_is_found(
    series: list[tuple[Table, Table]], greedy: bool, seed: int
) -> None:
    runs = rehearse(agreement(greedy=greedy), loaded(series), Seeded(seed))
    found = [run.pairs() for run in runs]
    expected: set[tuple[str, str]] = set()
    lives = [FirstVersions(), FirstVersions()]
    for number, both in enumerate(series):
        a, b = (life.next(table) for life, table in zip(lives, both, strict=True))
        now = matching(a, b) - expected
        assert found[number] == now
        expected |= now


class FirstVersions:
    """The records of one side that are still what they were when they came."""

    def __init__(self) -> None:
        self._live: Table = {}
        self._had: set[str] = set()

    def next(self, table: Table) -> Table:
        stayed = {name: value for name, value in self._live.items() if table.get(name) == value}
        self._live = stayed | {name: value for name, value in table.items() if name not in self._had}
        self._had |= set(table)
        return self._live


@given(several, st.integers(0, 9))
def test_a_run_compares_its_batch_and_nothing_twice(series: list[tuple[Table, Table]], seed: int) -> None:
    agreed = agreement()
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    left, right = agreed.plan.pairs()
    for number, both in enumerate(loaded(series)):
        run = rehearse_run(sides, both, number, Seeded(f"{seed} {number}"), IdealEngine())
        a, b = (Known.of(side.looks).counts for side in sides)
        new = sum(int(a[number][left] @ b[s][right]) for s in range(number + 1))
        old = sum(int(a[s][left] @ b[number][right]) for s in range(number))
        assert run.comparisons == new + old


def test_passes_and_a_real_engine_find_the_same() -> None:
    tables = [
        ({"p": (1, 1), "q": (9, 9)}, {"u": (1, 2)}),
        ({"q": (9, 9), "r": (1, 2)}, {"u": (1, 2), "v": (9, 8)}),
    ]
    agreed = agreement(blocking=worlds.passes("grid", "around"), closure="candidates")
    for engine in (IdealEngine(), OtEngine(), DualEngine()):
        found = [run.pairs() for run in rehearse(agreed, loaded(tables), Seeded(3), engine)]
        assert found == [{("p", "u")}, {("r", "u"), ("q", "v")}]


def test_with_greedy_what_is_known_is_not_compared_again() -> None:
    """A record that was disclosed has no slot any more; its new matches are found in the clear."""
    agreed = agreement(greedy=True)
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    a, b = {"p": (1, 1)}, {"u": (1, 2)}
    assert rehearse_run(sides, (records(a), records(b)), 0, Seeded(1), IdealEngine()).pairs() == {("p", "u")}
    assert [int(side.shown.removed[0].sum()) for side in sides] == [1, 1]
    run = rehearse_run(sides, (records(a | {"q": (1, 3)}), records(b)), 1, Seeded(2), IdealEngine())
    assert run.pairs() == {("q", "u")}
    assert [len(side.shown.own) for side in sides] == [2, 1]


def test_with_greedy_a_disclosed_record_that_is_gone_is_matched_no_more() -> None:
    agreed = agreement(greedy=True)
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    rehearse_run(sides, (records({"p": (1, 1)}), records({"u": (1, 2)})), 0, Seeded(1), IdealEngine())
    for number, table in enumerate(({"q": (1, 2)}, {"q": (1, 2), "r": (1, 1)}), 1):
        empty = records({"w": (15, 15)})
        run = rehearse_run(sides, (records(table), empty), number, Seeded(number), IdealEngine())
        assert run.pairs() == set(), "u is gone, though A knows it"
    assert [len(side.shown.own) for side in sides] == [0, 0]
    assert [len(side.shown.partner) for side in sides] == [0, 0]
    assert int(sides[1].shown.removed[0].sum()) == 1, "its slots stay removed"


def test_what_was_released_once_stays_as_it_was() -> None:
    """Counts of a batch are the same in every later run, whatever became of its records."""
    agreed = agreement()
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    full, empty = {f"r{i}": (i, i) for i in range(8)}, dict[str, tuple[int, int]]()
    rehearse_run(sides, (records(full), records(full)), 0, Seeded(1), IdealEngine())
    before = sides[0].counts
    run = rehearse_run(sides, (records(empty), records(full)), 1, Seeded(2), IdealEngine())
    assert sides[0].counts[: len(before)].tolist() == before.tolist()
    assert (run.pairs(), len(run.changes[0].gone)) == (set(), 8)


def test_a_partner_that_shows_other_counts_than_before_is_refused() -> None:
    agreed = agreement()
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    tables = records({"p": (1, 1)}), records({"u": (1, 2)})
    rehearse_run(sides, tables, 0, Seeded(1), IdealEngine())
    (first,) = sides[1].looks
    assert first.batch is not None
    old = sides[0].counts, sides[1].counts
    # B draws anew what it had released.
    first.batch.counts[0] += 1
    with pytest.raises(PeerError, match="other bin counts for a batch"):
        run_with(sides, tables, old)


def test_a_partner_whose_batch_is_larger_than_declared_is_refused() -> None:
    agreed = agreement()
    sides = SeriesSide(agreed, Side.A), SeriesSide(agreed, Side.B)
    tables = records({"p": (1, 1)}), records({"u": (1, 2)})
    most = agreed.protocol.padding(agreed.task, Side.B, 20)
    noise = np.zeros(agreed.plan.bins, np.int64)
    noise[0] = most.bin + 21
    with pytest.raises(PeerError, match="no table of its size can have"):
        run_with(sides, tables, (noise[:0], noise[:0]), (None, noise), checked=True)


def run_with(
    sides: tuple[SeriesSide, SeriesSide],
    tables: tuple[Records, Records],
    old: tuple[Ints, Ints],
    noise: tuple[Ints | None, Ints | None] = (None, None),
    checked: bool = False,
) -> None:
    """The next run, of two sides that remember these counts of each other."""
    agreed = sides[0].agreement
    options, series = agreed.protocol, agreed.series
    assert isinstance(options, Binned)
    assert series is not None
    number = len(sides[0].looks)
    meeting, engine = BatchMeeting((number, number), (number + 1, number + 1)), IdealEngine()
    parties = []
    for place, (side, table) in enumerate(zip(sides, tables, strict=True)):
        mine, entered = side.take_part(table, number + 1, Seeded(place), noise[place])
        if checked:
            padding = options.padding(agreed.task, side.side.other, 20)
            mine = replace(mine, padding=padding)
        mine = replace(mine, standing=entered.standing(meeting, old[1 - place], side.shown))
        parties.append(options.party(agreed.task, mine, engine))
    run_pair(parties[0], parties[1])


def test_a_series_must_be_declared() -> None:
    with pytest.raises(UsageError, match="declares no series"):
        rehearse(worlds.agreement(greedy=False), [(records({}), records({}))], Seeded(1))
