"""Release keys: which releases are the same one.

Noise drawn twice for one release could be averaged away by the partner; noise kept after the data changed
would show the exact change. So noise is stored under a digest of everything that the noisy counts are a
function of: own bin counts, blocking with its bins, side, mechanism (with the table's size where the noise
depends on that), ε, δ. Not the partner, engine,
threshold or columns: one padded table serves any number of partners for one ε.

Reports of randomised response belong to records and not to bins: their key is a digest of every id with its
bin, in the order of the ids, and of the distribution. So the order of the table does not matter, and any
change of a record is another release: all records report anew, and the account is charged anew.

The key is a digest of private counts: it stays in the ledger and is never sent or logged.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.exact import text
from accord.privacy.randomised_response import Response

_TAG = b"accord release v1\0"
_REPORTS = b"accord reports v1\0"


def release_key(
    counts: NDArray[np.int64], blocking: bytes, side: str, mechanism: str, epsilon: Fraction, delta: Fraction
) -> bytes:
    """32 bytes, the same for the same release. *Requires* canonical bytes of the blocking with its bins."""
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or (len(counts) and counts.min() < 0):
        raise UsageError(problem="Bin counts are one list of whole numbers, none below 0.")
    words = (side.encode(), mechanism.encode(), text(epsilon).encode(), text(delta).encode())
    return _digest(_TAG, *words, blocking, counts.astype("<i8").tobytes())


def reports_key(bins: NDArray[np.int64], ids: bytes, blocking: bytes, side: str, response: Response) -> bytes:
    """32 bytes, the same for the same reports. *Requires* bins and ids in the order of the ids, and canonical
    bytes of the blocking; `ids` holds every id with its length."""
    numbers = np.array([response.bins, response.spread, response.start], "<i8").tobytes()
    words = (side.encode(), text(response.epsilon).encode(), numbers)
    return _digest(_REPORTS, *words, blocking, ids, bins.astype("<i8").tobytes())


def _digest(tag: bytes, *parts: bytes) -> bytes:
    """Each part with its length in front, so that no two lists of parts run into the same bytes."""
    digest = hashlib.sha256(tag)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
