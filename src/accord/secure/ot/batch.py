"""One batch of the `ot` engine, once from A's side and once from B's.

    A → B   choices of all distances           (empty if there is none)
    B → A   sums and corrections of all distances, and the questions of the first level of lookups
    A → B   the tables of that level           then B's questions of the next level, and so on
    B → A   the answers, in clear

Every table but the last is masked with a random bit or number a pair, so that its answer is shared; only the
last answer is revealed, to B by the table and to A by B.

Where A's rows are held in shares (`held.py`), the last answer stays shared as well, and the end is another:

    B → A   the question of the opening
    A → B   its shares of the last words
    B → A   nothing: A starts every batch and B ends it, which keeps interleaved batches in step

or, where it is tallied (`tally.py`), A's choices follow its last tables in one message, and then

    B → A   the corrections of the tally
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import StripBatch
from accord.secure.ot.distance import Parts, receive_distance, send_distance
from accord.secure.ot.lookup import (
    answer,
    ask,
    from_wire,
    open_entries,
    open_numbers,
    pick,
    pick_numbers,
    to_wire,
)
from accord.secure.ot.opening import answer_token, ask_token
from accord.secure.ot.program import (
    Bit,
    Digit,
    Lookup,
    Own,
    OwnBit,
    Program,
    ShareBit,
    Shared,
    ShareSum,
    Short,
)
from accord.secure.ot.rows import Rows, Seen
from accord.secure.ot.single import hash_both, hash_known, receive_singles, send_singles, stands_alone
from accord.secure.ot.sizes import BatchShape, Sizes, batch_sizes
from accord.secure.ot.supply import Ends
from accord.secure.ot.tally import add_up, choose, correct
from accord.secure.party import Party, receive, send
from accord.secure.payloads import TOKEN, find_opened
from accord.secure.transfer.extension import collect, padded_count
from accord.secure.transfer.packing import bits_from_wire, bits_to_wire
from accord.side import Side

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Answer = NDArray[np.bool_]
Opening = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The places of pairs in a batch, and their last words."""
NOTHING: Opening = (np.zeros(0, np.int64), np.zeros((0, TOKEN), np.int64))
_NO_ROWS: Words = np.zeros((0, 2), np.uint64)


class BatchSide:
    """What both sides of a batch have: rows, shares of numbers and of bits."""

    def __init__(self, ends: Ends, entropy: Entropy, program: Program, batch: StripBatch, own: Rows) -> None:
        self.ends, self.entropy, self.program, self.batch = ends, entropy, program, batch
        self._rows = batch.a_rows if ends.side is Side.A else batch.b_rows
        self._own = own
        shape = BatchShape(len(batch.width), len(batch.members), batch.columns, batch.pairs)
        self.sizes: Sizes = batch_sizes(program, ends.rates, shape)
        self.single = stands_alone(batch)
        self._seen: Seen | None = {} if self.single else None
        self.shares: list[NDArray[Any]] = []
        self.bits: dict[int, Bytes] = {}
        self.numbers: dict[int, NDArray[Any]] = {}
        self._sums: dict[int, NDArray[Any]] = {}
        self.chosen = np.zeros((0, 2), np.uint64)
        """A's rows of the OTs of a tally."""

    @property
    def outputs(self) -> Bytes:
        """This side's shares of the answers, (outputs, pairs)."""
        return np.stack([self._wire(bit) for bit in self.program.outputs])

    def choice_bits(self, number: int) -> Bytes:
        """A's bits of a share."""
        return self._own.choice_bits(self.program, number, self._rows, self._seen)

    def forget(self) -> None:
        """Hold nothing of what was read so far."""
        if self._seen:
            self._seen.clear()

    def factors(self, number: int) -> NDArray[Any]:
        """B's factors of a share."""
        return self._own.factors(self.program, number, self._rows, self._seen)

    def per_pair(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.batch.of_a(values) if self.ends.side is Side.A else self.batch.of_b(values)

    def own_part(self, number: int) -> NDArray[np.int64]:
        """What this side adds to its share of each pair; B's after its factors."""
        own = self._own.own_part(self.program, number, self._rows, self.ends.side, self._seen)
        if self.ends.side is Side.A:
            own = own + self.program.shares[number].shift
        return self.per_pair(own)

    def wires(self, lookup: Lookup) -> Bytes:
        """A's state or B's index of a lookup, one number a pair."""
        value, place = np.zeros(self.batch.pairs, dtype=np.uint8), 0
        for wire in (*lookup.shared, *lookup.own):
            value |= self._wire(wire) << np.uint8(place)
            place += wire.bits
        return value

    def _wire(self, wire: Shared | Own) -> Bytes:
        match wire:
            case Digit(number, low, bits):
                source = self._sum(number)
                return (source >> source.dtype.type(low)).astype(np.uint8) & np.uint8((1 << bits) - 1)
            case ShareBit(share, place):
                part = self.shares[share]
                return (part >> part.dtype.type(place)).astype(np.uint8) & np.uint8(1)
            case Bit(lookup, others):
                return reduce(np.bitwise_xor, (self.bits[one] for one in others), self.bits[lookup])
            case OwnBit() | Short():
                bit = self._own.own_bit(wire, self._rows, self.ends.side)
                return self.per_pair(bit.astype(np.uint8))

    def _sum(self, number: int) -> NDArray[Any]:
        """This side's share of a sum, added up when it is first read."""
        if number not in self._sums:
            self._sums[number] = self._add(self.program.sums[number])
        return self._sums[number]

    def _add(self, of: ShareSum) -> NDArray[Any]:
        one = np.dtype(f"u{of.lane // 8}").type
        modulus = 1 << of.lane
        total = np.full(self.batch.pairs, of.shift % modulus if self.ends.side is Side.A else 0, dtype=one)
        for share, factor in of.shares:
            total += self.shares[share].astype(one) * one(factor % modulus)
        for lookup in of.lookups:
            total += self.numbers[lookup].astype(one)
        if of.opposed and self.ends.side is Side.A:
            np.negative(total, out=total)
        total &= one((1 << of.bits) - 1)
        return total


def _cut(message: Bytes, sizes: tuple[int, ...]) -> list[Bytes]:
    """The parts of a message that follow each other."""
    ends = np.cumsum(sizes)
    return [message[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def run_a(mine: BatchSide) -> Party[Answer]:
    """A's side of a batch. Learns: the answers, when B sends them."""
    answers = yield from _serve(mine, reveal=True)
    return bits_from_wire(answers, mine.batch.pairs)


def open_a(mine: BatchSide, held: Words) -> Party[Opening]:
    """A's side of a batch of rows of which it holds these shares. Learns: nothing."""
    question = yield from _serve(mine, reveal=False)
    yield from send(answer_token(mine.ends.sender, mine.outputs[0], held, question.view("<u8")))
    yield from receive(0)
    return NOTHING


def tally_a(mine: BatchSide) -> Party[Words]:
    """A's side of a batch that is tallied: its share of the sums, mod 2⁶⁴. Learns: nothing."""
    corrections = yield from _serve(mine, reveal=False)
    assert mine.program.tally is not None
    return add_up(mine.ends.receiver.pi, mine.program.tally, mine.outputs, mine.chosen, corrections)


def _serve(mine: BatchSide, reveal: bool) -> Party[Bytes]:
    """What A does up to the last tables; what B says to them."""
    program, sizes = mine.program, mine.sizes
    levels = program.levels
    keys, bits = yield from _choose(mine)
    due: tuple[int, ...] = (*sizes.sums, *sizes.corrections, *sizes.questions[0])
    parts = _cut((yield from receive(sum(due))), due)
    pi, count = mine.ends.receiver.pi, len(program.shares)
    came = zip(program.shares, parts[:count], parts[count : 2 * count], strict=True)
    for number, (share, sums, corrections) in enumerate(came):
        got, own = corrections.view(f"<u{share.lane // 8}"), mine.own_part(number)
        bit, words = bits[program.choices.bits[number]], program.choices.words[number]
        if mine.single:
            mine.shares.append(receive_singles(pi, share, keys, words, mine.batch, bit, own, got))
        else:
            sent = Parts(sums.view("<u8"), got)
            rows = _rows_of(keys, words, mine.batch)
            mine.shares.append(receive_distance(pi, share, rows, mine.batch, bit, own, sent))
    del parts[: 2 * count]
    mine.forget()
    for number, level in enumerate(levels):
        last = number == len(levels) - 1
        asked = [part.view("<u8") for part in parts]
        shown = last and reveal
        tables = [_table(mine, i, question, shown) for i, question in zip(level, asked, strict=True)]
        if last and program.tally is not None:
            mine.chosen, choices = choose(mine.ends.receiver, mine.outputs)
            tables.append(choices.view(np.uint8))
        yield from send(np.concatenate(tables))
        due = (sizes.last,) if last else sizes.questions[number + 1]
        parts = _cut((yield from receive(sum(due))), due)
    return parts[0]


def _choose(mine: BatchSide) -> Party[tuple[NDArray[Any], Bytes]]:
    """What A has of the OTs of all distances, rows or hashes, and its bits, one for each strip."""
    choices, strips = mine.program.choices, len(mine.batch.width)
    bits = np.empty((choices.count, strips), np.uint8)
    if not choices.count:
        # A starts every batch and B ends it, also here: this is what keeps interleaved batches in step.
        yield from send(np.zeros(0, dtype=np.uint8))
        return _NO_ROWS, bits
    for number, places in enumerate(choices.bits):
        if len(places):
            bits[places] = mine.choice_bits(number)
    mine.forget()
    # In the OTs A asks for the side of each tree that its path leaves.
    asked = np.zeros(padded_count(bits.size), dtype=np.uint8)
    asked[: bits.size] = 1 - bits.reshape(-1)
    packed = np.packbits(asked, bitorder="little").view("<u8")
    corrections = np.empty(mine.sizes.choices // 8, dtype="<u8")
    end = mine.ends.receiver
    tiles = end.extend(packed, corrections, bits.size)
    made = hash_known(end.pi, mine.program, tiles, strips) if mine.single else collect(tiles)
    yield from send(corrections)
    return made, bits


def _rows_of(rows: Words, bits: NDArray[np.int64], batch: StripBatch) -> Words:
    """Those of some bits, which follow each other where each has a term of its own."""
    strips, first = len(batch.width), int(bits[0]) if len(bits) else 0
    return rows[first * strips : (first + len(bits)) * strips]


def _table(mine: BatchSide, number: int, question: NDArray[np.uint64], reveal: bool) -> Bytes:
    """A's tables of one lookup: masked, with A's share noted, or such that they reveal the answer to B."""
    lookup, pairs = mine.program.lookups[number], mine.batch.pairs
    state = mine.wires(lookup)
    if lookup.lane > 1:
        mask = np.frombuffer(mine.entropy.bytes(pairs * lookup.lane // 8), dtype=f"<u{lookup.lane // 8}")
        mine.numbers[number] = mask
        tables = pick_numbers(lookup.truth, state, mask)
    else:
        tables = pick(lookup.words, state)
    tables = answer(mine.ends.sender, tables, pairs, lookup.bits, question, lookup.lane)
    if lookup.lane == 1 and not reveal:
        random = np.frombuffer(mine.entropy.bytes(-(-pairs // 8)), dtype=np.uint8)
        bit = np.unpackbits(random, bitorder="little")[:pairs]
        mine.bits[number] = bit
        tables ^= np.uint64(0) - bit.astype(np.uint64)[:, None]
    return to_wire(tables, lookup.bits, lookup.lane)


def run_b(mine: BatchSide) -> Party[Answer]:
    """B's side of a batch. Learns: the answers, from the last tables."""
    yield from _look_up(mine)
    bits = mine.outputs[0]
    yield from send(bits_to_wire(bits))
    return bits.astype(np.bool_)


def open_b(mine: BatchSide, held: Words) -> Party[Opening]:
    """B's side of a batch of rows of which it holds these shares. Learns: the last words where it holds."""
    yield from _look_up(mine)
    question = np.empty(mine.sizes.last // 8, "<u8")
    keys = ask_token(mine.ends.receiver, mine.outputs[0], question)
    yield from send(question)
    came = yield from receive(mine.sizes.opened)
    yield from send(np.zeros(0, np.uint8))
    return find_opened(came.view("<u8").reshape(keys.shape) ^ keys, held)


def tally_b(mine: BatchSide, weights: NDArray[np.int64]) -> Party[Words]:
    """B's side of a batch that is tallied, with weights (pairs, weights). Learns: nothing."""
    choices = yield from _look_up(mine)
    assert mine.program.tally is not None
    sums, sent = correct(mine.ends.sender, mine.program.tally, mine.outputs, weights, choices.view("<u8"))
    yield from send(sent)
    return sums


def _look_up(mine: BatchSide) -> Party[Bytes]:
    """What B does up to the last tables; what came behind these."""
    sizes, levels = mine.sizes, mine.program.levels
    choices = yield from receive(sizes.choices)
    before = (*sizes.sums, *sizes.corrections)
    for number, level in enumerate(levels):
        message = np.empty(sum(before) + sum(sizes.questions[number]), dtype=np.uint8)
        parts = _cut(message, (*before, *sizes.questions[number]))
        if number == 0:
            _correct(mine, choices.view("<u8"), parts[: len(before)])
        asked = [_ask(mine, i, part) for i, part in zip(level, parts[len(before) :], strict=True)]
        last = number == len(levels) - 1
        yield from send(message)
        due = (*sizes.tables[number], sizes.chosen if last else 0)
        *tables, behind = _cut((yield from receive(sum(due))), due)
        for i, table, (masks, index) in zip(level, tables, asked, strict=True):
            _open(mine, i, table, masks, index)
        before = ()
    return behind


def _correct(mine: BatchSide, choices: NDArray[np.uint64], parts: list[Bytes]) -> None:
    """B's shares of all distances; fills the corrections that A needs for its own."""
    end, strips, program = mine.ends.sender, len(mine.batch.width), mine.program
    keys, count = _NO_ROWS, len(program.shares)
    if program.choices.count:
        tiles = end.extend(choices, program.choices.count * strips, both=False)
        keys = hash_both(end.pi, program, tiles, end.delta, strips) if mine.single else collect(tiles)
    to_fill = zip(program.shares, parts[:count], parts[count:], strict=True)
    for number, (share, sums, corrections) in enumerate(to_fill):
        sent = Parts(sums.view("<u8"), corrections.view(f"<u{share.lane // 8}"))
        factor, words = mine.factors(number), program.choices.words[number]
        own = mine.own_part(number)
        if mine.single:
            made = send_singles(end.pi, share, keys, words, mine.batch, factor, own, sent.corrections)
        else:
            rows = _rows_of(keys, words, mine.batch)
            made = send_distance(end.pi, share, rows, end.delta, mine.batch, factor, own, sent)
        mine.shares.append(made)
    mine.forget()


def _ask(mine: BatchSide, number: int, question: Bytes) -> tuple[NDArray[np.uint64], Bytes]:
    """B's question of one lookup, written into the message; the masks that open the answer, and the index."""
    lookup = mine.program.lookups[number]
    index = mine.wires(lookup)
    return ask(mine.ends.receiver, index, lookup.bits, question.view("<u8"), lookup.lane), index


def _open(mine: BatchSide, number: int, table: Bytes, masks: Words, index: Bytes) -> None:
    """B's share of the answers of one lookup."""
    lookup = mine.program.lookups[number]
    tables = from_wire(table, lookup.bits, lookup.lane)
    if lookup.lane > 1:
        mine.numbers[number] = open_numbers(tables, masks, index, lookup.lane)
    else:
        mine.bits[number] = open_entries(tables, masks, index)
