"""Sizes of stores: that they follow from the number of points, and the proof that they are large enough."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from accord.secure.okvs.rows import RowHash
from accord.secure.okvs.sizes import DENSE, MOST, PART, Shape, most_points, store_shape
from tests.secure.okvs.failure import dependent_sets, expected, expected_exactly

LARGEST = 70_000
"""Points of a part."""
SOME = [*range(1, 3_001), *(int(1.37**k) for k in range(26, 59)), PART - 1, PART, PART + 1, MOST]


def sparse_cells(bound: int) -> int:
    return max(4, (5 * bound + 3) // 4)


def test_floats_are_the_formula() -> None:
    for rows in [*range(2, 40), 75, 150]:
        exact = float(expected_exactly(rows, sparse_cells(rows)))
        assert exact <= expected(rows, sparse_cells(rows)) <= exact * (1 + 1 / rows)


@pytest.mark.parametrize("rows", [2, 3, 7, 20])
def test_dependent_sets_get_fewer_with_more_cells(rows: int) -> None:
    found = [expected_exactly(rows, cells) for cells in range(4, 40)]
    assert all(after < before for before, after in pairwise(found))


def test_rows_of_small_parts_are_independent() -> None:
    for rows in range(1, 201):
        assert expected_exactly(rows, store_shape(rows).sparse) <= Fraction(3, 4)


def test_rows_of_larger_parts_are_independent() -> None:
    """E grows with the rows and shrinks with the cells: the most rows of a stretch with the fewest cells."""
    first = 201
    while first <= LARGEST:
        last = int(first * 1.03)
        most = expected(last, sparse_cells(first))
        assert most <= (6e-5 if first > 1 << 15 else 0.02)
        first = min(last, 1 << 15) + 1 if first <= 1 << 15 else last + 1


def test_parts_of_every_store_are_among_these() -> None:
    """For as many parts the bound grows with the points."""
    for parts in range(2, -(-MOST // PART) + 1):
        fewest, most = (parts - 1) * PART + 1, min(MOST, parts * PART)
        assert most_points(fewest, parts) > 1 << 15
        assert most_points(most, parts) <= LARGEST
    assert parts * 6e-5 < 0.5


@pytest.mark.parametrize("points", [PART + 1, 2 * PART, 300_000, 10**6, 2 * 10**7, MOST])
def test_parts_do_not_overflow(points: int) -> None:
    """By Bernstein, and by the binomial distribution itself."""
    shape = store_shape(points)
    t = shape.bound + 1 - points / shape.parts
    variance = points / shape.parts * (1 - 1 / shape.parts)
    assert shape.parts * exp(-t * t / (2 * (variance + t / 3))) <= 2.0**-41
    assert shape.parts * binom.sf(shape.bound, points, 1 / shape.parts) <= 2.0**-41


@pytest.mark.parametrize("points", SOME[::7] + SOME[-40:])
def test_a_store_fails_less_than_once_in_2_to_the_40(points: int) -> None:
    shape = store_shape(points)
    overflow = 0 if shape.parts == 1 else 2.0**-41
    factor = 1 + 2.0**-18
    assert (
        factor * (overflow + shape.parts * 2.0**-shape.dense * expected(shape.bound, shape.sparse)) < 2.0**-40
    )


def test_the_formula_counts_dependent_sets_of_hashed_rows() -> None:
    """The mean over 20,000 sets of rows with three dense cells; five deviations, false alarm 1e-6."""
    trials, rows, sparse, dense = 20_000, 6, 8, 3
    points = np.random.default_rng(1).integers(0, 1 << 64, (trials * rows, 2), dtype=np.uint64)
    hashed = RowHash(b"sixteen bytes 16").rows(points, sparse, dense)
    masks = np.bitwise_or.reduce(np.uint64(1) << hashed.cells.astype(np.uint64), axis=1)
    masks |= hashed.dense << np.uint64(sparse)
    found = dependent_sets(masks.reshape(trials, rows))
    mean = float(expected_exactly(rows, sparse)) / 2**dense
    assert abs(found.mean() - mean) < 5 * found.std() / trials**0.5
    assert (found > 0).mean() < mean


def test_expansion() -> None:
    """At most 1.3 from 840 points on; the least points of as many parts have the most cells each."""
    for points in [
        *range(840, 3_000),
        *(parts * PART + 1 for parts in range(1, MOST // PART)),
        *SOME[3_000:],
    ]:
        assert store_shape(points).total <= 1.3 * points


def test_small_stores_are_padded() -> None:
    assert [store_shape(points).cells for points in (0, 1, 2, 3, 4, 5)] == [44, 44, 44, 44, 45, 47]


@pytest.mark.parametrize(
    ("points", "shape"),
    [
        (1_000, Shape(1_000, 1, 1_000, 1_250, DENSE)),
        (PART, Shape(PART, 1, PART, 81_920, DENSE)),
        (300_000, Shape(300_000, 5, 61_736, 77_170, DENSE)),
        (MOST, Shape(MOST, 1_526, 67_745, 84_682, DENSE)),
    ],
)
def test_sizes_that_both_sides_compute(points: int, shape: Shape) -> None:
    assert store_shape(points) == shape


@pytest.mark.parametrize(
    "sizes", [(1, 0, 1, 4, 40), (1, 1, 1, 2, 40), (1, 1, 1, 4, 41), (1, 1, 1 << 20, 4, 40)]
)
def test_sizes_that_no_store_has_are_refused(sizes: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="sizes"):
        Shape(*sizes)


@pytest.mark.parametrize("points", [-1, MOST + 1])
def test_too_many_points_are_refused(points: int) -> None:
    with pytest.raises(ValueError, match="points"):
        store_shape(points)
