"""A hash of whole arrays that no secret rests on: it spreads keys over groups and buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mix(state: NDArray[np.uint64], word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of splitmix64 over a running hash."""
    x = (state ^ word) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
