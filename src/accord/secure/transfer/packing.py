"""Numbers of a few bits, sent without waste.

Values lie in machine words ("lanes") of W = 8, 16, 32 or 64 bits and use the lowest w of them. W lanes
become w words: lane e of a group starts at bit e·w of the group's string of W·w bits. Groups are interleaved
(lane e of group g is value e·G + g, word t of group g is word t·G + g of the result), so that every inner
loop runs over neighbouring words. `pack` and `unpack` are inverse; values beyond the last are zero, and
checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import Kernel, kernel

LANES = (8, 16, 32, 64)


def groups(count: int, lane: int) -> int:
    """Groups that hold `count` values."""
    return -(-count // lane)


def packed_words(count: int, lane: int, widths: NDArray[np.int64]) -> int:
    """Words that `count` values take at each of some widths."""
    return int(widths.sum()) * groups(count, lane)


def pack(values: NDArray[Any], widths: NDArray[np.int64], result: NDArray[Any]) -> None:
    """Values of shape (terms, G·W), of which term i uses widths[i] bits, into words."""
    result[:] = 0
    _PACK[8 * values.itemsize](values, widths, result)


def unpack(words: NDArray[Any], widths: NDArray[np.int64], count: int, values: NDArray[Any]) -> None:
    """The inverse of `pack`; a peer that sets a value beyond `count` is refused."""
    _UNPACK[8 * values.itemsize](words, widths, values)
    if values[:, count:].any():
        raise PeerError(problem="padding that is not zero")


def bits_to_wire(bits: NDArray[Any]) -> NDArray[np.uint8]:
    """Bits, eight a byte."""
    return np.packbits(bits, bitorder="little")


def bits_from_wire(packed: NDArray[np.uint8], count: int) -> NDArray[np.bool_]:
    """The inverse of `bits_to_wire`; a peer that sets a bit beyond `count` is refused."""
    bits = np.unpackbits(packed, bitorder="little")
    if bits[count:].any():
        raise PeerError(problem="bits after the last answer")
    return bits[:count].astype(np.bool_)


def _pack(values: Any, widths: Any, result: Any) -> None:
    lane = 8 * values.itemsize
    group = values.shape[1] // lane
    base = 0
    for term in range(values.shape[0]):
        width = widths[term]
        if width == 0:
            continue
        mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width)
        for e in range(lane):
            word, low = (e * width) // lane, (e * width) % lane
            source = values[term, e * group : (e + 1) * group]
            target = result[base + word * group : base + (word + 1) * group]
            for g in range(group):
                target[g] |= (source[g] & mask) << np.uint64(low)
            if low + width > lane:
                over = result[base + (word + 1) * group : base + (word + 2) * group]
                for g in range(group):
                    over[g] |= (source[g] & mask) >> np.uint64(lane - low)
        base += width * group


def _unpack(words: Any, widths: Any, values: Any) -> None:
    lane = 8 * values.itemsize
    group = values.shape[1] // lane
    base = 0
    for term in range(values.shape[0]):
        width = widths[term]
        if width == 0:
            values[term] = 0
            continue
        mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width)
        for e in range(lane):
            word, low = (e * width) // lane, (e * width) % lane
            target = values[term, e * group : (e + 1) * group]
            source = words[base + word * group : base + (word + 1) * group]
            if low + width > lane:
                over = words[base + (word + 1) * group : base + (word + 2) * group]
                for g in range(group):
                    low_part = np.uint64(source[g]) >> np.uint64(low)
                    target[g] = (low_part | (np.uint64(over[g]) << np.uint64(lane - low))) & mask
            else:
                for g in range(group):
                    target[g] = (np.uint64(source[g]) >> np.uint64(low)) & mask
        base += width * group


_PACK: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint{w}[:,::1], int64[::1], uint{w}[::1])")(_pack) for w in LANES
}
_UNPACK: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint{w}[::1], int64[::1], uint{w}[:,::1])")(_unpack) for w in LANES
}
