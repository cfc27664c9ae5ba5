"""How a circuit becomes a program of lookups.

    v ≤ t, narrow    state and index are the shares of v mod 2^ℓ,  T[y][j] = ((y + j) mod 2^ℓ ≤ t)
    v ≤ t, wide      the top bit of v − t − 1 mod 2^ℓ, by adding the two shares digit after digit from the
                     lowest: each lookup reads a digit and the shared carry and gives the next carry
                     (the digit-wise comparison of Rathee et al., CCS'20, as a chain)
    edits            one share a place of A's text has its equalities with B's letters nearby; then one lookup
                     for each bit of the recurrence of `edits.py`, of up to five others
    and, or, not     state and index are the shares of up to `GATE` bits; T is the formula itself

so a conjunction costs one lookup, not an AND a part, and a bit that a side knows of its own row (a value is
present, the row is real) joins a formula without being shared.

A comparison may be divided (`forms.py`), looked up whole or digit by digit: of the programs that say the
same, the lightest is taken, by weights that are constants of the code.

Dummies cannot match. Their inputs are zero, so that their values have bounds; where the circuit is one
comparison, each side can add to its own share of a dummy's row as much as puts every value over the bound.
Otherwise, and where it is lighter, 'both rows are real' is one more conjunct of the last lookup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Edit,
    Equal,
    Hamming,
    Input,
    Node,
    Not,
    Or,
    Reaches,
    leaves,
)
from accord.secure.edits import Known, ends
from accord.secure.forms import Form, Nearby, alternatives, comparison_of, constant, form_of, with_dummies
from accord.secure.ot.formula import Formula, Wire, join, shrink, truth_of, wires
from accord.secure.ot.program import CHEAP, Bit, Digit, Lookup, Own, OwnBit, Program, Share, Short
from accord.side import Side

NARROW = 8
DIGIT = 3
GATE = 6
WIDEST = 62

Comparison = AtMost | Equal
Truth = NDArray[np.bool_]


@cache
def compile_circuit(node: Node, engine: str) -> Program:
    """The lightest program of a circuit, or an `UnsupportedError` that names the node that has none."""
    whole = _Build(engine)
    whole.answer(node)
    found = [whole.program]
    if isinstance(node, AtMost | Equal) and constant(node) is None:
        alone = _Build(engine)
        if alone.compare(node, dummies=True) is not None:
            found.append(alone.program)
    return min(found, key=lambda program: program.weight)


class _Build:
    """A program in the making."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.shares: list[Share] = []
        self.lookups: list[Lookup] = []
        self._known: dict[Comparison, Bit] = {}
        self._edits: dict[Input, _Edits] = {}

    def answer(self, node: Node) -> None:
        """The last lookup: the circuit, and both rows are real."""
        self._letters([leaf for leaf in leaves(node) if isinstance(leaf, Edit)])
        whole = join("all", [self._formula(node), OwnBit(None)])
        self._gate(shrink(whole, GATE, self._gate))

    @property
    def program(self) -> Program:
        return Program(tuple(self.shares), tuple(self.lookups))

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
        carry: tuple[Bit, ...] = ()
        low = 0
        for width, truth in best.digits:
            digit = Digit(len(self.shares) - 1, low, width)
            carry = (self._add((digit, *carry), (), truth),)
            low += width
        return carry[0]

    def _check(self, node: Comparison) -> None:
        if isinstance(node, AtMost) and isinstance(node.value, Hamming) and node.value.of.high > 1:
            raise UnsupportedError(engine=self.engine, node="a Hamming distance of numbers that are not bits")
        if isinstance(node, AtMost) and isinstance(node.value, Bilinear):
            of = node.value
            numbers = (of.low, of.high, of.weight_a, of.weight_b, *(p.weight for p in of.products))
            if max(map(abs, numbers)) >= 1 << WIDEST:
                raise UnsupportedError(engine=self.engine, node=f"a weight or a bound of over {WIDEST} bits")

    def _add(self, shared: tuple[Digit | Bit, ...], own: tuple[Own, ...], truth: Truth) -> Bit:
        level = 1 + max((self.lookups[w.lookup].level for w in shared if isinstance(w, Bit)), default=-1)
        self.lookups.append(Lookup(shared, own, level, truth))
        return Bit(len(self.lookups) - 1)

    def _formula(self, node: Node) -> Formula | Wire:
        """The circuit over bits, after every comparison was made, each once."""
        match node:
            case And(parts):
                return join("all", [self._formula(part) for part in parts])
            case Or(parts):
                return join("any", [self._formula(part) for part in parts])
            case Not(part):
                return Formula("not", (self._formula(part),))
            case Both(of):
                return OwnBit(of)
            case AtMost() | Equal():
                return self._compare_once(node)
            case Edit():
                return self._edit(node)
            case Reaches():
                raise UnsupportedError(engine=self.engine, node="a score")

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

    def _gate(self, formula: Formula | Wire) -> Bit:
        """One lookup for a formula."""
        read = wires(formula)
        bits = tuple(w for w in read if isinstance(w, Bit | Digit))
        own = tuple(w for w in read if isinstance(w, OwnBit | Short))
        return self._add(bits, own, truth_of(formula, (*bits, *own)))

    def _letters(self, edits: list[Edit]) -> None:
        """The shares of all texts whose edits are counted, wide enough for the largest bound of each."""
        for of in dict.fromkeys(edit.of for edit in edits):
            reach = max(edit.bound for edit in edits if edit.of == of)
            self._edits[of] = _Edits(len(self.shares), reach)
            for place in range(of.length):
                self.shares.append(Share(form_of(Nearby(of, place, reach)), 2 * reach + 1, exclusive=True))

    def _edit(self, node: Edit) -> Formula:
        """The recurrence of `edits.py`, but for its last disjunction, which joins what is around it."""
        of, letters = node.of, self._edits[node.of]

        def make(i: int, d: int, before: Wire | None, others: tuple[Wire, ...]) -> Wire:
            equal = Digit(letters.first + i - 1, letters.reach + d, 1)
            if before is None and not others:
                return equal
            reached = join("any", [equal, *others])
            return self._gate(reached if before is None else join("all", [before, reached]))

        found: list[Formula | Wire] = []
        for d, end in ends(of.length, node.bound, make, letters.known).items():
            short = [Short(of, Side.A if d > 0 else Side.B, of.length - abs(d))] if d else []
            if not isinstance(end, bool):
                found.append(join("all", [end, *short]))
            elif end:
                found.append(join("all", [*short]))
        return join("any", found)


@dataclass(frozen=True, eq=False)
class _Edits:
    """A text whose edits are counted: its first share, how far around a place the shares see, and the bits of
    the recurrence that are there."""

    first: int
    reach: int
    known: Known[Wire] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Plan:
    """One way to compare: the share, and the lookups over its digits from the lowest."""

    share: Share
    digits: list[tuple[int, Truth]]

    @property
    def weight(self) -> float:
        return self.share.weight + sum(
            CHEAP * (len(t).bit_length() - 1) + max(8, len(t)) for _, t in self.digits
        )


def _plans(form: Form, bound: int, dummies: bool) -> Iterator[_Plan]:
    """Narrow and wide, where they fit."""
    low, high = with_dummies(form) if dummies else (form.low, form.high)
    bound -= low
    penalty = bound + 1 if dummies else 0
    highest = high - low + 2 * penalty
    if highest.bit_length() <= NARROW:
        share = Share(form, highest.bit_length(), -low, penalty)
        yield _Plan(share, [(share.bits, _sum_at_most(share.bits, bound))])
    bits = 1 + max(bound, highest - bound - 1).bit_length()
    if bits <= WIDEST:
        yield _Plan(Share(form, bits, -low - bound - 1, penalty), list(_signs(bits)))


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
