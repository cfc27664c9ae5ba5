"""Shares of payloads, as a lister makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.secure.payloads import add_shares

Words = NDArray[np.uint64]


def subtract(payloads: Words, shares: Words, tops: Words) -> Words:
    """The other share of each payload."""
    result, every = np.zeros_like(payloads), np.arange(len(payloads))
    add_shares(every, payloads, every.astype(np.int32), shares, tops, result)
    return result
