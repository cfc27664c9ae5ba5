"""A group in which discrete logarithms are hard, for arrays of its elements.

`Ed25519` is the subgroup of prime order, with libsodium's arithmetic. Hashing into it adds two Elligator
maps of independent halves of a digest, which is indifferentiable from a random oracle (RFC 9380,
hash_to_curve); one map alone reaches half of the points. Every element from the peer is multiplied by a
secret, and libsodium's multiplication refuses what is not a canonical encoding of an element other than the
neutral one: nothing with a part of small order gets through, so no product tells anything of the secret.

`Clear` hides nothing: an item is its digest and multiplication does nothing. It is to `Ed25519` what the
`ideal` engine is to the others, for simulation in one process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from nacl import bindings as sodium
from nacl.exceptions import CryptoError
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError

Bytes = NDArray[np.uint8]

POINT = 32
_TAG = b"accord/group/1\0"
_PIECE = 64


class Group(Protocol):
    """Elements are rows of `POINT` bytes."""

    def hash_items(self, items: Bytes) -> Bytes:
        """The element of each row."""

    def secret(self, entropy: Entropy) -> bytes:
        """A fresh exponent."""

    def blinds(self, count: int, entropy: Entropy) -> tuple[Bytes, Bytes]:
        """Fresh exponents, and those that undo them, row by row."""

    def times_each(self, secrets: Bytes, points: Bytes) -> Bytes:
        """Every element to its own secret exponent; raises for what is no element."""

    def times(self, secret: bytes, points: Bytes) -> Bytes:
        """Every element to the secret exponent; raises for what is no element."""


@dataclass(frozen=True)
class Ed25519:
    """The prime-order subgroup; `domain` keeps the items of different uses apart."""

    domain: bytes

    def hash_items(self, items: Bytes) -> Bytes:
        start = _start(self.domain)

        def point(item: bytes) -> bytes:
            digest = start.copy()
            digest.update(item)
            whole = digest.digest()
            halves = (sodium.crypto_core_ed25519_from_uniform(h) for h in (whole[:32], whole[32:]))
            return sodium.crypto_core_ed25519_add(*halves)

        return _each(point, items)

    def secret(self, entropy: Entropy) -> bytes:
        """*Distribution*: 512 bits reduced, within 2⁻²⁵⁰ of uniform."""
        return sodium.crypto_core_ed25519_scalar_reduce(entropy.bytes(64))

    def blinds(self, count: int, entropy: Entropy) -> tuple[Bytes, Bytes]:
        wide = np.frombuffer(entropy.bytes(64 * count), np.uint8).reshape(count, 64)
        blinds = _each(sodium.crypto_core_ed25519_scalar_reduce, wide)
        return blinds, _each(sodium.crypto_core_ed25519_scalar_invert, blinds)

    def times_each(self, secrets: Bytes, points: Bytes) -> Bytes:
        return _times(
            lambda both: sodium.crypto_scalarmult_ed25519_noclamp(both[:POINT], both[POINT:]),
            np.concatenate([secrets, points], axis=1),
        )

    def times(self, secret: bytes, points: Bytes) -> Bytes:
        return _times(lambda point: sodium.crypto_scalarmult_ed25519_noclamp(secret, point), points)


@dataclass(frozen=True)
class Clear:
    """No secrets: both parties are in one process."""

    domain: bytes

    def hash_items(self, items: Bytes) -> Bytes:
        start = _start(self.domain)

        def digest(item: bytes) -> bytes:
            found = start.copy()
            found.update(item)
            return found.digest()[:POINT]

        return _rows(map(digest, _cut(items)), len(items))

    def secret(self, entropy: Entropy) -> bytes:
        return b""

    def blinds(self, count: int, entropy: Entropy) -> tuple[Bytes, Bytes]:
        none = np.zeros((count, 0), np.uint8)
        return none, none

    def times_each(self, secrets: Bytes, points: Bytes) -> Bytes:
        return points

    def times(self, secret: bytes, points: Bytes) -> Bytes:
        return points


def _start(domain: bytes) -> hashlib._Hash:
    return hashlib.sha512(_TAG + len(domain).to_bytes(8, "little") + domain)


def _cut(rows: Bytes) -> Iterable[bytes]:
    whole, width = rows.tobytes(), rows.shape[1]
    return (whole[i * width : (i + 1) * width] for i in range(len(rows)))


def _rows(parts: Iterable[bytes], count: int) -> Bytes:
    return np.frombuffer(bytearray(b"".join(parts)), np.uint8).reshape(count, POINT)


def _times(function: Callable[[bytes], bytes], rows: Bytes) -> Bytes:
    try:
        return _each(function, rows)
    except CryptoError:
        raise PeerError(problem="a point that is not in the group") from None


def _each(function: Callable[[bytes], bytes], rows: Bytes) -> Bytes:
    """The function of every row, on all cores: libsodium works without the interpreter's lock."""
    pieces = [rows[i : i + _PIECE] for i in range(0, len(rows), _PIECE)]
    if len(pieces) <= 1:
        return _rows(map(function, _cut(rows)), len(rows))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda piece: b"".join(map(function, _cut(piece))), pieces)
        return _rows(done, len(rows))
