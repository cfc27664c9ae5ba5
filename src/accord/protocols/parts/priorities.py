"""Priorities: which records of a full key are placed in a pass of routing (routing.py) [MATHS §10.4].

Of the records with one key the `cap` with the least priority are placed. A record has in a pass the priority

    PRF_K(definition of the pass ‖ id of the record),

64 bits of SipHash-2-4 on the id, keyed for the pass by HMAC-SHA256. K is the *placing key*: drawn once for an
installation and kept in its state (state/placing_key.py). So a full key leaves out the same records in every
run, whatever the account, snapshot, agreement, partner, side or cap: the records that a cap has room for are
among those of a larger cap. If each run drew anew, a partner could average over runs and learn how many
records share a key, and at ε = 0 no run costs anything.

The definition of a pass (`Pass.definition`) has the agreed columns of its key and what is derived from them,
for a table of an lsh also its number, and nothing else of the agreement. The value of the key takes no part:
it is equal within a key, and for texts follows from the salt.

*Limits*: a record under another id draws anew, and so does a pass whose agreement names other columns or
derives something else of them. Ids that Accord makes last as long as the file beside the table (row_ids.py).
*Distribution*: over K, of the records with one key every set of `cap` is as likely to be placed as any other.
Two priorities are equal with probability 2⁻⁶⁴; then either may go first.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

Priority = Callable[[bytes, Ints], Words]
"""The priorities of some records in the pass of this definition."""

_TAG = b"accord placing 1\0"


def priorities(key: bytes, ids: pa.Array) -> Priority:
    """Priorities of records with these ids. *Requires*: a uniform secret key."""

    def of(definition: bytes, records: Ints) -> Words:
        k0, k1 = np.frombuffer(hmac.digest(key, _TAG + definition, "sha256")[:16], "<u8")
        found = np.empty((len(records), 2), np.uint64)
        hash_texts(k0, k1, *text_buffers(ids.take(pa.array(records))), found)
        return found[:, 0].copy()

    return of
