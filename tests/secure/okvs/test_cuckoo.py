"""Cuckoo tables: a bin for each query whenever there is one, and the proof of their size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.errors import NoTableError
from accord.secure.okvs.cuckoo import MOST, place, table_bins
from accord.secure.okvs.rows import RowHash

Floats = NDArray[np.float64]
SEED = bytes(range(16))

_X = np.linspace(0.01, 12, 1200)


def log_factorials(numbers: Floats) -> Floats:
    """Stirling with its first terms, from above; exact below twenty."""
    small = np.array([math.lgamma(x + 1) for x in range(20)])
    x = np.maximum(numbers, 1.0)
    large = x * np.log(x) - x + np.log(2 * np.pi * x) / 2 + 1 / (12 * x)
    return np.where(numbers < 20, small[np.minimum(numbers, 19).astype(int)], large)


def log_choose(n: float, k: Floats) -> Floats:
    """Of a binomial coefficient, from above but for a part in 10⁴ of a bit."""
    whole = math.lgamma(n + 1)
    return whole - log_factorials(k) - log_factorials(n - k) + 1e-4


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
    within = every * (_log_triples(every - 1) - triples)
    ways = np.log(np.expm1(_X) - _X)
    twice = np.min((every[:, None] - 1) * ways - 3 * every[:, None] * np.log(_X), axis=1)
    twice += log_factorials(3 * every) - every * triples
    terms = both + np.minimum(within, twice) + np.log(np.append(np.diff(every), 1.0))
    top = terms.max()
    return float((top + math.log(np.exp(terms - top).sum())) / math.log(2))


def _log_triples(count: Floats) -> Floats:
    """log of count·(count − 1)·(count − 2), ordered triples as those of all bins are."""
    return np.log(count) + np.log(count - 1) + np.log(count - 2)


SIZES = [*range(1, 400, 3), *(2**k for k in range(9, 27)), *(3 * 2**k for k in range(8, 25)), MOST]


def test_the_proof_of_the_size() -> None:
    """Below 2⁻⁴¹ at small sizes one by one, and at large ones, where it falls with the fifth power of n."""
    found = [expected_sets(queries, table_bins(queries)) for queries in SIZES]
    assert max(found) < -41
    assert all(x < -44 for queries, x in zip(SIZES, found, strict=True) if queries >= 500)


def test_the_bound_is_one() -> None:
    """Against trials of tiny tables, whose failures can be counted; 3 standard deviations: one in 700."""
    random = np.random.default_rng(5)
    for queries, bins in ((4, 4), (5, 5), (6, 6), (8, 8)):
        failures, trials = 0, 1_000
        every = random.random((trials, queries, bins)).argsort(axis=2)[:, :, :3].astype(np.int32)
        for choices in every:
            try:
                place(np.ascontiguousarray(choices), bins)
            except NoTableError:
                failures += 1
        limit = 2 ** expected_sets(queries, bins)
        assert failures / trials < limit + 3 * (limit / trials) ** 0.5


@given(st.integers(0, 400), st.integers(0, 10))
def test_every_query_has_a_bin_of_its_own(queries: int, seed: int) -> None:
    bins = table_bins(queries)
    points = np.random.default_rng(seed).integers(0, 1 << 64, (queries, 2), dtype=np.uint64)
    choices = RowHash(SEED).rows(points, bins, 40).cells
    number = place(choices, bins)
    stands = choices[np.arange(queries), number]
    assert len(np.unique(stands)) == queries


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
        with pytest.raises(NoTableError, match="too few bins"):
            place(choices, 6)


def test_sizes_that_no_table_has_are_refused() -> None:
    for queries in (-1, MOST + 1):
        with pytest.raises(ValueError, match="queries"):
            table_bins(queries)


def test_many_queries() -> None:
    """Near the usual load, which is 0.77."""
    queries = 200_000
    points = np.random.default_rng(1).integers(0, 1 << 64, (queries, 2), dtype=np.uint64)
    bins = table_bins(queries)
    choices = RowHash(SEED).rows(points, bins, 40).cells
    number = place(choices, bins)
    assert len(np.unique(choices[np.arange(queries), number])) == queries
