"""LP-2's slots [HMFS17, §4.1]: dummies where the noise is above 0, and records left out where it is below.

Leaky, as `privacy/noise_suppress.py` shows; it exists so that simulation and audit can show it, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy, arrangement
from accord.matching.blocking import Blocking
from accord.protocols.slots import Slots, shuffled
from accord.records.columns import Records
from accord.side import Side

Ints = NDArray[np.int64]


def suppressed_slots(
    blocking: Blocking, side: Side, records: Records, noise: Ints, entropy: Entropy
) -> Slots:
    """Place, pad or suppress, and shuffle. *Distribution*: each bin loses a uniform choice of its records."""
    record, bins = blocking.place(side, records.columns, len(records))
    order = arrangement(entropy.stream("suppressed"), bins)
    record, bins = record[order], bins[order]
    counts = np.bincount(bins, minlength=blocking.bins)
    rank = np.arange(len(bins)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < (counts + np.minimum(noise, 0))[bins]
    padding = np.repeat(np.arange(blocking.bins), np.maximum(noise, 0))
    record = np.concatenate([record[kept], np.full(len(padding), -1, np.int64)])
    return shuffled(record, np.concatenate([bins[kept], padding]), blocking.bins, records, entropy)
