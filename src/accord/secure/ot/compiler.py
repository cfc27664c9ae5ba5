"""How a circuit becomes a program of lookups.

    v ≤ t, narrow    state and index are the shares of v mod 2^ℓ,  T[y][j] = ((y + j) mod 2^ℓ ≤ t)
    v ≤ t, wide      the top bit of v − t − 1 mod 2^ℓ, by adding the two shares digit after digit from the
                     lowest: each lookup reads a digit and the shared carry and gives the next carry
                     (the digit-wise comparison of Rathee et al., CCS'20, as a chain)
    and, or, not     state and index are the shares of up to `GATE` bits; T is the formula itself

so a conjunction costs one lookup, not an AND a part, and a bit that a side knows of its own row (a value is
present, the row is real) joins a formula without being shared. A score is a sum of numbers that lookups or
forms give, compared like any other (`scores.py`).

A comparison may be divided (`forms.py`), looked up whole or digit by digit: of the programs that say the
same, the lightest is taken, by weights that are constants of the code.

Dummies cannot match. Their inputs are zero, so that their values have bounds; where the circuit is one
comparison, each side can add to its own share of a dummy's row as much as puts every value over the bound.
Otherwise, and where it is lighter, 'both rows are real' is one more conjunct of the last lookup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.circuit import And, AtMost, Bilinear, Both, Equal, Hamming, Node, Not, Or, Reaches
from accord.secure.forms import Form, alternatives, comparison_of, constant, with_dummies
from accord.secure.ot.formula import Formula, Wire, join, shrink, split, truth_of, wires
from accord.secure.ot.program import (
    Bit,
    Digit,
    Lookup,
    OwnBit,
    Program,
    Share,
    Sum,
    lane_of,
    lookup_weight,
)
from accord.secure.ot.scores import weigh

NARROW = 8
DIGIT = 3
GATE = 6
WIDEST = 62

Comparison = AtMost | Equal
Truth = NDArray[np.bool_]


@cache
def compile_circuit(node: Node, engine: str) -> Program:
    """The lightest program of a circuit, or an `UnsupportedError` that names the node that has none."""
    whole = Build(engine)
    whole.answer(node)
    found = [whole.program]
    if isinstance(node, AtMost | Equal) and constant(node) is None:
        alone = Build(engine)
        if alone.compare(node, dummies=True) is not None:
            found.append(alone.program)
    return min(found, key=lambda program: program.weight)


class Build:
    """A program in the making."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.shares: list[Share] = []
        self.lookups: list[Lookup] = []
        self.sums: list[Sum] = []
        self._known: dict[Comparison | Reaches, Bit] = {}

    def answer(self, node: Node) -> None:
        """The last lookup: the circuit, and both rows are real."""
        if isinstance(node, Reaches) and _reached(node) is None:
            self._reach(node, (OwnBit(None),))
            return
        whole = join("all", [self.formula(node), OwnBit(None)])
        self.gate(whole)

    @property
    def program(self) -> Program:
        return Program(tuple(self.shares), tuple(self.sums), tuple(self.lookups))

    def copy(self) -> Build:
        """The same so far; what is added to one is not added to the other."""
        other = Build(self.engine)
        other.shares, other.sums, other.lookups = self.shares[:], self.sums[:], self.lookups[:]
        other._known = dict(self._known)
        return other

    def compare(self, node: Comparison, dummies: bool) -> Bit | None:
        """The lightest lookups that compare a distance with its bound; none if the widest ring is too narrow.

        With `dummies` each side adds so much to its share of a dummy's row that the bound is exceeded.
        """
        self._check(node)
        found = [plan for form, bound in alternatives(node) for plan in _plans(form, bound, dummies)]
        if not found:
            return None
        best = min(found, key=lambda plan: plan.weight)
        self.shares.append(best.share)
        return self._read(Sum(((len(self.shares) - 1, 1),), (), best.share.bits), best.digits)

    def _read(self, total: Sum, digits: list[tuple[int, Truth]], own: tuple[OwnBit, ...] = ()) -> Bit:
        """The lookups over the digits of a sum, from the lowest; bits of `own` must be set as well."""
        self.sums.append(total)
        carry: tuple[Bit, ...] = ()
        low = 0
        for width, truth in digits:
            digit = Digit(len(self.sums) - 1, low, width)
            low += width
            if low == total.bits:
                for _ in own:
                    truth = np.kron(np.array([[0, 0], [0, 1]], dtype=np.bool_), truth)
            carry = (self.add((digit, *carry), own if low == total.bits else (), truth),)
        return carry[0]

    def _check(self, node: Comparison) -> None:
        if isinstance(node, AtMost) and isinstance(node.value, Hamming) and node.value.of.high > 1:
            raise UnsupportedError(engine=self.engine, node="a Hamming distance of numbers that are not bits")
        if isinstance(node, AtMost) and isinstance(node.value, Bilinear):
            of = node.value
            numbers = (of.low, of.high, of.weight_a, of.weight_b, *(p.weight for p in of.products))
            if max(map(abs, numbers)) >= 1 << WIDEST:
                raise UnsupportedError(engine=self.engine, node=f"a weight or a bound of over {WIDEST} bits")

    def add(
        self, shared: tuple[Digit | Bit, ...], own: tuple[OwnBit, ...], truth: NDArray[Any], lane: int = 1
    ) -> Bit:
        """One lookup more; if its answer is a number, the bit only names it."""
        before = [self._level(wire) for wire in shared]
        self.lookups.append(Lookup(shared, own, 1 + max(before, default=-1), truth, lane))
        return Bit(len(self.lookups) - 1)

    def _level(self, wire: Digit | Bit) -> int:
        """The last level that must be done before a wire can be read; −1 if none."""
        read = (wire.lookup,) if isinstance(wire, Bit) else self.sums[wire.sum].lookups
        return max((self.lookups[number].level for number in read), default=-1)

    def formula(self, node: Node) -> Formula | Wire:
        """The circuit over bits, after every comparison was made, each once."""
        match node:
            case And(parts):
                return join("all", [self.formula(part) for part in parts])
            case Or(parts):
                return join("any", [self.formula(part) for part in parts])
            case Not(part):
                return Formula("not", (self.formula(part),))
            case Both(of):
                return OwnBit(of)
            case AtMost() | Equal():
                return self._compare_once(node)
            case Reaches():
                known = _reached(node)
                if known is not None:
                    return Formula("all" if known else "any", ())
                if node not in self._known:
                    self._known[node] = self._reach(node, ())
                return self._known[node]

    def _reach(self, node: Reaches, own: tuple[OwnBit, ...]) -> Bit:
        """Whether a score is reached: the negative sum of its weights is at most −least."""
        found = [
            reading
            for reading in _readings(-node.high, -node.low, -node.least)
            if reading.widest + len(own) <= NARROW and reading.bits <= WIDEST
        ]
        if not found:
            raise UnsupportedError(engine=self.engine, node=f"a score of over {WIDEST} bits")
        best = min(found, key=lambda reading: (lane_of(reading.bits), reading.weight))
        total = weigh(self, node.parts, Sum((), (), best.bits, best.shift))
        return self._read(total, best.digits, own)

    def _compare_once(self, node: Comparison) -> Formula | Bit:
        known = constant(node)
        if known is not None:
            return Formula("all" if known else "any", ())
        if node not in self._known:
            made = self.compare(node, dummies=False)
            if made is None:
                form, bound = comparison_of(node)
                raise UnsupportedError(
                    engine=self.engine, node=f"a distance that needs {_sign_bits(form, bound)} bits"
                )
            self._known[node] = made
        return self._known[node]

    def gate(self, formula: Formula | Wire) -> Bit:
        """One lookup for a formula, after others for what does not fit it."""
        less = shrink(formula, GATE, self.gate)
        bits, own = split(wires(less))
        return self.add(bits, own, truth_of(less, (*bits, *own)))


@dataclass(frozen=True, eq=False)
class _Reading:
    """How a sum says if it is at most a bound: its ring, what is added to it, the lookups of its digits."""

    bits: int
    shift: int
    digits: list[tuple[int, Truth]]

    @property
    def weight(self) -> float:
        return sum(lookup_weight(len(truth).bit_length() - 1) for _, truth in self.digits)

    @property
    def widest(self) -> int:
        return max(len(truth).bit_length() - 1 for _, truth in self.digits)


def _readings(low: int, high: int, bound: int) -> Iterator[_Reading]:
    """Narrow, where that fits, and wide."""
    bits = (high - low).bit_length()
    if bits <= NARROW:
        yield _Reading(bits, -low, [(bits, _sum_at_most(bits, bound - low))])
    bits = 1 + max(bound - low, high - bound - 1).bit_length()
    yield _Reading(bits, -bound - 1, list(_signs(bits)))


@dataclass(frozen=True, eq=False)
class _Plan:
    """One way to compare: the share, and the lookups over its digits from the lowest."""

    share: Share
    digits: list[tuple[int, Truth]]
    weight: float


def _plans(form: Form, bound: int, dummies: bool) -> Iterator[_Plan]:
    """Narrow and wide, where they fit."""
    low, high = with_dummies(form) if dummies else (form.low, form.high)
    penalty = bound - low + 1 if dummies else 0
    for reading in _readings(low, high + 2 * penalty, bound):
        if reading.bits <= WIDEST:
            share = Share(form, reading.bits, reading.shift, penalty)
            yield _Plan(share, reading.digits, share.weight + reading.weight)


def _reached(node: Reaches) -> bool | None:
    """The answer of a score that cannot be missed, or cannot be reached."""
    if node.least > node.high:
        return False
    return True if node.least <= node.low else None


def _sign_bits(form: Form, bound: int) -> int:
    """Bits of a ring in which the sign of value − bound − 1 can be seen."""
    return 1 + max(bound - form.low, form.high - bound - 1).bit_length()


def _sum_at_most(bits: int, bound: int) -> Truth:
    size = 1 << bits
    return (np.arange(size)[:, None] + np.arange(size)[None, :]) % size <= bound


def _signs(bits: int) -> Iterator[tuple[int, Truth]]:
    """The digits of a sum of two numbers, from the lowest, and what the lookup of each says."""
    low = 0
    while low < bits:
        width = min(DIGIT if low else DIGIT + 1, bits - low)
        yield width, _carry(width, low > 0, low + width == bits)
        low += width


def _carry(width: int, carry: bool, top: bool) -> Truth:
    """Digit plus digit plus carry: the carry out, or the top bit of the last digit."""
    values = np.arange(1 << (width + carry))
    digit, bit = values & ((1 << width) - 1), values >> width
    total = digit[:, None] + digit[None, :] + (bit[:, None] ^ bit[None, :])
    return ((total >> (width - 1 if top else width)) & 1).astype(np.bool_)
