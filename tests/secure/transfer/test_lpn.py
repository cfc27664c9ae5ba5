"""The sparse code against its definition, and the bits that its parameters are worth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.secure.transfer.lpn import REAL, WEIGHT, Code, Parameters
from accord.secure.transfer.permutation import CODE, Permutation
from tests.secure.transfer.hardness import peel, random_code, smallest_share, sparse

Words = NDArray[np.uint64]
SEED = np.array([[3, 1 << 63]], dtype=np.uint64)
FERRET = (10_485_760, 452_000, 1_280)
SMALL = (1_170 << 11, 1 << 17, 1_170)
OURS = (REAL.noisy, REAL.secret, REAL.trees)


def indices(output: int, bits: int, seed: Words) -> list[int]:
    """The ten places of one output, by the definition."""
    numbers = range(3 * output // 2, 3 * output // 2 + 2)
    blocks = np.array([[number, CODE] for number in numbers], dtype=np.uint64) ^ seed
    first = 3 * output % 2
    a, b, c = (int(word) for word in Permutation().apply(blocks, "x").reshape(-1)[first : first + 3])
    whole = [(word >> (1 + bits * place)) % (1 << bits) for word in (a, b, c) for place in range(3)]
    return [*whole, ((a >> 55) + (b >> 55 << 9)) % (1 << bits)]


@pytest.mark.parametrize("parameters", [Parameters(7, 64, 6), Parameters(18, 384, 11)])
def test_each_output_is_the_sum_of_ten_rows(parameters: Parameters) -> None:
    """Also across the chunks in which the code is made."""
    bits, random = parameters.secret_bits, np.random.default_rng(parameters.secret_bits)
    secret = random.integers(0, 1 << 64, (1 << bits, 2), dtype=np.uint64)
    rows = random.integers(0, 1 << 64, (parameters.noisy, 2), dtype=np.uint64)
    found = rows.copy()
    Code(Permutation(), SEED, parameters).add(secret, found)
    tried = random.integers(0, len(rows), 20)
    for place in (0, 1, len(rows) - 1, *tried.tolist()):
        of = indices(place, bits, SEED)
        assert len(of) == WEIGHT
        assert (found[place] == rows[place] ^ np.bitwise_xor.reduce(secret[of], axis=0)).all()


def test_places_are_uniform() -> None:
    """χ² over 128 places, 12,800 indices; false alarm 1e-6."""
    found = np.concatenate([indices(output, 7, SEED) for output in range(1_280)])
    expected = len(found) / 128
    assert ((np.bincount(found, minlength=128) - expected) ** 2 / expected).sum() < 215.6


@pytest.mark.parametrize("sizes", [(19, 1152, 11), (7, 3, 8), (9, 8, 6)])
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
