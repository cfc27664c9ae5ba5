"""Stored noise as bytes: a tag with a version, the number of bins, then four bytes a bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_BINS = 1 << 26
_NOISE = b"accord noise v1\0"
_HEAD = len(_NOISE) + 8


def encode_noise(noise: NDArray[np.int64]) -> bytes:
    """The noise of each bin, in order."""
    if noise.ndim != 1 or len(noise) > _MOST_BINS:
        raise ValueError("noise is one list of at most 2^26 bins")
    if len(noise) and not 0 <= noise.min() <= noise.max() < 1 << 32:
        raise ValueError("noise is never negative and fits in four bytes")
    return _NOISE + len(noise).to_bytes(8, "little") + noise.astype("<u4").tobytes()


def decode_noise(data: bytes) -> NDArray[np.int64]:
    """What `encode_noise` was given; anything else is refused."""
    bins = int.from_bytes(data[len(_NOISE) : _HEAD], "little")
    if data[: len(_NOISE)] != _NOISE or bins > _MOST_BINS or len(data) != _HEAD + 4 * bins:
        raise ValueError("not stored noise of version 1")
    return np.frombuffer(data, dtype="<u4", offset=_HEAD).astype(np.int64)
