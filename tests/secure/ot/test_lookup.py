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
    open_numbers,
    pack_truth,
    patterns,
    pick,
    pick_numbers,
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
    tables = answer(a.sender, pick(pack_truth(truth), state), count, bits, question)
    wire = to_wire(tables, bits)
    assert wire.nbytes == table_bytes(count, bits)
    got = open_entries(from_wire(wire, bits), masks[:count], index)
    assert (got == truth[state, index]).all()
    # With any other index the masks do not fit: the bits are as good as random.
    other = open_entries(from_wire(wire, bits), masks[:count], index ^ np.uint8(1))
    if count > 3000:
        assert 0.4 < (other == truth[state, index ^ 1]).mean() < 0.6


@pytest.mark.parametrize("lane", [8, 16, 32, 64])
@pytest.mark.parametrize("bits", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [1, 9, 3001])
def test_numbers_are_shared(sessions: Callable[[int], Sessions], lane: int, bits: int, count: int) -> None:
    """The two shares add up to the number; with any other index the masks do not fit."""
    a, b = sessions(4)
    random = np.random.default_rng(lane + bits)
    one = np.dtype(f"u{lane // 8}")
    numbers = random.integers(0, (1 << lane) - 1, (5, 1 << bits), dtype=one, endpoint=True)
    state = random.integers(0, 5, count).astype(np.uint8)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    mine = random.integers(0, (1 << lane) - 1, count, dtype=one, endpoint=True)
    question = np.empty(question_words(count, bits, 32), dtype=np.uint64)
    masks = ask(b.receiver, index, bits, question, lane)
    tables = answer(a.sender, pick_numbers(numbers, state, mine), count, bits, question, lane)
    wire = to_wire(tables, bits, lane)
    assert wire.nbytes == table_bytes(count, bits, lane)
    got = open_numbers(from_wire(wire, bits, lane), masks, index, lane)
    assert (got + mine == numbers[state, index]).all()
    other = open_numbers(from_wire(wire, bits, lane), masks, index ^ np.uint8(1), lane)
    if count > 3000:
        # One number in 256 is right by chance: of 3,001 over 60 with probability under 1e-20.
        assert (other + mine == numbers[state, index ^ 1]).sum() < 60


@pytest.mark.parametrize("lane", [8, 16])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_a_shared_number_shows_nothing(sessions: Callable[[int], Sessions], bits: int, lane: int) -> None:
    """What B opens is uniform whatever the state, and every bit of the other entries looks random.

    Each frequency is within 5.2 standard deviations of a half: false-alarm rate 2e-7 a bit, under 1e-3 in
    all.
    """
    a, b = sessions(4)
    count, random = 20_000, np.random.default_rng(200 + bits)
    one = np.dtype(f"u{lane // 8}")
    numbers = random.integers(0, 9, (2, 1 << bits)).astype(one)
    index = random.integers(0, 1 << bits, count).astype(np.uint8)
    mine = random.integers(0, (1 << lane) - 1, count, dtype=one, endpoint=True)
    for state in (0, 1):
        states = np.full(count, state, dtype=np.uint8)
        question = np.empty(question_words(count, bits, 32), dtype=np.uint64)
        masks = ask(b.receiver, index, bits, question, lane)[:count]
        tables = answer(a.sender, pick_numbers(numbers, states, mine), count, bits, question, lane)
        seen = from_wire(to_wire(tables, bits, lane), bits, lane) ^ masks
        entries = seen.view(one)[:, : 1 << bits]
        for j in range(1 << bits):
            own = np.unpackbits(entries[index == j, j].copy().view(np.uint8).reshape(-1, lane // 8), axis=1)
            assert (abs(own.mean(0) - 0.5) < 5.2 * 0.5 / np.sqrt(len(own))).all()
            # Whoever could take A's share from another entry would know the state.
            others = entries[index != j, j] + mine[index != j] - numbers[state, j]
            guess = np.unpackbits(others.view(np.uint8).reshape(-1, lane // 8), axis=1)
            assert (abs(guess.mean(0) - 0.5) < 5.2 * 0.5 / np.sqrt(len(guess))).all()


def test_entry_j_is_bit_j() -> None:
    truth = np.zeros((1, 128), dtype=np.bool_)
    truth[0, [0, 5, 64, 127]] = True
    assert pack_truth(truth).tolist() == [[1 | 1 << 5, 1 | 1 << 63]]
    assert patterns(7)[3].tolist() == [[(1 << 64) - 1, 0], [0, (1 << 64) - 1], [0, 0], [0, 0]]
    assert (patterns(1)[0, :, 0] & 3).tolist() == [1, 2, 0, 0]
    assert patterns(2, 8)[0, :, 0].tolist() == [0xFF << 8 * y | 0xFF << 8 * y + 32 for y in range(4)]
    assert patterns(3, 8)[1, :2, 0].tolist() == [0xFFFFFFFF, 0xFFFFFFFF00000000]


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
    tables = answer(a.sender, pick(pack_truth(truth), state), count, bits, question)
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
