"""How an answer that stays shared opens the last words of a payload to B, and nothing to A.

These words (`payloads.py`) end in zeros; B holds s of them and A w, with s ⊕ w the two; and they hold
m_A ⊕ m_B, the answer of the program. By one more OT, in which B chooses m_B, A hands over w under the key of
1 ⊕ m_A. Where the answer is 1 that is the key B has; else B has the other one, and what came is random to it.
Where s and w are no shares of one payload, they make something random, which is a token with probability
2⁻⁹⁶. So B cannot tell a payload that does not satisfy the circuit from none.

Assumption: H of `transfer/permutation.py` is correlation robust; t is the block.
*Learns*: A nothing; B the last words of payloads that satisfy the circuit. The OTs are those of lookups,
double ones of which the second choice is 0, and none serves anything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.secure.ot.lookup import asked
from accord.secure.payloads import TOKEN
from accord.secure.transfer.extension import Receiver, Sender, double_words, multiples, padded_count
from accord.secure.transfer.permutation import hash_blocks
from accord.secure.transfer.silent import RATE, SilentReceiver, SilentSender

Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]


def opened_bytes(pairs: int) -> int:
    """Of what A hands over."""
    return 8 * TOKEN * pairs


def opening_words(pairs: int, rate: int) -> int:
    """64-bit words in which B asks, with OTs of so many bits a choice."""
    count = asked(pairs, 1)
    return double_words(count, _seconds(count, rate), rate)


def ask_token(end: Receiver | SilentReceiver, bits: Bits, question: Words) -> Words:
    """B's half before the answer: fills the question, gives the key of each pair by its bit, (n, TOKEN)."""
    count = asked(len(bits), 1)
    choices = np.zeros((2, padded_count(count) // 64), np.uint64)
    packed = np.packbits(bits, bitorder="little")
    choices.view(np.uint8)[0, : len(packed)] = packed
    keys = np.zeros((padded_count(count), TOKEN), np.uint64)
    for tile in end.extend_double(choices, question, count, _seconds(count, end.rate)):
        _put_keys(end, tile.rows, keys[tile.first :])
    return keys[: len(bits)]


def answer_token(end: Sender | SilentSender, bits: Bits, held: Words, question: Words) -> Words:
    """A's share of the last words, (n, TOKEN), each under the key of 1 ⊕ its bit."""
    count = asked(len(bits), 1)
    other = np.zeros(padded_count(count), np.uint64)
    other[: len(bits)] = 1 - bits
    keys, delta = np.zeros((padded_count(count), TOKEN), np.uint64), multiples(end.delta)[1]
    for tile in end.extend_double(question, count, _seconds(count, end.rate)):
        some = other[tile.first : tile.first + len(tile.rows), None]
        _put_keys(end, tile.rows ^ delta * some, keys[tile.first :])
    return held[:, -TOKEN:] ^ keys[: len(bits)]


def _seconds(count: int, rate: int) -> int:
    """How many have a second choice: where OTs are made one by one, none, and it costs nothing."""
    return count if rate == RATE else 0


def _put_keys(end: Any, rows: Words, keys: Words) -> None:
    """H of each row, as many words as are handed over."""
    for block in range(-(-TOKEN // 2)):
        inner, outer = hash_blocks(end.pi, rows, block)
        words = min(2, TOKEN - 2 * block)
        keys[: len(rows), 2 * block : 2 * block + words] = (inner ^ outer)[:, :words]
