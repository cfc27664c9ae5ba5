"""Base oblivious transfers: 128 pairs of keys of which the receiver learns one each, by its choice.

Chou and Orlandi, The Simplest Protocol for Oblivious Transfer (LATINCRYPT'15), on the prime-order subgroup
of ed25519, with libsodium's arithmetic. Assumption: computational Diffie-Hellman in that group, SHA-256 as
a random oracle; semi-honest parties.

    sender    a uniform,            A = a·G                                     → A
    receiver  bᵢ uniform,           Bᵢ = cᵢ·A + bᵢ·G                            → B₁ … B₁₂₈
    keys      kᵢ⁰ = H(i, A, Bᵢ, a·Bᵢ),  kᵢ¹ = H(i, A, Bᵢ, a·Bᵢ − a·A);  the receiver has H(i, A, Bᵢ, bᵢ·A)

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
from accord.secure.party import Party, Send, receive

COUNT = 128
POINT = 32
KEY = 16
TAG = b"accord/ot/base/1"


def _scalar(entropy: Entropy) -> bytes:
    """A uniform scalar; 512 bits reduced are within 2⁻²⁵⁰ of uniform."""
    return sodium.crypto_core_ed25519_scalar_reduce(entropy.bytes(64))


def _key(index: int, ours: bytes, theirs: bytes, shared: bytes) -> bytes:
    return hashlib.sha256(TAG + index.to_bytes(4, "little") + ours + theirs + shared).digest()[:KEY]


def _times(scalar: bytes, point: bytes) -> bytes:
    try:
        return sodium.crypto_scalarmult_ed25519_noclamp(scalar, point)
    except CryptoError:
        raise PeerError(problem="a point that is not in the group") from None


def send_base(entropy: Entropy) -> Party[NDArray[np.uint8]]:
    """The sender's keys, shape (128, 2, 16).

    Learns: nothing of the choices (each Bᵢ is uniform whatever cᵢ is).
    """
    secret = _scalar(entropy)
    public = sodium.crypto_scalarmult_ed25519_base_noclamp(secret)
    yield Send(public)
    points = (yield from receive(COUNT * POINT)).tobytes()
    # a·(Bᵢ − A), without a multiplication for each.
    apart = _times(secret, public)
    keys = bytearray()
    for index in range(COUNT):
        point = points[index * POINT : (index + 1) * POINT]
        if point == public:
            raise PeerError(problem="a point that gives the neutral element")
        shared = _times(secret, point)
        keys += _key(index, public, point, shared)
        keys += _key(index, public, point, sodium.crypto_core_ed25519_sub(shared, apart))
    return np.frombuffer(bytes(keys), dtype=np.uint8).reshape(COUNT, 2, KEY)


def receive_base(choices: NDArray[np.bool_], entropy: Entropy) -> Party[NDArray[np.uint8]]:
    """The receiver's keys, shape (128, 16).

    Learns: of each pair only the chosen key (the other needs a Diffie-Hellman value it cannot compute).
    """
    secrets = [_scalar(entropy) for _ in range(COUNT)]
    public = (yield from receive(POINT)).tobytes()
    if not sodium.crypto_core_ed25519_is_valid_point(public):
        raise PeerError(problem="a point that is not in the group")
    points = []
    for secret, choice in zip(secrets, choices, strict=True):
        plain = sodium.crypto_scalarmult_ed25519_base_noclamp(secret)
        points.append((plain, sodium.crypto_core_ed25519_add(plain, public))[int(choice)])
    yield Send(b"".join(points))
    keys = b"".join(
        _key(index, public, point, _times(secret, public))
        for index, (point, secret) in enumerate(zip(points, secrets, strict=True))
    )
    return np.frombuffer(keys, dtype=np.uint8).reshape(COUNT, KEY)
