"""OT extension: q = t ⊕ choice·Δ for every field size, known answers, numbers that never come back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.secure.transfer.extension import TILE, Receiver, Sender, correction_words, padded_count
from accord.secure.transfer.permutation import Permutation
from tests.secure.conftest import Sessions

Words = NDArray[np.uint64]


def extended(receiver: Receiver, sender: Sender, count: int) -> tuple[Words, Words, Words, Words]:
    choices = np.random.default_rng(count).integers(0, 1 << 64, padded_count(count) // 64, dtype=np.uint64)
    corrections = np.empty(correction_words(count, receiver.rate), dtype=np.uint64)
    t = np.concatenate([tile.rows.copy() for tile in receiver.extend(choices, corrections, count)])
    q = np.concatenate(
        [tile.rows.reshape(2, -1, 2).copy() for tile in sender.extend(corrections, count)], axis=1
    )
    assert (q[0] ^ q[1] == sender.delta).all()
    return choices, corrections, t, q[0]


@pytest.mark.parametrize("k", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [1, 128, 129, TILE + 1])
def test_the_rows_differ_by_delta_where_the_receiver_chose_one(
    sessions: Callable[[int], Sessions], k: int, count: int
) -> None:
    a, b = sessions(k)
    choices, corrections, t, q = extended(a.receiver, b.sender, count)
    bits = np.unpackbits(choices.astype("<u8").view(np.uint8), bitorder="little")
    assert (q == np.where(bits[:, None] == 1, t ^ b.sender.delta, t)).all()
    assert len(np.unique(t, axis=0)) == len(t)
    assert corrections.nbytes == padded_count(count) * 128 // k // 8


def test_the_extension_has_known_answers() -> None:
    leaves = np.arange(32 * 16 * 2, dtype=np.uint64).reshape(32, 16, 2) * np.uint64(0x9E3779B97F4A7C15)
    end = Receiver(leaves, 4, Permutation())
    corrections = np.empty(correction_words(256, 32), dtype=np.uint64)
    choices = np.array([1, 2, 3, 4], dtype=np.uint64)
    rows = np.concatenate([tile.rows.copy() for tile in end.extend(choices, corrections, 256)])
    found = hashlib.sha256(rows.astype("<u8").tobytes() + corrections.astype("<u8").tobytes())
    assert found.hexdigest() == "a0ec7c162a86e409fd2719d30542cc5a986f5153c6915cc11da431455b6eb4fb"
