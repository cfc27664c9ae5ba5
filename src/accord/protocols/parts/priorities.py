"""Priorities: which records of a full key are placed in a pass of routing (routing.py) [MATHS §10.4].

Of the records with one key the `cap` with the least priority are placed. A record has the priority

    PRF_K(id of the record),

64 bits of SipHash-2-4, keyed by HMAC-SHA256. K is the *placing key*: drawn once for an installation and kept
in its state (state/placing_key.py). So a full key leaves out the same records in every run and every pass,
whatever the account, snapshot, agreement, partner, side or cap: the records that a cap has room for are among
those of a larger cap. If each run drew anew, a partner could average over runs and learn how many records
share a key, and at ε = 0 no run costs anything. For the same reason neither the pass nor the key takes part:
every other key that a partner proposes would be another draw. A record that is left out of one full key may
therefore be left out of others, which costs matches of uncovered records alone.

*Limits*: a record under another id draws anew. Ids that Accord makes last as long as the file beside the
table (row_ids.py). *Distribution*: over K, of the records with one key every set of `cap` is as likely to be
placed as any other. Two priorities are equal with probability 2⁻⁶⁴, and then either may go first.
"""

from __future__ import annotations

import hmac

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts

Words = NDArray[np.uint64]

_TAG = b"accord placing 1\0"


def priorities(key: bytes, ids: pa.Array) -> Words:
    """Priorities of records with these ids. *Requires*: a uniform secret key."""
    k0, k1 = np.frombuffer(hmac.digest(key, _TAG, "sha256")[:16], "<u8")
    found = np.empty((len(ids), 2), np.uint64)
    hash_texts(k0, k1, *text_buffers(ids), found)
    return found[:, 0].copy()
