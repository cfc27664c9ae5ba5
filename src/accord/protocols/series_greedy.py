"""Greedy Match & Clean over a series: what both have disclosed stays disclosed, and is known in later runs.

A disclosed record is known to the partner with its fields, and its slots are out of all later comparisons:
in a later run they are not there at all, so the bins of both sides are smaller by what both know. Before the
first round of a run

    1  each side names those of its disclosed records that are gone or changed; nobody matches them any more
    2  each side looks for matches of its new records, in the clear, with everything that the partner has
       disclosed and not named; what it finds is disclosed, and so on to a fixed point (greedy.py)

Were 1 left out, a record would be matched after it had gone, which its owner was not asked about; and whether
it still matches would tell whether it is still there [MATHS §4.6].

*Learns*: of disclosed records, whether they are still there unchanged. Of all others nothing: a record that
matches nothing is never in any of this. A record that comes in 2 matches one that was shown (`_require_due`),
and the first of them are of new batches: what is older was compared with all that was shown.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import Bits, Column, Columns, Integers, rows_of
from accord.protocols.base import Task
from accord.protocols.binned import Binned
from accord.protocols.disclosed import Disclosed, Shape, decode, encode, nothing
from accord.protocols.found import Found
from accord.protocols.greedy import GreedyClean
from accord.protocols.journal import Answer, step
from accord.protocols.mine import Mine
from accord.protocols.schedule import Schedule
from accord.ranges import distinct
from accord.secure.party import Party, Send, receive
from accord.side import Side

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_TAG = b"accord shown 1\n"
_HEAD = struct.Struct("<QQQQ")
_COUNT = 8


@dataclass(frozen=True)
class Shown:
    """What two sides have disclosed to each other so far, and not named as gone."""

    own: Ints
    """Members (batches.py), in the order in which the partner has them."""
    removed: tuple[Ints, Ints]
    """Slots of one's own, and of the partner's, that are out of each bin of each batch."""
    partner: Disclosed
    """The partner's, in its order; without slots."""

    @classmethod
    def nothing(cls, task: Task, side: Side) -> Shown:
        """Before the first run."""
        none = np.zeros(0, np.int64)
        return cls(none, (none, none), nothing(_shape(task, side, 0)))

    def rows(self, member: Ints) -> Bools:
        """Which rows, of these members, the partner has seen."""
        return np.isin(member, self.own)

    def left(self, counts: Ints) -> Ints:
        """Own counts, as they were released, without what is out of them."""
        return counts - _longer(self.removed[0], len(counts))


class SeriesGreedy(GreedyClean):
    """Greedy in a run of a series; its batches are those of `member`'s rows."""

    def __init__(
        self,
        task: Task,
        options: Binned,
        mine: Mine,
        schedule: Schedule,
        found: Found,
        shown: Shown,
        member: Ints,
        new: Bools,
    ) -> None:
        """`member` has the member that each own row is, `new` which rows the partner has never met."""
        super().__init__(task, options, mine, schedule, found)
        self._before, self._member, self._new = shown, member, new
        self._bins = task.blocking.bins
        self._own = [shown.own]
        self._theirs = [shown.partner]
        self._own_ends = np.cumsum(mine.slots.counts)
        sizes = len(self._own_ends), len(found.partner_ends)
        self._removed = _longer(shown.removed[0], sizes[0]), _longer(shown.removed[1], sizes[1])

    def begin(self) -> Party[None]:
        """Name what is gone; match what is new with what is known."""
        here = np.isin(self._before.own, self._member)
        theirs = yield from step(
            self._mine.journal,
            _exchange_gone(np.flatnonzero(~here), len(self._before.partner)),
            lambda answer: _read_gone(answer, len(self._before.partner)),
        )
        self._own = [self._before.own[here]]
        kept = np.ones(len(self._before.partner), np.bool_)
        kept[theirs] = False
        known = _rows(self._before.partner, np.flatnonzero(kept))
        self._theirs = [known]
        self._shown[self._before.rows(self._member)] = True
        self._found.number(known)
        fresh = self._match_new(known)
        shown = np.flatnonzero(self._shown)

        def judge(came: Disclosed) -> Ints:
            self._require_new_batches(came)
            matches = self._matches(came)
            self._require_due(shown, came, matches)
            return matches

        yield from self._close(fresh, judge, self._mine.partner_size)

    def _require_new_batches(self, came: Disclosed) -> None:
        """These records are of batches that have not met: older ones have met all that is known by now."""
        # The partner's batches that have met are those that something could be out of.
        met = len(self._before.removed[1])
        if (np.searchsorted(self._found.partner_ends, came.slots, "right") < met).any():
            raise PeerError(problem="a record of an earlier batch where one of a new batch was due")

    def _match_new(self, known: Disclosed) -> Ints:
        """The own new rows that match one of these, which were the first to get a number; kept as matches."""
        assert self._index is not None
        rows = [np.zeros(0, np.int64)]
        if len(known):
            for number, row in self._index.each(known.fields, len(known)):
                keys = distinct((number * len(self._shown) + row)[self._new[row]])
                number, row = np.divmod(keys, len(self._shown))
                self._found.add(row, number)
                self.matches += len(row)
                rows.append(distinct(row))
        return distinct(np.concatenate(rows))

    def _note(self, rows: Ints, own: Disclosed, theirs: Disclosed) -> None:
        self._own.append(self._member[rows])
        self._theirs.append(_rows(theirs, np.arange(len(theirs))))
        for out, slots, ends in (
            (self._removed[0], own.slots, self._own_ends),
            (self._removed[1], theirs.slots, self._found.partner_ends),
        ):
            np.add.at(out, np.searchsorted(ends, slots, "right"), 1)

    def _bins_of(self, theirs: Disclosed) -> Ints:
        """The bin of each slot of the partner's records, which must be of one batch for each."""
        places = super()._bins_of(theirs)
        batch = places // self._bins
        starts = np.cumsum(theirs.slot_counts) - theirs.slot_counts
        first = np.repeat(starts, theirs.slot_counts)
        if (batch != batch[first]).any():
            raise PeerError(problem="a disclosed record in two batches")
        return places % self._bins

    def result(self) -> Shown:
        """All that is disclosed after the last round."""
        return Shown(np.concatenate(self._own), self._removed, _join(self._theirs))


def _longer(counts: Ints, size: int) -> Ints:
    """With zeros at the end, in memory of their own."""
    return np.pad(counts, (0, size - len(counts)))


def _exchange_gone(places: Ints, known: int) -> Party[Answer]:
    """Name own disclosed records that are gone, by their places; those of the partner, of which so many are
    known."""
    yield Send(len(places).to_bytes(_COUNT, "little"))
    count = int.from_bytes((yield from receive(_COUNT)).tobytes(), "little")
    if count > known:
        raise PeerError(problem="more records that are gone than it has disclosed")
    yield Send(places.astype("<u8").tobytes())
    return ((yield from receive(8 * count)).tobytes(),)


def _read_gone(answer: Answer, known: int) -> Ints:
    places = np.frombuffer(answer[0], "<u8")
    if (places >= known).any() or (places[1:] <= places[:-1]).any():
        raise PeerError(problem="records that are gone and that it has not disclosed")
    return places.astype(np.int64)


def _rows(of: Disclosed, rows: Ints) -> Disclosed:
    """Some of the records, without their slots, in memory of their own."""
    none, index = np.zeros(0, np.int64), pa.array(rows)
    fields: Columns = {name: rows_of(column, rows) for name, column in of.fields.items()}
    shown = of.columns.take(index) if of.columns.num_columns else of.columns
    return Disclosed(np.zeros(len(rows), np.int64), none, fields, of.ids.take(index), shown)


def _join(parts: list[Disclosed]) -> Disclosed:
    """All of them, without slots."""
    fields = {name: _stack([part.fields[name] for part in parts]) for name in parts[0].fields}
    ids = pa.concat_arrays([part.ids.cast(pa.large_string()) for part in parts])
    names = parts[0].columns.column_names
    texts = {n: [chunk for part in parts for chunk in part.columns[n].chunks] for n in names}
    shown = pa.table({n: pa.chunked_array(cells, pa.large_string()) for n, cells in texts.items()})
    return Disclosed(np.zeros(len(ids), np.int64), np.zeros(0, np.int64), fields, ids, shown)


def _stack(columns: list[Column]) -> Column:
    present = np.concatenate([column.present for column in columns])
    first = columns[0]
    if isinstance(first, Bits):
        words = np.concatenate([column.words for column in columns if isinstance(column, Bits)])
        return Bits(words, first.length, present)
    values = [column.values for column in columns if not isinstance(column, Bits)]
    return Integers(np.concatenate(values), present)


def _shape(task: Task, side: Side, records: int) -> Shape:
    """Of what the partner of a side has disclosed."""
    return Shape(task.fields, task.shown_fields, task.disclose[side.other], records, 0)


def encode_shown(shown: Shown) -> bytes:
    """As bytes, with a checksum in front."""
    own, theirs = shown.removed
    body = _HEAD.pack(len(shown.own), len(own), len(theirs), len(shown.partner))
    body += b"".join(part.astype("<i8").tobytes() for part in (shown.own, own, theirs))
    body += encode(shown.partner)
    return _TAG + hashlib.sha256(body).digest() + body


def decode_shown(content: bytes, task: Task, side: Side) -> Shown:
    """What `encode_shown` wrote of this side; raises ValueError for anything else."""
    start = len(_TAG) + 32
    body = content[start:]
    if content[:start] != _TAG + hashlib.sha256(body).digest() or len(body) < _HEAD.size:
        raise ValueError("not what was shown, or damaged")
    *sizes, count = _HEAD.unpack_from(body)
    if 8 * sum(sizes) > len(body) - _HEAD.size:
        raise ValueError("not what was shown")
    at, parts = _HEAD.size, []
    for size in sizes:
        parts.append(np.frombuffer(body, "<i8", size, at).astype(np.int64))
        at += 8 * size
    try:
        partner = decode(body[at:], count, _shape(task, side, count))
    except PeerError:
        raise ValueError("not what was shown") from None
    return Shown(parts[0], (parts[1], parts[2]), partner)
