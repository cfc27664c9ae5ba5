"""The bytes of stored noise: a tag with a version, the number of bins, then four bytes a bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TAG = b"accord noise v1\0"
MOST_BINS = 1 << 26
_HEAD = len(TAG) + 8


def encode(noise: NDArray[np.int64]) -> bytes:
    """The noise of each bin, in order."""
    if noise.ndim != 1 or len(noise) > MOST_BINS:
        raise ValueError("noise is one list of at most 2^26 bins")
    if len(noise) and not 0 <= noise.min() <= noise.max() < 1 << 32:
        raise ValueError("noise is never negative and fits in four bytes")
    return TAG + len(noise).to_bytes(8, "little") + noise.astype("<u4").tobytes()


def decode(data: bytes) -> NDArray[np.int64]:
    """What `encode` was given; anything else is refused."""
    bins = int.from_bytes(data[len(TAG) : _HEAD], "little")
    if data[: len(TAG)] != TAG or bins > MOST_BINS or len(data) != _HEAD + 4 * bins:
        raise ValueError("not stored noise of version 1")
    return np.frombuffer(data, dtype="<u4", offset=_HEAD).astype(np.int64)
