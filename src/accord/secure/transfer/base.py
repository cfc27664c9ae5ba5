"""Base oblivious transfers: 128 pairs of keys of which the receiver learns one each, by its choice.

Two protocols at once, and a key is a hash of both. On a curve, Chou and Orlandi, The Simplest Protocol for
Oblivious Transfer (LATINCRYPT'15), in the prime-order subgroup of ed25519 with libsodium's arithmetic; and
one from a KEM, of which `base_kem.py` has the theory.

    sender    a uniform,            A = a·G                                     → A
    receiver  bᵢ uniform,           Bᵢ = cᵢ·A + bᵢ·G                            → B₁ … B₁₂₈;  KEM keys
    sender    encapsulates to both keys of each OT                              → ciphertexts
    keys      kᵢᵇ = H(transcript, i, b, Sᵢᵇ, Kᵢᵇ) with Sᵢ⁰ = a·Bᵢ, Sᵢ¹ = a·Bᵢ − a·A and K the KEM's secrets;
              the receiver has Sᵢ = bᵢ·A and K of its choice

Assumptions, for semi-honest parties with SHA-256 as a random oracle. A key that was *not* chosen stays hidden
if either computational Diffie-Hellman in that group is hard or module-LWE is: H of two parts needs both. The
*choices* are hidden by the curve's part whatever somebody can compute, since each Bᵢ is uniform; in the KEM's
part module-LWE hides them, so in all they rest on module-LWE.

Points from the peer must be canonical encodings of points of the prime-order subgroup other than the neutral
one; this is stronger than clearing the cofactor, since a point with a small-order part is refused. All others
are refused by libsodium's multiplication, so what is multiplied by a secret needs no check of its own.
"""

from __future__ import annotations

import hashlib

import numpy as np
from nacl import bindings as sodium
from nacl.exceptions import CryptoError
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.secure.party import Party, Send, receive, send
from accord.secure.transfer.base_kem import (
    ANSWER,
    OFFER,
    answer_offers,
    make_keys,
    offer_keys,
    open_chosen,
)

Bytes = NDArray[np.uint8]

COUNT = 128
POINT = 32
KEY = 16
BASE = POINT + COUNT * (POINT + OFFER + ANSWER)
"""Bytes of all base OTs in both directions."""
TAG = b"accord/ot/base/2"


def send_base(session: bytes, entropy: Entropy) -> Party[Bytes]:
    """The sender's keys, shape (128, 2, 16).

    Requires: `session` has 32 bytes, and no other set-up has the same. Learns: nothing of the choices.
    """
    secret = _scalar(entropy)
    public = sodium.crypto_scalarmult_ed25519_base_noclamp(secret)
    yield Send(public)
    points = (yield from receive(COUNT * POINT)).tobytes()
    shared = _shared_points(secret, public, points)
    offers = (yield from receive(COUNT * OFFER)).reshape(COUNT, OFFER)
    answers, secrets = answer_offers(session, offers)
    yield from send(answers)
    transcript = _transcript(session, public, points, offers, answers)
    keys = [
        _key(transcript, number // 2, number % 2, *parts)
        for number, parts in enumerate(zip(shared, secrets.reshape(2 * COUNT, -1), strict=True))
    ]
    return np.frombuffer(b"".join(keys), np.uint8).reshape(COUNT, 2, KEY)


def receive_base(session: bytes, choices: NDArray[np.bool_], entropy: Entropy) -> Party[Bytes]:
    """The receiver's keys, shape (128, 16).

    Requires: as `send_base`. Learns: of each pair only the chosen key.
    """
    scalars = [_scalar(entropy) for _ in range(COUNT)]
    public = (yield from receive(POINT)).tobytes()
    if not sodium.crypto_core_ed25519_is_valid_point(public):
        raise PeerError(problem="a point that is not in the group")
    points = _blinded_points(scalars, public, choices)
    yield Send(points)
    # A message of its own: the peer multiplies the points meanwhile, and encapsulates during what follows.
    pairs = make_keys(COUNT, entropy)
    offers = offer_keys(session, choices, pairs, entropy)
    yield from send(offers)
    shared = [_times(scalar, public) for scalar in scalars]
    answers = (yield from receive(COUNT * ANSWER)).reshape(COUNT, 2, -1)
    secrets = open_chosen(choices, pairs, answers)
    transcript = _transcript(session, public, points, offers, answers)
    keys = [
        _key(transcript, number, int(choice), point, secret)
        for number, (choice, point, secret) in enumerate(zip(choices, shared, secrets, strict=True))
    ]
    return np.frombuffer(b"".join(keys), np.uint8).reshape(COUNT, KEY)


def _blinded_points(scalars: list[bytes], public: bytes, choices: NDArray[np.bool_]) -> bytes:
    """Bᵢ of the receiver."""
    points = []
    for scalar, choice in zip(scalars, choices, strict=True):
        plain = sodium.crypto_scalarmult_ed25519_base_noclamp(scalar)
        points.append((plain, sodium.crypto_core_ed25519_add(plain, public))[int(choice)])
    return b"".join(points)


def _shared_points(secret: bytes, public: bytes, points: bytes) -> list[bytes]:
    """Both points of each OT at the sender."""
    # a·(Bᵢ − A), without a multiplication for each.
    apart = _times(secret, public)
    shared = []
    for at in range(0, len(points), POINT):
        point = points[at : at + POINT]
        if point == public:
            raise PeerError(problem="a point that gives the neutral element")
        shared.append(_times(secret, point))
        shared.append(sodium.crypto_core_ed25519_sub(shared[-1], apart))
    return shared


def _scalar(entropy: Entropy) -> bytes:
    """A uniform scalar; 512 bits reduced are within 2⁻²⁵⁰ of uniform."""
    return sodium.crypto_core_ed25519_scalar_reduce(entropy.bytes(64))


def _times(scalar: bytes, point: bytes) -> bytes:
    try:
        return sodium.crypto_scalarmult_ed25519_noclamp(scalar, point)
    except CryptoError:
        raise PeerError(problem="a point that is not in the group") from None


def _transcript(session: bytes, public: bytes, points: bytes, offers: Bytes, answers: Bytes) -> bytes:
    """All that was said; each part has one size."""
    return hashlib.sha256(TAG + session + public + points + offers.tobytes() + answers.tobytes()).digest()


def _key(transcript: bytes, number: int, which: int, point: bytes, secret: Bytes) -> bytes:
    place = number.to_bytes(4, "little") + bytes((which,))
    return hashlib.sha256(TAG + transcript + place + point + secret.tobytes()).digest()[:KEY]
