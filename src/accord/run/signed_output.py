"""Whether pairs of ids, in any order, are those whose digest a receipt has: of either version of receipts.

1  the pairs as sums of 128-bit hashes (SipHash) of both ids, sorted, under HMAC-SHA256; only read here
2  the ids themselves, in the order of the output: protocols/confirm.py
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts, key
from accord.protocols.confirm import output_digest
from accord.side import Side
from accord.spill import Scratch
from accord.table.pairs import IdOrder, order_pairs

_FIRST_TAG = b"accord output 1\n"


def is_signed(version: int, digest: str, joint: bytes, ids: tuple[pa.ChunkedArray, pa.ChunkedArray]) -> bool:
    """Whether these pairs have this digest, in hex, under the key of the run."""
    if version == 1:
        first = _first_digest(joint, *(cells.combine_chunks() for cells in ids))
        return hmac.compare_digest(first, digest)
    a, b = (pc.fill_null(cells, "").combine_chunks().dictionary_encode() for cells in ids)
    rows = np.asarray(a.indices), np.asarray(b.indices)
    pairs = order_pairs(IdOrder.of(a.dictionary), IdOrder.of(b.dictionary), [rows], Scratch())
    # A pair that stands twice in a file stands once in an output.
    if len(pairs) < len(a):
        return False
    return hmac.compare_digest(output_digest(joint, a.dictionary, b.dictionary, pairs).hex(), digest)


def _first_digest(joint: bytes, ids_a: pa.Array, ids_b: pa.Array) -> str:
    pairs = _hashed(ids_a, joint) * np.uint64(0x9E3779B97F4A7C15)
    pairs += _hashed(ids_b, joint) * np.uint64(0xD1B54A32D192ED03)
    ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    found = hmac.new(joint, _FIRST_TAG + Side.A.value.encode(), hashlib.sha256)
    found.update(ordered.astype("<u8", copy=False).data)
    return found.hexdigest()


def _hashed(ids: pa.Array, joint: bytes) -> NDArray[np.uint64]:
    starts, octets = text_buffers(ids)
    words = np.zeros((len(ids), 2), np.uint64)
    hash_texts(*key(joint.hex(), "output"), starts, octets, words)
    return words
