"""Rows against their definition, and that they are spread evenly."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy.stats import chi2

from accord.secure.okvs.rows import RowHash, by_part

SEED = bytes(range(16))


def random_points(count: int, seed: int = 0) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, (count, 2), dtype=np.uint64)


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def defined(point: NDArray[np.uint64], parts: int, sparse: int, dense: int) -> tuple[int, list[int], int]:
    """Part, cells and dense bits of a point: the cells by a list of those that are left."""
    block = b"".join(int(word).to_bytes(8, "little") for word in point)
    keys = [aes(SEED, number.to_bytes(16, "little")) for number in range(3)]
    part, one, two = (aes(key, block) for key in keys)
    w = [int.from_bytes(some[i : i + 8], "little") for some in (one, two) for i in (0, 8)]
    left = list(range(sparse))
    cells = [left.pop(w[place] % len(left)) for place in range(3)]
    return int.from_bytes(part[:8], "little") % parts, cells, w[3] >> (64 - dense)


@pytest.mark.parametrize(("sparse", "dense"), [(3, 1), (4, 40), (7, 13), (81_920, 40)])
def test_rows_are_those_of_the_definition(sparse: int, dense: int) -> None:
    points, hashing = random_points(40), RowHash(SEED)
    rows, parts = hashing.rows(points, sparse, dense), hashing.parts(points, 9)
    for number, point in enumerate(points):
        part, cells, bits = defined(point, 9, sparse, dense)
        assert (parts[number], rows.cells[number].tolist(), rows.dense[number]) == (part, cells, bits)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """Nor on the chunks in which they are hashed."""
    points, hashing = random_points(40_000), RowHash(SEED)
    rows, parts = hashing.rows(points, 50_000, 40), hashing.parts(points, 5)
    for some in (slice(0, 1), slice(16_383, 16_385), slice(39_000, 40_000)):
        alone = hashing.rows(points[some], 50_000, 40)
        assert (alone.cells == rows.cells[some]).all()
        assert (alone.dense == rows.dense[some]).all()
        assert (hashing.parts(points[some], 5) == parts[some]).all()


def test_another_seed_gives_other_rows() -> None:
    points = random_points(100)
    one, two = (RowHash(seed).rows(points, 1_000, 40) for seed in (SEED, bytes(16)))
    assert (one.dense != two.dense).all()


def test_rows_are_uniform() -> None:
    """χ² over the 60 ordered choices of three of five cells and two bits; false alarm 1e-6."""
    rows = RowHash(SEED).rows(random_points(24_000), 5, 2)
    number = rows.cells @ np.array([25, 5, 1]) * 4 + rows.dense.astype(np.int64)
    _, counts = np.unique(number, return_counts=True)
    assert len(counts) == 240
    assert ((counts - 100) ** 2 / 100).sum() < chi2.isf(1e-6, 239)


def test_parts_are_uniform_and_independent_of_the_rows() -> None:
    """χ² over seven parts and seven cells; false alarm 1e-6."""
    points, hashing = random_points(49_000), RowHash(SEED)
    pairs = 7 * hashing.parts(points, 7).astype(np.int64) + hashing.rows(points, 7, 40).cells[:, 0]
    counts = np.bincount(pairs, minlength=49)
    assert ((counts - 1_000) ** 2 / 1_000).sum() < chi2.isf(1e-6, 48)


@pytest.mark.parametrize("count", [0, 1, 1_000])
def test_points_are_sorted_by_part(count: int) -> None:
    parts = np.random.default_rng(0).integers(0, 5, count).astype(np.uint32)
    order, starts = by_part(parts, 6)
    assert (order == np.argsort(parts, kind="stable")).all()
    assert starts.tolist() == [int((parts < part).sum()) for part in range(7)]


def test_a_seed_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        RowHash(bytes(15))
