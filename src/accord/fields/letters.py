"""Texts as numbers of letters: what edits and mismatches are counted on.

A letter has `bits` bits, the first letter of a text the lowest ones of its row. The invariant: no row has a
letter behind a 0, which is 'no letter'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Bits
from accord.kernel import kernel


def spell(
    starts: NDArray[np.int64], octets: NDArray[np.uint8], alphabet: str, length: int
) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows of some texts, in UTF-8; which texts are too long, and which have letters of no number.

    The row of a text that is either is zero.
    """
    bits, rows = len(alphabet).bit_length(), len(starts) - 1
    words = np.zeros((rows, (length * bits + 63) // 64), np.uint64)
    long, foreign = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    points = np.array([ord(letter) for letter in alphabet], np.uint32)
    _spell(starts, octets, points, length, bits, words, long, foreign)
    words[long | foreign] = 0
    return words, long, foreign


def letters(column: Bits, length: int) -> NDArray[np.int64]:
    """The letters of each row, shape (rows, length)."""
    bits = column.length // length
    return column.unpack().reshape(len(column), length, bits) @ (1 << np.arange(bits))


def are_texts(column: Bits, length: int, alphabet: str) -> bool:
    """Whether every row holds numbers of letters, and none behind a 0."""
    found = letters(column, length)
    gaps = (found[:, 1:] > 0) & (found[:, :-1] == 0)
    return not gaps.any() and int(found.max(initial=0)) <= len(alphabet)


@kernel("void(int64[::1], uint8[::1], uint32[::1], int64, int64, uint64[:, ::1], boolean[::1], boolean[::1])")
def _spell(
    starts: Any, octets: Any, points: Any, length: Any, bits: Any, words: Any, long: Any, foreign: Any
) -> Any:
    for row in range(words.shape[0]):
        at, place = starts[row], 0
        while at < starts[row + 1]:
            lead = octets[at]
            step = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            point = np.uint32(lead & (0x7F if step == 1 else 0xFF >> (step + 1)))
            for j in range(1, step):
                point = (point << np.uint32(6)) | np.uint32(octets[at + j] & 0x3F)
            at += step
            number = 0
            for j in range(points.shape[0]):
                if points[j] == point:
                    number = j + 1
            foreign[row] |= number == 0
            if place == length:
                long[row] = True
                continue
            first = place * bits
            word, low = first >> 6, first & 63
            words[row, word] |= np.uint64(number) << np.uint64(low)
            if low + bits > 64:
                words[row, word + 1] |= np.uint64(number) >> np.uint64(64 - low)
            place += 1
