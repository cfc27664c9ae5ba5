"""Slots: one side's bins, padded and shuffled. What the partner sees of them is how many there are.

Every (record, bin) is a slot of its own, and so is every dummy. Slots are numbered bin by bin, in an order
that is uniform within each bin and drawn for this run; so a slot's number is a fresh identifier that tells
its bin and nothing else [MATHS §2.2: without the shuffle there is no privacy at all]. Copies of one record
in several bins cannot be linked before the record is disclosed.

Counts are fixed before the partner's are seen: both sides exchange salted hashes of (i) their noisy counts
and (ii) their slots with the table behind them, then open (i). (ii) is never opened; it binds a party to the
table it began with. Each hash names its side, so that none can be sent back as one's own. The two exchanges
are two steps of the journal: a partner that saw our counts and then had the connection cut is still held to
what it had committed to.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.entropy import ORDER, Entropy, arrangement
from accord.errors import PeerError
from accord.fields.columns import Bits, Records
from accord.fields.encoders import text_buffers
from accord.privacy.window import LONGEST, Window
from accord.ranges import ranges
from accord.rules.blocking.base import MOST_BINS, Blocking
from accord.secure.party import Party, Send, receive
from accord.side import Side
from accord.spill import pieces

Ints = NDArray[np.int64]
SomeInts = NDArray[np.integer]
"""In as many bits as the largest needs."""

_COUNTS = b"accord commit counts 1\n"
_SLOTS = b"accord commit slots 1\n"
_CONTENT = b"accord snapshot content 1\n"
_TABLE = "table"
COMMITMENT = 64
_SALT = 32


@dataclass(frozen=True)
class Slots:
    """The slots of one side: private but for `counts`."""

    counts: Ints
    """The noisy size of every bin: real slots and dummies."""
    record: SomeInts
    """For each slot its record, or −1 for a dummy; bin after bin. In 32 bits, which every record fits into:
    there are as many as there is anything."""
    salt: bytes
    table: bytes = b""
    """A digest of the records."""

    @property
    def key(self) -> bytes:
        """The half of the salt that is never opened, and stays with the run."""
        return self.salt[_SALT:]

    @cached_property
    def first(self) -> Ints:
        """The first slot of every bin."""
        return np.cumsum(self.counts) - self.counts

    @property
    def filled(self) -> tuple[Ints, Ints]:
        """How many slots of every bin hold a record, and how many are dummies."""
        bins = np.repeat(np.arange(len(self.counts)), self.counts)
        real = np.bincount(bins[self.record >= 0], minlength=len(self.counts)).astype(np.int64)
        return real, self.counts - real

    def records_of(self, slots: Ints) -> Ints:
        """The records of these slots, in numbers to calculate with."""
        return self.record[slots].astype(np.int64)

    @cached_property
    def of_record(self) -> tuple[SomeInts, SomeInts]:
        """(records, slots) of the real slots, by ascending record."""
        order = np.argsort(self.record, kind="stable")
        order = order[int((self.record < 0).sum()) :].astype(np.min_scalar_type(len(self.record)))
        return self.record[order], order


def slots_among(of: SomeInts, slots: SomeInts, records: Ints) -> tuple[Ints, Ints]:
    """How many of the slots each of these records has, and which, record by record; `of` has the record of
    each slot, ascending."""
    # In the kind of the long one, or all of it would be copied.
    wanted = records.astype(of.dtype)
    starts, stops = np.searchsorted(of, wanted), np.searchsorted(of, wanted, "right")
    return stops - starts, slots[ranges(starts, stops)].astype(np.int64)


@dataclass(frozen=True)
class Padding:
    """The most dummies that a side can have: in one bin, and in all bins together."""

    bin: int
    all: int


ANY_PADDING = Padding(LONGEST, LONGEST * MOST_BINS)
"""What no noise exceeds."""
NO_PADDING = Padding(0, 0)


def make_slots(blocking: Blocking, side: Side, records: Records, dummies: Ints, entropy: Entropy) -> Slots:
    """Place, pad and shuffle.

    *Requires*: dummies[b] ≥ 0 was drawn for bin b of this very table (sticky noise) or is zero where counts
    may be known. *Distribution*: within each bin the order is uniform and independent of everything else.
    """
    record, bins = blocking.place(side, records.columns, len(records))
    record = np.concatenate([record, np.broadcast_to(np.int64(-1), int(dummies.sum()))], dtype=np.int32)
    bins = np.concatenate([bins, np.repeat(np.arange(blocking.bins), dummies)], dtype=np.int32)
    return shuffle_slots(record, bins, blocking.bins, records, entropy)


def shuffle_slots(
    record: NDArray[np.integer],
    bins: NDArray[np.integer],
    count: int,
    records: Records,
    entropy: Entropy,
) -> Slots:
    """The slots of (record, bin) pairs in `count` bins; −1 is a dummy.

    *Distribution*: within each bin the order is uniform and independent of everything else.
    """
    order = arrangement(entropy.stream(ORDER), bins)
    counts = np.bincount(bins, minlength=count).astype(np.int64)
    salt = entropy.stream("commitment").bytes(2 * _SALT)
    return Slots(counts, record[order].astype(np.int32, copy=False), salt, table_digest(records))


def table_digest(records: Records) -> bytes:
    """A digest of ids, encoded values and disclosed columns: private, since values can be guessed.

    It is made once of a table. Its time follows the length of texts, so that is to be before a partner looks.
    """
    if _TABLE not in records.known:
        digest = hashlib.sha256()
        for part in _table_parts(records):
            digest.update(np.ascontiguousarray(part).data)
        records.known[_TABLE] = digest.digest()
    return records.known[_TABLE]


def _table_parts(records: Records) -> Iterator[NDArray[Any]]:
    """One after the other: each may be as long as the table."""
    yield from _text_parts(records.ids)
    for column in records.columns.values():
        yield column.present
        if isinstance(column, Bits):
            yield column.words.astype("<u8", copy=False)
        else:
            yield column.values.astype("<i8", copy=False)
    for name in records.disclosed.column_names:
        yield from _text_parts(records.disclosed[name].combine_chunks())
    yield np.array([records.left_out], "<i8")


def content_digest(blocking: Blocking, side: Side, records: Records) -> bytes:
    """A digest of every id with its bins, in any order of the rows: what a snapshot stands for. Private.

    How many rows were left out is in it, since the size that is announced has them.
    """
    record, bins = blocking.marks(side, records.columns, len(records))
    order = np.asarray(pc.sort_indices(records.ids)).astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    by_id = np.lexsort((bins, rank[record]))
    per_record = np.bincount(record, minlength=len(records))[order]
    digest = hashlib.sha256(_CONTENT + np.array([len(records), records.left_out], "<i8").tobytes())
    for part in (*_text_parts(records.ids.take(pa.array(order))), per_record, bins[by_id]):
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def _text_parts(texts: pa.Array) -> Iterator[NDArray[Any]]:
    """Which texts are there, their lengths and their octets, wherever they lie in memory."""
    yield np.asarray(pc.is_valid(texts))
    starts, octets = text_buffers(pc.fill_null(texts, "") if texts.null_count else texts)
    yield np.diff(starts).astype("<i8", copy=False)
    yield octets[starts[0] : starts[-1]]


def commitments(slots: Slots, side: Side) -> bytes:
    """The two salted hashes, 64 bytes."""
    opened = slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes()
    order = hashlib.sha256(_SLOTS + side.value.encode() + slots.key + slots.table)
    for some in pieces(slots.record):
        order.update(some.astype("<i8").tobytes())
    return _hidden_counts(opened, side) + order.digest()


def _hidden_counts(opened: bytes, side: Side) -> bytes:
    return hashlib.sha256(_COUNTS + side.value.encode() + opened).digest()


def exchange_commitments(slots: Slots, side: Side) -> Party[bytes]:
    """Commit; the partner's commitments. *Learns*: nothing but that the partner's table is fixed."""
    yield Send(commitments(slots, side))
    return (yield from receive(COMMITMENT)).tobytes()


def exchange_counts(slots: Slots, bins: int) -> Party[bytes]:
    """Open the counts; what the partner opened, in so many bins. *Requires*: its commitments are kept.

    *Learns*: each side the other's noisy counts.
    """
    yield Send(slots.salt[:_SALT] + slots.counts.astype("<i8").tobytes())
    return (yield from receive(_SALT + 8 * bins)).tobytes()


def exchanged_bytes(bins: int) -> int:
    """What commitments and counts take, in both directions."""
    return 2 * (COMMITMENT + _SALT + 8 * bins)


def partner_counts(committed: bytes, opened: bytes, side: Side) -> Ints:
    """The partner's counts, if they are what it had committed to."""
    if not hmac.compare_digest(_hidden_counts(opened, side.other), committed[:32]):
        raise PeerError(problem="bin counts that differ from those it had committed to")
    return read_counts(opened)


def read_counts(opened: bytes) -> Ints:
    """The counts behind the salt that hid them."""
    return np.frombuffer(opened[_SALT:], "<i8").astype(np.int64)


def most_dummies(noise: Window, bins: int) -> Padding:
    """What a noise can come to: in a bin the end of its table; in all bins, more only once in 2⁸⁰ draws.

    *Proof* of the latter: Hoeffding, Pr[Σ > E + t] ≤ e^{−2t²/(bins·cap²)}, with t = cap·√(28·bins) > cap·
    √(bins·ln 2⁸⁰ / 2). ∎
    """
    likely = math.ceil(bins * noise.mean) + noise.cap * (math.isqrt(28 * bins) + 1)
    return Padding(noise.cap, min(bins * noise.cap, likely))


def require_possible(counts: Ints, blocking: Blocking, side: Side, records: int, padding: Padding) -> None:
    """Raise unless a table of so many records, with such dummies, can have these counts.

    So who follows the agreement is not refused, and nobody makes us hold more slots than it comes to.
    """
    most = records * blocking.per_record(side) + padding.all
    # The largest first: a sum of numbers that are not bounded yet could wrap around.
    if len(counts) and (counts.min() < 0 or counts.max() > records + padding.bin or counts.sum() > most):
        raise PeerError(problem="bin counts that no table of its size can have")
