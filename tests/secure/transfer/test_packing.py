"""Packing: inverse, without waste, and strict about padding."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.transfer.packing import LANES, groups, pack, packed_words, unpack


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("count", [1, 7, 64, 130])
def test_unpacking_gives_back_the_lowest_bits(lane: int, count: int) -> None:
    random = np.random.default_rng(count)
    widths = np.array([lane, 1, lane // 2 + 1, 0, lane - 1], dtype=np.int64)
    size = groups(count, lane) * lane
    values = np.zeros((len(widths), size), dtype=f"u{lane // 8}")
    values[:, :count] = random.integers(0, 1 << min(lane, 63), (len(widths), count), dtype=np.uint64)
    words = np.empty(packed_words(count, lane, widths), dtype=values.dtype)
    pack(values, widths, words)
    back = np.empty_like(values)
    unpack(words, widths, count, back)
    mask = np.array([(1 << int(w)) - 1 for w in widths], dtype=np.uint64).astype(values.dtype)
    assert (back == values & mask[:, None]).all()
    assert words.nbytes == sum(int(w) for w in widths) * groups(count, lane) * lane // 8


def test_the_format_is_fixed() -> None:
    values = np.arange(1, 17, dtype=np.uint8).reshape(1, 16)
    words = np.empty(6, dtype=np.uint8)
    pack(values, np.array([3]), words)
    # Group 0 holds the odd values 1, 3, …, 15 and group 1 the even ones, lowest three bits first.
    strings = [sum((v & 7) << (3 * e) for e, v in enumerate(range(g + 1, 17, 2))) for g in range(2)]
    expected = [strings[g] >> (8 * t) & 255 for t in range(3) for g in range(2)]
    assert words.tolist() == expected


def test_padding_that_is_not_zero_is_refused() -> None:
    widths = np.array([3], dtype=np.int64)
    values = np.zeros((1, 8), dtype=np.uint8)
    values[0, 7] = 1
    words = np.empty(3, dtype=np.uint8)
    pack(values, widths, words)
    unpack(words, widths, 8, values)
    with pytest.raises(PeerError, match="padding"):
        unpack(words, widths, 7, values)


def test_terms_without_a_bit_take_no_room_and_come_back_as_zeros() -> None:
    values = np.arange(3 * 8, dtype=np.uint8).reshape(3, 8)
    widths = np.array([0, 5, 0])
    packed = np.empty(packed_words(8, 8, widths), dtype=np.uint8)
    pack(values, widths, packed)
    found = np.full((3, 8), 7, dtype=np.uint8)
    unpack(packed, widths, 8, found)
    assert (found == [[0] * 8, values[1] & 31, [0] * 8]).all()
