"""Checked OTs: one choice each passes, others do not but by a guess, and the hashes tell nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, Wire, run_pair, send
from accord.secure.transfer import checked
from accord.secure.transfer.checked import checked_bytes, choose, offer
from accord.secure.transfer.extension import Receiver, collect, correction_words, padded_count
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side
from tests.secure.transfer.test_field import numbers, product
from tests.secure.worlds import Fixed

Words = NDArray[np.uint64]
K = 4
NOTHING = np.zeros(0, np.uint64)


@pytest.fixture(scope="module")
def ends() -> tuple[Session, Session]:
    return run_pair(set_up(Side.A, K, Fixed("A")), set_up(Side.B, K, Fixed("B")))


def chosen(count: int) -> Words:
    bits = np.zeros(padded_count(count), np.uint8)
    bits[:count] = np.random.default_rng(count).integers(0, 2, count)
    return np.packbits(bits, bitorder="little").view("<u8").copy()


def altered(party: Party[Words], change: Callable[[Words], None]) -> Party[Words]:
    """The party with its one message changed."""
    effect = next(party)
    assert isinstance(effect, Send)
    message = np.frombuffer(bytes(effect.buffer), "<u8").copy()
    change(message)
    yield Send(message.tobytes())
    try:
        next(party)
    except StopIteration as end:
        return end.value
    raise AssertionError("one message, and no more")


@pytest.mark.parametrize("count", [1, 64, 128, 129, 1000, 20_000])
def test_rows_differ_by_delta_and_sizes_are_known(ends: tuple[Session, Session], count: int) -> None:
    a, b = ends
    wire, choices, head = Wire(), chosen(count), np.array([5, 6], np.uint64)
    t, (q, came) = run_pair(
        choose(a.receiver, choices, count, Seeded(1), head), offer(b.sender, count, 2), wire
    )
    bits = np.unpackbits(choices.view(np.uint8), bitorder="little")[:count]
    assert (q == t ^ bits[:, None].astype(np.uint64) * b.sender.delta).all()
    assert came.tolist() == [5, 6]
    assert wire.bytes == 16 + checked_bytes(count, 128 // K)


def attempt(ends: tuple[Session, Session], change: Callable[[Words], None]) -> None:
    a, b = ends
    party = choose(a.receiver, chosen(200), 200, Seeded(1), NOTHING)
    run_pair(altered(party, change), offer(b.sender, 200, 0))


WORDS = correction_words(384, 128 // K)


@pytest.mark.parametrize("word", [0, 5, 6, WORDS - 1, WORDS, WORDS + 1, WORDS + 2, WORDS + 257])
def test_a_changed_bit_is_refused(ends: tuple[Session, Session], word: int) -> None:
    """In corrections of any tree, and in a hash; also in the rows that only mask."""

    def change(message: Words) -> None:
        message[word] ^= np.uint64(1 << 17)

    with pytest.raises(PeerError, match="one choice each"):
        attempt(ends, change)


def cheat(end: Receiver, guess: NDArray[np.uint8]) -> Party[None]:
    """Choices that are off in the first OT of tree 0, and hashes that are right if the guess of Δ is."""
    choices = np.concatenate([chosen(200), np.array([7, 9], np.uint64)])
    message = np.empty(WORDS + checked._HASHES, np.uint64)
    sent, hashes = message[:WORDS], message[WORDS:].reshape(-1, 2)
    rows = collect(end.extend(choices, sent, 384))
    sent[0] ^= np.uint64(1)
    rho = checked._challenge(sent)
    checked._hash_blocks(choices.reshape(-1, 2), rho, hashes[:1])
    checked._hash_columns(rows, rho, hashes[1:])
    error, moved = np.zeros((3, 2), np.uint64), np.zeros((1, 2), np.uint64)
    error[0, 0] = 1
    checked._hash_blocks(error, rho, moved)
    hashes[1 : 1 + K] ^= guess[:, None].astype(np.uint64) * moved
    yield from send(message)


def test_who_guesses_a_piece_of_delta_passes_and_others_do_not(ends: tuple[Session, Session]) -> None:
    """This is all that the check leaves to a cheat: of 2ᵏ guesses one is right."""
    a, b = ends
    right = np.unpackbits(b.sender.delta.view(np.uint8), bitorder="little")[:K]
    run_pair(cheat(a.receiver, right), offer(b.sender, 200, 0))
    for wrong in range(1, 1 << K):
        other = right ^ np.array([wrong >> place & 1 for place in range(K)], np.uint8)
        with pytest.raises(PeerError, match="one choice each"):
            run_pair(cheat(a.receiver, other), offer(b.sender, 200, 0))


def test_hashes_are_polynomials_of_the_columns() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(0, 1 << 64, (384, 2), dtype=np.uint64)
    rho = random.integers(0, 1 << 64, (1, 2), dtype=np.uint64)
    found = np.zeros((128, 2), np.uint64)
    checked._hash_columns(rows, rho[0], found)
    whole, times = numbers(rows), numbers(rho)[0]
    for column in (0, 1, 63, 64, 127):
        expected = 0
        for first in (0, 128, 256):
            block = sum((row >> column & 1) << place for place, row in enumerate(whole[first : first + 128]))
            expected = product(expected, times) ^ block
        assert numbers(found)[column] == expected


def test_hashes_are_masked_by_ots_that_serve_nothing_else(ends: tuple[Session, Session]) -> None:
    """The same choices 40 times: χ² of all bytes of the hashes over 256 values; false alarm 1e-6."""
    seen = bytearray()

    def look(message: Words) -> None:
        seen.extend(message[-checked._HASHES :].tobytes())

    for seed in range(40):
        party = choose(ends[0].receiver, chosen(5), 5, Seeded(seed), NOTHING)
        run_pair(altered(party, look), offer(ends[1].sender, 5, 0))
    counts = np.bincount(np.frombuffer(bytes(seen), np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 376.4


def test_messages_of_other_sizes_are_refused() -> None:
    _, b = run_pair(set_up(Side.A, K, Fixed("A")), set_up(Side.B, K, Fixed("B")))

    def says() -> Party[None]:
        yield Send(bytes(10))
        yield Receive(0)

    with pytest.raises(PeerError, match="were due"):
        run_pair(says(), offer(b.sender, 200, 0))
