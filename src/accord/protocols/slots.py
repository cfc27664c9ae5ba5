"""Slots: one side's bins, padded and shuffled. What the partner sees of them is how many there are.

Every (record, bin) is a slot of its own, and so is every dummy. Slots are numbered bin by bin, in an order
that is uniform within each bin and drawn for this run; so a slot's number is a fresh identifier that tells
its bin and nothing else [MATHS §1(h): without the shuffle there is no privacy at all]. Copies of one record
in several bins cannot be linked before the record is disclosed.

Counts are fixed before the partner's are seen: both sides exchange salted hashes of (i) their noisy counts
and (ii) their slots with the table behind them, then open (i). (ii) is never opened; it binds a party to the
table it began with. Each hash names its side, so that none can be sent back as one's own.
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
from accord.records.columns import Bits, Records
from accord.records.encoders import text_buffers
from accord.secure.circuit import Side
from accord.secure.party import Party, Send, receive

Ints = NDArray[np.int64]

_COUNTS = b"accord commit counts 1\n"
_SLOTS = b"accord commit slots 1\n"
_SALT = 32
_MOST_RECORDS = (1 << 31) - 1
_MOST_SLOTS = 1 << 30
_MOST_DUMMIES = 1 << 16
"""In a bin, on average: far more than any noise that can be agreed needs."""


@dataclass(frozen=True)
class Slots:
    """The slots of one side: private but for `counts`."""

    counts: Ints
    """The noisy size of every bin: real slots and dummies."""
    record: Ints
    """For each slot its record, or −1 for a dummy; bin after bin."""
    salt: bytes
    table: bytes = b""
    """A digest of the records."""

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


def make_slots(blocking: Blocking, side: Side, records: Records, dummies: Ints, entropy: Entropy) -> Slots:
    """Place, pad and shuffle.

    *Requires*: dummies[b] ≥ 0 was drawn for bin b of this very table (sticky noise) or is zero where counts
    may be known. *Distribution*: within each bin the order is uniform and independent of everything else.
    """
    record, bins = blocking.place(side, records.columns, len(records))
    padding = np.repeat(np.arange(blocking.bins), dummies)
    bins = np.concatenate([bins, padding])
    record = np.concatenate([record, np.full(len(padding), -1, np.int64)])
    return shuffled(record, bins, blocking.bins, records, entropy)


def shuffled(record: Ints, bins: Ints, count: int, records: Records, entropy: Entropy) -> Slots:
    """The slots of (record, bin) pairs in `count` bins; −1 is a dummy.

    *Distribution*: within each bin the order is uniform and independent of everything else.
    """
    order = arrangement(entropy.stream(ORDER), bins)
    counts = np.bincount(bins, minlength=count).astype(np.int64)
    salt = entropy.stream("commitment").bytes(2 * _SALT)
    return Slots(counts, record[order], salt, _table_digest(records))


def _table_digest(records: Records) -> bytes:
    starts, octets = text_buffers(records.ids)
    parts = [starts.astype("<i8"), octets]
    for column in records.columns.values():
        body = column.words.astype("<u8") if isinstance(column, Bits) else column.values.astype("<i8")
        parts += [column.present, body]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def commitments(slots: Slots, side: Side) -> bytes:
    """The two salted hashes, 64 bytes."""
    opened = slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes()
    order = hashlib.sha256(_SLOTS + side.value.encode() + slots.salt[_SALT:] + slots.table)
    order.update(slots.record.astype("<i8").tobytes())
    return _hidden_counts(opened, side) + order.digest()


def _hidden_counts(opened: bytes, side: Side) -> bytes:
    return hashlib.sha256(_COUNTS + side.value.encode() + opened).digest()


def exchange_sizes(records: int) -> Party[int]:
    """Tell how many records there are; give the partner's number."""
    yield Send(records.to_bytes(8, "little"))
    partner = int.from_bytes((yield from receive(8)).tobytes(), "little")
    if partner > _MOST_RECORDS:
        raise PeerError(problem=f"a table of {partner:,} records, more than can be linked")
    return partner


def exchange_counts(slots: Slots, side: Side, most: int) -> Party[Ints]:
    """Commit, then open the counts; give the partner's, of which there may be `most`.

    *Learns*: each side the other's noisy counts, and nothing before its own were fixed.
    """
    yield Send(commitments(slots, side))
    committed = (yield from receive(64)).tobytes()
    yield Send(slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes())
    opened = (yield from receive(_SALT + 8 * len(slots.counts))).tobytes()
    if not hmac.compare_digest(_hidden_counts(opened, side.other), committed[:32]):
        raise PeerError(problem="bin counts that differ from those it had committed to")
    counts = np.frombuffer(opened[_SALT:], "<i8").astype(np.int64)
    if len(counts) and (counts.min() < 0 or counts.max() > most or counts.sum() > most):
        raise PeerError(problem="bin counts that no table of its size can have")
    return counts


def most_slots(blocking: Blocking, side: Side, records: int) -> int:
    """More slots than this no table of that many records needs."""
    return min(_MOST_SLOTS, records * blocking.per_record(side) + blocking.bins * _MOST_DUMMIES)
