"""Silent OTs and VOLE: the correlations round after round, sizes, views, and the bits of their parameters."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Entropy, Seeded
from accord.errors import PeerError
from accord.secure.party import Effect, Party, Receive, Send, Wire, run_pair
from accord.secure.transfer.checked import checked_bytes
from accord.secure.transfer.extension import DOUBLES, correction_words, multiples, padded_count
from accord.secure.transfer.field import BITS, times
from accord.secure.transfer.lpn import REAL, WEIGHT, Code, Parameters
from accord.secure.transfer.permutation import CODE, Permutation
from accord.secure.transfer.setup import Session, set_up
from accord.secure.transfer.silent import SilentReceiver, SilentSender, feed_bytes
from accord.secure.transfer.vole import (
    FIRST,
    MAIN,
    USUAL,
    Sizes,
    VoleReceiver,
    VoleSender,
    needed,
    vole_bytes,
)
from accord.side import Side
from tests.secure import worlds
from tests.secure.encapsulation import given_messages
from tests.secure.engines import noted
from tests.secure.hardness import interleaved, peel, random_code, smallest_share, sparse
from tests.secure.worlds import UNIFORM, Fixed, Traced, surprise

# -- lpn -----------------------------------------------------------------------------------------------------

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


def test_sizes_that_do_not_fit_are_refused() -> None:
    for few in ((19, 1152, 11), (7, 3, 8), (9, 8, 6)):
        with pytest.raises(ValueError, match="sizes"):
            Parameters(*few)
    with pytest.raises(ValueError, match="enough"):
        replace(FEW, first=Parameters(secret_bits=6, trees=16, depth=4))
    assert (MAIN.secret, MAIN.noisy) == (REAL.secret, REAL.noisy), "they share a code"


TABLE = ((FERRET, 129, 86, 82), (SMALL, 135, 89, 85), (OURS, 231, 155, 147))
"""Of `lpn.py`: bits against a random code, at a part that is peeled, and at the smallest that can exist."""


@pytest.mark.parametrize(("sizes", "least", "peeled", "floor"), TABLE)
def test_bits_of_a_random_and_of_a_sparse_code(
    sizes: tuple[int, int, int], least: int, peeled: int, floor: int
) -> None:
    """Ferret's parameters were chosen by the same formulas. Ours hold with lists that cannot be had."""
    n, k, t = sizes
    share = smallest_share(n / k, WEIGHT)
    assert round(min(random_code(*sizes).values())) == least
    assert share < (k / n) ** (1 / (WEIGHT - 1))
    assert round(min(sparse(k, share, t / n, WEIGHT).values())) == floor < peeled
    if sizes is OURS:
        assert min(sparse(k, share, 2.0**-REAL.depth, WEIGHT, free=True).values()) > 135


# -- silent --------------------------------------------------------------------------------------------------

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
        run_pair(self.sender.feed(), self.receiver.feed(), wire=wire)

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


def test_the_correlation_holds_over_rounds_that_feed_each_other() -> None:
    """In any pieces. No OT comes back, though the memory of a round that is used up serves the next."""
    ends, seen, memory = pair(MEDIUM), [], []
    for _ in range(3):
        ends.feed()
        memory.append([end._reserve[0] for end in (ends.sender, ends.receiver)])
        for count in (1, DOUBLES + 129, MEDIUM.outputs - DOUBLES - 384):
            seen.append(ends.take(count)[2])
        assert ends.receiver.available == ends.sender.available == 0
    every = np.concatenate(seen)
    assert len(np.unique(every, axis=0)) == len(every)
    for first, *later in zip(*memory, strict=True):
        assert all(np.shares_memory(first, other) for other in later)
    none = np.zeros(2, dtype=np.uint64)
    with pytest.raises(RuntimeError, match="feed first"):
        ends.sender.extend(none, 1)
    with pytest.raises(RuntimeError, match="feed first"):
        ends.receiver.extend(none, none.copy(), 1)


@pytest.mark.slow
def test_the_real_parameters_over_three_rounds() -> None:
    ends, vole = pair(REAL), vole_pair(3 * USUAL.outputs, USUAL)
    for first in (True, False, False):
        wire = Wire()
        ends.feed(wire)
        assert wire.bytes == feed_bytes(first, 32)
        ends.take(REAL.outputs)
    vole.take(3 * USUAL.outputs)
    assert vole.wire.bytes == vole_bytes(3 * USUAL.outputs, VOLE_RATE)


def test_corrections_look_uniform_to_the_sender_and_tell_nothing_of_the_choices() -> None:
    """Corrections for all-zero choices are the receiver's random bits x.

    Weight, agreement of neighbours and agreement with Δ's bits along the rows, over some 60,000 bits of each
    of two rounds, and agreement with choices that they hide: each within 5.33 σ, false alarm 1e-7 for each.
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
        ends.feed()
        choices, corrections, _, _ = ends.take(MEDIUM.outputs)
        for counted in (bits, bits[1:] ^ bits[:-1], bits ^ delta, plain_bits(choices ^ corrections)):
            assert abs(int(counted.sum()) - len(counted) / 2) < 5.33 * np.sqrt(len(counted)) / 2


def test_a_delta_whose_lowest_bits_do_not_fit_is_refused() -> None:
    _, b = sessions()
    right = b.sender.delta
    for wrong in (right & ~np.uint64(1), right | np.array([0, 1], np.uint64)):
        b.sender.delta = wrong
        with pytest.raises(ValueError, match="lowest bit"):
            SilentSender(b.sender)


def says(*sizes: int) -> Party[None]:
    """A peer that sends zeros, and reads what comes between them."""
    for number, size in enumerate(sizes):
        if number:
            yield Receive(0)
        yield Send(bytes(size))


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


def test_double_ots_over_rounds_tell_nothing_of_either_choice() -> None:
    """Weight of corrections, and agreement with either choice and of the two, over 64,000 bits each, within
    5.33 σ: false alarm 1e-7 for each of the five. Sizes are known."""
    double = replace(MEDIUM, planes=2)
    ends = pair(double)
    for first in (True, False):
        wire = Wire()
        ends.feed(wire)
        assert (wire.bytes, wire.messages) == (feed_bytes(first, 32, double), 2)
        choices, corrections = take_double(ends, ends.sender.available)
    seen = (*corrections, *(choices ^ corrections), corrections[0] ^ corrections[1])
    for bits in map(plain_bits, seen):
        assert abs(int(bits.sum()) - len(bits) / 2) < 5.33 * np.sqrt(len(bits)) / 2


def test_multiples_of_delta_are_those_of_a_field() -> None:
    delta = np.array([5, 12], dtype=np.uint64)
    none, once, turned, both = multiples(delta)
    assert not none.any()
    assert (turned == [12, 5 ^ 12]).all()
    # ω² = ω + 1, and no two of the four are alike.
    assert (multiples(turned)[2] == both).all()
    assert len({row.tobytes() for row in (none, once, turned, both)}) == 4


# -- vole ----------------------------------------------------------------------------------------------------

FEW = replace(worlds.TINY, few=20)
VOLE_RATE = 32


@dataclass
class VolePair:
    """Two ends, and what they said."""

    receiver: VoleReceiver
    sender: VoleSender
    wire: Wire

    def take(self, count: int) -> tuple[Words, Words, Words]:
        """a, b and c, after a look at the contract."""
        (a, c), (b,) = run_pair(self.receiver.take(count), self.sender.take(count), wire=self.wire)
        assert a.shape == b.shape == c.shape == (count, 2)
        assert (c == b ^ times(np.ascontiguousarray(a), self.sender.delta)).all()
        return a, b, c


def vole_pair(
    total: int,
    sizes: Sizes = FEW,
    pis: tuple[Permutation, Permutation] | None = None,
    entropy: tuple[Entropy, Entropy] | None = None,
) -> VolePair:
    one, two = pis or (Permutation(), Permutation())
    of_a, of_b = entropy or (Fixed("a"), Fixed("b"))
    a, b = run_pair(
        set_up(Side.A, 128 // VOLE_RATE, of_a, one, doubles=True),
        set_up(Side.B, 128 // VOLE_RATE, of_b, two, doubles=True),
    )
    return VolePair(VoleReceiver(a.receiver, of_a, total, sizes), VoleSender(b.sender, total, sizes), Wire())


@pytest.mark.parametrize("total", [1, 20, 21, FEW.outputs + 1, 3 * FEW.outputs])
def test_the_correlation_holds_and_sizes_are_known_before(total: int) -> None:
    """Made of OTs alone, and over rounds that feed each other."""
    ends = vole_pair(total)
    a, _, _ = ends.take(total)
    assert len({row.tobytes() for row in a}) == total
    assert ends.wire.bytes == vole_bytes(total, VOLE_RATE, FEW)


@given_messages()
def test_known_answers_of_a_vole() -> None:
    digest = hashlib.sha256()
    for total in (20, 2 * FEW.outputs):
        for vector in vole_pair(total).take(total):
            digest.update(vector.astype("<u8").tobytes())
    assert digest.hexdigest()[:16] == "1d2ca23e7206c35c"


def test_the_noise_is_regular_and_the_secret_goes_through_the_code() -> None:
    """One random element in each block, at the point that its OTs name, and nothing elsewhere."""
    ends = vole_pair(FEW.outputs)
    ends.take(1)
    receiver, sender = ends.receiver, ends.sender
    of, bases = FEW.main, (receiver._base, sender._base)
    assert bases[0] is not None
    assert bases[1] is not None
    base = bases[0][0]
    assert len(base) == needed(of)
    (a, _), _ = run_pair(receiver._round(of, bases[0]), sender._round(of, bases[1]))
    plain = np.zeros_like(a)
    receiver._code(of).add(np.ascontiguousarray(base[: of.secret]), plain)
    noise = (a ^ plain).reshape(of.trees, -1, 2)
    assert (noise.any(axis=2).sum(axis=1) == 1).all()
    assert (np.bitwise_xor.reduce(noise, axis=1) == base[of.secret :]).all()
    assert len(set(noise.any(axis=2).argmax(axis=1).tolist())) > 20


def test_no_input_comes_twice_in_a_vole() -> None:
    """Neither of an end, nor of both but for what they are to share."""
    pis = Traced(), Traced()
    total = 3 * FEW.outputs
    vole_pair(total, pis=pis).take(total)
    assert all(pi.repeated() == 0 for pi in pis)


def test_sets_of_one_session_have_codes_of_their_own() -> None:
    ends = vole_pair(FEW.outputs)
    ends.take(1)
    codes = [ends.receiver._transfers.code, *ends.receiver._codes.values()]
    assert len({code.seed.tobytes() for code in codes}) == len(codes) == 3
    usual = replace(FEW, transfers=Parameters(8, 16, 8))
    ends = vole_pair(usual.outputs, usual)
    ends.take(1)
    assert ends.receiver._code(usual.main) is ends.receiver._transfers.code


def test_elements_and_what_the_sender_says_look_uniform_to_the_receiver() -> None:
    """χ² of bytes over 256 values; false alarm 1e-6 each.

    Messages are masked by nodes and leaves that the receiver lacks, so none shows Δ, alone or added to it.
    """
    total, seen = 8 * FEW.outputs, list[set[bytes]]()
    for seed in (1, 2):
        ends, effects = vole_pair(total, entropy=(Seeded(seed), Seeded(-seed))), list[Effect]()
        (a, _), _ = run_pair(ends.receiver.take(total), noted(ends.sender.take(total), effects))
        said = b"".join(bytes(effect.buffer) for effect in effects if isinstance(effect, Send))
        blocks = np.frombuffer(said, "<u8").reshape(-1, 2)
        for content in (a, blocks, blocks ^ ends.sender.delta):
            assert surprise(content.tobytes()) < UNIFORM
        assert len(np.unique(blocks, axis=0)) == len(blocks) > 3_000
        seen.append({row.tobytes() for row in a})
    assert not seen[0] & seen[1], "fresh in every session"


def test_a_round_with_a_message_of_another_size_leaves_nothing_that_could_serve_twice() -> None:
    """Of silent OTs and of a VOLE."""
    ends, used, whole = pair(), pair(), vole_pair(2 * FEW.outputs)
    used.feed()
    whole.take(FEW.outputs)
    correction = 8 * correction_words(3 * BITS, VOLE_RATE)
    for refused in (
        (ends.sender.feed(), says(feed_bytes(True, 32, TINY) - 1)),
        (says(5), used.receiver.feed()),
        (says(correction + 1), vole_pair(3).sender.take(3)),
        (vole_pair(FEW.outputs).receiver.take(1), says(0)),
        (whole.receiver.take(1), says(2)),
    ):
        with pytest.raises(PeerError):
            run_pair(*refused)
    assert used.receiver._base is None
    assert used.receiver.rounds == 2
    assert whole.receiver._base is None


@pytest.mark.parametrize(("of", "bit", "whole"), [(FIRST, 254, 141), (MAIN, 258, 144)], ids=["first", "main"])
def test_bits_of_the_parameters(of: Parameters, bit: int, whole: int) -> None:
    """At the smallest part that can exist, found for nothing (head of vole.py)."""
    least, rate = smallest_share(of.noisy / of.secret, WEIGHT), 2.0**-of.depth
    assert round(min(sparse(of.secret, least, rate / 2, WEIGHT).values())) == bit
    assert round(interleaved(of.secret, least, rate, WEIGHT)) == whole
    assert min(random_code(of.noisy, of.secret, of.trees // 2).values()) > 200


def test_sizes_of_a_linkage() -> None:
    """Two megabytes for two million elements, and 0.66 for two million more; silent OTs at a bit each."""
    assert vole_bytes(USUAL.few, 16) == 1_050_896
    assert vole_bytes(USUAL.few + 1, 16) == vole_bytes(USUAL.outputs, 16) == 2_173_984
    assert vole_bytes(USUAL.outputs + 1, 16) - vole_bytes(USUAL.outputs, 16) == 16 * MAIN.trees * MAIN.depth
    assert (REAL.outputs, feed_bytes(False, 32)) == (2_084_480, 184_320)
    assert feed_bytes(True, 32) == 184_320 + 16 + checked_bytes(274_816, 32)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "least", "peeled", "floor"), TABLE)
def test_bits_of_a_part_that_can_be_found(
    sizes: tuple[int, int, int], least: int, peeled: int, floor: int
) -> None:
    n, k, t = sizes
    share = peel(2_048, n / k, WEIGHT, np.random.default_rng(0))
    assert smallest_share(n / k, WEIGHT) < share
    assert min(sparse(k, share, t / n, WEIGHT).values()) == pytest.approx(peeled, abs=1)
