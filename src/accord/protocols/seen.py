"""The partner's records that were disclosed, by number: what of them has to last until the output.

Records come in thousands of messages or in one. A message holds slots, too, and its texts stay where they
were received (disclosed.py); so what lasts is copied out of it, to files where it is long, and it goes. An id
comes once in a run: a hash of each is kept, in sorted lists of which a longer one takes in those that grew to
half its length, so that there are few lists and each hash is moved a few times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import Columns
from accord.fields.encoders import text_buffers
from accord.fields.gathering import GrowingColumn, Texts
from accord.fields.siphash import hash_texts, key
from accord.protocols.base import Task
from accord.protocols.parts.disclosed import Disclosed
from accord.side import Side
from accord.spill import Scratch

Words = NDArray[np.uint64]


class Seen:
    """Ids, disclosed columns and the encoded fields by which pairs are still to be checked or chosen."""

    def __init__(self, task: Task, partner: Side, scratch: Scratch, kept: Sequence[str]) -> None:
        self._salt = task.salt
        self._ids = Texts(scratch)
        self._columns = {name: Texts(scratch) for name in task.disclose[partner]}
        self._chosen_by = task.chosen_by
        self._kept = tuple(dict.fromkeys(kept))
        self._fields: dict[str, GrowingColumn] = {}
        """Those that are kept, once there is a record."""
        self._scratch = scratch
        self._hashes = Hashes()

    def __len__(self) -> int:
        return len(self._ids)

    def require_new(self, theirs: Disclosed) -> None:
        """Raise if one of these ids is known."""
        if self._hashes.has_any(self._hashed(theirs.ids)):
            raise PeerError(problem="a record that it had disclosed before")

    def add(self, theirs: Disclosed) -> None:
        """Number these records, after those that are here."""
        self._hashes.add(self._hashed(theirs.ids))
        self._ids.add(theirs.ids)
        for name, texts in self._columns.items():
            for cells in theirs.columns[name].chunks:
                texts.add(cells)
        for name in self._kept:
            column = theirs.fields[name]
            self._fields.setdefault(name, GrowingColumn(column, self._scratch)).add(column)

    def _hashed(self, ids: pa.Array) -> Words:
        starts, octets = text_buffers(ids)
        words = np.zeros((len(ids), 2), np.uint64)
        hash_texts(*key(self._salt, "ids"), starts, octets, words)
        return words

    def texts(self) -> tuple[pa.Array, pa.Table]:
        """The ids and the disclosed columns of all, each in one piece."""
        return self._ids.whole(), pa.table({name: texts.whole() for name, texts in self._columns.items()})

    def fields(self) -> Columns:
        """The fields by which pairs are chosen, of all."""
        return {name: self._fields[name].whole() for name in self._chosen_by if name in self._fields}

    def checked(self) -> Columns:
        """The fields by which pairs are checked or chosen, of all so far."""
        return {name: column.whole() for name, column in self._fields.items()}


class Hashes:
    """A set of hashes of 128 bits; who makes two ids collide has its own records refused."""

    def __init__(self) -> None:
        self._lists: list[tuple[Words, Words]] = []
        """Their first words, ascending, and their second words."""

    def add(self, words: Words) -> None:
        new = _in_order(words[:, 0], words[:, 1])
        while self._lists and len(self._lists[-1][0]) <= 2 * len(new[0]):
            last = self._lists.pop()
            new = _in_order(np.concatenate([last[0], new[0]]), np.concatenate([last[1], new[1]]))
        self._lists.append(new)

    def has_any(self, words: Words) -> bool:
        """Whether one of these is in the set."""
        return any(self._shares(known, words) for known in self._lists)

    @staticmethod
    def _shares(known: tuple[Words, Words], words: Words) -> bool:
        start = np.searchsorted(known[0], words[:, 0])
        stop = np.searchsorted(known[0], words[:, 0], "right")
        # Where the first words are the same, which is next to never, the second ones decide.
        for i in np.flatnonzero(start < stop).tolist():
            if (known[1][start[i] : stop[i]] == words[i, 1]).any():
                return True
        return False


def _in_order(first: Words, second: Words) -> tuple[Words, Words]:
    order = np.argsort(first)
    return first[order], second[order]
