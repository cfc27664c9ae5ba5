"""The one door for randomness: every random byte of Accord comes through here, as an argument.

An `Entropy` gives bytes, and streams that are independent of it and of each other; noise and masks are
drawn from streams of different names, so that no draw of one can shift or repeat a draw of the other.

    System   the operating system's generator; the only one for a linkage
    Seeded   a fixed stream for tests and simulation; whoever knows the seed knows all of it
    Derived  what follows from a secret key alone; no stream of it is ever given twice

The helpers below turn bytes into integers and orders *exactly*: no float, no modulo bias. Nothing here has
a default generator, so code that was not handed randomness cannot use any.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

NOISE = "noise"
MASKS = "masks"
ORDER = "order"

_TAG = b"accord entropy v1\0"
_BLOCK = 1 << 16
_FEW = 1 << 10
KEY = 32
"""Bytes of a key that a stream follows from."""


class Entropy(Protocol):
    """A source of independent uniform bytes."""

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes."""

    def stream(self, name: str) -> Entropy:
        """A source of its own, independent of this one and of streams with other names."""


class System:
    """The operating system's generator. Its streams need no state: every byte is fresh."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def stream(self, name: str) -> System:
        return self


class Seeded:
    """A deterministic stream (SHAKE-256 in counter mode), for tests and simulation. Never for a linkage.

    Splitting a read does not change what is read. Two streams of the same name give the same bytes.
    """

    def __init__(self, seed: int | str | bytes) -> None:
        kind, raw = _seed_bytes(seed)
        self._key = hashlib.sha256(_TAG + kind + raw).digest()
        self._block = 0
        self._made = 0
        """Bytes of this block that were made; a short digest is the beginning of a longer one."""
        self._buffer = b""

    def bytes(self, count: int) -> bytes:
        parts, missing = [self._buffer], count - len(self._buffer)
        while missing > 0:
            # Many streams are asked for a few bytes only, so blocks grow.
            size = min(_BLOCK, max(4 * self._made, self._made + missing, _FEW))
            counter = self._block.to_bytes(8, "little")
            parts.append(hashlib.shake_256(_TAG + self._key + counter).digest(size)[self._made :])
            self._block, self._made = (self._block + 1, 0) if size == _BLOCK else (self._block, size)
            missing -= len(parts[-1])
        ready = b"".join(parts)
        self._buffer = ready[count:]
        return ready[:count]

    def stream(self, name: str) -> Seeded:
        return Seeded(b"stream" + self._key + name.encode())


class Derived:
    """A stream that follows from a secret key: AES-256 in counter mode, a pseudo-random function of the key.

    Its streams are asked for in an order that is a part of the program: the n-th stream of a name has a key
    of its own, so that asking twice for one name never gives the same bytes, as a `Seeded` would.
    *Requires*: a uniform key that is used for one purpose. *Distribution*: to whoever has
    not the key, uniform; splitting a read does not change what is read.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY:
            raise ValueError("a key has 32 bytes")
        self._key = key
        self._asked: dict[str, int] = {}
        self._cipher: CipherContext | None = None

    def __repr__(self) -> str:
        return "Derived()"

    def bytes(self, count: int) -> bytes:
        if self._cipher is None:
            # Imported here: many commands draw nothing from a key.
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

            key = hmac.digest(self._key, _TAG + b"bytes", "sha256")
            self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        return self._cipher.update(bytes(count))

    def stream(self, name: str) -> Derived:
        number = self._asked.get(name, 0)
        self._asked[name] = number + 1
        return Derived(
            hmac.digest(self._key, _TAG + b"stream" + number.to_bytes(8, "little") + name.encode(), "sha256")
        )


def _seed_bytes(seed: int | str | bytes) -> tuple[bytes, bytes]:
    if isinstance(seed, bytes):
        return b"b", seed
    return (b"i", str(seed).encode()) if isinstance(seed, int) else (b"s", seed.encode())


def words(entropy: Entropy, count: int) -> NDArray[np.uint64]:
    """`count` independent uniform 64-bit words."""
    return np.frombuffer(entropy.bytes(8 * count), dtype="<u8").astype(np.uint64)


def below(entropy: Entropy, bound: int, count: int) -> NDArray[np.uint64]:
    """`count` independent integers, uniform on 0..bound−1.

    A word is kept when it lies under the largest multiple of `bound` that 64 bits hold, so every remainder
    has exactly as many kept words as any other.
    """
    if not 0 < bound <= 1 << 64:
        raise UsageError(problem=f"No integer lies below {bound}.")
    last = np.uint64((1 << 64) - (1 << 64) % bound - 1)
    found = words(entropy, count)
    while len(bad := np.flatnonzero(found > last)):
        found[bad] = words(entropy, len(bad))
    return found if bound == 1 << 64 else found % np.uint64(bound)


def permutation(entropy: Entropy, count: int) -> NDArray[np.int64]:
    """A uniformly random order of 0..count−1."""
    return arrangement(entropy, np.zeros(count, dtype=np.int64))


def arrangement(entropy: Entropy, bins: NDArray[np.integer]) -> NDArray[np.int64]:
    """An order of rows that groups them by bin, ascending, and is uniform and independent within each bin.

    Rows are sorted by fresh random words. Given that no two words of a bin are equal, every order of the
    bin is equally likely by symmetry; if two are equal all words are drawn again, so the result is exactly
    uniform and not merely close to it.
    """
    while True:
        keys = words(entropy, len(bins))
        order = _by_bin(np.argsort(keys), bins)
        # One after the other, since these are the longest arrays of a run.
        again = _like_the_one_before(bins, order)
        again &= _like_the_one_before(keys, order)
        if not again.any():
            return order.astype(np.int64, copy=False)


def _like_the_one_before(values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values, in this order, are the same as the one before."""
    ordered = values[order]
    return ordered[1:] == ordered[:-1]


def _by_bin(order: NDArray[np.int64], bins: NDArray[np.integer]) -> NDArray[np.int64]:
    """The order sorted by bin, and as it was within a bin; 16 bits at a time, where numpy sorts by radix."""
    width = int(bins.max(initial=0)).bit_length()
    for shift in range(0, max(1, width), 16):
        digit = (bins >> shift).astype(np.uint16)[order]
        order = order[np.argsort(digit, kind="stable")]
    return order
