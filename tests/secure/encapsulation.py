"""ML-KEM-768's encapsulation with messages that are given: an oracle, and base OTs that follow from entropy.

ML-KEM.Encaps_internal (FIPS 203, Algorithm 17) with its K-PKE.Encrypt (Algorithm 14). The library draws the
message of an encapsulation itself, so nothing that is recorded can follow from it. With `given_messages` the
sender of base OTs takes its messages from its entropy, after its scalar.

A key is a vector t̂ of 3·256 numbers mod q = 3329, and ρ, from which a matrix Â follows. With y, e, e′ small,
from a hash of the message m and of the key,

    u = Âᵀ·y + e,  v = t̂ᵀ·y + e′ + m·⌈q/2⌋,  ciphertext = u in 10 bits a number, v in 4

Products of polynomials mod X²⁵⁶ + 1 are made in the domain of the NTT, where a polynomial is 128 of degree 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.party import Party
from accord.secure.transfer import base, base_kem, setup
from accord.secure.transfer.base_kem import VECTOR, Bytes, Q, draw_numbers, unpack

Ints = NDArray[np.int64]

RANK, SIZE, MESSAGE = 3, 256, 32
_PLACES = [int(f"{number:07b}"[::-1], 2) for number in range(128)]
_ROOTS = np.array([pow(17, place, Q) for place in _PLACES])
_REDUCED = np.array([pow(17, 2 * place + 1, Q) for place in _PLACES])
_ENTRY = 840
"""Random bytes that an entry of Â is drawn from: FIPS 203, Appendix B, allows to stop there."""


@contextmanager
def given_messages() -> Iterator[None]:
    """Until the end of the block all that a sender of base OTs sends follows from its entropy."""
    send, answer = base.send_base, base_kem.answer_offers
    drawn = dict[bytes, list[bytes]]()

    def send_base(session: bytes, entropy: Entropy) -> Party[Bytes]:
        first = _Given(entropy.bytes(64))
        stream = entropy.bytes(base.COUNT * 2 * MESSAGE)
        drawn[session] = [stream[at : at + MESSAGE] for at in range(0, len(stream), MESSAGE)]
        return (yield from send(session, first))

    def answer_offers(session: bytes, offers: Bytes) -> tuple[Bytes, Bytes]:
        messages = drawn.pop(session)
        with pytest.MonkeyPatch.context() as within:
            within.setattr(base_kem, "encapsulate", lambda keys: encapsulate(keys, messages))
            return answer(session, offers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "send_base", send_base)
        patch.setattr(base, "answer_offers", answer_offers)
        yield


class _Given:
    """Bytes that are given once."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def bytes(self, count: int) -> bytes:
        assert count == len(self._content)
        return self._content

    def stream(self, name: str) -> Entropy:
        raise NotImplementedError


def encapsulate(keys: list[bytes], messages: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The secret and the ciphertext of each message, each for its own key."""
    derived = [
        hashlib.sha3_512(message + hashlib.sha3_256(key).digest()).digest()
        for key, message in zip(keys, messages, strict=True)
    ]
    vectors = unpack(_rows([key[:VECTOR] for key in keys])).astype(np.int64).reshape(-1, 1, RANK, SIZE)
    matrices = np.concatenate([_matrices([key[VECTOR:] for key in keys]), vectors], axis=1)
    noise = _noise([one[32:] for one in derived])
    y = _transform(noise[:, :RANK])
    bits = np.unpackbits(_rows(messages), axis=1, bitorder="little").astype(np.int64)
    sums = _restore(_multiply(matrices, y[:, None]).sum(axis=2)) + noise[:, RANK:]
    sums[:, RANK] += bits * ((Q + 1) // 2)
    u, v = _write(sums[:, :RANK], 10), _write(sums[:, RANK:], 4)
    return [(one[:32], a.tobytes() + b.tobytes()) for one, a, b in zip(derived, u, v, strict=True)]


def _rows(of_one_size: list[bytes]) -> Bytes:
    return np.frombuffer(b"".join(of_one_size), np.uint8).reshape(len(of_one_size), -1)


def _matrices(rhos: list[bytes]) -> Ints:
    """Âᵀ in the domain of the NTT for each ρ, shape (n, 3, 3, 256)."""
    places = [bytes(place) for place in product(range(RANK), repeat=2)]
    streams = [hashlib.shake_128(rho + place).digest(_ENTRY) for rho, place in product(rhos, places)]
    return draw_numbers(_rows(streams), SIZE).astype(np.int64).reshape(-1, RANK, RANK, SIZE)


def _noise(seeds: list[bytes]) -> Ints:
    """y, e and e′ of each, shape (n, 7, 256): two bits less two bits."""
    streams = [hashlib.shake_256(seed + bytes((n,))).digest(128) for seed, n in product(seeds, range(7))]
    bits = np.unpackbits(_rows(streams), axis=1, bitorder="little").astype(np.int64).reshape(-1, 7, SIZE, 4)
    return bits[..., 0] + bits[..., 1] - bits[..., 2] - bits[..., 3]


def _transform(values: Ints) -> Ints:
    """The NTT along the last axis."""
    for blocks in (1, 2, 4, 8, 16, 32, 64):
        low, high = np.moveaxis(values.reshape(*values.shape[:-1], blocks, 2, -1), -2, 0)
        turned = _ROOTS[blocks : 2 * blocks, None] * high
        values = np.stack([low + turned, low - turned], axis=-2).reshape(values.shape) % Q
    return values


def _restore(values: Ints) -> Ints:
    """The reverse."""
    for blocks in (64, 32, 16, 8, 4, 2, 1):
        low, high = np.moveaxis(values.reshape(*values.shape[:-1], blocks, 2, -1), -2, 0)
        turned = _ROOTS[blocks : 2 * blocks][::-1, None] * (high - low)
        values = np.stack([low + high, turned], axis=-2).reshape(values.shape) % Q
    return values * pow(128, -1, Q) % Q


def _multiply(left: Ints, right: Ints) -> Ints:
    """Products in the domain of the NTT."""
    a, b, c, d = left[..., ::2], left[..., 1::2], right[..., ::2], right[..., 1::2]
    even, odd = a * c + b * d % Q * _REDUCED, a * d + b * c
    return np.stack([even, odd], axis=-1).reshape(*even.shape[:-1], SIZE) % Q


def _write(values: Ints, bits: int) -> Bytes:
    """⌈2ᵈ·x/q⌋ mod 2ᵈ for each number x mod q, in d bits; a row for each of the first axis."""
    rounded = ((values % Q << bits) + Q // 2) // Q
    each = rounded[..., None] >> np.arange(bits) & 1
    return np.packbits(each.astype(np.uint8).reshape(len(values), -1), axis=1, bitorder="little")
