"""How fast this machine is, beside the one whose times are written down (planning/machine.py).

What an engine does is mostly AES, by OpenSSL, and words of 64 bits that are shifted and combined. So a little
of both is timed here, for about twenty milliseconds, by the processor's clock: other work on the machine
disturbs it little. It is a guess, by which times are shown; nothing is chosen by it.
"""

from __future__ import annotations

import time

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_MEASURED = 9.1e-4
"""Seconds that the machine took whose times are written down, one core of a Neoverse-N1."""
_WORDS = 1 << 16
_TIMES = 20
_FARTHEST = 8.0
"""No machine is so many times as fast or as slow: a clock may be coarse."""


def measure_pace() -> float:
    """How many times as long this machine takes."""
    words = np.arange(_WORDS, dtype=np.uint64)
    mixed, out = np.empty_like(words), bytearray(words.nbytes + 16)
    least = min(_work(words, mixed, out) for _ in range(_TIMES))
    return min(max(least / _MEASURED, 1 / _FARTHEST), _FARTHEST)


def _work(words: Words, mixed: Words, out: bytearray) -> float:
    """Seconds of a little work of either kind."""
    cipher = Cipher(algorithms.AES(bytes(16)), modes.ECB()).encryptor()
    began = time.process_time()
    cipher.update_into(words.view(np.uint8).data, out)
    for _ in range(8):
        np.right_shift(words, np.uint64(7), out=mixed)
        mixed ^= words
        mixed &= np.uint64(0x5555_5555_5555_5555)
    return time.process_time() - began
