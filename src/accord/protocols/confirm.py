"""Both sides hold the same output: they compare a digest of it under a key that both made.

A digest without a key, in a log or a receipt, would let others test guesses of the output. Each side's digest
names the side, so that it cannot be sent back as one's own.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.protocols.outcome import Digest, Outcome
from accord.records.encoders import text_buffers
from accord.records.siphash import hash_texts, key
from accord.secure.party import Party, Send, receive
from accord.side import Side

_TAG = b"accord output 1\n"


def confirm(side: Side, ids: pa.Array, outcome: Outcome, entropy: Entropy) -> Party[Digest]:
    """A's digest of the output and its key, the same on both sides; raise if the partner has other pairs."""
    half = entropy.stream("confirm").bytes(32)
    yield Send(half)
    other = (yield from receive(32)).tobytes()
    joint = half + other if side is Side.A else other + half
    mine, theirs = _hashed(ids, joint)[outcome.own], _hashed(outcome.partner_ids, joint)[outcome.partner]
    pairs = _listed(mine, theirs) if side is Side.A else _listed(theirs, mine)
    digests = {each: _digest(joint, each, pairs) for each in Side}
    # Pairs can be many more than records: nothing of their size waits for the partner.
    del mine, theirs, pairs
    yield Send(digests[side])
    if not hmac.compare_digest((yield from receive(32)).tobytes(), digests[side.other]):
        raise PeerError(problem="a digest of another output than ours")
    return Digest(joint, digests[Side.A])


def output_digest(joint: bytes, ids_a: pa.Array, ids_b: pa.Array) -> bytes:
    """A's digest of these pairs of ids, under a key that was made before."""
    return _digest(joint, Side.A, _listed(_hashed(ids_a, joint), _hashed(ids_b, joint)))


def _hashed(ids: pa.Array, joint: bytes) -> NDArray[np.uint64]:
    """A keyed hash of 128 bits in place of each id, so that pairs can be put in one order quickly."""
    starts, octets = text_buffers(ids)
    words = np.zeros((len(ids), 2), np.uint64)
    hash_texts(*key(joint.hex(), "output"), starts, octets, words)
    return words


def _listed(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The pairs in an order that both sides come to; takes its arguments' memory for it.

    128 bits for a pair: a sum of odd multiples of two hashes is as good as a hash of both.
    """
    a *= np.uint64(0x9E3779B97F4A7C15)
    b *= np.uint64(0xD1B54A32D192ED03)
    a += b
    parts = (a[:, 0] >> np.uint64(60)).astype(np.uint8)
    at = 0
    # A sixteenth at a time: to sort all at once would take twice the memory.
    for part in range(16):
        some = a[parts == part]
        b[at : at + len(some)] = some[np.lexsort((some[:, 1], some[:, 0]))]
        at += len(some)
    return b


def _digest(joint: bytes, side: Side, pairs: NDArray[np.uint64]) -> bytes:
    found = hmac.new(joint, _TAG + side.value.encode(), hashlib.sha256)
    found.update(pairs.astype("<u8", copy=False).data)
    return found.digest()
