"""Payloads: what two sides hold of a row in shares, and what it ends in.

A payload is some words of fields; what the fields are is an engine's affair (`engine.py`). Each is shared for
itself: s + w of two shares is the field mod 2^bits, so s ⊕ w of a single bit.

The last words open where the circuit holds: 160 bits of the owner's choosing, and 32 zeros, by which an
engine knows them. What is none ends in so many zeros once in 2³², so who asked checks more: `read_tokens`,
that the 160 bits are a token, a random name of the row of 96 bits, and 64 zeros. What is no token ends in 96
zeros with probability 2⁻⁹⁶; so even of 2⁵⁶ that are looked at none does, but with probability 2⁻⁴⁰.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

TOKEN = 3
"""Words at the end of a payload: 160 bits of the owner's choosing, 32 zeros."""
_LOW = np.uint64((1 << 32) - 1)
"""Of the last word, what is the owner's; of the second, what is a token's."""
_AHEAD = 16
"""Lines of which all is read at once."""


@kernel("uint64(int64[::1], uint64[:,::1], int32[::1], uint64[:,::1], uint64[::1], uint64[:,::1])")
def add_shares(
    rows: Ints, payloads: Words, bins: NDArray[np.int32], shares: Words, tops: Words, onto: Words
) -> np.uint64:
    """To each line add the other share of a payload, bit by bit: that of its row, zeros where it is −1, less,
    field by field, the share of its bin.

    `tops` has the highest bits of fields: what is borrowed does not leave a field, since its highest bit is
    set before and put right after. Without a row the first payload is read, so that nothing branches on it.

    What takes the time is waiting for memory: so both ends of what some lines need are read before any of
    them is made, for nothing but to have it on its way. A sum of it is returned, or it would not be read.
    """
    seen, last = np.uint64(0), onto.shape[1] - 1
    for first in range(0, onto.shape[0], _AHEAD):
        end = min(first + _AHEAD, onto.shape[0])
        for line in range(first, end):
            row, place = max(rows[line], 0), bins[line]
            seen ^= payloads[row, 0] ^ payloads[row, last] ^ shares[place, 0] ^ shares[place, last]
        for line in range(first, end):
            kept = np.uint64(0) - np.uint64(rows[line] >= 0)
            payload, share, target = payloads[max(rows[line], 0)], shares[bins[line]], onto[line]
            for word in range(onto.shape[1]):
                x, w, top = payload[word] & kept, share[word], tops[word]
                target[word] ^= ((x | top) - (w & ~top)) ^ ((x ^ ~w) & top)
    return seen


def find_opened(opened: Words, held: Words) -> tuple[Ints, Ints]:
    """The places of pairs whose last words opened, and all of these as numbers, (n, TOKEN)."""
    whole = opened ^ held[:, -TOKEN:]
    found = np.flatnonzero(whole[:, -1] <= _LOW)
    return found, whole[found].astype(np.int64)


def put_tokens(payloads: Words, tokens: Words) -> None:
    """Tokens, (n, 2) random words of which 96 bits count, and zeros into the last words of payloads."""
    payloads[:, -TOKEN] = tokens[:, 0]
    payloads[:, 1 - TOKEN] = tokens[:, 1] & _LOW
    payloads[:, 2 - TOKEN] = 0


def read_tokens(found: Ints) -> Ints:
    """Of what an engine opened, places and words, that which is a token: its place, and its two words."""
    last = found[:, -TOKEN:].view(np.uint64)
    return found[(last[:, 1] <= _LOW) & (last[:, 2] == 0), :TOKEN]


def as_bytes(tokens: Ints | Words) -> NDArray[np.uint8]:
    """Tokens of two words as their 12 bytes."""
    return np.ascontiguousarray(tokens, dtype="<u8").view(np.uint8)[:, :12]
