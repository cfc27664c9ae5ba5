"""The sparse code against its definition, and the bits that its parameters are worth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.secure.transfer.lpn import REAL, WEIGHT, Parameters, encode
from accord.secure.transfer.permutation import CODE, Permutation
from tests.secure.transfer.hardness import peel, random_code, smallest_share, sparse

Words = NDArray[np.uint64]
SEED = np.array([[3, 1 << 63]], dtype=np.uint64)
FERRET = (10_485_760, 452_000, 1_280)
SMALL = (1_170 << 11, 1 << 17, 1_170)
OURS = (REAL.noisy, REAL.secret, REAL.trees)


def indices(output: int, bits: int, seed: Words) -> list[int]:
    """The ten places of one output, by the definition."""
    blocks = np.array([[2 * output, CODE], [2 * output + 1, CODE]], dtype=np.uint64) ^ seed
    a, b, c, d = (int(word) for word in Permutation().apply(blocks, "x").reshape(-1))
    cut = ((a, 0), (a, 1), (a, 2), (b, 0), (b, 1), (c, 0), (c, 1), (c, 2), (d, 0), (d, 1))
    return [(word >> (1 + bits * place)) % (1 << bits) for word, place in cut]


@pytest.mark.parametrize(("bits", "number"), [(7, 0), (18, 5), (21, 1 << 40)])
def test_each_output_is_the_sum_of_ten_rows(bits: int, number: int) -> None:
    random = np.random.default_rng(bits)
    secret = random.integers(0, 1 << 64, (1 << bits, 2), dtype=np.uint64)
    rows = random.integers(0, 1 << 64, (20, 2), dtype=np.uint64)
    found = rows.copy()
    encode(Permutation(), secret, SEED, number, found)
    for place, row in enumerate(rows):
        of = indices(number + place, bits, SEED)
        assert len(of) == WEIGHT
        assert (found[place] == row ^ np.bitwise_xor.reduce(secret[of], axis=0)).all()


def test_a_long_code_is_its_parts() -> None:
    secret = np.arange(256, dtype=np.uint64).reshape(128, 2)
    whole, parts = np.zeros((10_000, 2), dtype=np.uint64), np.zeros((10_000, 2), dtype=np.uint64)
    encode(Permutation(), secret, SEED, 7, whole)
    for first in range(0, 10_000, 1_000):
        encode(Permutation(), secret, SEED, 7 + first, parts[first : first + 1_000])
    assert (whole == parts).all()


def test_places_are_uniform() -> None:
    """χ² over 128 places, 12,800 indices; false alarm 1e-6."""
    found = np.concatenate([indices(output, 7, SEED) for output in range(1_280)])
    expected = len(found) / 128
    assert ((np.bincount(found, minlength=128) - expected) ** 2 / expected).sum() < 215.6


@pytest.mark.parametrize("sizes", [(22, 1152, 11), (7, 3, 8), (9, 8, 6)])
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="sizes"):
        Parameters(*sizes)


def test_the_formulas_give_the_known_strength_of_a_known_set() -> None:
    """Ferret's parameters in emp-ot were chosen for 128 bits by the same formulas."""
    bits = random_code(*FERRET)
    assert min(bits.values()) == pytest.approx(129.2, abs=0.1)
    assert bits["gauss"] == pytest.approx(133.7, abs=0.1)
    assert bits["algebraic"] == pytest.approx(139.7, abs=0.1)


@pytest.mark.parametrize(("sizes", "bits"), [(FERRET, 129), (SMALL, 135), (OURS, 231)])
def test_bits_of_a_random_code(sizes: tuple[int, int, int], bits: int) -> None:
    assert round(min(random_code(*sizes).values())) == bits


@pytest.mark.parametrize(("sizes", "peeled", "floor"), [(FERRET, 86, 82), (SMALL, 89, 85), (OURS, 155, 147)])
def test_bits_of_a_sparse_code(sizes: tuple[int, int, int], peeled: int, floor: int) -> None:
    n, k, t = sizes
    share = peel(2_048, n / k, WEIGHT, np.random.default_rng(0))
    least = smallest_share(n / k, WEIGHT)
    assert least < share < (k / n) ** (1 / (WEIGHT - 1))
    assert min(sparse(k, share, t / n, WEIGHT).values()) == pytest.approx(peeled, abs=1)
    assert round(min(sparse(k, least, t / n, WEIGHT).values())) == floor


def test_our_set_keeps_128_bits_where_the_attacker_is_given_most() -> None:
    """The smallest part that can exist, found for nothing, and lists as they cannot be had."""
    least = smallest_share(REAL.noisy / REAL.secret, WEIGHT)
    assert min(sparse(REAL.secret, least, 2.0**-REAL.depth, WEIGHT, free=True).values()) > 135
