"""Lookups: B gets its entry of A's table, for every width, and nothing else fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.ot.lookup import (
    answer,
    ask,
    from_wire,
    open_entries,
    pack_truth,
    patterns,
    question_words,
    table_bytes,
    to_wire,
)
from tests.secure.conftest import Sessions


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("count", [1, 9, 3001])
def test_the_entry_of_the_table_arrives(sessions: Callable[[int], Sessions], bits: int, count: int) -> None:
    a, b = sessions(4)
    random = np.random.default_rng(bits)
    truth = random.random((5, 1 << bits)) < 0.5
    state = random.integers(0, 5, count).astype(np.uint8)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    question = np.empty(question_words(count, bits, 32), dtype=np.uint64)
    masks = ask(b.receiver, index, bits, question)
    tables = answer(a.sender, pack_truth(truth), state, bits, question)
    wire = to_wire(tables, bits)
    assert wire.nbytes == table_bytes(count, bits)
    got = open_entries(from_wire(wire, bits), masks[:count], index)
    assert (got == truth[state, index]).all()
    # With any other index the masks do not fit: the bits are as good as random.
    other = open_entries(from_wire(wire, bits), masks[:count], index ^ np.uint8(1))
    if count > 3000:
        assert 0.4 < (other == truth[state, index ^ 1]).mean() < 0.6


def test_entry_j_is_bit_j() -> None:
    truth = np.zeros((1, 128), dtype=np.bool_)
    truth[0, [0, 5, 64, 127]] = True
    assert pack_truth(truth).tolist() == [[1 | 1 << 5, 1 | 1 << 63]]
    assert patterns(7)[6].tolist() == [0, (1 << 64) - 1]
    assert patterns(1)[0, 0] & 3 == 2


@pytest.mark.parametrize("bits", range(1, 9))
def test_a_shared_lookup_shows_one_uniform_bit_and_nothing_else(
    sessions: Callable[[int], Sessions], bits: int
) -> None:
    """What B can open of a table that A masked: every bit but its own is a constant 0 or looks random.

    A's sharing bit is what a second bit would betray. Each frequency is within 5.2 standard deviations of a
    half: false-alarm rate 2e-7 a bit, under 1e-4 for all of them.
    """
    a, b = sessions(4)
    count = 20_000
    random = np.random.default_rng(100 + bits)
    truth = random.random((3, 1 << bits)) < 0.5
    state = random.integers(0, 3, count).astype(np.uint8)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    question = np.empty(question_words(count, bits, 32), dtype=np.uint64)
    masks = ask(b.receiver, index, bits, question)[:count]
    tables = answer(a.sender, pack_truth(truth), state, bits, question)
    share = random.integers(0, 2, count).astype(np.uint64)
    wire = to_wire(tables ^ (np.uint64(0) - share)[:, None], bits)
    sent = np.unpackbits(wire.reshape(count, -1), axis=1, bitorder="little").astype(np.int64)
    known = np.unpackbits(masks.view(np.uint8).reshape(count, -1), axis=1, bitorder="little")
    seen = sent ^ known[:, : sent.shape[1]]
    assert not sent[:, 1 << bits :].any(), "bits beyond the table's entries left A"
    for entry in range(1 << bits):
        others = index != entry
        guess = seen[others, entry] ^ share[others].astype(np.int64) ^ truth[state[others], entry]
        assert abs(guess.mean() - 0.5) < 5.2 * 0.5 / np.sqrt(others.sum())
    own = seen[np.arange(count), index]
    assert (own == truth[state, index] ^ share.astype(np.bool_)).all()


@pytest.mark.parametrize("bits", [1, 2])
def test_entries_beyond_the_table_are_refused(bits: int) -> None:
    with pytest.raises(PeerError, match="more entries"):
        from_wire(np.array([1 << (1 << bits)], np.uint8), bits)
