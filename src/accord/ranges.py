"""Stretches, sets and hashes of whole numbers as arrays, without a loop.

numpy's own `unique` and `isin` hash, which is many times slower than sorting on arrays as large as ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def ranges(starts: Ints, stops: Ints) -> Ints:
    """starts[0]..stops[0]−1, then starts[1]..stops[1]−1, and so on."""
    sizes = stops - starts
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


def distinct(values: Ints) -> Ints:
    """The values, each once, ascending."""
    ordered = np.sort(values)
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def contained(values: Ints, ordered: Ints) -> NDArray[np.bool_]:
    """Which of the values occur in an ascending array."""
    places = np.searchsorted(ordered, values)
    found = places < len(ordered)
    found[found] = ordered[places[found]] == values[found]
    return found


def mix(state: NDArray[np.uint64], word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of splitmix64 over a running hash, on which no secret rests: it spreads keys over groups."""
    x = (state ^ word) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
