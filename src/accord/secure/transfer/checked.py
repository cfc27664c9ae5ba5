"""OTs of which the sender knows that the receiver chose alike in every tree: the check of SoftSpoken.

A receiver that sends corrections for other choices in one tree than in another (`extension.py`) would learn
the piece of Δ that belongs to it, from what becomes of the row. So the two compare a hash of every column,
which only choices that are the same in all trees can pass (Roy, SoftSpokenOT, CRYPTO'22, §4.2). A column is
cut into n blocks of 128 bits, elements of GF(2¹²⁸), and

    R(column) = Σ blockᵢ · ρⁿ⁻¹⁻ⁱ,  ρ from SHA-256 of the corrections

    receiver    sends R(choices) and R(t_c) of each column c, 2 kB in all
    sender      R(q_c) = R(t_c) ⊕ Δ_c·R(choices) for each c, as q_c = t_c ⊕ Δ_c·choices; or the session ends

R is linear, and maps a column that is not zero to zero with probability n/2¹²⁸. Where the choices of a tree
are off by e, the receiver must have put R(e) times the right k bits of Δ into what it sends: a guess, which
is right with probability 2⁻ᵏ and otherwise ends the session, and Δ with it. So it may learn some pieces, each
at this risk; or single bits, each at a risk of a half, by a tree's sum or a base OT's ciphertext wrong
for one of two choices. What it knows in the end it has guessed. ρ is not drawn by the sender, so a receiver
may try corrections until R(e) is zero: 2¹²⁸/n hashes. The last block are 128 OTs with random choices that
serve nothing else: they mask all hashes.

Learns: both, nothing. The sender sends nothing.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.kernel import kernel
from accord.secure.party import Party, receive, send
from accord.secure.transfer.extension import Receiver, Sender, collect, correction_words, padded_count
from accord.secure.transfer.field import BITS, product_rows
from accord.secure.transfer.transpose import transpose

Words = NDArray[np.uint64]

_TAG = b"accord/ot/check/1"
_HASHES = 2 * (1 + BITS)
"""Words of the hashes: of the choices, and of each column."""


def checked_bytes(count: int, rate: int) -> int:
    """Bytes that the receiver sends for so many OTs, at this rate."""
    return 8 * (correction_words(padded_count(count) + BITS, rate) + _HASHES)


def choose(end: Receiver, choices: Words, count: int, entropy: Entropy, head: Words) -> Party[Words]:
    """Rows t (count, 2) for these choices, one bit an OT; `head` are words that are sent with them.

    Requires: `choices` has `padded_count(count)` bits.
    """
    mask = np.frombuffer(entropy.bytes(BITS // 8), dtype="<u8")
    chosen = np.concatenate([choices, mask])
    words = correction_words(64 * len(chosen), end.rate)
    message = np.empty(len(head) + words + _HASHES, dtype=np.uint64)
    message[: len(head)] = head
    sent, hashes = message[len(head) : -_HASHES], message[-_HASHES:].reshape(-1, 2)
    rows = collect(end.extend(chosen, sent, 64 * len(chosen)))
    rho = _challenge(sent)
    _hash_blocks(chosen.reshape(-1, 2), rho, hashes[:1])
    _hash_columns(rows, rho, hashes[1:])
    yield from send(message)
    return rows[:count]


def offer(end: Sender, count: int, head: int) -> Party[tuple[Words, Words]]:
    """Rows q (count, 2), and the words that came with them. Raises if the choices are not one's alone."""
    size = padded_count(count) + BITS
    due = 8 * head + checked_bytes(count, end.rate)
    message = (yield from receive(due)).view("<u8")
    sent, hashes = message[head:-_HASHES], message[-_HASHES:].reshape(-1, 2)
    rows = collect(end.extend(sent, size, both=False))
    found = np.zeros((BITS, 2), np.uint64)
    _hash_columns(rows, _challenge(sent), found)
    bits = np.unpackbits(end.delta.view(np.uint8), bitorder="little").astype(np.uint64)
    if (found != hashes[1:] ^ bits[:, None] * hashes[0]).any():
        raise PeerError(problem="transfers that do not have one choice each")
    return rows[:count], message[:head].copy()


def _challenge(corrections: Words) -> Words:
    digest = hashlib.sha256(_TAG + np.ascontiguousarray(corrections, "<u8").tobytes()).digest()
    return np.frombuffer(digest[: BITS // 8], dtype="<u8").copy()


@kernel("void(uint64[:,::1], uint64[::1], uint64[:,::1])")
def _hash_blocks(blocks: Words, rho: Words, result: Words) -> None:
    """R of one column, given as its blocks, by Horner's rule."""
    before = np.zeros((1, 2), np.uint64)
    result[:] = np.uint64(0)
    for block in range(blocks.shape[0]):
        before[:] = result
        product_rows(before, rho, result)
        result[0, 0] ^= blocks[block, 0]
        result[0, 1] ^= blocks[block, 1]


@kernel("void(uint64[:,::1], uint64[::1], uint64[:,::1])")
def _hash_columns(rows: Words, rho: Words, result: Words) -> None:
    """R of each of the 128 columns of some rows, all at once.

    Line j of the sum has bit j of the hashes of all columns, as row j of a block has bit j of all columns. So
    all are multiplied by Xʲ where the lines move j places, and ρ, which is public, says which of these count.
    """
    one, powers, count = np.uint64(1), np.empty(128, np.int64), 0
    for power in range(128):
        if (rho[power >> 6] >> np.uint64(power & 63)) & one:
            powers[count] = power
            count += 1
    total, product = np.zeros(256, np.uint64), np.empty(512, np.uint64)
    for first in range(0, rows.shape[0], 128):
        product[:] = np.uint64(0)
        for number in range(count):
            moved = product[2 * powers[number] : 2 * powers[number] + 256]
            for word in range(256):
                moved[word] ^= total[word]
        for word in range(509, 255, -1):
            # X¹²⁸ = X⁷ + X² + X + 1
            beyond, low = product[word], word - 256
            product[low] ^= beyond
            product[low + 2] ^= beyond
            product[low + 4] ^= beyond
            product[low + 14] ^= beyond
        for row in range(128):
            total[2 * row] = product[2 * row] ^ rows[first + row, 0]
            total[2 * row + 1] = product[2 * row + 1] ^ rows[first + row, 1]
    transpose(total.reshape(128, 2), result)
