"""What a side of an accountable run of a series is committed to, and what is kept of it for a replay.

Its messages follow from more than its table: from the batch that each record is of, from the counts that were
released, and from what both sides have shown. That is the series as it stood when the run began:

    looks    what every run so far has found in the table, and the noisy counts of its batch; of this run
             without the counts, which are drawn later and which the partner is told
    counts   the partner's, of the batches that have met before
    before   what both had disclosed to each other

The pledge (seed.py) is to all of it, with the records that take part, in place of the table alone.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from accord.privacy.release import fold_name
from accord.protocols.batches import (
    Look,
    encode_looks,
)
from accord.protocols.standing import Meeting

_PLEDGED = b"accord pledged series 1\n"
_NUMBERS = struct.Struct("<5Q")


def digest_standing(name: str, looks: Sequence[Look], files: Mapping[str, bytes]) -> bytes:
    """A digest of a series as it stands; of the last look without its counts. Its time follows the table, so
    that is to be before a partner looks."""
    *earlier, last = looks
    if last.batch is not None:
        last = Look(replace(last.batch, counts=np.zeros_like(last.batch.counts)), last.gone)
    parts = fold_name(name).encode(), encode_looks([*earlier, last]), files["counts"], files["before"]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()


def digest_series(table: bytes, standing: bytes, run: int, meeting: Meeting) -> bytes:
    """What is pledged: the records that take part, the series as it stands, and which run of it this is."""
    numbers = _NUMBERS.pack(run, *meeting.seen, *meeting.total)
    return hashlib.sha256(_PLEDGED + table + standing + numbers).digest()
