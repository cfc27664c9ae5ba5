"""Sharers of keys, counted by hand and on tables that stand for longer ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Columns, Integers
from accord.protocols.sharing import Sample
from accord.side import Side
from tests.protocols import worlds

BY_KEY, BY_CELL = worlds.routed("x", "square").plan.passes


def sample(x: Sequence[int | None], y: Sequence[int] = (), size: int | None = None) -> Sample:
    """Of a table that stands for one with so many records."""
    present = np.array([value is not None for value in x], np.bool_)
    table: Columns = {
        "x": Integers(np.array([value or 0 for value in x], np.int64), present),
        "y": Integers(np.array(y or [0] * len(x), np.int64), np.ones(len(x), np.bool_)),
    }
    return Sample.of(Side.A, table, len(x), len(x) if size is None else size)


@given(st.lists(st.none() | st.integers(0, 4), max_size=20), st.integers(1, 5))
def test_sharers_are_the_records_of_a_key(values: list[int | None], cap: int) -> None:
    """A record without a key shares none, and counts in no place."""
    made, keys = sample(values), {*values} - {None}
    sharers = made.sharers(BY_KEY)
    counts = [0 if value is None else values.count(value) for value in values]
    assert sharers.counts.tolist() == counts
    assert sharers.over(cap).tolist() == [count > cap for count in counts]
    placed = sum(min(cap, values.count(key)) for key in keys)
    assert sharers.placed(cap) == pytest.approx(placed / sum(map(bool, counts)) if keys else 1)
    covered = [count <= cap for count in counts]
    assert made.covered([(BY_KEY, cap)]) == pytest.approx(sum(covered) / len(covered) if covered else 1)


def test_a_record_is_covered_if_it_is_in_every_pass() -> None:
    made = sample([1, 1, 2, 4, 5, 12], [1, 9, 5, 13, 13, 9])
    # Two share x, and two more a cell.
    assert made.covered([(BY_KEY, 1), (BY_CELL, 1)]) == pytest.approx(2 / 6)
    assert made.covered([(BY_KEY, 2), (BY_CELL, 2)]) == 1


def test_a_longer_table_is_expected_to_cover_less() -> None:
    x = np.random.default_rng(0).integers(0, 16, 40).tolist()
    shares = [sample(x, size=size).covered([(BY_KEY, 4)]) for size in (20, 40, 50)]
    assert shares[0] > shares[1] > shares[2]
    assert sample(x, size=10**6).covered([(BY_KEY, 4)]) == 0
