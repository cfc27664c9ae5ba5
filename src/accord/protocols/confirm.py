"""Both sides hold the same output: they compare a digest of it under a key that both made.

The digest is HMAC-SHA256 over the tag, the number of pairs, and the ids of all pairs in the order of the
output (table/pairs.py), 65,536 pairs at a time: for A and then for B the length of each id, then the ids
themselves. So no other pairs, and no other way to cut the same letters into ids, give the same bytes. It is
made once, in one pass and in the memory of one piece.

A digest without a key, in a log or a receipt, would let others test guesses of the output. What a side sends
is no digest of the output but a second one, of that and of its letter, so that it cannot be sent back as
one's own. Nothing is written before both agree.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa

from accord.entropy import Entropy
from accord.errors import PeerError
from accord.fields.encoders import text_buffers
from accord.protocols.parts.outcome import Digest, Outcome
from accord.secure.party import Party, Send, receive
from accord.side import Side
from accord.table.pairs import Pairs

_OUTPUT = b"accord output 1\n"
_HELD = b"accord output held 1\n"
_ANSWER = b"accord answer 1\n"
_TOGETHER = 1 << 16
"""Pairs whose ids stand together: a part of the format."""


def confirm(ids: pa.Array, outcome: Outcome, entropy: Entropy) -> Party[Digest]:
    """The digest of the output and its key, the same on both sides; raise if the partner has other pairs."""
    joint = yield from _join(outcome.side, entropy)
    a, b = (ids, outcome.partner_ids) if outcome.side is Side.A else (outcome.partner_ids, ids)
    digest = Digest(joint, output_digest(joint, a, b, outcome.pairs))
    yield from _compare(digest, outcome.side)
    return digest


def confirm_answer(answer: bytes, side: Side, entropy: Entropy) -> Party[Digest]:
    """The same for an answer that shows nobody."""
    joint = yield from _join(side, entropy)
    digest = Digest(joint, answer_digest(joint, answer))
    yield from _compare(digest, side)
    return digest


def answer_digest(joint: bytes, answer: bytes) -> bytes:
    """The digest of an answer, under a key that was made before."""
    return hmac.digest(joint, _ANSWER + answer, "sha256")


def _join(side: Side, entropy: Entropy) -> Party[bytes]:
    """A key that both sides make."""
    half = entropy.stream("confirm").bytes(32)
    yield Send(half)
    other = (yield from receive(32)).tobytes()
    return half + other if side is Side.A else other + half


def _compare(digest: Digest, side: Side) -> Party[None]:
    yield Send(_held(digest, side))
    if not hmac.compare_digest((yield from receive(32)).tobytes(), _held(digest, side.other)):
        raise PeerError(problem="a digest of an output other than ours")


def output_digest(joint: bytes, ids_a: pa.Array, ids_b: pa.Array, pairs: Pairs) -> bytes:
    """The digest of these pairs of ids, under a key that was made before."""
    found = hmac.new(joint, _OUTPUT + len(pairs).to_bytes(8, "little"), hashlib.sha256)
    for start in range(0, len(pairs), _TOGETHER):
        for ids, some in zip((ids_a, ids_b), pairs.rows(start, start + _TOGETHER), strict=True):
            starts, octets = text_buffers(ids.take(pa.array(some)))
            found.update(np.diff(starts).astype("<u4").data)
            found.update(np.ascontiguousarray(octets[starts[0] : starts[-1]]).data)
    return found.digest()


def _held(digest: Digest, side: Side) -> bytes:
    """What a side sends that holds the output of this digest."""
    return hmac.digest(digest.key, _HELD + side.value.encode() + digest.value, "sha256")
