"""Oblivious transfers, base and extended: the chosen keys and rows and no others, and what is refused."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from hypothesis import example, given
from hypothesis import strategies as st
from nacl import bindings as sodium
from numpy.typing import NDArray

from accord.entropy import Seeded
from accord.errors import PeerError, UsageError
from accord.secure.party import Effect, Party, Receive, Send, Wire, run_pair, send
from accord.secure.transfer import base, checked
from accord.secure.transfer import base_kem as kem
from accord.secure.transfer.base import BASE, COUNT, POINT, receive_base, send_base
from accord.secure.transfer.checked import checked_bytes, choose, offer
from accord.secure.transfer.extension import (
    Receiver,
    add_turned,
    collect,
    correction_words,
    padded_count,
)
from accord.secure.transfer.field import BITS, times
from accord.secure.transfer.permutation import mix
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side
from tests.secure.encapsulation import encapsulate
from tests.secure.engines import noted, tampered
from tests.secure.failure import rank
from tests.secure.worlds import UNIFORM, Fixed, surprise

# -- permutation and field -----------------------------------------------------------------------------------

Words = NDArray[np.uint64]


def test_the_mixing_has_no_eigenvalue_among_the_multiples_of_a_double_ot() -> None:
    """σ(y·x) ⊕ b·x is linear in x, and of full rank for every y ≠ 0 and every b of F4."""
    basis = np.zeros((128, 2), np.uint64)
    places = np.arange(128)
    basis[places, places // 64] = np.uint64(1) << (places % 64).astype(np.uint64)
    turned = np.zeros_like(basis)
    add_turned(basis, turned)
    of = [np.zeros_like(basis), basis, turned, basis ^ turned]
    for y in of[1:]:
        for b in of:
            assert rank(bits_of(mix(y) ^ b)) == 128


def bits_of(rows: Words) -> NDArray[np.uint8]:
    return np.unpackbits(np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1), axis=1)


WHOLE = (1 << BITS) - 1
MODULUS = 1 << 128 | 0x87
ONES = 0x1111111111111111
"""The sum of ones in its square is sixteen: a carry."""
elements = st.integers(0, WHOLE) | st.sampled_from([0, 1, 2, 1 << 63, 1 << 64, 1 << 127, WHOLE])


def words(*numbers: int) -> Words:
    return np.array([[x & (1 << 64) - 1, x >> 64] for x in numbers], np.uint64).reshape(-1, 2)


def numbers(rows: Words) -> list[int]:
    return [int(low) | int(high) << 64 for low, high in rows]


def product(x: int, y: int) -> int:
    """By the definition: a sum of shifted copies, and the remainder of the modulus."""
    found = 0
    for bit in range(BITS):
        found ^= (x << bit) * (y >> bit & 1)
    for bit in range(2 * BITS - 1, BITS - 1, -1):
        found ^= (MODULUS << bit - BITS) * (found >> bit & 1)
    return found


@given(st.lists(elements, max_size=5), elements)
@example([ONES], ONES)
def test_products_are_those_of_the_definition(some: list[int], element: int) -> None:
    found = times(words(*some), words(element)[0])
    assert numbers(found) == [product(x, element) for x in some]


# -- checked -------------------------------------------------------------------------------------------------

K = 4
NOTHING = np.zeros(0, np.uint64)


@pytest.fixture(scope="module")
def ends() -> tuple[Session, Session]:
    return run_pair(set_up(Side.A, K, Fixed("A")), set_up(Side.B, K, Fixed("B")))


def chosen(count: int) -> Words:
    bits = np.zeros(padded_count(count), np.uint8)
    bits[:count] = np.random.default_rng(count).integers(0, 2, count)
    return np.packbits(bits, bitorder="little").view("<u8").copy()


@pytest.mark.parametrize("count", [1, 64, 128, 129, 1000, 20_000])
def test_rows_differ_by_delta_and_sizes_are_known(ends: tuple[Session, Session], count: int) -> None:
    a, b = ends
    wire, choices, head = Wire(), chosen(count), np.array([5, 6], np.uint64)
    t, (q, came) = run_pair(
        choose(a.receiver, choices, count, Seeded(1), head), offer(b.sender, count, 2), wire=wire
    )
    bits = np.unpackbits(choices.view(np.uint8), bitorder="little")[:count]
    assert (q == t ^ bits[:, None].astype(np.uint64) * b.sender.delta).all()
    assert came.tolist() == [5, 6]
    assert wire.bytes == 16 + checked_bytes(count, 128 // K)


WORDS = correction_words(384, 128 // K)


def test_a_changed_bit_is_refused(ends: tuple[Session, Session]) -> None:
    """In corrections of any tree, and in a hash; also in the rows that only mask."""
    a, b = ends
    for word in (0, 5, 6, WORDS - 1, WORDS, WORDS + 1, WORDS + 2, WORDS + 257):

        def change(data: bytes, at: int = 8 * word + 2) -> bytes:
            return data[:at] + bytes([data[at] ^ 2]) + data[at + 1 :]

        party = choose(a.receiver, chosen(200), 200, Seeded(1), NOTHING)
        with pytest.raises(PeerError):
            run_pair(tampered(party, 0, change), offer(b.sender, 200, 0))


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
        with pytest.raises(PeerError):
            run_pair(cheat(a.receiver, other), offer(b.sender, 200, 0))


def test_hashes_are_masked_by_ots_that_serve_nothing_else(ends: tuple[Session, Session]) -> None:
    """The same choices 40 times: χ² of all bytes of the hashes over 256 values; false alarm 1e-6."""
    effects: list[Effect] = []
    for seed in range(40):
        party = choose(ends[0].receiver, chosen(5), 5, Seeded(seed), NOTHING)
        run_pair(noted(party, effects), offer(ends[1].sender, 5, 0))
    said = [bytes(effect.buffer)[-8 * checked._HASHES :] for effect in effects if isinstance(effect, Send)]
    assert len(said) == 40
    assert surprise(b"".join(said)) < UNIFORM


# -- encapsulation -------------------------------------------------------------------------------------------


def test_published_vectors_of_keys_ciphertexts_and_secrets() -> None:
    """Of the tests of Go's crypto/mlkem: a hash over keys, ciphertexts and secrets from a hundred seeds."""
    size = 64 + 32 + kem.CIPHERTEXT
    stream, total = hashlib.shake_128().digest(100 * size), hashlib.shake_128()
    drawn = [stream[at : at + size] for at in range(0, len(stream), size)]
    pairs = [MLKEM768PrivateKey.from_seed_bytes(one[:64]) for one in drawn]
    keys = [pair.public_key().public_bytes_raw() for pair in pairs]
    made = encapsulate(keys, [one[64:96] for one in drawn])
    for one, pair, key, (secret, ciphertext) in zip(drawn, pairs, keys, made, strict=True):
        assert pair.decapsulate(ciphertext) == secret
        total.update(key + ciphertext + secret + pair.decapsulate(one[96:]))
    assert total.hexdigest(32) == "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415"


# -- base kem ------------------------------------------------------------------------------------------------

KEM_SESSION = bytes(range(32))
FEW = 12
FEW_CHOICES = np.arange(FEW) % 3 == 1
PAIRS = kem.make_keys(FEW, Fixed("keys"))
OFFERS = kem.offer_keys(KEM_SESSION, FEW_CHOICES, PAIRS, Fixed("r"))
ANSWERS, SECRETS = kem.answer_offers(KEM_SESSION, OFFERS)
FEW_PLACES = np.arange(FEW), FEW_CHOICES.astype(int)


def test_what_is_offered_follows_from_the_entropy_and_secrets_are_fresh() -> None:
    again = kem.make_keys(FEW, Fixed("keys"))
    assert (kem.offer_keys(KEM_SESSION, FEW_CHOICES, again, Fixed("r")) == OFFERS).all()
    for one, other in zip(kem.answer_offers(KEM_SESSION, OFFERS), (ANSWERS, SECRETS), strict=True):
        assert (one != other).any(axis=2).all()


def test_both_vectors_look_alike_whatever_was_chosen() -> None:
    """Numbers below q, on average in the middle; a mean of n is off by 6 deviations once in 5·10⁸."""
    vectors = kem.unpack(OFFERS[:, kem.RHO :].reshape(FEW, 2, kem.VECTOR))
    deviation = kem.Q / np.sqrt(12 * FEW * vectors.shape[2])
    for one in (vectors[FEW_PLACES], vectors[FEW_PLACES[0], 1 - FEW_PLACES[1]]):
        assert abs(one.mean() - (kem.Q - 1) / 2) < 6 * deviation


@pytest.mark.parametrize("change", ["session", "number", "rho", "other vector"])
def test_a_key_belongs_to_its_session_and_place(change: str) -> None:
    session, offers = KEM_SESSION, OFFERS.copy()
    if change == "session":
        session = bytes(32)
    elif change == "number":
        offers = np.roll(offers, 1, axis=0)
    elif change == "rho":
        offers[:, 0] ^= 1
    else:
        # Zero is below q: a vector that differs from the one that was hashed.
        offers[FEW_PLACES[0], kem.RHO + kem.VECTOR * (1 - FEW_PLACES[1])] = 0
        offers[FEW_PLACES[0], kem.RHO + kem.VECTOR * (1 - FEW_PLACES[1]) + 1] &= 0xF0
    answers, secrets = kem.answer_offers(session, offers)
    if change == "number":
        answers, secrets = np.roll(answers, -1, axis=0), np.roll(secrets, -1, axis=0)
    found = kem.open_chosen(FEW_CHOICES, PAIRS, answers)
    assert (found != secrets[FEW_PLACES]).any(axis=1).all()


def added(session: bytes, which: int, rhos: kem.Bytes, other: kem.Numbers) -> kem.Numbers:
    choices = np.full(len(rhos), which, np.bool_)
    return kem._hash_vectors(session, choices, rhos, kem.pack(other))


def test_a_receiver_that_wants_both_keys_to_be_its_own_gets_one() -> None:
    """It moves r₀ to fit r₁ and r₁ to fit r₀, again and again: only what it moved last fits."""
    whole = np.frombuffer(b"".join(p.public_key().public_bytes_raw() for p in PAIRS), np.uint8)
    whole = whole.reshape(FEW, -1)
    own, rhos = kem.unpack(whole[:, : kem.VECTOR]).astype(np.int64), whole[:, kem.VECTOR :]
    said = np.zeros((2, FEW, own.shape[1]), np.uint16)
    for turn in range(7):
        which = turn % 2
        said[which] = (own - added(KEM_SESSION, which, rhos, said[1 - which])) % kem.Q
        offers = np.concatenate([rhos, kem.pack(said[0]), kem.pack(said[1])], axis=1)
        answers, secrets = kem.answer_offers(KEM_SESSION, offers)
        for one in range(2):
            choices = np.full(FEW, one, np.bool_)
            right = (kem.open_chosen(choices, PAIRS, answers) == secrets[:, one]).all(axis=1)
            assert right.all() if one == which else not right.any()


def test_a_library_without_the_kem_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        @staticmethod
        def from_seed_bytes(seed: bytes) -> None:
            raise UnsupportedAlgorithm("no")

    monkeypatch.setattr(kem, "MLKEM768PrivateKey", Without)
    with pytest.raises(UsageError):
        kem.make_keys(1, Fixed("keys"))


def test_vectors_are_written_and_read_as_by_the_library() -> None:
    """A number that is not below the modulus is refused by both."""
    vectors = np.random.default_rng(5).integers(0, kem.Q, (4, kem.LENGTH)).astype(np.uint16)
    packed = kem.pack(vectors)
    assert packed.shape == (4, kem.VECTOR)
    assert (kem.unpack(packed) == vectors).all()
    for vector in packed:
        MLKEM768PublicKey.from_public_bytes(vector.tobytes() + bytes(kem.RHO)).encapsulate()
    for place, value in ((0, kem.Q), (1, 4095), (400, kem.Q), (kem.LENGTH - 1, kem.Q)):
        vectors[1, place], before = value, vectors[1, place]
        packed = kem.pack(vectors)
        with pytest.raises(PeerError):
            kem.unpack(packed)
        with pytest.raises(ValueError, match="ML-KEM-768"):
            MLKEM768PublicKey.from_public_bytes(packed[1].tobytes() + bytes(kem.RHO))
        vectors[1, place] = before
    with pytest.raises(RuntimeError):
        kem.draw_numbers(np.full((1, kem.STREAM), 255, np.uint8), kem.LENGTH)


# -- base ----------------------------------------------------------------------------------------------------

SESSION = bytes(range(32))
CHOICES = np.random.default_rng(0).random(COUNT) < 0.5
PLACES = np.arange(COUNT), CHOICES.astype(int)
OTHERS = np.arange(COUNT), 1 - CHOICES.astype(int)
SMALL_ORDER = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
NEUTRAL = (1).to_bytes(32, "little")
NOT_CANONICAL = ((1 << 255) - 19 + 1).to_bytes(32, "little")
NOT_ON_CURVE = (2).to_bytes(32, "little")
POINT_OF_ONE = sodium.crypto_scalarmult_ed25519_base_noclamp((1).to_bytes(32, "little"))
WITH_SMALL_PART = sodium.crypto_core_ed25519_add(POINT_OF_ONE, SMALL_ORDER)
BAD = {
    "small order": SMALL_ORDER,
    "neutral": NEUTRAL,
    "not canonical": NOT_CANONICAL,
    "not on the curve": NOT_ON_CURVE,
    "small-order part": WITH_SMALL_PART,
    "zero": bytes(32),
    "ones": b"\xff" * 32,
}


def sender() -> Party[Any]:
    return send_base(SESSION, Fixed("s"))


def receiver() -> Party[Any]:
    return receive_base(SESSION, CHOICES, Fixed("r"))


def test_the_receiver_has_the_chosen_key_of_each_pair() -> None:
    wire = Wire()
    pairs, chosen = run_pair(sender(), receiver(), wire=wire)
    assert (chosen == pairs[PLACES]).all()
    assert (chosen != pairs[OTHERS]).any(axis=1).all()
    assert len({key.tobytes() for pair in pairs for key in pair}) == 2 * COUNT
    assert wire.bytes == BASE
    assert wire.rounds == 3
    assert wire.sizes == {
        Side.A: [POINT, COUNT * kem.ANSWER],
        Side.B: [COUNT * POINT, COUNT * kem.OFFER],
    }


def test_keys_are_of_the_whole_transcript() -> None:
    """One bit that the two sides see differently, and no key is the same."""

    def run(message: str) -> tuple[Any, Any]:
        of_a, of_b = sender(), receiver()

        def flipped(data: bytes) -> bytes:
            # In the last OT's part of a message, so that the others differ by the transcript alone.
            if message in ("point", "points"):
                return data[:-POINT] + POINT_OF_ONE
            return data[:-1] + bytes([data[-1] ^ 1])

        if message == "session":
            of_a = send_base(bytes(32), Fixed("s"))
        elif message in ("point", "ciphertexts"):
            of_a = tampered(of_a, ("point", "ciphertexts").index(message), flipped)
        else:
            of_b = tampered(of_b, ("points", "keys").index(message), flipped)
        return run_pair(of_a, of_b)

    for message in ("session", "point", "points", "keys", "ciphertexts"):
        pairs, chosen = run(message)
        assert (chosen[:, None] != pairs).any(axis=2).all(), message


def watched(patch: pytest.MonkeyPatch, name: str) -> list[tuple[tuple[Any, ...], Any]]:
    """What a function of the module is given, and gives."""
    real, seen = getattr(base, name), []

    def watch(*given: Any) -> Any:
        seen.append((given, real(*given)))
        return seen[-1][1]

    patch.setattr(base, name, watch)
    return seen


def keys_of(transcript: bytes, points: list[bytes], secrets: Any) -> np.ndarray:
    """The keys that were not chosen, from what a receiver takes for their two parts."""
    made = (
        base._key(transcript, number, int(not choice), point, secret)
        for number, (choice, point, secret) in enumerate(zip(CHOICES, points, secrets, strict=True))
    )
    return np.frombuffer(b"".join(made), np.uint8).reshape(COUNT, -1)


def test_either_part_of_the_other_key_alone_does_not_give_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither who computes discrete logarithms has it, nor who opens all ciphertexts."""
    shared, made = watched(monkeypatch, "_shared_points"), watched(monkeypatch, "_transcript")
    answered = watched(monkeypatch, "answer_offers")
    pairs, _ = run_pair(sender(), receiver())
    transcript, secrets = made[0][1], answered[0][1][1]
    points = np.array(shared[0][1], object).reshape(COUNT, 2)
    for point, secret in ((PLACES, OTHERS), (OTHERS, PLACES), (OTHERS, OTHERS)):
        right = (keys_of(transcript, points[point].tolist(), secrets[secret]) == pairs[OTHERS]).all(axis=1)
        assert right.tolist() == [point is secret is OTHERS] * COUNT


def says(first: bytes) -> Party[None]:
    yield Send(first)
    yield Receive(COUNT * POINT)


def answers(points: bytes, offers: bytes = b"") -> Party[None]:
    yield Receive(POINT)
    yield Send(points)
    if offers:
        yield Send(offers)
        yield Receive(COUNT * kem.ANSWER)


@pytest.mark.parametrize("name", BAD)
def test_a_point_outside_the_group_is_refused_by_both(name: str) -> None:
    with pytest.raises(PeerError):
        run_pair(says(BAD[name]), receiver())
    with pytest.raises(PeerError):
        run_pair(sender(), answers(POINT_OF_ONE * 100 + BAD[name] + POINT_OF_ONE * 27))


def test_good_points_and_keys_are_accepted_and_others_refused() -> None:
    """The sender's own point is none of the good ones."""
    offers = kem.offer_keys(SESSION, CHOICES, kem.make_keys(COUNT, Fixed("k")), Fixed("o")).tobytes()
    points = POINT_OF_ONE * COUNT
    assert run_pair(sender(), answers(points, offers))[0].shape == (COUNT, 2, 16)
    own = next(sender())
    assert isinstance(own, Send)
    for wrong in (
        (points, offers[:-3] + b"\xff" * 3),
        (points, offers[:-1]),
        (bytes(own.buffer) * COUNT, b""),
    ):
        with pytest.raises(PeerError):
            run_pair(sender(), answers(*wrong))


@pytest.mark.parametrize("side", list(Side), ids=str)
def test_other_points_or_ciphertexts_on_their_way_end_the_set_up(side: Side) -> None:
    """B's points, A's ciphertexts: all keys differ, and the checked OTs that follow show it."""
    parties = {of: set_up(of, 8, Fixed(of.value)) for of in Side}
    if side is Side.B:
        parties[side] = tampered(parties[side], 1, lambda data: POINT_OF_ONE * (len(data) // POINT))
    else:
        parties[side] = tampered(parties[side], 2, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(PeerError):
        run_pair(parties[Side.A], parties[Side.B])


@pytest.mark.parametrize("chosen", [True, False])
def test_a_sender_that_spoils_a_ciphertext_ends_the_set_up_if_it_was_chosen(
    chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which it learns that way."""
    _, b = run_pair(set_up(Side.A, 8, Fixed("a")), set_up(Side.B, 8, Fixed("b")))
    # The path goes by the highest bit of a piece of Δ first, and the choice leads away from it.
    choice = 1 - (int(b.sender.delta[0]) >> 7 & 1)

    def spoiled(*given: Any) -> Any:
        made, secrets = kem.answer_offers(*given)
        made[0, choice if chosen else 1 - choice, 0] ^= 1
        return made, secrets

    monkeypatch.setattr(base, "answer_offers", spoiled)
    both = set_up(Side.A, 8, Fixed("a")), set_up(Side.B, 8, Fixed("b"))
    if not chosen:
        run_pair(*both)
        return
    with pytest.raises(PeerError):
        run_pair(*both)
