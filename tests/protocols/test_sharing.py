"""Sharers of keys, counted by hand and on tables that stand for longer ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.columns import Columns, Integers
from accord.protocols.sharing import Sample, count_sharers
from accord.rules.blocking.base import PassSpec, build_blocking
from accord.rules.blocking.grid import GridSpec
from accord.rules.blocking.key import KeySpec
from accord.rules.blocking.passes import Pass
from accord.side import Side
from tests.protocols.worlds import agreement

AGREED = agreement()


def by_key() -> Pass:
    spec = PassSpec(parts=(KeySpec(kind="key", field="x"),))
    return build_blocking([spec], AGREED.fields).passes[0]


def by_cell() -> Pass:
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": "4", "style": "replicate", "reach": "1"}
    spec = PassSpec(parts=(GridSpec.model_validate(grid),))
    return build_blocking([spec], AGREED.fields).passes[0]


def columns(x: list[int], y: list[int] | None = None, missing: tuple[int, ...] = ()) -> Columns:
    present = ~np.isin(np.arange(len(x)), missing)
    return {
        "x": Integers(np.array(x, np.int64), present),
        "y": Integers(np.array(y or [0] * len(x), np.int64), np.ones(len(x), np.bool_)),
    }


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(1, 5))
def test_sharers_are_the_records_of_a_key(values: list[int], cap: int) -> None:
    table = columns(values)
    counts = count_sharers(by_key(), Side.A, table, len(values))
    assert counts.tolist() == [values.count(value) for value in values]
    sharers = Sample.of(Side.A, table, len(values), len(values)).sharers(by_key())
    placed = sum(min(cap, values.count(value)) for value in set(values))
    assert sharers.placed(cap) == pytest.approx(placed / len(values))
    assert sharers.over(cap).tolist() == [count > cap for count in counts.tolist()]


def test_a_record_without_a_key_shares_none_and_counts_in_no_place() -> None:
    table = columns([1, 1, 1, 2], missing=(0,))
    sample = Sample.of(Side.A, table, 4, 4)
    assert sample.sharers(by_key()).counts.tolist() == [0, 2, 2, 1]
    assert sample.covered([(by_key(), 1)]) == 0.5
    assert sample.sharers(by_key()).placed(1) == pytest.approx(2 / 3)


@pytest.mark.parametrize("side", Side)
def test_of_several_keys_of_a_record_the_most_common_counts(side: Side) -> None:
    rng = np.random.default_rng(3)
    table = columns(rng.integers(0, 16, 30).tolist(), rng.integers(0, 16, 30).tolist())
    record, cell = by_cell().keys(side, table, 30)
    sizes = Counter(cell.tolist())
    most = [
        max(sizes[c] for r, c in zip(record, cell.tolist(), strict=True) if r == row) for row in range(30)
    ]
    assert count_sharers(by_cell(), side, table, 30).tolist() == most
    assert (len(record) > 30) == (side is Side.B), "only B's records are in several cells"


def test_a_record_is_covered_if_it_is_in_every_pass() -> None:
    table = columns([1, 1, 2, 4, 5, 12], [1, 9, 5, 13, 13, 9])
    sample = Sample.of(Side.A, table, 6, 6)
    assert sample.covered([(by_key(), 1)]) == pytest.approx(4 / 6)
    # Two share x, and two more a cell.
    assert sample.covered([(by_key(), 1), (by_cell(), 1)]) == pytest.approx(2 / 6)
    assert sample.covered([(by_key(), 2), (by_cell(), 2)]) == 1


def test_a_longer_table_is_expected_to_cover_less() -> None:
    rng = np.random.default_rng(0)
    table = columns(rng.integers(0, 16, 40).tolist())
    shares = [Sample.of(Side.A, table, 40, size).covered([(by_key(), 4)]) for size in (20, 40, 50)]
    assert shares[0] > shares[1] > shares[2]
    assert Sample.of(Side.A, table, 40, 10**6).covered([(by_key(), 4)]) == 0


def test_a_table_without_records_has_no_uncovered_ones() -> None:
    sample = Sample.of(Side.A, columns([]), 0, 100)
    assert sample.covered([(by_key(), 1)]) == 1
    assert sample.sharers(by_key()).placed(1) == 1
