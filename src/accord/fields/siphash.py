"""SipHash-2-4 [Aumasson, Bernstein, INDOCRYPT'12], as loops that other kernels call.

It spreads q-grams over a filter and shortens texts. There the key is public and nothing rests on its secrecy;
a keyed, well-studied function merely makes chance the only source of collisions, on every machine alike. As a
pseudo-random function under a secret key it serves protocols/parts/priorities.py.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from accord.kernel import kernel


def key(salt: str, purpose: str) -> tuple[np.uint64, np.uint64]:
    """The two key words for one purpose (a field's name) under the agreement's salt."""
    digest = hashlib.blake2b(
        purpose.encode(), key=salt.encode()[:64], digest_size=16, person=b"accord-encode-1"
    ).digest()
    return np.uint64(int.from_bytes(digest[:8], "little")), np.uint64(int.from_bytes(digest[8:], "little"))


@kernel("UniTuple(uint64, 4)(uint64, uint64, uint64, uint64)")
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
    v1 ^= v0
    v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
    v2 += v3
    v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
    v1 ^= v2
    v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
    return v0, v1, v2, v3


@kernel("UniTuple(uint64, 2)(uint64, uint64, uint8[::1], int64, int64)")
def siphash128(k0: Any, k1: Any, data: Any, start: Any, stop: Any) -> Any:
    """SipHash-2-4 with 128 bits of output over data[start:stop], as (low, high) words."""
    v0 = k0 ^ np.uint64(0x736F6D6570736575)
    v1 = k1 ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
    v2 = k0 ^ np.uint64(0x6C7967656E657261)
    v3 = k1 ^ np.uint64(0x7465646279746573)
    length = stop - start
    for block in range(length // 8 + 1):
        at = start + 8 * block
        word = np.uint64(length & 0xFF) << np.uint64(56) if block == length // 8 else np.uint64(0)
        for i in range(min(8, stop - at)):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= np.uint64(0xEE)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= np.uint64(0xDD)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3


@kernel("void(uint64, uint64, int64[::1], uint8[::1], uint64[:, ::1])")
def hash_texts(k0: Any, k1: Any, offsets: Any, data: Any, out: Any) -> Any:
    """out[i] = the first 80 bits of the hash of text i."""
    for i in range(out.shape[0]):
        low, high = siphash128(k0, k1, data, offsets[i], offsets[i + 1])
        out[i, 0] = low
        out[i, 1] = high & np.uint64(0xFFFF)


@kernel("void(uint64, uint64, int64[::1], uint8[::1], int64, int64, int64, uint64[:, ::1])")
def fill_filters(
    k0: Any, k1: Any, offsets: Any, data: Any, grams: Any, hashes: Any, bits: Any, out: Any
) -> Any:
    """Set the bits of every q-gram of text i in out[i].

    The text is read as code points with one blank before and after it, and more blanks after one that is
    too short to hold a q-gram. The positions of a q-gram are
    x, x + y, x + 2y, x + 3y + 1, x + 4y + 4, … mod bits, where y grows by 0, 1, 2, …: enhanced double hashing
    [Dillinger, Manolios, FMCAD'04]. x and y are the two words of the q-gram's hash.
    """
    window = np.empty(4 * grams, np.uint8)
    for i in range(out.shape[0]):
        if offsets[i] == offsets[i + 1]:
            continue
        seen = 0
        at = offsets[i] - 1
        while at <= offsets[i + 1] or seen < grams:
            point = np.uint32(32)
            step = 1
            if offsets[i] <= at < offsets[i + 1]:
                lead = data[at]
                step = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
                mask = 0x7F if step == 1 else 0xFF >> (step + 1)
                point = np.uint32(lead & mask)
                for j in range(1, step):
                    point = (point << np.uint32(6)) | np.uint32(data[at + j] & 0x3F)
            at += step
            for j in range(4 * grams - 4):
                window[j] = window[j + 4]
            for j in range(4):
                window[4 * grams - 4 + j] = (point >> np.uint32(8 * j)) & np.uint32(0xFF)
            seen += 1
            if seen < grams:
                continue
            x, y = siphash128(k0, k1, window, 0, 4 * grams)
            for j in range(hashes):
                position = x % np.uint64(bits)
                out[i, position >> np.uint64(6)] |= np.uint64(1) << (position & np.uint64(63))
                x += y
                y += np.uint64(j)
