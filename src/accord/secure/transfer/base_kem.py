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
that departs from the protocol can make the session end, or not, by one choice; everything it sends follows
from its seed, so that a replay shows it.
"""

from __future__ import annotations

import hashlib

import numpy as np
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import NO_KEM, UsageError
from accord.secure.transfer.kem import (
    CIPHERTEXT,
    LENGTH,
    MESSAGE,
    RHO,
    SECRET,
    STREAM,
    VECTOR,
    Bytes,
    Numbers,
    Q,
    draw_numbers,
    encapsulate,
    pack,
    unpack,
)

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


def answer_offers(session: bytes, offers: Bytes, entropy: Entropy) -> tuple[Bytes, Bytes]:
    """What the sender says, ciphertexts (n, 2, 1088), and the secrets in them (n, 2, 32)."""
    rhos, said = offers[:, :RHO], offers[:, RHO:].reshape(-1, 2, VECTOR)
    numbers, vectors = unpack(said), np.empty((len(offers), 2, LENGTH), np.uint16)
    for which in range(2):
        choices = np.full(len(offers), which, np.bool_)
        sums = numbers[:, which] + _hash_vectors(session, choices, rhos, said[:, 1 - which])
        vectors[:, which] = np.minimum(sums, sums - np.uint16(Q))
    drawn = np.frombuffer(bytearray(entropy.bytes(len(offers) * 2 * MESSAGE)), np.uint8)
    return encapsulate(rhos, vectors, drawn.reshape(-1, 2, MESSAGE))


def open_chosen(choices: NDArray[np.bool_], keys: list[MLKEM768PrivateKey], answers: Bytes) -> Bytes:
    """The secret of the chosen ciphertext of each OT, shape (n, 32)."""
    chosen = np.where(choices[:, None], answers[:, 1], answers[:, 0])
    secrets = b"".join(key.decapsulate(one.tobytes()) for key, one in zip(keys, chosen, strict=True))
    return np.frombuffer(secrets, np.uint8).reshape(-1, SECRET)


def _hash_vectors(session: bytes, which: NDArray[np.bool_], rhos: Bytes, others: Bytes) -> Numbers:
    """H_b of each OT's other vector, shape (n, 768)."""
    heads = [TAG + session + number.to_bytes(4, "little") for number in range(len(others))]
    tails = np.concatenate([which[:, None].astype(np.uint8), rhos, others], axis=1)
    streams = b"".join(
        hashlib.shake_256(head + tail.tobytes()).digest(STREAM)
        for head, tail in zip(heads, tails, strict=True)
    )
    return draw_numbers(np.frombuffer(bytearray(streams), np.uint8).reshape(-1, STREAM), LENGTH)
