"""What a side feeds into a round: a dummy takes the path of a real record, and leaves nothing on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.fields.columns import rows_of
from accord.protocols import rounds
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.rounds import Rounds
from accord.secure.blocks import Blocks, Table
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from tests.protocols import worlds

ROWS = [(x, y) for x in range(16) for y in range(16)]
DUMMIES = 40


class Looked:
    """Which rows of the table are read, column by column."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows: list[NDArray[np.int64]] = []

        def spy(column: Any, rows: Any) -> Any:
            self.rows.append(np.array(rows))
            return rows_of(column, rows)

        patch.setattr(rounds, "rows_of", spy)


def one_side(dummies: int = DUMMIES) -> tuple[OwnSide, Rounds]:
    agreed = worlds.agreement(greedy=False)
    mine = worlds.side(agreed, Side.A, ROWS, Seeded(3), dummies)
    schedule: Any = None
    comparer: Any = None
    return mine, Rounds(agreed.task, mine, comparer, schedule, mine.stopwatch)


def test_a_dummy_is_read_as_some_record_and_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reading for all slots in their order, as many rows as slots; of dummies, rows that real ones have,
    spread over the table and others each time: neither a cache nor a skipped row tells them apart."""
    mine, made = one_side()
    looked, slots = Looked(monkeypatch), np.arange(len(mine.slots.record))
    record = mine.slots.record
    tables = [made._inputs(slots) for _ in range(2)]
    first, *same = looked.rows[: len(looked.rows) // 2]
    again = looked.rows[-1]
    assert all(np.array_equal(first, other) for other in same), "the columns of a slot are of one record"
    dummy = record < 0
    assert dummy.sum() == DUMMIES * len(mine.slots.counts)
    for rows in (first, again):
        assert np.array_equal(rows[~dummy], record[~dummy])
        assert rows[dummy].min() >= 0
        # Of 640 draws of 256 records nearly all come up; the seed is fixed, so that chance decides nothing.
        assert len(np.unique(rows[dummy])) > 200
        assert np.bincount(rows[dummy]).max() < 16
    assert (first[dummy] != again[dummy]).mean() > 0.9
    for table in tables:
        assert np.array_equal(table.real, ~dummy)
        for values in table.inputs.values():
            assert not values[dummy].any()
            assert values[~dummy].any()
            assert values.dtype == np.int64
            assert values.flags.c_contiguous


def test_decoys_are_drawn_for_real_slots_too() -> None:
    """What is drawn does not depend on how many dummies there are."""
    drawn = []
    for dummies in (0, DUMMIES):
        _, made = one_side(dummies)
        made._inputs(np.arange(100))
        drawn.append(made._decoys.bytes(16))
    assert drawn[0] == drawn[1]


def test_a_table_without_a_record_has_dummies_all_the_same() -> None:
    agreed = worlds.agreement(greedy=False)
    mine = worlds.side(agreed, Side.A, [], Seeded(3), 2)
    nobody: Any = None
    table = Rounds(agreed.task, mine, nobody, nobody, mine.stopwatch)._inputs(np.arange(5))
    assert not table.real.any()
    assert all(values.shape[0] == 5 and not values.any() for values in table.inputs.values())


class Watched(IdealEngine):
    """Notes what it is given of one side."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[Side, Table]] = []

    def evaluate(self, session: Any, circuit: Any, blocks: Blocks, table: Table) -> Any:
        self.given.append((session.side if hasattr(session, "side") else session, table))
        return super().evaluate(session, circuit, blocks, table)


def test_an_engine_is_given_as_many_rows_whatever_they_are() -> None:
    """A real record moved to where a dummy was: rows, shapes and kinds of all inputs are the same."""
    agreed = worlds.agreement(greedy=False)
    shapes = []
    for rows in ([(1, 1), (9, 9)], [(1, 1), (1, 9)]):
        engine = Watched()
        counts = agreed.plan.counts(Side.A, worlds.records(rows, agreed, "A").columns, 2)
        own = worlds.side(agreed, Side.A, rows, Seeded(1), 3 - counts, 1)
        other = worlds.side(agreed, Side.B, [(15, 15)], Seeded(1), 2, 2)
        run_pair(worlds.run(agreed.task, own, engine), worlds.run(agreed.task, other, engine))
        shapes.append(
            [
                (len(table.real), {name: (v.shape, v.dtype, v.strides) for name, v in table.inputs.items()})
                for _, table in engine.given
            ]
        )
    assert shapes[0]
    assert shapes[0] == shapes[1]
