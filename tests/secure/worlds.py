"""Small worlds for the engines: tables, blocks, random circuits, and randomness that never changes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Mismatches,
    Node,
    Not,
    Or,
    Product,
    Reaches,
    SquaredEuclidean,
    inputs,
)
from accord.secure.payloads import add_shares
from accord.secure.transfer.lpn import Parameters
from accord.secure.transfer.permutation import Permutation, Words
from accord.secure.transfer.vole import Sizes
from accord.side import Side

Ints = NDArray[np.int64]


class Fixed:
    """Entropy for baselines; it must never change, whatever `accord.entropy` does."""

    def __init__(self, seed: str) -> None:
        self._seed, self._drawn = seed, 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:{self._drawn}".encode()).digest(count)

    def stream(self, name: str) -> Fixed:
        return Fixed(f"{self._seed}/{name}")


class Traced(Permutation):
    """π that remembers what it was applied to.

    With `labels` it forgets π(x) of the hash of labels, which is made anew when needed.
    """

    def __init__(self, labels: bool = False) -> None:
        super().__init__()
        self.seen: list[Words] = []
        self._labels = labels

    def apply(self, source: Words, name: str) -> Words:
        if not self._labels or name != "inner":
            self.seen.append(np.array(source).reshape(-1, 2))
        return super().apply(source, name)

    def repeated(self) -> int:
        inputs = np.concatenate(self.seen)
        inputs = inputs[np.lexsort(inputs.T)]
        return int((inputs[1:] == inputs[:-1]).all(axis=1).sum())


UNIFORM = 377.1
"""With 255 degrees of freedom χ² is more than this with probability 1e-6."""


def surprise(content: Any) -> float:
    """χ² of bytes over 256 values."""
    counts = np.bincount(np.frombuffer(content, np.uint8), minlength=256)
    expected = counts.sum() / 256
    return float(((counts - expected) ** 2 / expected).sum())


def subtract(payloads: Words, shares: Words, tops: Words) -> Words:
    """The other share of each payload."""
    result, every = np.zeros_like(payloads), np.arange(len(payloads))
    add_shares(every, payloads, every.astype(np.int32), shares, tops, result)
    return result


TINY = Sizes(
    few=60,
    transfers=Parameters(secret_bits=9, trees=128, depth=8),
    first=Parameters(secret_bits=6, trees=48, depth=4),
    main=Parameters(secret_bits=8, trees=64, depth=6),
)
"""Of a VOLE: codes that protect nothing."""

BITS = Input("bits", 9, 1)
LONG = Input("long", 300, 1)
CODE = Input("code", 2, 5)
POINT = Input("point", 2, 31)
FAR = Input("far", 2, (1 << 17) - 1)
HERE = Input("here", 1, 1)
THERE = Input("there", 1, 1)
COUNT = Input("count", 1, 9)
STEP = Input("step", 1, 1000)
GRADE = Input("grade", 9, 7)
TEXT = Input("text", 6, 3)

DICE = Bilinear((Product(BITS, BITS, -10),), COUNT, 4, 4, -2 * 9, 8 * 9)
AHEAD = Bilinear((), STEP, 1, -1, -1000, 1000)
COSINE = Bilinear((Product(BITS, GRADE, 1), Product(BITS, BITS, -12)), None, 0, 0, -12 * 9, 7 * 9)

LEAVES: tuple[Node, ...] = (
    AtMost(Hamming(BITS), 3),
    AtMost(Hamming(BITS), 0),
    AtMost(Hamming(BITS), 8),
    AtMost(Hamming(BITS), 9),
    AtMost(Hamming(BITS), -1),
    AtMost(Hamming(LONG), 150),
    AtMost(SquaredEuclidean(POINT), 400),
    AtMost(SquaredEuclidean(FAR), 5_000_000_000),
    AtMost(DICE, 0),
    AtMost(AHEAD, 100),
    AtMost(COSINE, -20),
    Equal(CODE),
    Equal(HERE),
    Both(HERE),
    Both(THERE),
    Edit(TEXT, 1),
    Edit(TEXT, 2),
    AtMost(Mismatches(TEXT), 2),
)


def random_circuit(random: Generator, depth: int = 3) -> Node:
    """A circuit of any shape, constants included."""
    if not depth or random.random() < 0.25:
        return LEAVES[int(random.integers(len(LEAVES)))]
    if random.random() < 0.3:
        return Not(random_circuit(random, depth - 1))
    parts = tuple(random_circuit(random, depth - 1) for _ in range(random.integers(0, 5)))
    return And(parts) if random.random() < 0.5 else Or(parts)


def random_score(random: Generator, weight: int = 20) -> Node:
    """A score of any shape, alone or in a formula; its levels read the same fields again and again."""
    graded = []
    for _ in range(random.integers(1, 5)):
        levels = [
            random_circuit(random, 1 if random.random() < 0.7 else 2) for _ in range(random.integers(0, 4))
        ]
        weights = random.integers(-weight, weight, len(levels) + 1, endpoint=True).tolist()
        graded.append(Graded(tuple(zip(levels, weights, strict=False)), weights[-1]))
    low, high = (sum(end(part.weights) for part in graded) for end in (min, max))
    score = Reaches(tuple(graded), int(random.integers(low, high, endpoint=True)))
    if random.random() < 0.7:
        return score
    return And((random_circuit(random, 1), Not(score))) if random.random() < 0.5 else Or((score, Equal(CODE)))


GIVEN, SURNAME = (Input(name, 8, 1, Input(f"{name} there", 1, 1)) for name in ("given", "surname"))
ONES = Input("ones", 1, 8)


def _alike(left: Input, right: Input, weight: int) -> AtMost:
    return AtMost(Bilinear((Product(left, right, -weight),), ONES, 2, 2, -8 * weight, 32), 4)


NAMES: tuple[Node, ...] = (
    *(_alike(left, right, w) for left in (GIVEN, SURNAME) for right in (GIVEN, SURNAME) for w in (5, 8)),
    AtMost(Bilinear((Product(GIVEN, GIVEN, 1), Product(GIVEN, SURNAME, -6)), None, 0, 0, -48, 8), -9),
    AtMost(Hamming(GIVEN), 3),
    Equal(SURNAME),
    Equal(CODE),
    AtMost(SquaredEuclidean(CODE), 9),
    AtMost(SquaredEuclidean(CODE), 3),
    AtMost(Mismatches(TEXT), 2),
    Edit(TEXT, 1),
)
"""Their inputs are multiplied again and again, by themselves and by others."""


def random_names(random: Generator) -> Node:
    """A formula or a score over a few of these, for rows that may lack either name."""
    parts = []
    for number in random.choice(len(NAMES), random.integers(2, 6), replace=False):
        there = [Both(of.where) for of in (GIVEN, SURNAME) if of.where is not None and random.random() < 0.4]
        parts.append(And((NAMES[number], *there)))
    if random.random() < 0.4:
        return Or((And(tuple(parts[:2])), *parts[2:]))
    graded = tuple(Graded(((part, int(random.integers(1, 9))),), 0) for part in parts)
    return Reaches(graded, int(random.integers(1, 9)))


def table(random: Generator, circuit: Node, side: Side, rows: int, real: float = 0.7) -> Table:
    """Rows that are often close to each other, so that both answers occur."""
    columns = {}
    for of in inputs(circuit, side):
        columns[of.name] = random.integers(0, of.high, (rows, of.length), endpoint=True)
        if of in (BITS, CODE):
            columns[of.name][random.random(rows) < 0.5] = 1
    if TEXT.name in columns:
        columns[TEXT.name] = texts(random, rows, TEXT)
    if COUNT.name in columns and BITS.name in columns:
        columns[COUNT.name] = columns[BITS.name].sum(axis=1, keepdims=True)
    for of in inputs(circuit, side):
        if of.where is not None and of.where.name in columns:
            columns[of.name] *= columns[of.where.name]
    return Table(columns, random.random(rows) < real)


def texts(random: Generator, rows: int, of: Input) -> Ints:
    """Texts of all lengths, zeros behind their letters."""
    letters = random.integers(1, of.high, (rows, of.length), endpoint=True)
    ends = random.integers(0, of.length, (rows, 1), endpoint=True)
    return np.where(np.arange(of.length) < ends, letters, 0)


def blocks(random: Generator, a_counts: list[int], b_counts: list[int], rows: int) -> Blocks:
    """Blocks of these sizes over some rows, which may occur in several blocks."""
    return Blocks(
        random.integers(0, max(1, rows), sum(a_counts)),
        np.array(a_counts, dtype=np.int64),
        random.integers(0, max(1, rows), sum(b_counts)),
        np.array(b_counts, dtype=np.int64),
    )
