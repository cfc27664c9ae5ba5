"""Exact sampling from a window: the inverse of an integer cumulative table.

*Distribution.* Let c(x) = Σ_{y ≤ x} table[y], so c(cap) = 2^256, and U uniform on 0..2^256 − 1. The sample is
X = #{x < cap : c(x) ≤ U}. Then Pr[X = x] = (c(x) − c(x − 1))/2^256 = table[x]/2^256, exactly. *Proof.* c does
not decrease, so X = x iff c(x − 1) ≤ U < c(x). ∎

U is compared lazily: its first 64 bits decide unless they equal the first 64 bits of some c(x), which for
all but about cap in 2^64 draws they do not; only those draws read the other 192 bits. All comparisons are
between integers. (Canonne, Kamath and Steinke, NeurIPS'20, sample e^−γ by trials; a table gives the same
exactness with one word a bin, and the accountant can bound what the table's rounding costs.)
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy, words
from accord.privacy.window import PRECISION, Window

_FIRST = 64
_REST = PRECISION - _FIRST


def sample(window: Window, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws from the window's table.

    *Requires* an entropy of its own (a noise stream); *Learns*: nobody, the draws stay with their owner.
    """
    return sample_table(window.table, count, entropy)


def sample_table(table: tuple[int, ...], count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of 0, 1, …, each with its weight in the table, which sums to 2^256."""
    cumulative, first = _accumulate(table)
    drawn = words(entropy, count)
    found = np.searchsorted(first, drawn, side="left").astype(np.int64)
    for row in np.flatnonzero(found != np.searchsorted(first, drawn, side="right")):
        rest = int.from_bytes(entropy.bytes(_REST // 8), "little")
        found[row] = bisect_right(cumulative, (int(drawn[row]) << _REST) | rest)
    return found


@lru_cache(maxsize=16)
def _accumulate(table: tuple[int, ...]) -> tuple[list[int], NDArray[np.uint64]]:
    """c, and its first 64 bits. A plan draws from one table hundreds of times."""
    cumulative = list(accumulate(table))[:-1]
    # A probability may round to nothing, so c(cap − 1) may already be 2^256; no U reaches it.
    return cumulative, np.array([min(c >> _REST, (1 << _FIRST) - 1) for c in cumulative], dtype=np.uint64)
