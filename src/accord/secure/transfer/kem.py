"""Encapsulation of ML-KEM-768 (FIPS 203), for many keys at once and with a message that is given.

Keys are made and ciphertexts are opened by the library (OpenSSL): there secrets last, and there it matters
what time shows. Its encapsulation, though, draws a message of its own. Whatever a side sends must follow from
its seed, or a replay could not tell a message that was drawn from one that was invented
(`docs/replay.md`). So this is ML-KEM.Encaps_internal (Algorithm 17) with its K-PKE.Encrypt (Algorithm 14).
The tests have the library open what is made here, and compare with published vectors.

A key is a vector t̂ of 3·256 numbers mod q = 3329, and ρ, from which a matrix Â follows. With y, e, e′ small,
from a hash of the message m and of the key,

    u = Âᵀ·y + e,  v = t̂ᵀ·y + e′ + m·⌈q/2⌋,  ciphertext = u in 10 bits a number, v in 4

Products of polynomials mod X²⁵⁶ + 1 are made in the domain of the NTT, where a polynomial is 128 of degree 1.

*What time shows.* The message and what follows from it decide no branch, no address and no division: noise
comes from sums of bits, and a number is divided by q with a multiplication and a shift, which is exact for
all that occurs. Which numbers of Â, or of a vector that is drawn, are below q decides no branch either; they
are public. Python and numba give no promise beyond that.
"""

from __future__ import annotations

import hashlib
from itertools import product

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import kernel

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.uint16]
Ints = NDArray[np.int64]

Q, SIZE, RANK = 3329, 256, 3
LENGTH = RANK * SIZE
"""Numbers of a vector."""
VECTOR, RHO = LENGTH * 12 // 8, 32
"""Bytes of the two parts of an encapsulation key."""
MESSAGE, SECRET, CIPHERTEXT = 32, 32, RANK * 320 + 128
STREAM = 1904
"""Random bytes that a vector is drawn from: they hold too few numbers below q once in 2²¹⁷ times."""

_ENTRY = 840
"""The same for an entry of Â: FIPS 203, Appendix B, allows to stop there. Once in 2²⁶¹ times."""
_NOISE = 128
_SHIFT = 43
_INVERSE = -(-(1 << _SHIFT) // Q)
"""⌊x/q⌋ = x·_INVERSE >> 43 for 0 ≤ x < 2³¹: _INVERSE is less than 1 above 2⁴³/q, so the product is less than
x/2⁴³ < 1/q too large, and x/q is 1/q or more below the next integer."""
_HALF = 3303
"""1/128 mod q."""


def encapsulate(rhos: Bytes, vectors: Numbers, messages: Bytes) -> tuple[Bytes, Bytes]:
    """Ciphertexts (n, m, 1088) and shared secrets (n, m, 32), for n times m keys (n, m, 768) with one ρ.

    Requires: uniform messages (n, m, 32); numbers below q.
    """
    keys, count = _join(pack(vectors), rhos), vectors.shape[0] * vectors.shape[1]
    derived = [
        hashlib.sha3_512(message + hashlib.sha3_256(key).digest()).digest()
        for key, message in zip(_each(keys), _each(messages), strict=True)
    ]
    noise = b"".join(
        hashlib.shake_256(one[SECRET:] + bytes((number,))).digest(_NOISE)
        for one, number in product(derived, range(2 * RANK + 1))
    )
    result = np.empty((count, CIPHERTEXT), np.uint8)
    _encrypt(
        _matrices(rhos),
        np.ascontiguousarray(vectors).reshape(count, RANK, SIZE),
        np.frombuffer(bytearray(noise), np.uint8).reshape(count, 2 * RANK + 1, _NOISE),
        np.ascontiguousarray(messages).reshape(count, MESSAGE),
        _roots(),
        result,
    )
    shared = np.frombuffer(b"".join(one[:SECRET] for one in derived), np.uint8)
    return result.reshape(*vectors.shape[:2], CIPHERTEXT), shared.reshape(*vectors.shape[:2], SECRET)


def pack(vectors: Numbers) -> Bytes:
    """Twelve bits a number: (…, 768) to (…, 1152)."""
    even, odd = vectors[..., ::2], vectors[..., 1::2]
    three = np.stack([even & 255, even >> 8 | (odd & 15) << 4, odd >> 4], axis=-1)
    return three.astype(np.uint8).reshape(*vectors.shape[:-1], VECTOR)


def unpack(packed: Bytes) -> Numbers:
    """The reverse. Raises on a number that is not below q: such a key would have two spellings."""
    three = packed.astype(np.uint16).reshape(*packed.shape[:-1], -1, 3)
    even = three[..., 0] | (three[..., 1] & 15) << 8
    odd = three[..., 1] >> 4 | three[..., 2] << 4
    if (even >= Q).any() or (odd >= Q).any():
        raise PeerError(problem="a key whose numbers are not below its modulus")
    return np.stack([even, odd], axis=-1).reshape(*packed.shape[:-1], -1)


def draw_numbers(streams: Bytes, count: int) -> Numbers:
    """The first numbers of 12 bits that are below q in each stream of random bytes: (n, bytes) to (n, count).

    Distribution: uniform and independent, if the bytes are.
    """
    kept = np.empty((len(streams), streams.shape[1] // 3 * 2), np.uint16)
    if len(streams) and _keep_small(streams, kept) < count:
        raise RuntimeError("too few numbers below the modulus, which cannot happen by chance")
    return np.ascontiguousarray(kept[:, :count])


def _each(rows: Bytes) -> list[bytes]:
    return [row.tobytes() for row in rows.reshape(-1, rows.shape[-1])]


def _join(vectors: Bytes, rhos: Bytes) -> Bytes:
    """Encapsulation keys (n, m, 1184)."""
    repeated = np.broadcast_to(rhos[:, None], (*vectors.shape[:2], RHO))
    return np.concatenate([vectors, repeated], axis=2)


def _matrices(rhos: Bytes) -> NDArray[np.uint16]:
    """Âᵀ in the domain of the NTT for each ρ, shape (n, 9, 256)."""
    places = [bytes(place) for place in product(range(RANK), repeat=2)]
    streams = b"".join(
        hashlib.shake_128(rho + place).digest(_ENTRY) for rho, place in product(_each(rhos), places)
    )
    entries = draw_numbers(np.frombuffer(bytearray(streams), np.uint8).reshape(-1, _ENTRY), SIZE)
    return entries.reshape(len(rhos), RANK * RANK, SIZE)


def _roots() -> Ints:
    """Powers of 17, a 256th root of 1 mod q: those of the NTT's steps, and those that products are reduced
    with; shape (2, 128)."""
    places = [int(f"{number:07b}"[::-1], 2) for number in range(128)]
    return np.array([[pow(17, place, Q) for place in places], [pow(17, 2 * p + 1, Q) for p in places]])


@kernel("int64(uint8[:,::1], uint16[:,::1])")
def _keep_small(streams: Bytes, kept: Numbers) -> int:
    """Numbers below q at the beginning of each row, and the least that a row has of them.

    Each number is written, and the next one over it if it is too large.
    """
    least = kept.shape[1]
    for row in range(streams.shape[0]):
        count = 0
        for place in range(0, streams.shape[1] - 2, 3):
            low, middle = np.int64(streams[row, place]), np.int64(streams[row, place + 1])
            first = low | (middle & 15) << 8
            kept[row, count] = first
            count += int((first - Q) >> 63 & 1)
            second = middle >> 4 | np.int64(streams[row, place + 2]) << 4
            kept[row, count] = second
            count += int((second - Q) >> 63 & 1)
        least = min(least, count)
    return least


@kernel("void(uint16[:,:,::1], uint16[:,:,::1], uint8[:,:,::1], uint8[:,::1], int64[:,::1], uint8[:,::1])")
def _encrypt(
    matrices: NDArray[np.uint16],
    vectors: NDArray[np.uint16],
    noise: NDArray[np.uint8],
    messages: Bytes,
    roots: Ints,
    result: Bytes,
) -> None:
    """Ciphertexts of messages, some for each matrix; `noise` has the bytes of y, e and e′."""
    y, polynomial = np.empty((RANK, SIZE), np.int64), np.empty(SIZE, np.int64)
    each = vectors.shape[0] // matrices.shape[0]
    for key in range(vectors.shape[0]):
        for part in range(RANK):
            for place in range(SIZE):
                y[part, place] = 0
            _add_noise(noise[key, part], y[part])
            _transform(y[part], roots[0])
        for part in range(RANK + 1):
            left = matrices[key // each, RANK * part : RANK * part + RANK] if part < RANK else vectors[key]
            _multiply(left, y, roots[1], polynomial)
            _restore(polynomial, roots[0])
            _add_noise(noise[key, RANK + part], polynomial)
            if part < RANK:
                _write(polynomial, 10, result[key, 320 * part : 320 * part + 320])
        for place in range(SIZE):
            bit = np.int64(messages[key, place >> 3]) >> (place & 7) & 1
            polynomial[place] += bit * ((Q + 1) // 2)
        _write(polynomial, 4, result[key, 320 * RANK :])


@kernel("int64(int64)")
def _rest(value: int) -> int:
    """The value mod q, for 0 ≤ value < 2³¹."""
    return value - (value * _INVERSE >> _SHIFT) * Q


@kernel("void(uint8[::1], int64[::1])")
def _add_noise(stream: Bytes, polynomial: Ints) -> None:
    """Adds two bits less two bits, and q, to each number."""
    for place in range(stream.shape[0]):
        byte = np.int64(stream[place])
        pairs = (byte & 0x55) + (byte >> 1 & 0x55)
        polynomial[2 * place] += Q + (pairs & 3) - (pairs >> 2 & 3)
        polynomial[2 * place + 1] += Q + (pairs >> 4 & 3) - (pairs >> 6 & 3)


@kernel("void(int64[::1], int64[::1])")
def _transform(values: Ints, roots: Ints) -> None:
    """The NTT of numbers up to q + 2, in place; seven steps each add up to q, so what is left is at most
    8·q + 2."""
    number, length = 1, SIZE // 2
    while length >= 2:
        for start in range(0, SIZE, 2 * length):
            root = roots[number]
            number += 1
            for place in range(start, start + length):
                turned = _rest(root * values[place + length])
                values[place + length] = values[place] + Q - turned
                values[place] += turned
        length >>= 1


@kernel("void(int64[::1], int64[::1])")
def _restore(values: Ints, roots: Ints) -> None:
    """The reverse, of numbers below q and to numbers below q. Sums double in each step, so that the last ones
    are below 2⁷·q, and 2⁷·q² is below 2³¹."""
    number, length, bound = 127, 2, Q
    while length < SIZE:
        for start in range(0, SIZE, 2 * length):
            root = roots[number]
            number -= 1
            for place in range(start, start + length):
                low, high = values[place], values[place + length]
                values[place] = low + high
                values[place + length] = _rest(root * (high - low + bound))
        length <<= 1
        bound <<= 1
    for place in range(SIZE):
        values[place] = _rest(values[place] * _HALF)


@kernel("void(uint16[:,::1], int64[:,::1], int64[::1], int64[::1])")
def _multiply(left: NDArray[np.uint16], right: Ints, roots: Ints, result: Ints) -> None:
    """The sum of three products in the domain of the NTT; numbers below q, and up to 8·q + 2."""
    for pair in range(SIZE // 2):
        even, odd = 0, 0
        for part in range(RANK):
            a, b = np.int64(left[part, 2 * pair]), np.int64(left[part, 2 * pair + 1])
            c, d = right[part, 2 * pair], right[part, 2 * pair + 1]
            even += a * c + _rest(b * d) * roots[pair]
            odd += a * d + b * c
        result[2 * pair] = _rest(even)
        result[2 * pair + 1] = _rest(odd)


@kernel("void(int64[::1], int64, uint8[::1])")
def _write(values: Ints, bits: int, result: Bytes) -> None:
    """⌈2ᵈ·x/q⌋ mod 2ᵈ for each number x mod q, in d bits; d is even."""
    for four in range(SIZE // 4):
        word = 0
        for place in range(4):
            value = (_rest(values[4 * four + place]) << bits) + Q // 2
            word |= (value * _INVERSE >> _SHIFT & ((1 << bits) - 1)) << bits * place
        for place in range(bits // 2):
            result[bits // 2 * four + place] = word >> 8 * place & 255
