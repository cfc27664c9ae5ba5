"""The lattices' part of base OTs: one key of two can be opened, and nobody can make both."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

from accord.errors import PeerError, UsageError
from accord.secure.transfer import base_kem
from accord.secure.transfer.base_kem import (
    LENGTH,
    OFFER,
    RHO,
    STREAM,
    VECTOR,
    Bytes,
    Numbers,
    Q,
    answer_offers,
    draw_numbers,
    make_keys,
    offer_keys,
    open_chosen,
    pack,
    unpack,
)
from tests.secure.worlds import Fixed

SESSION = bytes(range(32))
COUNT = 12
CHOICES = np.arange(COUNT) % 3 == 1
PAIRS = make_keys(COUNT, Fixed("keys"))
OFFERS = offer_keys(SESSION, CHOICES, PAIRS, Fixed("r"))
ANSWERS, SECRETS = answer_offers(SESSION, OFFERS)
PLACES = np.arange(COUNT), CHOICES.astype(int)


def test_the_chosen_secret_can_be_opened_and_the_other_cannot() -> None:
    assert (open_chosen(CHOICES, PAIRS, ANSWERS) == SECRETS[PLACES]).all()
    other = open_chosen(~CHOICES, PAIRS, ANSWERS)
    assert (other != SECRETS[PLACES[0], 1 - PLACES[1]]).any(axis=1).all()
    assert len({secret.tobytes() for secret in SECRETS.reshape(-1, 32)}) == 2 * COUNT


def test_what_is_offered_follows_from_the_entropy_and_secrets_are_fresh() -> None:
    again = make_keys(COUNT, Fixed("keys"))
    assert (offer_keys(SESSION, CHOICES, again, Fixed("r")) == OFFERS).all()
    for one, other in zip(answer_offers(SESSION, OFFERS), (ANSWERS, SECRETS), strict=True):
        assert (one != other).any(axis=2).all()


def test_both_vectors_look_alike_whatever_was_chosen() -> None:
    """Numbers below q, on average in the middle; a mean of n is off by 6 deviations once in 5·10⁸."""
    vectors = unpack(OFFERS[:, RHO:].reshape(COUNT, 2, VECTOR))
    deviation = Q / np.sqrt(12 * COUNT * vectors.shape[2])
    for one in (vectors[PLACES], vectors[PLACES[0], 1 - PLACES[1]]):
        assert abs(one.mean() - (Q - 1) / 2) < 6 * deviation


@pytest.mark.parametrize("change", ["session", "number", "rho", "other vector"])
def test_a_key_belongs_to_its_session_and_place(change: str) -> None:
    session, offers = SESSION, OFFERS.copy()
    if change == "session":
        session = bytes(32)
    elif change == "number":
        offers = np.roll(offers, 1, axis=0)
    elif change == "rho":
        offers[:, 0] ^= 1
    else:
        # Zero is below q: a vector that differs from the one that was hashed.
        offers[PLACES[0], RHO + VECTOR * (1 - PLACES[1])] = 0
        offers[PLACES[0], RHO + VECTOR * (1 - PLACES[1]) + 1] &= 0xF0
    answers, secrets = answer_offers(session, offers)
    if change == "number":
        answers, secrets = np.roll(answers, -1, axis=0), np.roll(secrets, -1, axis=0)
    found = open_chosen(CHOICES, PAIRS, answers)
    assert (found != secrets[PLACES]).any(axis=1).all()


def added(session: bytes, which: int, rhos: Bytes, other: Numbers) -> Numbers:
    choices = np.full(len(rhos), which, np.bool_)
    return base_kem._hash_vectors(session, choices, rhos, pack(other))


def test_a_receiver_that_wants_both_keys_to_be_its_own_gets_one() -> None:
    """It moves r₀ to fit r₁ and r₁ to fit r₀, again and again: only what it moved last fits."""
    whole = np.frombuffer(b"".join(p.public_key().public_bytes_raw() for p in PAIRS), np.uint8)
    whole = whole.reshape(COUNT, -1)
    own, rhos = unpack(whole[:, :VECTOR]).astype(np.int64), whole[:, VECTOR:]
    said = np.zeros((2, COUNT, own.shape[1]), np.uint16)
    for turn in range(7):
        which = turn % 2
        said[which] = (own - added(SESSION, which, rhos, said[1 - which])) % Q
        offers = np.concatenate([rhos, pack(said[0]), pack(said[1])], axis=1)
        answers, secrets = answer_offers(SESSION, offers)
        for one in range(2):
            choices = np.full(COUNT, one, np.bool_)
            right = (open_chosen(choices, PAIRS, answers) == secrets[:, one]).all(axis=1)
            assert right.all() if one == which else not right.any()


@pytest.mark.parametrize("place", [RHO, RHO + VECTOR - 3, RHO + VECTOR, OFFER - 3])
def test_a_number_that_is_too_large_is_refused(place: int) -> None:
    offers = OFFERS.copy()
    offers[COUNT - 1, place : place + 3] = 255
    with pytest.raises(PeerError, match="not below its modulus"):
        answer_offers(SESSION, offers)


def test_a_tampered_ciphertext_gives_another_secret() -> None:
    for place in (0, 959, 960, 1087):
        answers = ANSWERS.copy()
        answers[:, :, place] ^= 1
        assert (open_chosen(CHOICES, PAIRS, answers) != SECRETS[PLACES]).any(axis=1).all()


def test_a_library_without_the_kem_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        @staticmethod
        def from_seed_bytes(seed: bytes) -> None:
            raise UnsupportedAlgorithm("no")

    monkeypatch.setattr(base_kem, "MLKEM768PrivateKey", Without)
    with pytest.raises(UsageError, match=r"OpenSSL is older than 3\.5"):
        make_keys(1, Fixed("keys"))


def test_vectors_are_written_and_read_as_by_the_library() -> None:
    vectors = np.random.default_rng(5).integers(0, Q, (4, LENGTH)).astype(np.uint16)
    packed = pack(vectors)
    assert packed.shape == (4, VECTOR)
    assert (unpack(packed) == vectors).all()
    for vector in packed:
        MLKEM768PublicKey.from_public_bytes(vector.tobytes() + bytes(RHO)).encapsulate()


@pytest.mark.parametrize("place", [0, 1, 400, LENGTH - 1])
@pytest.mark.parametrize("value", [Q, 4095])
def test_a_number_that_is_not_below_the_modulus_is_refused_as_the_library_does(
    place: int, value: int
) -> None:
    vectors = np.zeros((2, LENGTH), np.uint16)
    vectors[1, place] = value
    packed = pack(vectors)
    with pytest.raises(PeerError, match="not below its modulus"):
        unpack(packed)
    with pytest.raises(ValueError, match="ML-KEM-768"):
        MLKEM768PublicKey.from_public_bytes(packed[1].tobytes() + bytes(RHO))


def test_numbers_are_the_first_below_the_modulus() -> None:
    streams = np.frombuffer(bytearray(Fixed("d").bytes(5 * STREAM)), np.uint8).reshape(5, STREAM)
    drawn = draw_numbers(streams, LENGTH)
    for stream, found in zip(streams, drawn, strict=True):
        whole = int.from_bytes(stream[: STREAM // 3 * 3].tobytes(), "little")
        every = [whole >> 12 * place & 4095 for place in range(STREAM // 3 * 2)]
        assert found.tolist() == [value for value in every if value < Q][:LENGTH]
    with pytest.raises(RuntimeError, match="too few"):
        draw_numbers(np.full((1, STREAM), 255, np.uint8), LENGTH)
    assert draw_numbers(streams[:0], LENGTH).shape == (0, LENGTH)
