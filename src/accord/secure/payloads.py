"""Payloads: what two sides hold of a row in shares, and the token at its end.

A payload is some words of fields; what the fields are is an engine's affair (`engine.py`). Each is shared for
itself: s + w of two shares is the field mod 2^bits, so s ⊕ w of a single bit.

The last words are a token, a random name of the row, and zeros, by which who has put them together knows it:
96 bits and 96 zeros. What is no token ends in 96 zeros with probability 2⁻⁹⁶; so even of 2⁵⁶ that are looked
at none does, but with probability 2⁻⁴⁰.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

TOKEN = 3
"""Words at the end of a payload: 96 bits of a token, 96 zeros."""
_HIGH = np.uint64((1 << 32) - 1)
"""Of the second word, what is the token's."""


def subtract(payload: Words, share: Words, tops: Words) -> Words:
    """The other share of payloads: every field less that of a share. `tops` has the highest bits of fields;
    what is borrowed does not leave a field, since its highest bit is set before and put right after."""
    return ((payload | tops) - (share & ~tops)) ^ ((payload ^ ~share) & tops)


def put_tokens(payloads: Words, tokens: Words) -> None:
    """Tokens, (n, 2) random words of which 96 bits count, and zeros into the last words of payloads."""
    payloads[:, -TOKEN] = tokens[:, 0]
    payloads[:, 1 - TOKEN] = tokens[:, 1] & _HIGH
    payloads[:, 2 - TOKEN] = 0


def read_tokens(opened: Words, held: Words) -> tuple[Ints, Ints]:
    """The places of pairs that opened to a token, and the tokens as numbers, (n, 2)."""
    whole = opened ^ held[:, -TOKEN:]
    found = np.flatnonzero((whole[:, 1] <= _HIGH) & (whole[:, 2] == 0))
    return found, whole[found, : TOKEN - 1].astype(np.int64)


def as_bytes(tokens: Ints | Words) -> NDArray[np.uint8]:
    """Tokens of two words as their 12 bytes."""
    return np.ascontiguousarray(tokens, dtype="<u8").view(np.uint8)[:, :12]
