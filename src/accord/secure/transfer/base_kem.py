"""The part of the base OTs that rests on lattices: two keys of ML-KEM-768 an OT, of which one can be opened.

Masny and Rindal, Endemic Oblivious Transfer (CCS'19), with the vectors t̂ of encapsulation keys as the group.
Both keys of an OT have one ρ, which the receiver's own key has; each OT has its own.

    receiver  a key pair (t̂_c, ρ);  r_{1−c} uniform,  r_c = t̂_c − H_c(r_{1−c}) mod q      → ρ, r₀, r₁
    sender    t̂₀ = r₀ + H₀(r₁),  t̂₁ = r₁ + H₁(r₀),  encapsulates to both                 → two ciphertexts

H_b also takes the session, the number of the OT and ρ; it is SHAKE-256 as a random oracle. Whichever of the
two hashes is asked for last makes its key a uniform vector, after both r were fixed: so at most one of the
two keys is one that the receiver has made. Encapsulation to a uniform vector hides its secret, by module-LWE.
To the sender r_c looks as uniform as r_{1−c}, by module-LWE as well: nothing else hides the choices here.

What is tampered with does not show at once: ML-KEM gives another secret for a ciphertext that nobody made.
Then the trees do not fit, and the check of the OTs that follow ends the session (`setup.py`). So a sender
that departs from the protocol can make the session end, or not, by one choice.

Keys, encapsulation and decapsulation are those of the library (OpenSSL). The vectors are our own: a key is t̂,
3·256 numbers mod q = 3329 in 12 bits each, and ρ.
"""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import NO_KEM, PeerError, UsageError

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.uint16]

Q, LENGTH = 3329, 768
"""The modulus, and how many numbers a vector has."""
VECTOR, RHO = LENGTH * 12 // 8, 32
"""Bytes of the two parts of an encapsulation key."""
SECRET, CIPHERTEXT = 32, 1088
STREAM = 1904
"""Random bytes that a vector is drawn from: they hold too few numbers below q once in 2²¹⁷ times."""
OFFER = RHO + 2 * VECTOR
"""Bytes of the receiver for an OT."""
ANSWER = 2 * CIPHERTEXT
TAG = b"accord/ot/base/kem/1"
_SEED = 64


def make_keys(count: int, entropy: Entropy) -> list[MLKEM768PrivateKey]:
    """Key pairs that follow from the entropy. Raises if the library was built without ML-KEM."""
    seeds = entropy.bytes(count * _SEED)
    try:
        return [
            MLKEM768PrivateKey.from_seed_bytes(seeds[at : at + _SEED]) for at in range(0, len(seeds), _SEED)
        ]
    except UnsupportedAlgorithm:
        raise UsageError(problem=NO_KEM) from None


def offer_keys(
    session: bytes, choices: NDArray[np.bool_], keys: list[MLKEM768PrivateKey], entropy: Entropy
) -> Bytes:
    """What the receiver says: ρ, r₀ and r₁ of each OT, shape (n, 2336)."""
    public = b"".join(key.public_key().public_bytes_raw() for key in keys)
    whole = np.frombuffer(public, np.uint8).reshape(len(keys), VECTOR + RHO)
    own, rhos = unpack(whole[:, :VECTOR]), whole[:, VECTOR:]
    drawn = np.frombuffer(bytearray(entropy.bytes(len(keys) * STREAM)), np.uint8)
    other = draw_numbers(drawn.reshape(-1, STREAM), LENGTH)
    # Below 2·q, so the rest is one subtraction.
    sums = own + (Q - _hash_vectors(session, choices, rhos, pack(other)))
    shown = np.minimum(sums, sums - np.uint16(Q))
    second = choices[:, None]
    pair = np.where(second, other, shown), np.where(second, shown, other)
    return np.concatenate([rhos, pack(pair[0]), pack(pair[1])], axis=1)


def answer_offers(session: bytes, offers: Bytes) -> tuple[Bytes, Bytes]:
    """What the sender says, ciphertexts (n, 2, 1088), and the secrets in them (n, 2, 32)."""
    rhos, said = offers[:, :RHO], offers[:, RHO:].reshape(-1, 2, VECTOR)
    numbers, keys = unpack(said), np.empty((len(offers), 2, VECTOR + RHO), np.uint8)
    keys[:, :, VECTOR:] = rhos[:, None]
    for which in range(2):
        choices = np.full(len(offers), which, np.bool_)
        sums = numbers[:, which] + _hash_vectors(session, choices, rhos, said[:, 1 - which])
        keys[:, which, :VECTOR] = pack(np.minimum(sums, sums - np.uint16(Q)))
    made = encapsulate([key.tobytes() for key in keys.reshape(-1, VECTOR + RHO)])
    secrets, ciphertexts = (b"".join(parts) for parts in zip(*made, strict=True))
    answers = np.frombuffer(bytearray(ciphertexts), np.uint8).reshape(-1, 2, CIPHERTEXT)
    return answers, np.frombuffer(secrets, np.uint8).reshape(-1, 2, SECRET)


def encapsulate(keys: list[bytes]) -> list[tuple[bytes, bytes]]:
    """A fresh secret for each key, and the ciphertext that hides it."""
    return [MLKEM768PublicKey.from_public_bytes(key).encapsulate() for key in keys]


def open_chosen(choices: NDArray[np.bool_], keys: list[MLKEM768PrivateKey], answers: Bytes) -> Bytes:
    """The secret of the chosen ciphertext of each OT, shape (n, 32)."""
    chosen = np.where(choices[:, None], answers[:, 1], answers[:, 0])
    secrets = b"".join(key.decapsulate(one.tobytes()) for key, one in zip(keys, chosen, strict=True))
    return np.frombuffer(secrets, np.uint8).reshape(-1, SECRET)


def pack(vectors: Numbers) -> Bytes:
    """Twelve bits a number: (…, 768) to (…, 1152)."""
    even, odd = vectors[..., ::2], vectors[..., 1::2]
    three = np.stack([even & 255, even >> 8 | (odd & 15) << 4, odd >> 4], axis=-1)
    return three.astype(np.uint8).reshape(*vectors.shape[:-1], VECTOR)


def unpack(packed: Bytes) -> Numbers:
    """The reverse. Raises on a number that is not below q: such a key would have two spellings."""
    numbers = _numbers(packed)
    if (numbers >= Q).any():
        raise PeerError(problem="a key whose numbers are not below its modulus")
    return numbers


def draw_numbers(streams: Bytes, count: int) -> Numbers:
    """The first numbers of 12 bits that are below q in each stream of random bytes: (n, bytes) to (n, count).

    Distribution: uniform and independent, if the bytes are.
    """
    numbers = _numbers(streams[:, : streams.shape[1] // 3 * 3])
    above = numbers >= Q
    if numbers.shape[1] - above.sum(axis=1).max(initial=0) < count:
        raise RuntimeError("too few numbers below the modulus, which cannot happen by chance")
    order = np.argsort(above, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(numbers, order, axis=1)


def _numbers(packed: Bytes) -> Numbers:
    """Two numbers of 12 bits from every three bytes: (…, 3n) to (…, 2n)."""
    three = packed.astype(np.uint16).reshape(*packed.shape[:-1], packed.shape[-1] // 3, 3)
    even = three[..., 0] | (three[..., 1] & 15) << 8
    odd = three[..., 1] >> 4 | three[..., 2] << 4
    return np.stack([even, odd], axis=-1).reshape(*packed.shape[:-1], 2 * three.shape[-2])


def _hash_vectors(session: bytes, which: NDArray[np.bool_], rhos: Bytes, others: Bytes) -> Numbers:
    """H_b of each OT's other vector, shape (n, 768)."""
    heads = [TAG + session + number.to_bytes(4, "little") for number in range(len(others))]
    tails = np.concatenate([which[:, None].astype(np.uint8), rhos, others], axis=1)
    streams = b"".join(
        hashlib.shake_256(head + tail.tobytes()).digest(STREAM)
        for head, tail in zip(heads, tails, strict=True)
    )
    return draw_numbers(np.frombuffer(bytearray(streams), np.uint8).reshape(-1, STREAM), LENGTH)
