"""From points to rows: which part a point is in, and which of its cells add up to its value.

A point is 128 bits, two little-endian words. Three keys follow from a public seed, kⱼ = AES-128 of j:

    part      the lower word of AES_k₀(x), mod P
    cells     three words of AES_k₁(x) ‖ AES_k₂(x): three of m cells, distinct, in order
    dense     the fourth word's upper g bits: which of the dense cells

The first cell is one of m, the second one of the m − 1 others and the third one of the m − 2 that are left,
so that all choices are equally likely. AES under each key is taken for a random permutation, of which
distinct points are distinct inputs; as many as a store has are told from independent words with advantage
2⁻⁷⁵. Requires: the seed is drawn when the points are fixed, or the points are hashes that nobody could choose
with the seed in view. Who chooses points to go with a seed can make a store fail.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

SEED = 16
"""Bytes."""

_CHUNK = 1 << 14
"""Points that are hashed at once, within the cache."""


class Rows(NamedTuple):
    """One row a point."""

    cells: Annotated[NDArray[np.int32], "int32[:,::1]"]
    dense: Annotated[Words, "uint64[::1]"]
    """Bit j is the j-th dense cell."""


class RowHash:
    """The public hash of one seed. It has no state, so threads may share it."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED:
            raise ValueError(f"a seed has {SEED} bytes")
        numbers = b"".join(number.to_bytes(16, "little") for number in range(3))
        keys = Cipher(algorithms.AES(seed), modes.ECB()).encryptor().update(numbers)
        self._keys = [keys[start : start + 16] for start in (0, 16, 32)]

    def parts(self, points: Words, parts: int) -> NDArray[np.uint32]:
        """The part of each point."""
        found = np.zeros(len(points), dtype=np.uint32)
        for first in range(0, len(points) if parts > 1 else 0, _CHUNK):
            hashed = _encrypt(self._keys[0], points[first : first + _CHUNK])
            found[first : first + _CHUNK] = hashed[:, 0] % np.uint64(parts)
        return found

    def rows(self, points: Words, sparse: int, dense: int) -> Rows:
        """The row of each point in its part."""
        rows = Rows(np.empty((len(points), 3), dtype=np.int32), np.empty(len(points), dtype=np.uint64))
        for first in range(0, len(points), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            one, two = (_encrypt(key, points[chunk]) for key in self._keys[1:])
            _cut(one, two, np.uint64(sparse), np.uint64(64 - dense), rows.cells[chunk], rows.dense[chunk])
        return rows


def by_part(parts: NDArray[np.uint32], count: int) -> tuple[NDArray[np.int32], Ints]:
    """The places of all points, part by part and ascending in each, and where each of the parts starts."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(parts, minlength=count), out=starts[1:])
    order = np.empty(len(parts), dtype=np.int32)
    _deal(parts, starts[:-1].copy(), order)
    return order, starts


def _encrypt(key: bytes, points: Words) -> Words:
    source = np.ascontiguousarray(points, dtype="<u8").reshape(-1)
    # The cipher wants room for one block more than it writes.
    result = np.empty(len(source) + 2, dtype="<u8")
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    cipher.update_into(source.view(np.uint8).data, result.view(np.uint8).data)
    return result[: len(source)].reshape(-1, 2).astype(np.uint64, copy=False)


@kernel("void(uint64[:,::1], uint64[:,::1], uint64, uint64, int32[:,::1], uint64[::1])")
def _cut(
    one: Words, two: Words, sparse: np.uint64, spare: np.uint64, cells: NDArray[np.int32], dense: Words
) -> None:
    """Three distinct cells and the dense bits from the four words of each point."""
    for row in range(one.shape[0]):
        a = np.int32(one[row, 0] % sparse)
        b = np.int32(one[row, 1] % (sparse - np.uint64(1)))
        c = np.int32(two[row, 0] % (sparse - np.uint64(2)))
        # The number of a cell among those that are left: step over what is taken, the lower first.
        b += b >= a
        c += c >= min(a, b)
        c += c >= max(a, b)
        cells[row, 0], cells[row, 1], cells[row, 2] = a, b, c
        dense[row] = two[row, 1] >> spare


@kernel("void(uint32[::1], int64[::1], int32[::1])")
def _deal(parts: NDArray[np.uint32], ends: Ints, order: NDArray[np.int32]) -> None:
    """A counting sort; `ends` is where the next point of each part goes."""
    for place in range(parts.shape[0]):
        part = parts[place]
        order[ends[part]] = place
        ends[part] += 1
