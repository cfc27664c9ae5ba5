"""Silent OTs: q = t ⊕ choice·Δ over round after round, known answers, sizes, numbers that never come back."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.secure.transfer.checked import checked_bytes
from accord.secure.transfer.extension import DOUBLES, correction_words, multiples, padded_count
from accord.secure.transfer.lpn import REAL, Parameters
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import Session, set_up
from accord.secure.transfer.silent import (
    SilentReceiver,
    SilentSender,
    feed_bytes,
)
from accord.side import Side
from tests.secure.transfer.encapsulation import given_messages
from tests.secure.worlds import Fixed, Traced

Words = NDArray[np.uint64]
TINY = Parameters(secret_bits=9, trees=64, depth=6)
MEDIUM = Parameters(secret_bits=11, trees=256, depth=8)


def sessions(k: int = 4, pis: tuple[Permutation, Permutation] | None = None) -> tuple[Session, Session]:
    a, b = pis or (Permutation(), Permutation())
    return run_pair(
        set_up(Side.A, k, Fixed("a"), a, doubles=True), set_up(Side.B, k, Fixed("b"), b, doubles=True)
    )


@dataclass
class Pair:
    """Two ends of one direction."""

    sender: SilentSender
    receiver: SilentReceiver

    def feed(self, wire: Wire | None = None) -> None:
        run_pair(self.sender.feed(), self.receiver.feed(), wire)

    def take(self, count: int) -> tuple[Words, Words, Words, Words]:
        """Choices, corrections and both ends' rows, after a look at the contract."""
        random = np.random.default_rng(count)
        choices = random.integers(0, 1 << 64, correction_words(count, 1), dtype=np.uint64)
        corrections = np.empty_like(choices)
        t = np.concatenate([tile.rows.copy() for tile in self.receiver.extend(choices, corrections, count)])
        tiles = (tile.rows.reshape(2, -1, 2).copy() for tile in self.sender.extend(corrections, count))
        q = np.concatenate(list(tiles), axis=1)
        bits = np.unpackbits(choices.view(np.uint8), bitorder="little")
        assert len(t) == padded_count(count)
        assert (q[0] ^ q[1] == self.sender.delta).all()
        assert (q[0] == np.where(bits[:, None] == 1, t ^ self.sender.delta, t)).all()
        return choices, corrections, t, q[0]


def pair(parameters: Parameters = TINY, k: int = 4) -> Pair:
    a, b = sessions(k)
    return Pair(
        SilentSender(b.sender, parameters),
        SilentReceiver(a.receiver, Fixed("r"), parameters),
    )


def plain_bits(words: Words) -> NDArray[np.uint8]:
    return np.unpackbits(words.view(np.uint8), bitorder="little")


@pytest.mark.parametrize("parameters", [TINY, MEDIUM])
def test_the_correlation_holds_over_rounds_that_feed_each_other(parameters: Parameters) -> None:
    ends, seen = pair(parameters), []
    for _ in range(3):
        ends.feed()
        assert ends.sender.available == ends.receiver.available == parameters.outputs
        seen.append(ends.take(parameters.outputs)[2])
        assert ends.sender.available == 0
    every = np.concatenate(seen)
    assert len(np.unique(every, axis=0)) == len(every)


def test_the_reserve_is_used_up_in_any_pieces() -> None:
    ends = pair(MEDIUM)
    ends.feed()
    ends.feed()
    assert ends.receiver.available == 2 * MEDIUM.outputs
    for count in (1, 128, DOUBLES + 129, 2 * MEDIUM.outputs - DOUBLES - 512):
        ends.take(count)
    assert ends.receiver.available == ends.sender.available == 0
    none = np.zeros(2, dtype=np.uint64)
    with pytest.raises(RuntimeError, match="feed first"):
        ends.sender.extend(none, 1)
    with pytest.raises(RuntimeError, match="feed first"):
        ends.receiver.extend(none, none.copy(), 1)


def test_memory_of_a_round_that_is_used_up_serves_the_next() -> None:
    """What stood in it does not count, and no OT comes back."""
    ends, seen, memory = pair(), [], []
    for _ in range(3):
        ends.feed()
        memory.append([end._reserve[0] for end in (ends.sender, ends.receiver)])
        seen.append(ends.take(TINY.outputs)[2])
    for first, *later in zip(*memory, strict=True):
        assert all(np.shares_memory(first, other) for other in later)
    every = np.concatenate(seen)
    assert len(np.unique(every, axis=0)) == len(every)


@given_messages()
def test_known_answers() -> None:
    """If this fails on purpose, the version tags of the formats have to change with it."""
    ends, wire = pair(), Wire()
    ends.feed(wire)
    ends.feed(wire)
    drawn = np.empty(correction_words(5_000, 1), dtype=np.uint64)
    found = hashlib.sha256()
    for tile in ends.receiver.extend(np.zeros_like(drawn), drawn, 5_000):
        found.update(tile.rows.astype("<u8").tobytes())
    for tile in ends.sender.extend(drawn, 5_000):
        found.update(tile.rows.astype("<u8").tobytes())
    assert wire.digest == "c1b6d7a07db61505b05a45627fdf6fb80505f33773ed9880d81bba0ff78375d5"
    assert found.hexdigest() == "151d99aa78c617c5dbcde9d840ad3b742a889611d4ac0c479efbcf2585dd271d"


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_sizes_are_known_before(k: int) -> None:
    ends = pair(TINY, k)
    for first in (True, False, False):
        wire = Wire()
        ends.feed(wire)
        assert wire.bytes == feed_bytes(first, 128 // k, TINY)
        assert wire.messages == (2 if first else 1)


def test_the_sizes_of_the_real_parameters() -> None:
    assert REAL.outputs == 2_084_480
    assert REAL.noisy * 16 < 40_000_000
    assert feed_bytes(False, 32) == 184_320
    assert feed_bytes(True, 32) == 184_320 + 16 + checked_bytes(274_816, 32)
    assert correction_words(129, 1) == 4


def test_no_input_of_the_permutation_comes_twice() -> None:
    pis = Traced(), Traced()
    a, b = sessions(4, pis)
    left = Pair(SilentSender(b.sender, TINY), SilentReceiver(a.receiver, Fixed("l"), TINY))
    right = Pair(SilentSender(a.sender, TINY), SilentReceiver(b.receiver, Fixed("r"), TINY))
    for _ in range(3):
        left.feed()
        right.feed()
    assert all(len(np.concatenate(pi.seen)) > 20_000 for pi in pis)
    assert [pi.repeated() for pi in pis] == [0, 0]


def test_the_trace_notices_a_base_that_comes_back() -> None:
    pis = Traced(), Traced()
    a, b = sessions(4, pis)
    ends = Pair(SilentSender(b.sender, TINY), SilentReceiver(a.receiver, Fixed("l"), TINY))
    ends.feed()
    kept = ends.sender._base, ends.receiver._base
    ends.feed()
    ends.sender._base, ends.receiver._base = kept
    ends.feed()
    assert all(pi.repeated() for pi in pis)


def test_choices_look_uniform_to_the_sender() -> None:
    """Corrections for all-zero choices are the receiver's random bits x.

    Weight, agreement of neighbours and agreement with Δ's bits along the rows, over some 60,000 bits of each
    of two rounds, each within 5.33 σ: false alarm 1e-7 for each of the six.
    """
    ends = pair(MEDIUM)
    for _ in range(2):
        ends.feed()
        count = ends.sender.available
        words = np.zeros(count // 64, dtype=np.uint64)
        drawn = np.empty_like(words)
        deque(ends.receiver.extend(words, drawn, count), maxlen=0)
        deque(ends.sender.extend(drawn, count), maxlen=0)
        bits = plain_bits(drawn)
        delta = np.resize(plain_bits(ends.sender.delta.copy()), len(bits))
        for counted in (bits, bits[1:] ^ bits[:-1], bits ^ delta):
            assert abs(int(counted.sum()) - len(counted) / 2) < 5.33 * np.sqrt(len(counted)) / 2


def test_corrections_tell_nothing_of_the_choices() -> None:
    """Agreement of corrections with the choices they hide, within 5.33 σ: false alarm 1e-7."""
    ends = pair(MEDIUM)
    ends.feed()
    choices, corrections, _, _ = ends.take(MEDIUM.outputs)
    differ = int(plain_bits(choices ^ corrections).sum())
    assert abs(differ - MEDIUM.outputs / 2) < 5.33 * np.sqrt(MEDIUM.outputs) / 2


def test_a_delta_whose_lowest_bit_is_not_set_is_refused() -> None:
    _, b = sessions()
    b.sender.delta = b.sender.delta & ~np.uint64(1)
    with pytest.raises(ValueError, match="lowest bit"):
        SilentSender(b.sender)


def says(size: int) -> Party[None]:
    yield Send(bytes(size))


def asks(size: int) -> Party[None]:
    yield Receive(feed_bytes(True, 32, TINY) - feed_bytes(False, 32, TINY))
    yield Send(bytes(size))


def test_messages_of_other_sizes_are_refused() -> None:
    ends = pair()
    with pytest.raises(PeerError, match="were due"):
        run_pair(ends.sender.feed(), says(feed_bytes(True, 32, TINY) - 1))
    with pytest.raises(PeerError, match="were due"):
        run_pair(asks(feed_bytes(False, 32, TINY) + 1), ends.receiver.feed())


def test_a_round_that_failed_leaves_nothing_that_could_serve_twice() -> None:
    ends = pair()
    ends.feed()
    with pytest.raises(PeerError):
        run_pair(says(5), ends.receiver.feed())
    assert ends.receiver._base is None
    assert ends.receiver.rounds == 2


DOUBLE = replace(TINY, planes=2)


def take_double(ends: Pair, count: int) -> tuple[Words, Words]:
    """Choices and corrections of double OTs, after a look at the contract."""
    random = np.random.default_rng(count)
    choices = random.integers(0, 1 << 64, (2, correction_words(count, 1)), dtype=np.uint64)
    corrections = np.empty_like(choices)
    sent = corrections.reshape(-1)
    t = np.concatenate([x.rows.copy() for x in ends.receiver.extend_double(choices, sent, count, count)])
    q = np.concatenate([x.rows.copy() for x in ends.sender.extend_double(sent, count, count)])
    first, second = (plain_bits(part) for part in choices)
    assert len(t) == padded_count(count)
    assert (q ^ t == multiples(ends.sender.delta)[first + 2 * second]).all()
    return choices, corrections


def test_double_ots_over_rounds_that_feed_each_other() -> None:
    ends = pair(DOUBLE)
    for first in (True, False, False):
        wire = Wire()
        ends.feed(wire)
        assert (wire.bytes, wire.messages) == (feed_bytes(first, 32, DOUBLE), 2)
        assert ends.sender.available == ends.receiver.available == DOUBLE.outputs
        take_double(ends, DOUBLE.outputs)
    with pytest.raises(RuntimeError, match="feed first"):
        take_double(ends, 1)


def test_multiples_of_delta_are_those_of_a_field() -> None:
    delta = np.array([5, 12], dtype=np.uint64)
    none, once, turned, both = multiples(delta)
    assert not none.any()
    assert (turned == [12, 5 ^ 12]).all()
    # ω² = ω + 1, and no two of the four are alike.
    assert (multiples(turned)[2] == both).all()
    assert len({row.tobytes() for row in (none, once, turned, both)}) == 4


def test_corrections_of_double_ots_tell_nothing_of_either_choice() -> None:
    """Weight of corrections, and agreement with either choice and of the two, over 64,000 bits each, within
    5.33 σ: false alarm 1e-7 for each of the five."""
    ends = pair(replace(MEDIUM, planes=2))
    ends.feed()
    ends.feed()
    choices, corrections = take_double(ends, ends.sender.available)
    seen = (*corrections, *(choices ^ corrections), corrections[0] ^ corrections[1])
    for bits in map(plain_bits, seen):
        assert abs(int(bits.sum()) - len(bits) / 2) < 5.33 * np.sqrt(len(bits)) / 2


def test_no_input_of_the_permutation_comes_twice_with_double_ots() -> None:
    pis = Traced(), Traced()
    a, b = sessions(4, pis)
    ends = Pair(SilentSender(b.sender, DOUBLE), SilentReceiver(a.receiver, Fixed("l"), DOUBLE))
    for _ in range(3):
        ends.feed()
    assert [pi.repeated() for pi in pis] == [0, 0]


@pytest.mark.slow
def test_the_real_parameters_over_three_rounds() -> None:
    ends = pair(REAL)
    for first in (True, False, False):
        wire = Wire()
        ends.feed(wire)
        assert wire.bytes == feed_bytes(first, 32)
        ends.take(REAL.outputs)
