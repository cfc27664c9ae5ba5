"""What a side of a series knows of its own table: which records it released in which batch, and what is gone.

A series is many runs over a table that changes. Each record is released once, in the *batch* of the run that
first saw it, and belongs to that batch for good. So a table is looked at by ids alone, locally:

    stayed    the id was there before with the same encoded fields: it keeps its batch
    gone      it was there, and is not, or with other fields: its slots are dummies from now on, for ever
    arrived   it is new, or another version of an id that has had fewer than V so far: it joins the new batch
    late      another version of an id that has had V, or one more record of a person of whom as many were
              released as the noise hides: inert, it has no slot
    waiting   it is new, and no batch is due, or as many came as were declared: it waits for the next one

What a *look* found is final once it is kept: whoever comes back to it, after a cut or with a copy of the
state, reads it and does not look for the differences again. Ids and fields are kept as hashes of
80 bits, so that two of a million records are taken for one with a chance of about 2⁻⁴¹.

Where the promise is to people, a record is known again by its id *and* its person, and what of a person was
ever released is counted over all batches. So what becomes of a record follows from the history of its own
person, and of nobody else: a record that passes from one person to another is gone, and new.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.fields.columns import Bits, Column, Records, rows_of, slice_of
from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts, key

Ints = NDArray[np.int64]
Hashes = NDArray[np.bytes_]

_TAG = b"accord look 1\n"
_TAG_LOOKS = b"accord looks 1\n"
_HEAD = struct.Struct("<BQQQ")
"""Columns of hashes (0 where no batch is new, 3 where members say whose they are), members, bins, gone."""
_LENGTH = struct.Struct("<Q")
_HASH = "S10"
_AT_ONCE = 1 << 16
"""Rows that are laid out to be hashed at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """Records by what they are known again by: a hash of the id, and one of the encoded fields."""

    ids: Hashes
    values: Hashes
    people: Hashes | None = None
    """Whose each is, where the promise is to people."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Ints) -> Members:
        people = None if self.people is None else self.people[rows]
        return Members(self.ids[rows], self.values[rows], people)


def members_of(records: Records, salt: str) -> Members:
    """The records of a table. Its time follows the table, so that is to be before a partner looks."""
    ids, people = _hashed_texts(salt, "series ids", records.ids), None
    if records.people is not None:
        people = _hashed_texts(salt, "series people", records.people)
        both = np.stack([ids, people], axis=1).view(np.uint8).reshape(-1)
        ids = _hashed(salt, "series ids of people", 20 * np.arange(len(ids) + 1), both)
    found = [ids[:0]]
    for start in range(0, len(records), _AT_ONCE):
        stop = min(len(records), start + _AT_ONCE)
        some = [slice_of(records.columns[name], start, stop) for name in sorted(records.columns)]
        rows = np.concatenate([part for column in some for part in _octets(column)], axis=1)
        places = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        found.append(_hashed(salt, "series fields", places, np.ascontiguousarray(rows).reshape(-1)))
    return Members(ids, np.concatenate(found), people)


def _octets(column: Column) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Whether there is a value, and the value, row by row."""
    present = column.present.astype(np.uint8)[:, None]
    if isinstance(column, Bits):
        return present, np.ascontiguousarray(column.words.astype("<u8")).view(np.uint8)
    return present, column.values.astype("<i8")[:, None].view(np.uint8)


def _hashed_texts(salt: str, purpose: str, texts: pa.Array) -> Hashes:
    starts, octets = text_buffers(texts)
    return _hashed(salt, purpose, starts.astype(np.int64), octets)


def _hashed(salt: str, purpose: str, starts: Ints, octets: NDArray[np.uint8]) -> Hashes:
    words = np.zeros((len(starts) - 1, 2), np.uint64)
    hash_texts(*key(salt, purpose), starts, octets, words)
    return np.ascontiguousarray(words.astype("<u8").view(np.uint8)[:, :10]).view(_HASH).reshape(-1)


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The records that one run released first, and the noisy counts that were released for them."""

    members: Members
    counts: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Look:
    """What one run found in the table, and keeps."""

    batch: Batch | None
    """None where no batch was due: the partner had not seen the one before."""
    gone: Ints
    """Members of earlier batches, numbered over all of them, that are not there any more."""


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """All members of all batches, in the order of the batches, and what became of them."""

    members: Members
    batch: Ints
    gone: NDArray[np.bool_]
    counts: tuple[Ints, ...]
    """The noisy counts of every batch."""

    @classmethod
    def of(cls, looks: Sequence[Look]) -> Known:
        batches = [look.batch for look in looks if look.batch is not None]
        none = np.zeros(0, _HASH)
        ids = np.concatenate([none, *(batch.members.ids for batch in batches)])
        values = np.concatenate([none, *(batch.members.values for batch in batches)])
        people = [batch.members.people for batch in batches if batch.members.people is not None]
        sizes = [len(batch.members) for batch in batches]
        gone = np.zeros(len(ids), np.bool_)
        for look in looks:
            gone[look.gone] = True
        number = np.repeat(np.arange(len(batches)), sizes)
        # Before the first batch nobody can say whether the promise is to people.
        whose = np.concatenate([none, *people]) if people or not batches else None
        members = Members(ids, values, whose)
        return cls(members, number, gone, tuple(batch.counts for batch in batches))

    @property
    def batches(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """A table beside what is known: rows of the table, and members."""

    stayed: Ints
    """Rows."""
    batch: Ints
    """Of each of these."""
    member: Ints
    """The member that each of these is."""
    gone: Ints
    """Members, ascending."""
    arrived: Ints
    """Rows, ascending."""
    waiting: int
    late: int
    changed: int
    """Of those that are gone: the id is still there, with other fields."""

    @property
    def there(self) -> int:
        """Members that were there before."""
        return len(self.stayed) + len(self.gone)

    @property
    def fresh(self) -> int:
        """Rows that are not as they were before, or were not there."""
        return len(self.arrived) + self.waiting + self.late

    @property
    def mostly_gone(self) -> bool:
        """Whether more than half of what was there is gone or changed: as with other ids, or a part of the
        table."""
        return 2 * len(self.gone) > self.there


def find_changes(
    known: Known,
    table: Members,
    room: int,
    versions: int = 1,
    unchanged_only: bool = False,
    per_person: int = 1,
) -> Changes:
    """Compare a table with what is known; at most `room` records arrive, and the others wait.

    Of an id at most `versions` are ever released, with `unchanged_only` the first alone; of a person at most
    `per_person`, all versions of all its records counted. *Requires*: if these are more than one, the table
    says whose its records are.
    """
    if per_person > 1 and table.people is None:
        raise ValueError("whose records these are is not known")
    order = np.argsort(table.ids, kind="stable")
    live = np.flatnonzero(~known.gone)
    rows = _find(table.ids, order, known.members.ids[live])
    known_again = rows >= 0
    same = known_again.copy()
    same[same] = table.values[rows[same]] == known.members.values[live[same]]
    stays = np.zeros(len(table), np.bool_)
    stays[rows[same]] = True
    rest = order[~stays[order]]
    most = 1 if unchanged_only else versions
    fresh = rest[_count(known.members.ids, table.ids[rest]) < most]
    if table.people is not None:
        if known.members.people is None:
            raise ValueError("whose records were released is not known")
        fresh = fresh[_among_first(known.members.people, table.people[fresh], per_person)]
    return Changes(
        stayed=rows[same],
        batch=known.batch[live[same]],
        member=live[same],
        gone=live[~same],
        arrived=np.sort(fresh[:room]),
        waiting=max(0, len(fresh) - room),
        late=len(rest) - len(fresh),
        changed=int((known_again & ~same).sum()),
    )


def _find(ids: Hashes, order: Ints, wanted: Hashes) -> Ints:
    """The row of each of the wanted ids, −1 where there is none; `order` sorts the ids."""
    ordered = ids[order]
    place = np.searchsorted(ordered, wanted)
    there = place < len(ordered)
    there[there] = ordered[place[there]] == wanted[there]
    rows = np.full(len(wanted), -1, np.int64)
    rows[there] = order[place[there]]
    return rows


def _count(among: Hashes, wanted: Hashes) -> Ints:
    """How often each of the wanted is among these."""
    ordered = np.sort(among)
    return np.searchsorted(ordered, wanted, "right") - np.searchsorted(ordered, wanted)


def _among_first(had: Hashes, people: Hashes, most: int) -> NDArray[np.bool_]:
    """Which rows, of these people, are among the first so many of their person; those they had come first."""
    order = np.argsort(people, kind="stable")
    ordered = people[order]
    before = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    among = np.zeros(len(people), np.bool_)
    among[order] = _count(had, ordered) + before < most
    return among


def look_at(changes: Changes, table: Members, counts: Ints | None) -> Look:
    """What is kept of a look; `counts` are the noisy ones of the batch, None where no batch was due."""
    batch = None if counts is None else Batch(table.take(changes.arrived), counts)
    return Look(batch, changes.gone)


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """The rows of a table that take part in a run, ascending; of each its batch, and which member it is."""

    rows: Ints
    batch: Ints
    member: Ints


def rows_released(changes: Changes, known: Known, due: bool) -> Released:
    """What takes part: all that stayed and, where a batch is due, what arrived."""
    new = changes.arrived if due else changes.arrived[:0]
    rows = np.concatenate([changes.stayed, new])
    batch = np.concatenate([changes.batch, np.full(len(new), known.batches)])
    member = np.concatenate([changes.member, len(known.members) + np.arange(len(new))])
    order = np.argsort(rows)
    return Released(rows[order], batch[order], member[order])


def take_rows(records: Records, rows: Ints, announced: int) -> Records:
    """Some records of a table, announced as so many: all that are missing are inert."""
    columns = {name: rows_of(column, rows) for name, column in records.columns.items()}
    ids, shown = records.ids.take(rows), records.disclosed.take(rows)
    return Records(ids, columns, shown, announced - len(rows), records.numbered)


def encode_look(look: Look) -> bytes:
    """A look as bytes, with a checksum in front."""
    gone = look.gone.astype("<i8").tobytes()
    if look.batch is None:
        body = _HEAD.pack(0, 0, 0, len(look.gone)) + gone
    else:
        members, counts = look.batch.members, look.batch.counts
        columns = [hashes for hashes in (members.ids, members.values, members.people) if hashes is not None]
        body = _HEAD.pack(len(columns), len(members), len(counts), len(look.gone)) + gone
        body += counts.astype("<i8").tobytes() + b"".join(hashes.tobytes() for hashes in columns)
    return _TAG + hashlib.sha256(body).digest() + body


def decode_look(content: bytes) -> Look:
    """The look in these bytes; raises ValueError unless `encode_look` wrote them."""
    start = len(_TAG) + 32
    body = content[start:]
    if content[:start] != _TAG + hashlib.sha256(body).digest() or len(body) < _HEAD.size:
        raise ValueError("not a look, or damaged")
    columns, members, bins, gone = _HEAD.unpack_from(body)
    size = _HEAD.size + 8 * (gone + bins) + 10 * columns * members
    if len(body) != size or columns not in (0, 2, 3) or (not columns and members + bins):
        raise ValueError("not a look")
    at = _HEAD.size + 8 * gone
    left = np.frombuffer(body, "<i8", gone, _HEAD.size).astype(np.int64)
    if not columns:
        return Look(None, left)
    counts = np.frombuffer(body, "<i8", bins, at).astype(np.int64)
    at += 8 * bins
    hashes = [np.frombuffer(body, _HASH, members, at + 10 * members * n) for n in range(columns)]
    return Look(Batch(Members(*hashes), counts), left)


def encode_looks(looks: Sequence[Look]) -> bytes:
    """Several looks as bytes."""
    each = [encode_look(look) for look in looks]
    return _TAG_LOOKS + b"".join(_LENGTH.pack(len(one)) + one for one in each)


def decode_looks(content: bytes) -> tuple[Look, ...]:
    """The looks in these bytes, of which there is at least one; raises ValueError."""
    if not content.startswith(_TAG_LOOKS):
        raise ValueError("not looks")
    at, looks = len(_TAG_LOOKS), list[Look]()
    while at + _LENGTH.size <= len(content):
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size + length
        looks.append(decode_look(content[at - length : at]))
    if not looks or at != len(content):
        raise ValueError("not looks")
    _require_one_series(looks)
    return tuple(looks)


def _require_one_series(looks: Sequence[Look]) -> None:
    """Raise ValueError unless what is gone was there before, and all members say whose they are, or none."""
    there, batches = 0, [look.batch for look in looks if look.batch is not None]
    if len({batch.members.people is None for batch in batches}) > 1:
        raise ValueError("looks at tables with people and without")
    for look in looks:
        if len(look.gone) and not 0 <= look.gone.min() <= look.gone.max() < there:
            raise ValueError("members that are gone and never were there")
        there += 0 if look.batch is None else len(look.batch.members)
