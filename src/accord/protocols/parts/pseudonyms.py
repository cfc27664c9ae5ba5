"""Pseudonyms: random names that stand for ids in one run, so that no id leaves its owner.

A record has the name that follows from its number and the key of the run's slots, which nobody else knows: in
the same run always the same, in another run another. Whatever a protocol does with ids it does with names, so
both sides end with the same pairs of names; each puts its own ids beside them when it writes them down.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from accord.entropy import Derived
from accord.fields.columns import Records

_BYTES = 16
"""Of randomness in a name: no two of a table are equal, but with a chance of 2⁻⁶⁶ for a billion records."""


def under_pseudonyms(records: Records, key: bytes) -> Records:
    """The records, called by names that are theirs in this run alone."""
    letters = Derived(key).stream("pseudonyms").bytes(_BYTES * len(records)).hex().encode()
    ends = np.arange(len(records) + 1, dtype=np.int64) * 2 * _BYTES
    names = pa.LargeStringArray.from_buffers(len(records), pa.py_buffer(ends), pa.py_buffer(letters))
    return replace(records, ids=names)
