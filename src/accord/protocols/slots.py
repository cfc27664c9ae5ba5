"""Slots: one side's bins, padded and shuffled. What the partner sees of them is how many there are.

Every (record, bin) is a slot of its own, and so is every dummy. Slots are numbered bin by bin, in an order
that is uniform within each bin and drawn for this run; so a slot's number is a fresh identifier that tells
its bin and nothing else [MATHS §1(h): without the shuffle there is no privacy at all]. Copies of one record
in several bins cannot be linked before the record is disclosed.

Counts are fixed before the partner's are seen: both sides exchange salted hashes of (i) their noisy counts
and (ii) their slots, then open (i). (ii) is never opened; it binds a party to the table it began with.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accord.entropy import ORDER, Entropy, arrangement
from accord.errors import PeerError
from accord.matching.blocking import Blocking
from accord.records.columns import Columns
from accord.secure.circuit import Side
from accord.secure.party import Party, Send, receive

Ints = NDArray[np.int64]

_COUNTS = b"accord commit counts 1\n"
_SLOTS = b"accord commit slots 1\n"
_SALT = 32
_MOST_SLOTS = 1 << 40


@dataclass(frozen=True)
class Slots:
    """The slots of one side: private but for `counts`."""

    counts: Ints
    """The noisy size of every bin: real slots and dummies."""
    record: Ints
    """For each slot its record, or −1 for a dummy; bin after bin."""
    salt: bytes

    @cached_property
    def first(self) -> Ints:
        """The first slot of every bin."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def of_record(self) -> tuple[Ints, Ints]:
        """(records, slots) of the real slots, by ascending record."""
        real = np.flatnonzero(self.record >= 0)
        order = np.argsort(self.record[real], kind="stable")
        return self.record[real][order], real[order]


def make_slots(
    blocking: Blocking, side: Side, columns: Columns, records: int, dummies: Ints, entropy: Entropy
) -> Slots:
    """Place, pad and shuffle.

    *Requires*: dummies[b] ≥ 0 was drawn for bin b of this very table (sticky noise) or is zero where counts
    may be known. *Distribution*: within each bin the order is uniform and independent of everything else.
    """
    record, bins = blocking.place(side, columns, records)
    padding = np.repeat(np.arange(blocking.bins), dummies)
    bins = np.concatenate([bins, padding])
    record = np.concatenate([record, np.full(len(padding), -1, np.int64)])
    order = arrangement(entropy.stream(ORDER), bins)
    counts = np.bincount(bins, minlength=blocking.bins).astype(np.int64)
    return Slots(counts, record[order], entropy.stream("commitment").bytes(2 * _SALT))


def commitments(slots: Slots) -> bytes:
    """The two salted hashes, 64 bytes."""
    counts = hashlib.sha256(_COUNTS + slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes())
    order = hashlib.sha256(_SLOTS + slots.salt[_SALT:] + slots.record.astype("<i8").tobytes())
    return counts.digest() + order.digest()


def exchange_counts(slots: Slots) -> Party[Ints]:
    """Commit, then open the counts; give the partner's.

    *Learns*: each side the other's noisy counts, and nothing before its own were fixed.
    """
    yield Send(commitments(slots))
    committed = (yield from receive(64)).tobytes()
    yield Send(slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes())
    opened = (yield from receive(_SALT + 8 * len(slots.counts))).tobytes()
    found = hashlib.sha256(_COUNTS + opened).digest()
    if not hmac.compare_digest(found, committed[:32]):
        raise PeerError(problem="bin counts that differ from those it had committed to")
    counts = np.frombuffer(opened[_SALT:], "<i8").astype(np.int64)
    if len(counts) and (counts.min() < 0 or counts.max() > _MOST_SLOTS or counts.sum() > _MOST_SLOTS):
        raise PeerError(problem="bin counts that no table can have")
    return counts
