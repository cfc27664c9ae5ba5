"""How two sides end that know matches in unlike ways: one has records and tokens, the other knows the tokens.

      ── how many; the tokens, in their order ────────────►
      ◄──────────────── both disclose what matched ───────►            (disclosed.py)
      ── which own record matched which ──────────────────►

A token stands for a record of the side that drew it, and who has not found the record cannot name it. The
asker tells distinct pairs alone; records are shown in the order of their ids, tokens in their own, so that
nothing follows from the order but what was found. No more is shown than agreed (bound.py), and no more is
read than a table holds. All this may be done several times in a run, each time of other records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import NoRoomError, PeerError
from accord.protocols.base import Task
from accord.protocols.lines import Bytes, covers, find_records, rank_tokens
from accord.protocols.one_to_one import require_matches
from accord.protocols.parts.bound import require_within
from accord.protocols.parts.disclosed import (
    Disclosed,
    exchange,
    memory,
    partner_records,
    receive_due,
    take,
)
from accord.protocols.parts.journal import Answer
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.phases import Phases
from accord.protocols.seen import Seen
from accord.ranges import distinct
from accord.secure.party import Party, Send, receive, send
from accord.side import Side
from accord.table.pairs import IdOrder, order_pairs

Ints = NDArray[np.int64]

_MOST_PAIRS = 1 << 30
"""Of records that match, so that no partner can ask for more memory than that takes."""
_BYTES_A_PAIR = 320
"""Of memory, at the least, for each pair that the partner may name: four times what it takes to read it."""


class Naming:
    """One side's end of a run."""

    def __init__(self, task: Task, mine: OwnSide) -> None:
        self._task, self._own, self._partner_size = task, mine, mine.partner_size
        self._shape = task.shape(mine.side.other, mine.partner_size, mine.partner_size)
        self._seen = Seen(task, mine.side.other, mine.scratch, task.chosen_by)
        self._shown = np.zeros(len(mine.records), np.bool_)
        """The own records that have been shown."""
        self._named: list[tuple[Ints, Ints]] = []
        """Pairs, as own rows and numbers of the partner's records."""
        self._dummies = 0

    def tell(self, own: Ints, tokens: Bytes, dummies: int = 0) -> Party[Answer]:
        """Name the pairs that were found, each of an own record and a token, some perhaps several times."""
        named, token = rank_tokens(tokens)
        own, of = _distinct_pairs(own, token, len(named))
        shown, _ = self._by_id(distinct(own))
        self._require_within(len(shown))
        yield Send(np.array([len(named), len(own)], "<u8").tobytes())
        yield from send(named)
        came, theirs = yield from self._exchange(shown, np.arange(len(shown)), len(named))
        if len(theirs) != len(named) or not covers(theirs.slots, len(named)):
            raise PeerError(problem="other records than those that matched")
        number = np.empty(len(named), np.int64)
        number[theirs.slots] = np.arange(len(named))
        position = np.zeros(len(self._own.records), np.int64)
        position[shown] = np.arange(len(shown))
        # In an order that follows from ids and random tokens: the one in which they were found would tell
        # more, and the table's own order is nobody's business.
        at = np.lexsort((of, position[own]))
        yield from send(np.stack([position[own], of])[:, at].astype("<u4"))
        return self._kept(own, number[of], dummies, came)

    def hear(self, tokens: Bytes, dummies: int = 0) -> Party[Answer]:
        """Take the pairs that the other side found, of records with these tokens."""
        head = np.frombuffer((yield from receive(16)).tobytes(), "<u8").tolist()
        if head[0] > len(tokens) or head[1] > head[0] * self._partner_size:
            raise PeerError(problem="more matches than there are records")
        _require_pairs(head[1] + sum(len(own) for own, _ in self._named))
        width = tokens.shape[1]
        named = (yield from receive(head[0] * width)).reshape(head[0], width)
        records = find_records(named, tokens)
        if len(records) and records.max() >= len(self._own.records):
            raise PeerError(problem="a match with a row that was left out")
        if self._shown[records].any():
            raise PeerError(problem="a match with a record that had matched before")
        self._require_within(len(records))
        shown, place = self._by_id(records)
        came, theirs = yield from self._exchange(shown, place, min(self._partner_size, head[1]))
        # Without them this is no answer that must be the same again, and other records could be asked for.
        came_pairs = yield from receive_due(receive(8 * head[1]), len(records))
        pairs = np.frombuffer(came_pairs.tobytes(), "<u4").reshape(2, -1)
        partner, token = pairs.astype(np.int64)
        known = covers(partner, len(theirs)) and covers(token, len(records))
        listed = partner * len(records) + token
        if not known or (listed[1:] <= listed[:-1]).any():
            raise PeerError(problem="pairs that are not those of its matches")
        return self._kept(records[token], partner, dummies, came)

    def _by_id(self, records: Ints) -> tuple[Ints, Ints]:
        """Records in the order of their ids, and where each of them stood."""
        order = np.asarray(pc.sort_indices(self._own.records.ids.take(pa.array(records)))).astype(np.int64)
        return records[order], order

    def _id_order(self, records: Ints) -> IdOrder:
        """The order of ids among these own records alone: to order all takes longer than to find them."""
        some, _ = self._by_id(distinct(records))
        places = np.zeros(len(self._own.records), np.int32)
        places[some] = np.arange(len(some), dtype=np.int32)
        return IdOrder(some.astype(np.int32), places)

    def _require_within(self, count: int) -> None:
        """Raise before anything is named or shown if so many own records may not be."""
        shown = int(self._shown.sum())
        require_within(self._task.most_matches, self._own.side, self._own.records.size, shown, count)

    def _exchange(self, records: Ints, slots: Ints, due: int) -> Party[tuple[Answer, Disclosed]]:
        """Show these records; the partner's, as they came and as they are."""
        ones = np.ones(len(records), np.int64)
        own = Disclosed(ones, slots, *take(self._own.records, records, self._task.shown_fields))
        shown = yield from exchange(own, self._shape, due)
        theirs = partner_records(shown, self._shape)
        if (theirs.slot_counts != 1).any():
            raise PeerError(problem="a record that does not stand for itself")
        return shown, theirs

    def _kept(self, own: Ints, partner: Ints, dummies: int, shown: Answer) -> Answer:
        """All of it as the answer of a step."""
        count, records = shown
        head = np.array([len(own), dummies], "<u8").tobytes()
        return head + np.stack([own, partner]).astype("<u4").tobytes() + count, records

    def take(self, kept: Answer) -> tuple[Ints, int]:
        """Judge and remember what was told or heard, on this connection or on one that was cut after it. The
        own records that matched, and how many of the partner's did."""
        own, partner, dummies, shown = _split(kept)
        theirs = partner_records(shown, self._shape)
        for numbers, count in ((own, len(self._own.records)), (partner, len(theirs))):
            if len(numbers) and numbers.max() >= count:
                raise PeerError(problem="matches of records that do not exist")
        if self._task.chosen_by or self._task.checked_by:
            require_matches(self._task, self._own, theirs.fields, own, partner)
        self._seen.require_new(theirs)
        self._named.append((own, len(self._seen) + partner))
        self._seen.add(theirs)
        self._shown[own] = True
        left, room = self._partner_size - len(self._seen), theirs.columns.nbytes + theirs.ids.nbytes
        self._shape = replace(self._shape, most_records=left, room=self._shape.room - room)
        self._dummies = dummies
        return distinct(own), len(theirs)

    def outcome(self, comparisons: int, rounds: int = 1) -> Outcome:
        """All that was named."""
        own, partner = (np.concatenate(some) for some in zip(*self._named, strict=True))
        ids, columns = self._seen.texts()
        orders, rows = (self._id_order(own), IdOrder.of(ids)), (own, partner)
        first = self._own.side is Side.A
        (a, b), some = (orders, rows) if first else (orders[::-1], rows[::-1])
        return Outcome(
            side=self._own.side,
            pairs=order_pairs(a, b, [some], self._own.scratch),
            partner_ids=ids,
            partner_columns=columns,
            partner_size=self._partner_size,
            partner_slots=0,
            comparisons=comparisons,
            rounds=rounds,
            dummies=self._dummies,
            released=self._own.released,
            phases=Phases(),
            partner_fields=self._seen.fields(),
        )


def _distinct_pairs(own: Ints, token: Ints, tokens: int) -> tuple[Ints, Ints]:
    """Each pair of a record and the rank of a token once."""
    every = distinct(own * max(1, tokens) + token)
    return every // max(1, tokens), every % max(1, tokens)


def _require_pairs(count: int) -> None:
    """Raise for more pairs than this machine can hold, whether or not they are true."""
    most = min(_MOST_PAIRS, memory() // _BYTES_A_PAIR)
    if count > most:
        raise NoRoomError(problem=f"{count:,} matching pairs, where this machine has memory for {most:,}")


def _split(kept: Answer) -> tuple[Ints, Ints, int, Answer]:
    """The own and the partner's records of the pairs, the dummies, and what the partner showed."""
    start = memoryview(kept[0])
    count, dummies = (int.from_bytes(start[at : at + 8], "little") for at in (0, 8))
    end = 16 + 8 * count
    if len(start) < end + 8:
        raise PeerError(problem="matches that are not whole")
    own, partner = np.frombuffer(start, "<u4", 2 * count, 16).reshape(2, count).astype(np.int64)
    return own, partner, dummies, (start[end:], *kept[1:])
