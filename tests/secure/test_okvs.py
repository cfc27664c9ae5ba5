"""Stores and cuckoo tables: what goes in comes out, a store looks random, and proofs of their sizes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import NoTableError
from accord.secure.okvs import cuckoo, sizes
from accord.secure.okvs.cuckoo import place, table_bins
from accord.secure.okvs.peeling import core, peel
from accord.secure.okvs.rows import RowHash, Rows
from accord.secure.okvs.sizes import MOST, PART, Shape, most_points, store_shape
from accord.secure.okvs.store import Encoder, Layout, spread
from accord.secure.okvs.tables import read_table, write_table
from tests.secure.failure import dense_matrix, expected, expected_exactly, rank

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
SEED = bytes(range(16))
CHI = {47: 108.2, 239: 357.7}
"""By degrees of freedom, what χ² exceeds with probability 1e-6: every false alarm here."""


def random_words(count: int, width: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(0, 1 << 64, (count, width), dtype=np.uint64)


def surprise(counts: NDArray[np.int64]) -> float:
    """χ² of counts that should all be alike."""
    mean = counts.sum() / len(counts)
    return float(((counts - mean) ** 2 / mean).sum())


# -- rows ----------------------------------------------------------------------------------------------------


def test_rows_and_parts_are_uniform_and_independent() -> None:
    """The 60 ordered choices of three of five cells with two bits; and seven parts with six cells each."""
    hashing = RowHash(SEED)
    rows = hashing.rows(random_words(24_000, 2), 5, 2)
    number = rows.cells @ np.array([25, 5, 1]) * 4 + rows.dense.astype(np.int64)
    _, counts = np.unique(number, return_counts=True)
    assert len(counts) == 240
    assert surprise(counts) < CHI[239]
    points = random_words(48_000, 2, 1)
    parts, cells = hashing.parts(points, 8), hashing.rows(points, 6, 40).cells
    few = slice(16_380, 16_390)
    assert (parts[few] == hashing.parts(points[few], 8)).all(), "wherever they are hashed"
    assert (cells[few] == hashing.rows(points[few], 6, 40).cells).all()
    pairs = 6 * parts.astype(np.int64) + cells[:, 0]
    assert surprise(np.bincount(pairs, minlength=48)) < CHI[47]


# -- one part ------------------------------------------------------------------------------------------------


def random_rows(count: int, sparse: int, dense: int, seed: int) -> Rows:
    return RowHash(bytes(16)).rows(random_words(count, 2, seed), sparse, dense)


def written(rows: Rows, sparse: int, dense: int, values: Words) -> Words:
    return write_table(
        rows, sparse, dense, values, random_words(sparse + dense - len(values), values.shape[1], 1)
    )


def read(matrix: NDArray[np.uint8], table: Words) -> Words:
    """By the definition."""
    return np.bitwise_xor.reduce(np.where(matrix[:, :, None], table[None], np.uint64(0)), axis=1)


@given(
    count=st.integers(0, 40),
    sparse=st.integers(3, 60),
    dense=st.integers(1, 40),
    width=st.integers(1, 4),
    seed=st.integers(0, 1 << 32),
)
def test_what_is_written_is_read_or_the_rows_are_dependent(
    count: int, sparse: int, dense: int, width: int, seed: int
) -> None:
    """With cores of all sizes, and rows that do not fit at all."""
    assume(count <= sparse + dense)
    rows, values = random_rows(count, sparse, dense, seed), random_words(count, width, seed)
    given_values, matrix = values.copy(), dense_matrix(rows, sparse, dense)
    if rank(matrix) < count:
        with pytest.raises(NoTableError):
            written(rows, sparse, dense, values)
        return
    table = written(rows, sparse, dense, values)
    assert (read(matrix, table) == given_values).all()
    assert (read_table(rows, sparse, table) == values).all()


@pytest.mark.parametrize("width", [1, 3, 64])
def test_a_giant_core_and_values_of_any_width(width: int) -> None:
    """Under the threshold most rows are left to elimination, above it next to none."""
    for sparse, giant in ((1_100, True), (1_500, False)):
        rows, values = random_rows(1_000, sparse, 40, 2), random_words(1_000, width)
        assert (len(core(peel(rows.cells, sparse), 1_000)) > 500) == giant
        table = written(rows, sparse, 40, values)
        assert (read_table(rows, sparse, table) == values).all()
        column = np.ascontiguousarray(values[:, -1:])
        free = random_words(sparse + 40 - 1_000, width, 1)[:, -1:]
        alone = write_table(rows, sparse, 40, column, np.ascontiguousarray(free))
        assert (alone == table[:, -1:]).all(), "a wide value is several narrow ones"


@given(count=st.integers(1, 30), spare=st.integers(0, 10), seed=st.integers(0, 1 << 32))
def test_the_table_is_a_bijective_image(count: int, spare: int, seed: int) -> None:
    """So that uniform values and uniform free cells make it uniform: all unit vectors, one a bit."""
    sparse, dense = max(3, count + spare), 20
    cells, rows = sparse + dense, random_rows(count, sparse, dense, seed)
    assume(rank(dense_matrix(rows, sparse, dense)) == count)
    bits = np.eye(cells, 64, dtype=np.uint64)
    units = (bits << np.arange(64, dtype=np.uint64)).sum(axis=1, keepdims=True, dtype=np.uint64)
    table = write_table(rows, sparse, dense, units[:count], units[count:])
    image = (table >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert rank(image[:, :cells].astype(np.uint8)) == cells


# -- stores --------------------------------------------------------------------------------------------------


def stored(shape: Shape, points: Words, values: Words, seed: int = 0) -> Words:
    """The store of these values under these points: (parts, cells, words)."""
    encoder, entropy, parts = Encoder(shape, SEED, points), Seeded(seed), []
    for part in range(shape.parts):
        free = encoder.draw(part, values.shape[1], entropy)
        parts.append(encoder.encode_part(part, values.take(encoder.places(part), axis=0), free))
    return np.stack(parts)


def looked_up(shape: Shape, store: Words, points: Words) -> Words:
    """What a store has for these points."""
    layout, values = Layout(shape, SEED, points), np.empty((len(points), store.shape[2]), np.uint64)
    for part in range(shape.parts):
        spread(layout.decode_part(part, store[part]), layout.places(part), values)
    return values


@pytest.mark.parametrize(
    ("count", "part", "width"),
    [(0, PART, 1), (1, PART, 7), (101, 20, 2), (1_001, 1_000, 2), (3_000, 1_000, 61), (PART + 1, PART, 2)],
)
def test_stores_of_any_size(count: int, part: int, width: int) -> None:
    """In whatever order the parts are written, as long as they are drawn for in order."""
    shape, points, values = store_shape(count, part), random_words(count, 2), random_words(count, width, 1)
    assert shape.parts == max(1, -(-count // part))
    store = stored(shape, points, values)
    assert store.shape == (shape.parts, shape.cells, width)
    assert (looked_up(shape, store, points) == values).all()
    entropy, encoder = Seeded(0), Encoder(shape, SEED, points)
    free = [encoder.draw(number, width, entropy) for number in range(shape.parts)]
    for number in reversed(range(shape.parts)):
        own = values[encoder.places(number)]
        table = encoder.encode_part(number, own, free[number])
        assert (table == store[number]).all()
        assert (encoder.decode_part(number, table) == own).all()


def test_others_may_read_more_points_and_the_store_may_have_fewer() -> None:
    """Points that the store was not made of read something else for each. Reading is linear."""
    shape, points, values = store_shape(500, 100), random_words(300, 2), random_words(300, 2, 1)
    store = stored(shape, points, values)
    assert store.shape == (shape.parts, shape.cells, 2)
    more = np.concatenate([random_words(4_000, 2, 9), points[:50], points[:50]])
    found = looked_up(shape, store, more)
    assert (found[4_000:] == np.tile(values[:50], (2, 1))).all()
    assert len(np.unique(found[:4_000, 0])) == 4_000
    assert len(looked_up(shape, store, points[:0])) == 0
    other = random_words(shape.total, 2, 3).reshape(store.shape)
    assert (looked_up(shape, store ^ other, more) == found ^ looked_up(shape, other, more)).all()


def test_which_cells_are_free_is_not_seen() -> None:
    """The lowest bits of every cell and of two, for one place over 2,000 stores: each count is within 7.2
    deviations of its mean, false alarm 1e-6 for the thousand pairs together."""
    shape, points, trials = store_shape(5), random_words(5, 2), 2_000
    encoder, entropy = Encoder(shape, SEED, points), Seeded(5)
    tables = np.stack(
        [
            encoder.encode_part(0, random_words(5, 1, 10_000 + trial), encoder.draw(0, 1, entropy))[:, 0]
            for trial in range(trials)
        ]
    )
    bits = (tables & np.uint64(1)).astype(np.int64)
    both = bits.T @ bits
    assert np.abs(np.diag(both) - trials / 2).max() < 7.2 * (trials / 4) ** 0.5
    pairs = both[np.triu_indices(shape.cells, 1)]
    assert np.abs(pairs - trials / 4).max() < 7.2 * (trials * 3 / 16) ** 0.5


def test_too_many_points_and_dependent_rows_end_the_run() -> None:
    """Three rows of the same three cells have one dense cell to tell them apart."""
    shape = store_shape(1_000, 100)
    tight = Shape(1_000, shape.parts, 100, shape.sparse, shape.dense)
    with pytest.raises(NoTableError):
        Encoder(tight, SEED, random_words(1_000, 2))
    assert Layout(tight, SEED, random_words(1_000, 2)).count(0) > 0
    with pytest.raises(NoTableError):
        stored(Shape(3, 1, 3, 3, 1), random_words(3, 2), random_words(3, 2))


def test_arguments_that_no_store_has_are_refused() -> None:
    """Among them equal points, whether their values are equal or not."""
    shape, points, values = store_shape(10), random_words(10, 2), random_words(10, 2)
    encoder = Encoder(shape, SEED, points)
    free, store = encoder.draw(0, 2, Seeded(0)), stored(shape, points, values)
    twice = np.concatenate([points[:9], points[:1]])
    for refused in (
        lambda: Encoder(store_shape(9), SEED, points),
        lambda: encoder.encode_part(0, values[1:], free),
        lambda: encoder.encode_part(0, values, free[1:]),
        lambda: encoder.decode_part(0, values),
        lambda: Layout(shape, SEED, points[:, :1]),
        lambda: looked_up(shape, store[:, 1:], points),
        lambda: stored(shape, twice, values),
        lambda: stored(shape, twice, np.concatenate([values[:9], values[:1]])),
        lambda: RowHash(bytes(15)),
        lambda: Shape(1, 0, 1, 4, 40),
        lambda: Shape(1, 1, 1, 2, 40),
        lambda: Shape(1, 1, 1, 4, 41),
        lambda: Shape(1, 1, 1 << 20, 4, 40),
        lambda: store_shape(-1),
        lambda: store_shape(MOST + 1),
        lambda: table_bins(-1),
        lambda: table_bins(cuckoo.MOST + 1),
    ):
        with pytest.raises(ValueError):
            refused()


# -- proofs of sizes -----------------------------------------------------------------------------------------

LARGEST = 70_000
"""Points of a part."""
SOME = [*range(1, 3_001), *(int(1.37**k) for k in range(26, 59)), PART - 1, PART, PART + 1, MOST]


def sparse_cells(bound: int) -> int:
    return max(4, (5 * bound + 3) // 4)


def test_the_expected_number_of_dependent_sets() -> None:
    """In floats as exactly; fewer with more cells; and for the rows of small parts at most 3/4."""
    for rows in [*range(2, 40), 75, 150]:
        exact = float(expected_exactly(rows, sparse_cells(rows)))
        assert exact <= expected(rows, sparse_cells(rows)) <= exact * (1 + 1 / rows)
    for rows in (2, 3, 7, 20):
        found = [expected_exactly(rows, cells) for cells in range(4, 40)]
        assert all(after < before for before, after in pairwise(found))
    for rows in range(1, 201):
        assert expected_exactly(rows, store_shape(rows).sparse) <= Fraction(3, 4)


def test_rows_of_larger_parts_are_independent() -> None:
    """E grows with the rows and shrinks with the cells: the most rows of a stretch with the fewest cells.

    Parts of every store are among these: for as many parts the bound grows with the points.
    """
    first = 201
    while first <= LARGEST:
        last = int(first * 1.03)
        most = expected(last, sparse_cells(first))
        assert most <= (6e-5 if first > 1 << 15 else 0.02)
        first = min(last, 1 << 15) + 1 if first <= 1 << 15 else last + 1
    for parts in range(2, -(-MOST // PART) + 1):
        assert most_points((parts - 1) * PART + 1, parts) > 1 << 15
        assert most_points(min(MOST, parts * PART), parts) <= LARGEST
    assert parts * 6e-5 < 0.5


def test_parts_do_not_overflow_and_a_store_fails_less_than_once_in_2_to_the_40() -> None:
    """By Bernstein, and by the binomial distribution itself."""
    from scipy.stats import binom

    for points in (PART + 1, 2 * PART, 300_000, 10**6, 2 * 10**7, MOST):
        shape = store_shape(points)
        t = shape.bound + 1 - points / shape.parts
        variance = points / shape.parts * (1 - 1 / shape.parts)
        assert shape.parts * math.exp(-t * t / (2 * (variance + t / 3))) <= 2.0**-41
        assert shape.parts * binom.sf(shape.bound, points, 1 / shape.parts) <= 2.0**-41
    for points in SOME[::7] + SOME[-40:]:
        shape = store_shape(points)
        overflow = 0 if shape.parts == 1 else 2.0**-41
        dependent = shape.parts * 2.0**-shape.dense * expected(shape.bound, shape.sparse)
        assert (1 + 2.0**-18) * (overflow + dependent) < 2.0**-40


def test_expansion() -> None:
    """At most 1.3 from 840 points on; the least points of as many parts have the most cells each."""
    borders = (parts * PART + 1 for parts in range(1, MOST // PART))
    for points in [*range(840, 3_000), *borders, *SOME[3_000:]]:
        assert store_shape(points).total <= 1.3 * points
    assert sizes.DENSE == 40


# -- cuckoo tables -------------------------------------------------------------------------------------------

_X = np.linspace(0.01, 12, 1200)


def log_factorials(numbers: Floats) -> Floats:
    """Stirling with its first terms, from above; exact below twenty."""
    small = np.array([math.lgamma(x + 1) for x in range(20)])
    x = np.maximum(numbers, 1.0)
    large = x * np.log(x) - x + np.log(2 * np.pi * x) / 2 + 1 / (12 * x)
    return np.where(numbers < 20, small[np.minimum(numbers, 19).astype(int)], large)


def log_choose(n: float, k: Floats) -> Floats:
    """Of a binomial coefficient, from above but for a part in 10⁴ of a bit."""
    return math.lgamma(n + 1) - log_factorials(k) - log_factorials(n - k) + 1e-4


def expected_sets(queries: int, bins: int) -> float:
    """log₂ of a bound on the expected number of sets of queries with too few bins (head of cuckoo.py)."""
    last = min(queries, bins + 1)
    every = np.arange(4, min(last, 1_000) + 1, dtype=np.float64)
    if last > 1_000:
        # Between two of these the terms change by less than a few bits; they are far below 2⁻⁴⁰ there.
        every = np.unique(np.concatenate([every, np.linspace(1_000, last, 1_000).round()]))
    if not len(every):
        return -math.inf
    triples = math.log(bins) + math.log(bins - 1) + math.log(bins - 2)
    both = log_choose(queries, every) + log_choose(bins, every - 1)
    less = every - 1
    within = every * (np.log(less) + np.log(less - 1) + np.log(less - 2) - triples)
    ways = np.log(np.expm1(_X) - _X)
    twice = np.min((every[:, None] - 1) * ways - 3 * every[:, None] * np.log(_X), axis=1)
    twice += log_factorials(3 * every) - every * triples
    terms = both + np.minimum(within, twice) + np.log(np.append(np.diff(every), 1.0))
    top = terms.max()
    return float((top + math.log(np.exp(terms - top).sum())) / math.log(2))


def test_the_proof_of_the_size_of_a_cuckoo_table() -> None:
    """Below 2⁻⁴¹ at small sizes one by one, and at large ones, where it falls with the fifth power of n."""
    tried = [*range(1, 400, 3), *(2**k for k in range(9, 27)), *(3 * 2**k for k in range(8, 25)), cuckoo.MOST]
    found = [expected_sets(queries, table_bins(queries)) for queries in tried]
    assert max(found) < -41
    assert all(x < -44 for queries, x in zip(tried, found, strict=True) if queries >= 500)


@pytest.mark.parametrize("queries", [0, 1, 3, 400, 200_000])
def test_every_query_has_a_bin_of_its_own(queries: int) -> None:
    """The last near the usual load, which is 0.77."""
    bins = table_bins(queries)
    choices = RowHash(SEED).rows(random_words(queries, 2, 1), bins, 40).cells
    number = place(choices, bins)
    assert len(np.unique(choices[np.arange(queries), number])) == queries


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=7))
def test_a_place_is_found_whenever_there_is_one(chosen: list[list[int]]) -> None:
    """Against a search through all assignments."""
    choices = np.array([row[:3] for row in chosen], np.int32)

    def exists(query: int, taken: frozenset[int]) -> bool:
        if query == len(choices):
            return True
        return any(exists(query + 1, taken | {bin_}) for bin_ in choices[query].tolist() if bin_ not in taken)

    if exists(0, frozenset()):
        number = place(choices, 6)
        assert len(np.unique(choices[np.arange(len(choices)), number])) == len(choices)
    else:
        with pytest.raises(NoTableError):
            place(choices, 6)
