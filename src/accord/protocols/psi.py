"""Private set intersection, and its expansion [HMFS17, §2.2], as one party.

      ◄──────────────── commitments ──────────────────────►            (slots.py)
    asker  (A or B)                                          lister
    distinct values, padded to the size of its table
      ── blinded values ──────────────────────────────────►
      ◄───────────────────────────────── under the key ────            (oblivious_prf.py)
    F(a) for each own value a                                for every record b, every value v of its ball:
                                                             the m-th record with v gets a line
      ◄── all lines, by tag ───────────────────────────────  h(F(v), m) = tag ‖ mask;  tag ‖ mask ⊕ token(b)
    looks up h(F(a), 1), h(F(a), 2), … until none is there
      ── the tokens, and which own record matched which ──►
      ◄──────────────── both disclose what matched ───────►            (disclosed.py)
      ◄──────────────── digest of the output ─────────────►            (confirm.py)

The commitments are one step of the journal, all from the blinded values to the last disclosure another: done
again after a cut it would be a second set of questions, so a run is resumed after it or not at all.

`psi` is the case in which a ball is the value itself. With one value a record the larger table is listed,
with more the smaller; the sizes are public.

*Learns*: each side the other's size and matching records, and which pairs match. To the asker a line looks
random unless it asked for its value; records that share a value have unlike lines, missing values and those
beyond a range are lines of random values, and the order is that of random tags. So it learns for each of its
own values which records it matches and not where in their balls it lies: no distance. The lister learns of
the asker's values their number, which is padded, and then the pairs; a token, drawn for each record, stands
for the record and not for the value that led to it, and who has not found the record cannot name it. If both
sides listed half a ball, which for Hamming distances is far cheaper, each would see *which* values they
share, and so the distance and more: that is why one side lists it all.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.entropy import MASKS, ORDER, Entropy, permutation, words
from accord.errors import PeerError, UsageError
from accord.matching.rule import And, Rule, Same, fields_of
from accord.protocols.balls import MOST_LINES, Balls, expansion, values_of
from accord.protocols.confirm import confirm
from accord.protocols.disclosed import Disclosed, Shape, exchange, partner_records, take
from accord.protocols.journal import step
from accord.protocols.linkage import Own, Status
from accord.protocols.outcome import Outcome
from accord.protocols.slots import exchange_commitments
from accord.protocols.spec import PsiExpand
from accord.protocols.task import Task
from accord.ranges import distinct, ranges
from accord.secure.engine import Engine
from accord.secure.party import Party, Send, receive, send
from accord.secure.prf.group import POINT, Bytes, Clear, Ed25519, Group
from accord.secure.prf.oblivious import BATCH, answer, ask, batches, value
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

STEPS = 2
"""Of the journal: the commitments, and the intersection with all that it discloses."""
LINE = 24
_HALF = LINE // 2
_BODY = POINT + 8
_PAD = 16
_CHUNK = 1 << 16
_MOST_PAIRS = 1 << 30
"""Of records that match, so that no partner can ask for more memory than that takes."""
_TAG = b"accord psi line 1\n"


def psi(task: Task, own: Own, engine: Engine) -> Party[Outcome]:
    """One side of psi or psi-expand."""
    began = own.clock()
    run = _Run(task, own, engine)
    # Nothing is opened here; it binds both to their tables should the run be cut and go on.
    yield from step(own.journal, exchange_commitments(own.slots, own.side))
    found = yield from step(own.journal, run.list_all() if run.lists else run.look_up())
    own.seconds["compare"] = own.clock() - began
    outcome = run.outcome(found)
    own.watch(Status(run.total, run.total, len(outcome.own)))
    return replace(outcome, digest=(yield from confirm(own.side, own.records.ids, outcome, own.entropy)))


def equality(rule: Rule) -> Rule:
    """All fields of a rule are the same: what `psi` finds of it."""
    return And(tuple(Same(name) for name in fields_of(rule)))


def lists(side: Side, own: int, partner: int, size: int) -> bool:
    """Whether this side lists its balls of that size: the cheaper way round, from public numbers."""
    if own == partner:
        return side is Side.B
    return (own < partner) == (size > 1)


def workload(task: Task, side: Side, own: int, partner: int) -> tuple[bool, int, int]:
    """Whether this side lists, how many lines there are, how many values are asked: from public numbers."""
    size = expansion(_rule(task), task.fields)
    mine = lists(side, own, partner, size)
    listed, asked = (own, partner) if mine else (partner, own)
    return mine, listed * size, asked


def too_many(task: Task, lines: int) -> str:
    """What is said of more lines than are listed; nothing if they are not."""
    if lines <= MOST_LINES:
        return ""
    return (
        f"{task.protocol.name} would list {lines:,} values, more than {MOST_LINES:,}. "
        "Take a smaller threshold, larger steps, smaller tables or another protocol."
    )


def _rule(task: Task) -> Rule:
    return task.rule if isinstance(task.protocol, PsiExpand) else equality(task.rule)


class _Run:
    """What one side knows between the sizes and the outcome."""

    def __init__(self, task: Task, own: Own, engine: Engine) -> None:
        self.task, self.own, self.partner_size = task, own, own.partner_size
        domain = b"accord psi 1\0" + task.salt.encode()
        self.group: Group = Clear(domain) if engine.name == "ideal" else Ed25519(domain)
        sizes = len(own.records), own.partner_size
        self.lists, self.lines, self.asked = workload(task, own.side, *sizes)
        if problem := too_many(task, self.lines):
            raise UsageError(problem=problem)
        self.balls = Balls(_rule(task), task.fields)
        self.total, self.done, self.dummies = self.lines + self.asked, 0, 0
        columns, most = task.disclose[own.side.other], own.partner_size
        self.shape = Shape(task.fields, (), columns, most, most)

    def progress(self, count: int) -> None:
        self.done += count
        self.own.watch(Status(self.done, self.total, 0))

    # -- the side that lists ------------------------------------------------------------------------------

    def list_all(self) -> Party[bytes]:
        """Serve the other's values, send all lines, take its matches; what `outcome` reads."""
        entropy = self.own.entropy
        key = self.group.secret(entropy.stream(MASKS))
        tokens = _table(entropy.stream("tokens"), len(self.own.records), _HALF)
        yield from answer(self.group, key, self.asked, self.progress)
        lines = self._lines(self._values(key), tokens)
        for part in batches(self.lines, _CHUNK):
            yield from send(lines[part])
        head = np.frombuffer((yield from receive(16)).tobytes(), "<u8").tolist()
        if head[0] > len(tokens) or head[1] > min(head[0] * self.partner_size, _MOST_PAIRS):
            raise PeerError(problem="more matches than there are records")
        named = (yield from receive(head[0] * _HALF)).reshape(head[0], _HALF)
        records = _known(named, tokens)
        shown, place = self._by_id(records)
        came, theirs = yield from self._exchange(shown, place)
        pairs = np.frombuffer((yield from receive(8 * head[1])).tobytes(), "<u4").reshape(2, -1)
        partner, token = pairs.astype(np.int64)
        known = _covers(partner, len(theirs)) and _covers(token, len(records))
        listed = partner * len(records) + token
        if not known or (listed[1:] <= listed[:-1]).any():
            raise PeerError(problem="pairs that are not those of its matches")
        return self._kept(records[token], partner, came)

    def _values(self, key: bytes) -> Bytes:
        """F of every value of every ball, record after record; what does not exist is a random value."""
        found = np.empty((self.lines, POINT), np.uint8)
        size, filler = self.balls.size, self.own.entropy.stream("filler")
        for part in batches(len(self.own.records), max(1, BATCH // size)):
            listed, exists = self.balls.listed(self.own.records.columns, part)
            self.dummies += int((~exists).sum())
            at = part.start * size
            for piece in batches(len(listed)):
                items = _items(listed[piece], exists[piece], filler)
                found[at + piece.start : at + piece.stop] = value(self.group, key, items)
                self.progress(piece.stop - piece.start)
        return found

    def _lines(self, values: Bytes, tokens: Bytes) -> Bytes:
        """A line for every value and record, in the order of their tags."""
        halves = values.view("<u8")
        order = np.lexsort((words(self.own.entropy.stream(ORDER), len(values)), halves[:, 0], halves[:, 1]))
        fresh = np.ones(len(values), np.bool_)
        fresh[1:] = (halves[order[1:], :2] != halves[order[:-1], :2]).any(axis=1)
        first = np.flatnonzero(fresh)
        times = np.arange(len(values)) - np.repeat(first, np.diff(first, append=len(values)))
        lines = _hashed(values, order, times)
        lines[:, _HALF:] ^= tokens[order // self.balls.size]
        return np.ascontiguousarray(lines[_tag_order(lines)])

    # -- the side that asks -------------------------------------------------------------------------------

    def look_up(self) -> Party[bytes]:
        """Ask for the own values, receive all lines, tell what matched; what `outcome` reads."""
        rows, key_of, items = self._asked()
        values = yield from ask(self.group, items, self.own.entropy.stream(MASKS), self.progress)
        lines = np.empty((self.lines, LINE), np.uint8)
        for part in batches(self.lines, _CHUNK):
            size = part.stop - part.start
            lines[part] = (yield from receive(size * LINE)).reshape(size, LINE)
            self.progress(size)
        keys, tokens = _found(values, lines)
        named, token = _ranked(tokens)
        own, of = _joined(rows, key_of, keys, token)
        shown, _ = self._by_id(distinct(own))
        yield Send(np.array([len(named), len(own)], "<u8").tobytes())
        yield from send(named)
        came, theirs = yield from self._exchange(shown, np.arange(len(shown)))
        if len(theirs) != len(named) or not _covers(theirs.slots, len(named)):
            raise PeerError(problem="other records than those that matched")
        number = np.empty(len(named), np.int64)
        number[theirs.slots] = np.arange(len(named))
        position = np.zeros(len(self.own.records), np.int64)
        position[shown] = np.arange(len(shown))
        # In an order that follows from ids and random tokens: the one in which lines were opened would tell
        # the lister which value opened them, and the table's own order is nobody's business.
        at = np.lexsort((of, position[own]))
        yield from send(np.stack([position[own], of])[:, at].astype("<u4"))
        return self._kept(own, number[of], came)

    def _asked(self) -> tuple[Ints, Ints, Bytes]:
        """(records, their places among the items), and the distinct values, padded and in random order."""
        values, present = values_of(self.balls.names, self.own.records.columns)
        rows = np.flatnonzero(present)
        first, key_of = _ranks(*values[rows].T)
        once = values[rows[first]]
        self.dummies = self.asked - len(once)
        padded = np.concatenate([once, np.zeros((self.dummies, once.shape[1]), np.uint64)])
        entropy = self.own.entropy
        items = _items(padded, np.arange(self.asked) < len(once), entropy.stream("filler"))
        order = permutation(entropy.stream(ORDER), self.asked)
        place = np.empty(self.asked, np.int64)
        place[order] = np.arange(self.asked)
        return rows, place[key_of], items[order]

    # -- what both do -------------------------------------------------------------------------------------

    def _by_id(self, records: Ints) -> tuple[Ints, Ints]:
        """Records in the order of their ids, and where each of them stood."""
        order = np.asarray(pc.sort_indices(self.own.records.ids.take(pa.array(records)))).astype(np.int64)
        return records[order], order

    def _exchange(self, records: Ints, slots: Ints) -> Party[tuple[bytes, Disclosed]]:
        """Show these records; the partner's, as they came and as they are."""
        ones = np.ones(len(records), np.int64)
        own = Disclosed(ones, slots, *take(self.own.records, records, ()))
        shown = yield from exchange(own, self.shape)
        theirs = partner_records(shown, self.shape)
        if (theirs.slot_counts != 1).any():
            raise PeerError(problem="a record that does not stand for itself")
        return shown, theirs

    def _kept(self, own: Ints, partner: Ints, shown: bytes) -> bytes:
        """The intersection as the answer of a step."""
        head = np.array([len(own), self.dummies], "<u8").tobytes()
        return head + np.stack([own, partner]).astype("<u4").tobytes() + shown

    def outcome(self, kept: bytes) -> Outcome:
        """The outcome of an intersection, of this connection or of one that was cut after it."""
        own, partner, dummies, shown = _split(kept)
        theirs = partner_records(shown, self.shape)
        for numbers, count in ((own, len(self.own.records)), (partner, len(theirs))):
            if len(numbers) and numbers.max() >= count:
                raise PeerError(problem="matches of records that there are not")
        order = np.lexsort((partner, own))
        return Outcome(
            own=own[order].astype(np.int32),
            partner=partner[order].astype(np.int32),
            partner_ids=theirs.ids,
            partner_columns=theirs.columns,
            partner_size=self.partner_size,
            partner_slots=0,
            comparisons=self.total,
            rounds=1,
            dummies=dummies,
            released=self.own.released,
            seconds=self.own.seconds,
        )


def _split(kept: bytes) -> tuple[Ints, Ints, int, bytes]:
    """The own and the partner's records of the pairs, the dummies, and what the partner showed."""
    count, dummies = (int.from_bytes(kept[at : at + 8], "little") for at in (0, 8))
    end = 16 + 8 * count
    if len(kept) < end + 8:
        raise PeerError(problem="an intersection that is not whole")
    own, partner = np.frombuffer(kept, "<u4", 2 * count, 16).reshape(2, count).astype(np.int64)
    return own, partner, dummies, kept[end:]


def _table(entropy: Entropy, rows: int, width: int) -> Bytes:
    return np.frombuffer(entropy.bytes(rows * width), np.uint8).reshape(rows, width)


def _items(values: Words, real: NDArray[np.bool_], entropy: Entropy) -> Bytes:
    """The bytes that are hashed: the values and zeros, or for what is not real random bytes, never zeros."""
    pad = _table(entropy, len(values), _PAD) * ~real[:, None]
    body = np.ascontiguousarray(values * real[:, None], "<u8").view(np.uint8)
    return np.concatenate([body, pad], axis=1)


def _hashed(values: Bytes, rows: Ints, times: Ints) -> Bytes:
    """h(F, m) for each of these rows of values: what its line is before the token."""
    start, lines = hashlib.sha256(_TAG), np.empty((len(rows), LINE), np.uint8)

    def line(body: bytes) -> bytes:
        digest = start.copy()
        digest.update(body)
        return digest.digest()[:LINE]

    for part in batches(len(rows), _CHUNK):
        number = times[part].astype("<u8")[:, None].view(np.uint8)
        whole = np.concatenate([values[rows[part]], number], axis=1).tobytes()
        found = b"".join(map(line, (whole[i : i + _BODY] for i in range(0, len(whole), _BODY))))
        lines[part] = np.frombuffer(found, np.uint8).reshape(-1, LINE)
    return lines


def _tags(lines: Bytes) -> tuple[Words, NDArray[np.uint32]]:
    high = np.ascontiguousarray(lines[:, :8]).view("<u8")[:, 0]
    return high, np.ascontiguousarray(lines[:, 8:_HALF]).view("<u4")[:, 0]


def _tag_order(lines: Bytes) -> Ints:
    high, low = _tags(lines)
    return np.lexsort((low, high)).astype(np.int64)


def _found(values: Bytes, lines: Bytes) -> tuple[Ints, Bytes]:
    """For each line that a value opens: the value's place and the token."""
    high, low = _tags(lines)
    if len(high) and (high[1:] < high[:-1]).any():
        raise PeerError(problem="lines that are not in order")
    alive, round_ = np.arange(len(values)), 0
    keys, tokens = [np.zeros(0, np.int64)], [np.zeros((0, _HALF), np.uint8)]
    while len(alive) and len(lines):
        wanted = _hashed(values, alive, np.full(len(alive), round_))
        mine, rest = _tags(wanted)
        at = np.searchsorted(high, mine)
        hit = np.zeros(len(alive), np.bool_)
        # Two unlike tags of one list may begin alike; three will not.
        for place in (np.minimum(at, len(high) - 1), np.minimum(at + 1, len(high) - 1)):
            here = (high[place] == mine) & (low[place] == rest) & ~hit
            keys.append(alive[here])
            tokens.append(lines[place[here], _HALF:] ^ wanted[here, _HALF:])
            hit |= here
        alive, round_ = alive[hit], round_ + 1
    return np.concatenate(keys), np.concatenate(tokens)


def _ranked(tokens: Bytes) -> tuple[Bytes, Ints]:
    """The distinct tokens, in an order that follows from them alone, and the rank of each."""
    first, rank = _ranks(*_tags(tokens))
    return tokens[first], rank


def _ranks(*columns: NDArray[np.unsignedinteger[Any]]) -> tuple[Ints, Ints]:
    """Where a row of each kind stands, in the order of the kinds, and the rank of each row.

    As `np.unique(axis=0)`, which lets no other thread run, and so no ping out, for seconds.
    """
    order = np.lexsort(columns).astype(np.int64)
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(fresh) - 1
    return order[fresh], rank


def _joined(rows: Ints, key_of: Ints, keys: Ints, token: Ints) -> tuple[Ints, Ints]:
    """(record, token) for each record and each token that its value opened."""
    order = np.argsort(keys, kind="stable")
    keys, token = keys[order], token[order]
    starts, stops = np.searchsorted(keys, key_of), np.searchsorted(keys, key_of, "right")
    return np.repeat(rows, stops - starts), token[ranges(starts, stops)]


def _known(named: Bytes, tokens: Bytes) -> Ints:
    """The records that these tokens stand for."""
    listed = np.concatenate([tokens, named])
    all_, rank = _ranked(listed)
    owner = np.full(len(all_), -1, np.int64)
    owner[rank[: len(tokens)]] = np.arange(len(tokens))
    records = owner[rank[len(tokens) :]]
    if (records < 0).any() or len(distinct(records)) < len(records):
        raise PeerError(problem="a match that it cannot have found")
    return records


def _covers(numbers: Ints, count: int) -> bool:
    """Whether 0..count−1 all occur, and nothing else."""
    if len(numbers) and numbers.max() >= count:
        return False
    return bool(np.all(np.bincount(numbers, minlength=count) > 0))
