"""One entry of a table: B has an index, A a table of bits or numbers, B learns its entry masked as A likes.

A 1-of-2ʷ OT of messages of m bits from ⌈w/2⌉ double OTs (`transfer/extension.py`), after Naor and Pinkas
(STOC'99): an index has ⌈w/2⌉ digits of two bits, the last of one if w is odd; key (l, y) expands to m·2ʷ bits
S_l^y, and entry j, which lies at bits m·j to m·(j + 1), is masked by ⊕_l S_l^{digit l of j} there, so that
only who has all keys for j can open it; m·2ʷ bits are sent whatever the entries are. Tables are rows of a
public table, picked by A's state. With m = 1 and a random bit XORed to all entries the two end with XOR
shares of the answer; with m = 8, 16, … and a random number taken from all entries, with additive ones mod 2ᵐ.

Assumption: H of `transfer/permutation.py` is correlation robust, for the multiples of Δ by 1, ω and 1 + ω.
Learns: A nothing; B one entry, which is uniform if A masked the table, and the answer if it did not.
Double OT l·n + p belongs to digit l of pair p's index, n being the pairs rounded up to whole bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import kernel
from accord.secure.transfer.extension import Receiver, Sender, double_words, padded_count
from accord.secure.transfer.permutation import hash_blocks, mix_rows
from accord.secure.transfer.silent import RATE, SilentReceiver, SilentSender

Words = NDArray[np.uint64]
N = TypeVar("N", bound=np.generic)


def table_words(bits: int, lane: int = 1) -> int:
    """64-bit words that hold a table of 2^bits entries of `lane` bits."""
    return max(1, (lane << bits) // 64)


def table_bytes(count: int, bits: int, lane: int = 1) -> int:
    """Bytes of `count` tables on the wire."""
    return count * max(1, (lane << bits) // 8)


def question_words(count: int, bits: int, rate: int) -> int:
    """64-bit words in which B asks for `count` entries, with OTs of so many bits a choice."""
    return double_words(asked(count, bits), _seconds(count, bits, rate), rate)


def asked(count: int, bits: int) -> int:
    """Double OTs that `count` entries of tables of 2^bits take."""
    return _stride(count) * -(-bits // 2)


def _seconds(count: int, bits: int, rate: int) -> int:
    """How many of them have a second choice: where OTs are made one by one, a digit of one bit takes none."""
    return asked(count, bits) if rate == RATE else _stride(count) * (bits // 2)


def pack_truth(truth: NDArray[np.bool_]) -> Words:
    """A truth table (states, 2ʷ) as words, entry j at bit j."""
    states, entries = truth.shape
    wide = np.zeros((states, max(64, entries)), dtype=np.uint8)
    wide[:, :entries] = truth
    return np.packbits(wide, axis=1, bitorder="little").view("<u8")


@cache
def patterns(bits: int, lane: int = 1) -> NDArray[np.uint64]:
    """For each digit l and value y, the words in which all bits of entry j say if digit l of j is y."""
    entries = np.arange(max(64, lane << bits)) // lane & ((1 << bits) - 1)
    digits = (entries >> (2 * np.arange(-(-bits // 2)))[:, None]) & 3
    return np.stack([pack_truth(digits == y) for y in range(4)], axis=1)


def pick(truth: Words, state: NDArray[np.uint8]) -> Words:
    """A's tables of bits in the clear, (n, words), with room for what `answer` pads."""
    return truth[_stretch(state, _stride(len(state)))]


def pick_numbers(numbers: NDArray[Any], state: NDArray[np.uint8], masks: NDArray[Any]) -> Words:
    """A's tables of numbers, each less the mask of its pair; the numbers are (states, 2ʷ), in their lane."""
    count, entries = _stride(len(state)), numbers.shape[1]
    tables = np.zeros((count, max(entries, 8 // numbers.itemsize)), dtype=numbers.dtype)
    np.subtract(numbers[state], masks[:, None], out=tables[: len(state), :entries])
    return tables.view(np.uint64)


def ask(
    end: Receiver | SilentReceiver, index: NDArray[np.uint8], bits: int, question: Words, lane: int = 1
) -> Words:
    """B's half before the answer: fills the question and returns the masks of its entries, (n, words).

    Requires: every index is below 2^bits.
    """
    count, digits = _stride(len(index)), -(-bits // 2)
    masks = np.zeros((count, table_words(bits, lane)), dtype=np.uint64)
    choices = np.zeros((2, padded_count(count * digits) // 64), dtype=np.uint64)
    _planes(_stretch(index, count).view(np.uint64), bits, choices.view(np.uint8))
    seconds = _seconds(len(index), bits, end.rate)
    for tile in end.extend_double(choices, question, count * digits, seconds):
        for block in range(-(-masks.shape[1] // 2)):
            inner, outer = hash_blocks(end.pi, tile.rows, block)
            _absorb_one(inner, outer, tile.first, digits, 2 * block, masks)
    return masks


def answer(
    end: Sender | SilentSender, tables: Words, count: int, bits: int, question: Words, lane: int = 1
) -> Words:
    """A's first `count` tables under their masks; to share bits, XOR a random bit to a whole table."""
    pattern, deltas = patterns(bits, lane), end.mixed
    # Behind these come digits of one bit, which have two keys.
    full = len(tables) * (bits // 2)
    for tile in end.extend_double(question, asked(count, bits), _seconds(count, bits, end.rate)):
        cut = min(max(0, full - tile.first), len(tile.rows))
        for rows, first, some in (
            (tile.rows[:cut], tile.first, deltas),
            (tile.rows[cut:], tile.first + cut, deltas[:2]),
        ):
            for block in range(-(-tables.shape[1] // 2) if len(rows) else 0):
                inner = end.pi.scratch("inner", len(some) * len(rows)).reshape(len(some), -1, 2)
                _keys(rows, some, np.uint64(block), inner)
                outer = end.pi.apply(inner, "outer").reshape(len(some), -1, 2)
                _absorb_all(inner, outer, first, np.uint64(block), pattern, tables)
    return tables[:count]


def to_wire(tables: Words, bits: int, lane: int = 1) -> NDArray[np.uint8]:
    """Tables as bytes, each cut to its 2^bits entries; what is left of a byte is zero.

    Nothing beyond the entries may leave: entry j + 2^bits would be masked by the same keys as entry j, so B
    could open it, and find there nothing but the bit that A shares the answer with.
    """
    size = lane << bits
    if size >= 64:
        return tables.reshape(-1).view(np.uint8)
    entries = tables[:, 0] & np.uint64((1 << size) - 1)
    return entries.astype(f"<u{max(1, size // 8)}").view(np.uint8)


def from_wire(data: NDArray[np.uint8], bits: int, lane: int = 1) -> Words:
    """The inverse of `to_wire`; what it would not have sent is refused."""
    size = lane << bits
    if size >= 64:
        return np.frombuffer(data.tobytes(), dtype="<u8").reshape(-1, size // 64).copy()
    tables = np.frombuffer(data.tobytes(), dtype=f"<u{max(1, size // 8)}").astype("<u8")
    if (tables >> np.uint64(size)).any():
        raise PeerError(problem="a table with more entries than it has")
    return tables[:, None]


def open_entries(tables: Words, masks: Words, index: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """B's bit of each pair."""
    result = np.empty(len(index), dtype=np.uint8)
    _open(tables, masks, index, result)
    return result


def open_numbers(tables: Words, masks: Words, index: NDArray[np.uint8], lane: int) -> NDArray[Any]:
    """B's number of each pair."""
    opened = (tables ^ masks[: len(tables)]).view(f"<u{lane // 8}")
    return opened[np.arange(len(index)), index]


def _stride(count: int) -> int:
    """The planes of an index start at whole bytes."""
    return -(-count // 8) * 8


def _stretch(values: NDArray[N], count: int) -> NDArray[N]:
    result = np.zeros(count, dtype=values.dtype)
    result[: len(values)] = values
    return result


@kernel("void(uint64[::1], int64, uint8[:,::1])")
def _planes(index: Words, bits: int, result: NDArray[np.uint8]) -> None:
    """Bit l of eight indices becomes one byte of plane l / 2, of the first choices or of the second."""
    ones, gather = np.uint64(0x0101010101010101), np.uint64(0x0102040810204080)
    for bit in range(bits):
        base, target = (bit >> 1) * index.shape[0], result[bit & 1]
        for place in range(index.shape[0]):
            spread = (index[place] >> np.uint64(bit)) & ones
            target[base + place] = np.uint8((spread * gather) >> np.uint64(56))


@kernel("void(uint64[:,::1], uint64[:,::1], int64, int64, int64, uint64[:,::1])")
def _absorb_one(inner: Words, outer: Words, first: int, digits: int, word: int, masks: Words) -> None:
    """masks[pair] ⊕= H(row), for each digit of the pair's index."""
    count, row = masks.shape[0], 0
    end = min(inner.shape[0], digits * count - first)
    while row < end:
        pair = (first + row) % count
        n = min(end - row, count - pair)
        x, y, target = inner[row : row + n], outer[row : row + n], masks[pair : pair + n]
        for i in range(n):
            target[i, word] ^= x[i, 0] ^ y[i, 0]
        if word + 1 < masks.shape[1]:
            for i in range(n):
                target[i, word + 1] ^= x[i, 1] ^ y[i, 1]
        row += n


@kernel("void(uint64[:,::1], uint64[:,::1], uint64, uint64[:,:,::1])", joined=True)
def _keys(rows: Words, deltas: Words, block: np.uint64, result: NDArray[np.uint64]) -> None:
    """σ(q ⊕ y·Δ) ⊕ block for each y, from σ(y·Δ), of which the first is 0: σ is linear."""
    mix_rows(rows, block, result[0])
    first = result[0]
    for y in range(1, deltas.shape[0]):
        low, high, target = deltas[y, 0], deltas[y, 1], result[y]
        for row in range(first.shape[0]):
            target[row, 0] = first[row, 0] ^ low
            target[row, 1] = first[row, 1] ^ high


@kernel(
    "void(uint64[:,:,::1], uint64[:,:,::1], int64, uint64, uint64[:,:,::1], uint64[:,::1])",
)
def _absorb_all(
    inner: NDArray[np.uint64],
    outer: NDArray[np.uint64],
    first: int,
    block: np.uint64,
    pattern: NDArray[np.uint64],
    tables: Words,
) -> None:
    """tables[pair][j] ⊕= H(q ⊕ y·Δ), y being the digit of j.

    `inner` has the number of the block in its upper words, where H has it not; as every entry is masked by
    one key, it is taken out once.
    """
    count, row = tables.shape[0], 0
    end = min(inner.shape[1], pattern.shape[0] * count - first)
    place = 2 * np.int64(block)
    while row < end:
        digit, pair = (first + row) // count, (first + row) % count
        n = min(end - row, count - pair)
        target = tables[pair : pair + n]
        for word in range(min(2, tables.shape[1] - place)):
            masks = pattern[digit]
            a, b, c, d = (
                masks[0, place + word],
                masks[1, place + word],
                masks[2, place + word],
                masks[3, place + word],
            )
            over = block if word else np.uint64(0)
            x0, y0 = inner[0, row : row + n], outer[0, row : row + n]
            x1, y1 = inner[1, row : row + n], outer[1, row : row + n]
            if inner.shape[0] == 2:
                for i in range(n):
                    zero, one = (x0[i, word] ^ y0[i, word]) & a, (x1[i, word] ^ y1[i, word]) & b
                    target[i, place + word] ^= zero ^ one ^ over
            else:
                x2, y2 = inner[2, row : row + n], outer[2, row : row + n]
                x3, y3 = inner[3, row : row + n], outer[3, row : row + n]
                for i in range(n):
                    zero, one = (x0[i, word] ^ y0[i, word]) & a, (x1[i, word] ^ y1[i, word]) & b
                    two, three = (x2[i, word] ^ y2[i, word]) & c, (x3[i, word] ^ y3[i, word]) & d
                    target[i, place + word] ^= zero ^ one ^ two ^ three ^ over
        row += n


@kernel("void(uint64[:,::1], uint64[:,::1], uint8[::1], uint8[::1])")
def _open(tables: Words, masks: Words, index: NDArray[np.uint8], result: NDArray[np.uint8]) -> None:
    for pair in range(index.shape[0]):
        word, bit = index[pair] >> 6, np.uint64(index[pair] & 63)
        result[pair] = ((tables[pair, word] ^ masks[pair, word]) >> bit) & np.uint64(1)
