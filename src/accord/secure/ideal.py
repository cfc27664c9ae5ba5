"""The plain interpreter of circuits: the definition of right.

It sees both tables, so it may serve tests and `simulate`, never a linkage. It is written for the reader:
each case is the formula of the node in `circuit.py`, on whole arrays of pairs. `IdealEngine` has the shape of
an engine, but its parties meet in memory: between two processes it cannot work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, Limit, Table, batches, join_halves
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Mismatches,
    Node,
    Not,
    Number,
    Opened,
    Or,
    Reaches,
    SquaredEuclidean,
    Tally,
    Value,
)
from accord.secure.party import Party, receive, send
from accord.secure.payloads import TOKEN, find_opened
from accord.side import Side

Rows = Mapping[str, NDArray[np.int64]]
"""For each input of the circuit one array of shape (rows, length)."""


def evaluate(
    node: Node, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The circuit's answer for each pair (row left[i] of A, row right[i] of B)."""
    match node:
        case And(parts):
            holds = np.ones(len(left), dtype=np.bool_)
            for part in parts:
                holds &= evaluate(part, a, b, left, right)
            return holds
        case Or(parts):
            holds = np.zeros(len(left), dtype=np.bool_)
            for part in parts:
                holds |= evaluate(part, a, b, left, right)
            return holds
        case Not(part):
            return ~evaluate(part, a, b, left, right)
        case Reaches(graded, least):
            total = np.zeros(len(left), dtype=np.int64)
            for each in graded:
                total += weigh(each, a, b, left, right)
            return total >= least
        case AtMost(value, bound):
            return _value(value, a, b, left, right) <= bound
        case Equal(of):
            return np.all(a[of.name][left] == b[of.name][right], axis=1)
        case Edit(of, bound):
            return _edits(a[of.name][left], b[of.name][right]) <= bound
        case Both(of):
            return (a[of.name][left, 0] & b[of.name][right, 0]).astype(np.bool_)


def weigh(
    of: Graded, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The weight of a graded comparison for each pair."""
    weights = np.full(len(left), of.otherwise, dtype=np.int64)
    for when, weight in reversed(of.levels):
        weights[evaluate(when, a, b, left, right)] = weight
    return weights


def _edits(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """The edit distance of each pair of texts, by the table of all pairs of prefixes (Wagner, Fischer,
    JACM'74)."""
    table = np.empty((x.shape[1] + 1, y.shape[1] + 1, len(x)), dtype=np.int64)
    table[:, 0], table[0] = np.arange(len(table))[:, None], np.arange(table.shape[1])[:, None]
    for i in range(1, len(table)):
        for j in range(1, table.shape[1]):
            exchanged = table[i - 1, j - 1] + (x[:, i - 1] != y[:, j - 1])
            table[i, j] = np.minimum(exchanged, 1 + np.minimum(table[i - 1, j], table[i, j - 1]))
    return table[np.count_nonzero(x, axis=1), np.count_nonzero(y, axis=1), np.arange(len(x))]


def _value(
    value: Value, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    match value:
        case Hamming(of):
            return np.sum(a[of.name][left] ^ b[of.name][right], axis=1)
        case Mismatches(of):
            return np.count_nonzero(a[of.name][left] != b[of.name][right], axis=1).astype(np.int64)
        case SquaredEuclidean(of):
            # Coordinate by coordinate: there are few, and numpy is slow on the short axis of an array.
            total = np.zeros(len(left), dtype=np.int64)
            for x, y in zip(a[of.name].T, b[of.name].T, strict=True):
                total += (x[left] - y[right]) ** 2
            return total
        case Bilinear(products, offset, weight_a, weight_b):
            total = np.zeros(len(left), dtype=np.int64)
            for p in products:
                total += p.weight * np.sum(a[p.left.name][left] * b[p.right.name][right], axis=1)
            if offset is not None:
                total += weight_a * a[offset.name][left, 0] + weight_b * b[offset.name][right, 0]
            return total


_AT_ONCE = Limit(1 << 15)


def match(circuit: Node, blocks: Blocks, a: Table, b: Table) -> NDArray[np.bool_]:
    """The match bit of every pair of the blocks; only pairs of real rows are looked at."""
    answer = np.zeros(blocks.pairs, dtype=np.bool_)
    a_kept, a_counts = _keep_real(a.real, blocks.a_rows, blocks.a_counts)
    b_kept, b_counts = _keep_real(b.real, blocks.b_rows, blocks.b_counts)
    a_place, b_place = _places(blocks)
    for batch in batches(Blocks(a_kept, a_counts, b_kept, b_counts), _AT_ONCE):
        i, j = batch.of_a(batch.a_rows), batch.of_b(batch.b_rows)
        bits = evaluate(circuit, a.inputs, b.inputs, blocks.a_rows[i], blocks.b_rows[j])
        answer[a_place[i] + b_place[j]] = bits
    return answer


def _keep_real(
    real: NDArray[np.bool_], rows: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of real rows in the blocks' list of rows, and how many each block has."""
    kept = np.flatnonzero(real[rows])
    block = np.repeat(np.arange(len(counts)), counts)
    return kept, np.bincount(block[kept], minlength=len(counts)).astype(np.int64)


def _places(blocks: Blocks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What each listed row adds to the place of a pair in the answer."""
    pairs = blocks.a_counts * blocks.b_counts
    in_a = np.arange(len(blocks.a_rows)) - np.repeat(_starts(blocks.a_counts), blocks.a_counts)
    in_b = np.arange(len(blocks.b_rows)) - np.repeat(_starts(blocks.b_counts), blocks.b_counts)
    first, wide = np.repeat(_starts(pairs), blocks.a_counts), np.repeat(blocks.b_counts, blocks.a_counts)
    return first + in_a * wide, in_b


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(counts) - counts


def rows_of(of: Tally, a: Rows, left: NDArray[np.int64]) -> NDArray[np.int64]:
    """In which rows of a tally each of A's rows counts, as bits."""
    if of.by is None:
        return np.ones((len(left), 1), np.int64)
    bits = a[of.by.of.name][left]
    if isinstance(of.by, Number):
        return np.column_stack([bits[:, 0], bits[:, 1:] & bits[:, :1]])
    row = np.zeros(len(left), np.int64)
    for place in reversed(range(bits.shape[1])):
        above = row + (1 << place)
        row = np.where((above < of.rows) & (bits[:, place] == 1), above, row)
    return np.eye(of.rows, dtype=np.int64)[row]


def _split(
    of: Tally, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64], coins: Iterable[Entropy]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both sides' shares of what these pairs come to, random to either by the other's coins; numbers wrap."""
    total = (rows_of(of, a, left).T @ b[of.weights.name][right]).reshape(1, -1)
    drawn = sum((np.frombuffer(one.bytes(8 * of.cells), "<i8") for one in coins), np.zeros(1, np.int64))
    ring = (1 << of.bits) - 1
    return (total - drawn) & ring, drawn[None] & ring


class IdealEngine:
    """Both parties of one process hand their tables to this object, which answers. Nothing is sent."""

    def __init__(self) -> None:
        self._tables: list[Table] = []
        self._answers: list[NDArray[np.bool_]] = []
        self._shares: list[NDArray[np.int64]] = []
        self._coins: dict[Side, Entropy] = {}
        self._held: dict[Opened, list[Table]] = {}
        """Of A, all rows of which there are payloads."""

    @property
    def name(self) -> str:
        return "ideal"

    def supports(self, circuit: Node) -> None:
        """Every circuit."""

    def hold(self, circuit: Node, tally: Tally | None = None) -> Opened:
        return Opened(circuit, 1 + TOKEN if tally is None else 2, tally)

    def payloads(self, circuit: Opened, table: Table) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The number of each row, and in a tally zeros by which to know it: the rows are kept here."""
        kept = self._held.setdefault(circuit, [])
        before = sum(len(some.real) for some in kept)
        kept.append(table)
        payloads = np.zeros((len(table.real), circuit.words), np.uint64)
        payloads[:, 0] = np.arange(before, before + len(payloads))
        return payloads, np.full(circuit.words, np.iinfo(np.uint64).max, np.uint64)

    def open(self, session: Side, circuit: Opened, blocks: Blocks, table: Table) -> Party[NDArray[np.int64]]:
        """The empty messages only keep the two in step."""
        if session is Side.A:
            self._tables.append(table)
            yield from send(np.zeros(0, dtype=np.uint8))
            if circuit.tally is None:
                return np.zeros((0, 1 + TOKEN), np.int64)
            yield from receive(0)
            return self._shares.pop(0)
        yield from receive(0)
        share, own = (join_halves(one.read(circuit.held)) for one in (self._tables.pop(0), table))
        share, own = share[blocks.a_rows], own[blocks.b_rows]
        if circuit.tally is None:
            found, last = find_opened(share[:, -TOKEN:], own)
        else:
            found = np.flatnonzero(share[:, 1] == own[:, 1])
        row, other = (share[found, 0] ^ own[found, 0]).astype(np.int64), blocks.b_rows[found]
        a = self._rows(circuit)
        holds = evaluate(circuit.of, a, table.inputs, row, other)
        if circuit.tally is None:
            return np.column_stack([found, last])[holds]
        shares = _split(circuit.tally, a, table.inputs, row[holds], other[holds], self._coins.values())
        self._shares.append(shares[0])
        yield from send(np.zeros(0, dtype=np.uint8))
        return shares[1]

    def _rows(self, circuit: Opened) -> Rows:
        """Those of A, as one table."""
        kept = self._held[circuit]
        if len(kept) > 1:
            joined = {name: np.concatenate([some.inputs[name] for some in kept]) for name in kept[0].inputs}
            kept[:] = [Table(joined, np.concatenate([some.real for some in kept]))]
        return kept[0].inputs

    def set_up(self, side: Side, entropy: Entropy) -> Party[Side]:
        self._coins[side] = entropy
        yield from ()
        return side

    def evaluate(
        self, session: Side, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        """The empty messages only keep the two in step."""
        if session is Side.A:
            self._tables.append(table)
            yield from send(np.zeros(0, dtype=np.uint8))
            yield from receive(0)
            return self._answers.pop(0)
        yield from receive(0)
        if not self._tables:
            raise RuntimeError("the ideal engine needs both parties in one process")
        answer = match(circuit, blocks, self._tables.pop(0), table)
        self._answers.append(answer)
        yield from send(np.zeros(0, dtype=np.uint8))
        return answer
