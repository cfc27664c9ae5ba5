"""Silent VOLE: c = b ⊕ Δ·a for any number of elements; sizes, noise, views, and the bits of its sets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Entropy, Seeded
from accord.errors import PeerError
from accord.secure.party import Party, Receive, Send, Wire, run_pair
from accord.secure.transfer.extension import correction_words
from accord.secure.transfer.field import BITS, times
from accord.secure.transfer.lpn import REAL, WEIGHT, Parameters
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import set_up
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
from tests.secure.transfer.encapsulation import given_messages
from tests.secure.transfer.hardness import interleaved, random_code, smallest_share, sparse
from tests.secure.worlds import Fixed, Traced

Words = NDArray[np.uint64]
TINY = Sizes(
    few=20,
    transfers=Parameters(secret_bits=9, trees=128, depth=8),
    first=Parameters(secret_bits=6, trees=48, depth=4),
    main=Parameters(secret_bits=8, trees=64, depth=6),
)
RATE = 32


@dataclass
class Pair:
    """Two ends, and what they said."""

    receiver: VoleReceiver
    sender: VoleSender
    wire: Wire

    def take(self, count: int) -> tuple[Words, Words, Words]:
        """a, b and c, after a look at the contract."""
        (a, c), (b,) = run_pair(self.receiver.take(count), self.sender.take(count), self.wire)
        assert a.shape == b.shape == c.shape == (count, 2)
        assert (c == b ^ times(np.ascontiguousarray(a), self.sender.delta)).all()
        return a, b, c


def pair(
    total: int,
    sizes: Sizes = TINY,
    pis: tuple[Permutation, Permutation] | None = None,
    entropy: tuple[Entropy, Entropy] | None = None,
) -> Pair:
    one, two = pis or (Permutation(), Permutation())
    of_a, of_b = entropy or (Fixed("a"), Fixed("b"))
    a, b = run_pair(
        set_up(Side.A, 128 // RATE, of_a, one, doubles=True),
        set_up(Side.B, 128 // RATE, of_b, two, doubles=True),
    )
    return Pair(VoleReceiver(a.receiver, of_a, total, sizes), VoleSender(b.sender, total, sizes), Wire())


@pytest.mark.parametrize("total", [1, 19, 20, 21, TINY.outputs, TINY.outputs + 1, 5 * TINY.outputs])
def test_the_correlation_holds_and_sizes_are_known_before(total: int) -> None:
    """Made of OTs alone, and over rounds that feed each other."""
    ends = pair(total)
    a, _, _ = ends.take(total)
    assert len({row.tobytes() for row in a}) == total
    assert ends.wire.bytes == vole_bytes(total, RATE, TINY)


def test_the_reserve_is_used_up_in_any_pieces() -> None:
    total = 3 * TINY.outputs
    whole, cut = pair(total).take(total), pair(total)
    pieces = [cut.take(count) for count in (1, TINY.outputs, 2, TINY.outputs - 3, TINY.outputs)]
    for number in range(3):
        assert (np.concatenate([piece[number] for piece in pieces]) == whole[number]).all()


@given_messages()
def test_known_answers() -> None:
    digest = hashlib.sha256()
    for total in (20, 2 * TINY.outputs):
        for vector in pair(total).take(total):
            digest.update(vector.astype("<u8").tobytes())
    assert digest.hexdigest()[:16] == "1d2ca23e7206c35c"


def test_the_noise_is_regular_and_the_secret_goes_through_the_code() -> None:
    """One random element in each block, at the point that its OTs name, and nothing elsewhere."""
    ends = pair(TINY.outputs)
    ends.take(1)
    receiver, sender = ends.receiver, ends.sender
    of, bases = TINY.main, (receiver._base, sender._base)
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


def test_no_input_of_the_permutation_comes_twice() -> None:
    """Neither of an end, nor of both but for what they are to share."""
    pis = Traced(), Traced()
    total = 3 * TINY.outputs
    pair(total, pis=pis).take(total)
    assert all(pi.repeated() == 0 for pi in pis)


def test_sets_of_one_session_have_codes_of_their_own() -> None:
    ends = pair(TINY.outputs)
    ends.take(1)
    codes = [ends.receiver._transfers.code, *ends.receiver._codes.values()]
    assert len({code.seed.tobytes() for code in codes}) == len(codes) == 3
    usual = replace(TINY, transfers=Parameters(8, 16, 8))
    ends = pair(usual.outputs, usual)
    ends.take(1)
    assert ends.receiver._code(usual.main) is ends.receiver._transfers.code


def test_elements_look_uniform_and_are_fresh() -> None:
    """χ² of the bytes of a over 256 values, and no element of another session; false alarm 1e-6."""
    total = 4 * TINY.outputs
    found = [pair(total, entropy=(Seeded(seed), Seeded(-seed))).take(total)[0] for seed in (1, 2)]
    for a in found:
        counts = np.bincount(np.ascontiguousarray(a).view(np.uint8).reshape(-1), minlength=256)
        expected = counts.sum() / 256
        assert ((counts - expected) ** 2 / expected).sum() < 376.4
    assert not {row.tobytes() for row in found[0]} & {row.tobytes() for row in found[1]}


def test_what_the_sender_says_looks_uniform_to_the_receiver() -> None:
    """χ² of the bytes of all messages over 256 values; false alarm 1e-6.

    They are masked by nodes and leaves that the receiver lacks, so Δ is in none of them.
    """
    ends, said = pair(8 * TINY.outputs), bytearray()

    def heard() -> Party[object]:
        party = ends.sender.take(8 * TINY.outputs)
        effect = next(party)
        while True:
            if isinstance(effect, Send):
                said.extend(effect.buffer)
            answer = yield effect
            try:
                effect = party.send(answer) if isinstance(effect, Receive) else next(party)
            except StopIteration as end:
                return end.value

    run_pair(ends.receiver.take(8 * TINY.outputs), heard())
    counts = np.bincount(np.frombuffer(bytes(said), np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert expected > 200
    assert ((counts - expected) ** 2 / expected).sum() < 376.4
    blocks = np.frombuffer(bytes(said), "<u8").reshape(-1, 2)
    assert len(np.unique(blocks, axis=0)) == len(blocks)


def test_messages_of_other_sizes_are_refused() -> None:
    def says(size: int) -> Party[None]:
        yield Send(bytes(size))

    def asks() -> Party[None]:
        yield Receive(1)
        yield Send(b"")

    ends = pair(3)
    with pytest.raises(PeerError, match="where 4,112 were due"):
        run_pair(says(8 * correction_words(3 * BITS, RATE) + 1), ends.sender.take(3))
    ends = pair(TINY.outputs)
    with pytest.raises(PeerError, match="were due"):
        run_pair(ends.receiver.take(1), asks())


def test_a_round_that_failed_leaves_nothing_that_could_serve_twice() -> None:
    ends = pair(2 * TINY.outputs)
    ends.take(TINY.outputs)

    def mute() -> Party[None]:
        yield Send(b"no")

    with pytest.raises(PeerError):
        run_pair(ends.receiver.take(1), mute())
    assert ends.receiver._base is None


def test_a_first_round_must_make_enough() -> None:
    with pytest.raises(ValueError, match="enough"):
        replace(TINY, first=Parameters(secret_bits=6, trees=16, depth=4))


@pytest.mark.parametrize(("of", "bit", "whole"), [(FIRST, 254, 141), (MAIN, 258, 144)], ids=["first", "main"])
def test_bits_of_the_parameters(of: Parameters, bit: int, whole: int) -> None:
    """At the smallest part that can exist, found for nothing (head of vole.py)."""
    least, rate = smallest_share(of.noisy / of.secret, WEIGHT), 2.0**-of.depth
    assert round(min(sparse(of.secret, least, rate / 2, WEIGHT).values())) == bit
    assert round(interleaved(of.secret, least, rate, WEIGHT)) == whole
    assert min(random_code(of.noisy, of.secret, of.trees // 2).values()) > 200


def test_noise_of_as_few_rows_as_there_are_bits_can_be_seen() -> None:
    """What `interleaved` counts: elimination on rows of which some are noisy leaves errors of as low a rank.

    A set with so little noise is told from uniform elements at once; false alarm 2⁻⁷⁰.
    """
    of = Parameters(secret_bits=9, trees=128, depth=6)
    noisy, uniform = _residual_rank(of, noise=True), _residual_rank(of, noise=False)
    assert noisy < 60
    assert uniform == 128


def _residual_rank(of: Parameters, noise: bool) -> int:
    """The rank of what 200 rows differ by from the secret that the first rows would have."""
    random = np.random.default_rng(1)
    code = np.zeros((of.noisy, of.secret), np.uint8)
    places = random.integers(0, of.secret, (of.noisy, WEIGHT))
    for column in places.T:
        code[np.arange(of.noisy), column] ^= 1
    secret = random.integers(0, 2, (of.secret, 128), dtype=np.uint8)
    samples = code @ secret % 2
    if noise:
        at = np.arange(of.trees) * (1 << of.depth) + random.integers(0, 1 << of.depth, of.trees)
        samples[at] ^= random.integers(0, 2, (of.trees, 128), dtype=np.uint8)
    else:
        samples = random.integers(0, 2, samples.shape, dtype=np.uint8)
    order = random.permutation(of.noisy)
    rows = np.concatenate([code, samples], axis=1)[order[: 4 * of.secret]]
    rest = _eliminate(rows, of.secret)[:200, of.secret :]
    return _rank(rest)


def _eliminate(rows: NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    """What is left of the rows that have no pivot, when these columns are taken out."""
    rows, used = rows.copy(), 0
    for column in range(columns):
        found = np.flatnonzero(rows[used:, column])
        if not len(found):
            continue
        rows[[used, used + found[0]]] = rows[[used + found[0], used]]
        hit = rows[:, column].astype(bool)
        hit[: used + 1] = False
        rows[hit] ^= rows[used]
        used += 1
    return rows[used:]


def _rank(rows: NDArray[np.uint8]) -> int:
    return len(rows) - len(_eliminate(np.concatenate([rows, np.eye(len(rows), dtype=np.uint8)], axis=1), 128))


def test_the_main_set_shares_the_code_of_silent_ots() -> None:
    assert (MAIN.secret, MAIN.noisy) == (REAL.secret, REAL.noisy)


def test_sizes_of_a_linkage() -> None:
    """Two megabytes for two million elements, and 0.66 for two million more."""
    assert vole_bytes(USUAL.few, 16) == 1_050_896
    assert vole_bytes(USUAL.few + 1, 16) == vole_bytes(USUAL.outputs, 16) == 2_173_984
    assert vole_bytes(USUAL.outputs + 1, 16) - vole_bytes(USUAL.outputs, 16) == 16 * MAIN.trees * MAIN.depth


@pytest.mark.slow
def test_the_usual_sizes_over_three_rounds() -> None:
    total = 3 * USUAL.outputs
    ends = pair(total, USUAL)
    ends.take(total)
    assert ends.wire.bytes == vole_bytes(total, RATE)
