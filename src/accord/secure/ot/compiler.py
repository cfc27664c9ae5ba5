"""How a circuit becomes a program of lookups.

    v ≤ t            lookups over the digits of a shared number (`comparisons.py`)
    edits            lookups over bits of shared letters (`texts.py`)
    and, or, not     state and index are the shares of up to `GATE` bits; T is the formula itself
    score            a sum of shared numbers, compared like any other (`scores.py`)

so a conjunction costs one lookup, not an AND a part, and a bit that a side knows of its own row (a value is
present, the row is real) joins a formula without being shared.

Dummies cannot match. Their inputs are zero, so that their values have bounds; where the circuit is one
comparison, each side can add to its own share of a dummy's row as much as puts every value over the bound.
Otherwise, and where it is lighter, 'both rows are real' is one more conjunct of the last lookup; but not of a
score which rows without values cannot reach.

Of a row that is held in shares (`held.py`) nobody has a bit: there the bits that each side knows of its own
row are shared, too, and there are no dummies. Where answers are tallied, an equality is the number of bits
that differ, without an own part of A's row: so of shares that are no payload it compares t random bits, and
holds with probability 2^−t. With an own part, which is random there as well, it would hold more often.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Circuit,
    Edit,
    Equal,
    Hamming,
    Index,
    Input,
    Node,
    Not,
    Opened,
    Or,
    Reaches,
    Tally,
    leaves,
)
from accord.secure.forms import Ceiling, Ending, Marked, comparison_of, constant, form_of
from accord.secure.ot.comparisons import (
    NARROW,
    WIDEST,
    Comparison,
    SumReading,
    plans,
    readings,
    relatives,
    sign_bits,
    together,
)
from accord.secure.ot.formula import Formula, Wire, join, shrink, split, truth_of, wires
from accord.secure.ot.program import (
    Bit,
    Digit,
    Lookup,
    NumberShare,
    Own,
    OwnBit,
    Program,
    ShareBit,
    Shared,
    ShareSum,
    Short,
    lane_of,
)
from accord.secure.ot.scores import most_without_values, weigh
from accord.secure.ot.texts import Text, count_edits, share_letters
from accord.side import Side

GATE = 6
MOST_LOOKUPS = 1 << 13
"""A partner may have written the rule: what takes more costs tens of kilobytes a pair, and minutes here."""


@lru_cache(maxsize=64)
def compile_circuit(circuit: Circuit, engine: str) -> Program:
    """The lightest program of a circuit, or an `UnsupportedError` that names the node that has none."""
    held = isinstance(circuit, Opened)
    node = circuit.of if isinstance(circuit, Opened) else circuit
    tally = circuit.tally if isinstance(circuit, Opened) else None
    whole = Build(engine, held, tally is not None)
    whole.answer(node)
    found = [whole.finish(tally)]
    if isinstance(node, AtMost | Equal) and constant(node) is None:
        alone = Build(engine, held, tally is not None)
        if alone.compare(node, dummies=not held) is not None:
            found.append(alone.finish(tally))
    return min(found, key=lambda program: program.weight)


class Build:
    """A program in the making."""

    def __init__(self, engine: str, held: bool = False, tallied: bool = False) -> None:
        self.engine, self.held, self.tallied = engine, held, tallied
        self.shares: list[NumberShare] = []
        self.sums: list[ShareSum] = []
        self.lookups: list[Lookup] = []
        self.weight = 0.0
        """That of the program so far: quarters, which add up exactly."""
        self._known: dict[
            tuple[Comparison | Reaches | Both | Ending | Marked, Input | None], Formula | Wire
        ] = {}
        self._texts: dict[Input, Text] = {}

    def finish(self, tally: Tally | None) -> Program:
        """The program of which the last lookup so far is the answer, or with a tally a bit for each row."""
        answer = Bit(len(self.lookups) - 1)
        outputs = [answer]
        if tally is not None and tally.by is not None:
            of = tally.by.of
            given = [self._share_bit(Marked(of, place)) for place in range(of.length)]
            if isinstance(tally.by, Index):
                outputs = self._put(answer, given, tally.rows)
            else:
                there = self.gate(join("all", [answer, given[0]]))
                outputs = [there, *(self.gate(join("all", [there, bit])) for bit in given[1:])]
        made = tuple(self.shares), tuple(self.sums), tuple(self.lookups)
        return Program(*made, tuple(outputs), self.held, tally)

    def _put(self, bit: Bit, index: list[Wire], rows: int) -> list[Bit]:
        """The bit in the row of an index, lowest bit first, and 0 in all others.

        A bit of the index splits x into x ∧ s and x ⊕ (x ∧ s). A half without a row is not asked for. So the
        rows XOR to x, and at most one of them is 1, whatever the bits are.
        """
        if rows == 1:
            return [bit]
        *lower, top = index
        half = 1 << len(lower)
        if half >= rows:
            return self._put(bit, lower, rows)
        above = self.gate(join("all", [bit, top]))
        below = Bit(bit.lookup, (*bit.others, above.lookup))
        return [*self._put(below, lower, half), *self._put(above, lower, rows - half)]

    def copy(self) -> Build:
        """The same so far; what is added to one is not added to the other."""
        other = Build(self.engine, self.held, self.tallied)
        other.become(self)
        return other

    def become(self, other: Build) -> None:
        """Take all that the other has."""
        self.shares, self.sums, self.lookups = other.shares[:], other.sums[:], other.lookups[:]
        self.weight = other.weight
        self._known = dict(other._known)
        self._texts = {of: text.copy() for of, text in other._texts.items()}

    def answer(self, node: Node) -> None:
        """The last lookup: the circuit, and both rows are real."""
        self._texts = share_letters(self, [leaf for leaf in leaves(node) if isinstance(leaf, Edit)])
        if isinstance(node, Reaches) and _reached(node) is None:
            # A dummy lacks every value; where such a row cannot reach the score, nothing need keep it away.
            dummies = sum(map(most_without_values, node.parts))
            self._reach(node, (OwnBit(None),) if dummies >= node.least and not self.held else ())
            return
        formula = self.formula(node)
        if not self.held:
            self.gate(join("all", [formula, OwnBit(None)]))
        else:
            self.gate(formula if wires(formula) else join("all", [formula, Formula("not", (self._never(),))]))

    def formula(self, node: Node, where: Input | None = None) -> Formula | Wire:
        """The circuit over bits, after every comparison was made, each once.

        With `where` only pairs with that bit count: a comparison does not hold for others.
        """
        match node:
            case And(parts):
                return join("all", [self.formula(part, where) for part in parts])
            case Or(parts):
                return join("any", [self.formula(part, where) for part in parts])
            case Not(part):
                return Formula("not", (self.formula(part, where),))
            case Both(of):
                return _TRUE if of == where else self._both(node)
            case AtMost() | Equal():
                return self._compare_once(node, where)
            case Edit():
                return count_edits(self, node, self._texts[node.of])
            case Reaches():
                known = _reached(node)
                if known is not None:
                    return _TRUE if known else _FALSE
                if (node, None) not in self._known:
                    self._known[node, None] = self._reach(node, ())
                return self._known[node, None]

    def gate(self, formula: Formula | Wire) -> Bit:
        """One lookup for a formula, after others for what does not fit it."""
        less = shrink(formula, GATE, self.gate)
        bits, own = split(wires(less))
        return self.add(bits, own, truth_of(less, (*bits, *own)))

    def add(
        self, shared: tuple[Shared, ...], own: tuple[Own, ...], truth: NDArray[Any], lane: int = 1
    ) -> Bit:
        """One lookup more; if its answer is a number, the bit only names it."""
        if len(self.lookups) == MOST_LOOKUPS:
            node = f"a rule that takes more than {MOST_LOOKUPS:,} lookups"
            raise UnsupportedError(engine=self.engine, node=node)
        before = [self._level(wire) for wire in shared]
        self.lookups.append(Lookup(shared, own, 1 + max(before, default=-1), truth, lane))
        self.weight += self.lookups[-1].weight
        return Bit(len(self.lookups) - 1)

    def take_back(self, bit: Bit) -> Lookup:
        """Without this lookup, the last so far, so that who reads its answer can read its wires instead.

        *Requires* that nobody holds the bit; who asks for it later has it made anew.
        """
        self._known = {key: made for key, made in self._known.items() if bit not in wires(made)}
        for text in self._texts.values():
            text.forget(bit)
        self.weight -= self.lookups[-1].weight
        return self.lookups.pop()

    def share(self, share: NumberShare) -> int:
        """One shared number more."""
        self.shares.append(share)
        self.weight += share.weight
        return len(self.shares) - 1

    def compare(self, node: Comparison, dummies: bool = False, where: Input | None = None) -> Bit | None:
        """The lightest lookups for a comparison; none if the widest ring is too narrow."""
        self._check(node)
        found = plans(node, dummies, where)
        if self.tallied and isinstance(node, Equal):
            found = [plan for plan in found if not isinstance(plan.share.form.of, Ceiling)]
        if not found:
            return None
        best = min(found, key=lambda plan: plan.weight)
        return self._read(ShareSum(((self.share(best.share), 1),), (), best.share.bits), best.reading)

    def compare_all(self, nodes: list[Comparison], where: Input | None) -> None:
        """Make those of some comparisons together that have an overlap in common."""
        fresh = [n for n in nodes if constant(n) is None and (n, where) not in self._known]
        for some in relatives(fresh):
            for node in some:
                self._check(node)
            found = together(some, where)
            if found is not None:
                overlap = self.share(found.overlap)
                # The last first: what needs that another holds names a later one.
                for node, plan in reversed(list(zip(some, found.plans, strict=True))):
                    parts = ((self.share(plan.share), 1), (overlap, plan.factor))
                    made: Formula | Wire = self._read(ShareSum(parts, (), plan.share.bits), plan.reading)
                    if plan.given is not None:
                        made = join("all", [made, self._known[some[plan.given], where]])
                    self._known[node, where] = made

    def ends(self, of: Input, side: Side, place: int) -> Wire:
        """Whether the text of a side has no letter in this place."""
        return self._share_bit(Ending(of, side, place)) if self.held else Short(of, side, place)

    def _both(self, node: Both) -> Wire:
        return self._share_bit(node) if self.held else OwnBit(node.of)

    def _never(self) -> Wire:
        """A bit that is 0."""
        self.shares.append(NumberShare(form_of(Bilinear((), None, 0, 0, 0, 0)), 1, exclusive=True))
        return ShareBit(len(self.shares) - 1, 0)

    def _share_bit(self, of: Both | Ending | Marked) -> Wire:
        """A bit of both rows, or of one, as a share."""
        if (of, None) not in self._known:
            share = self.share(NumberShare(form_of(of), 1, exclusive=True))
            self._known[of, None] = ShareBit(share, 0)
        made = self._known[of, None]
        assert isinstance(made, ShareBit)
        return made

    def _compare_once(self, node: Comparison, where: Input | None) -> Formula | Wire:
        known = constant(node)
        if known is not None:
            return _TRUE if known else _FALSE
        if (node, where) not in self._known:
            made = self.compare(node, where=where)
            if made is None:
                bits = sign_bits(*comparison_of(node))
                raise UnsupportedError(engine=self.engine, node=f"a distance that needs {bits} bits")
            self._known[node, where] = made
        return self._known[node, where]

    def _check(self, node: Comparison) -> None:
        if isinstance(node, AtMost) and isinstance(node.value, Hamming) and node.value.of.high > 1:
            raise UnsupportedError(engine=self.engine, node="a Hamming distance of numbers that are not bits")
        if isinstance(node, AtMost) and isinstance(node.value, Bilinear):
            of = node.value
            numbers = (of.low, of.high, of.weight_a, of.weight_b, *(p.weight for p in of.products))
            if max(map(abs, numbers)) >= 1 << WIDEST:
                raise UnsupportedError(engine=self.engine, node=f"a weight or a bound of over {WIDEST} bits")

    def _reach(self, node: Reaches, own: tuple[OwnBit, ...]) -> Bit:
        """Whether a score is reached: the negative sum of its weights is at most −least."""
        every = readings(-node.high, -node.low, -node.least)
        found = [reading for reading in every if reading.widest + len(own) <= NARROW]
        if not found:
            raise UnsupportedError(engine=self.engine, node=f"a score of over {WIDEST} bits")
        best = min(found, key=lambda reading: (lane_of(reading.bits), reading.weight))
        total = weigh(self, node.parts, ShareSum((), (), best.bits, best.shift))
        return self._read(total, best, own)

    def _read(self, total: ShareSum, reading: SumReading, own: tuple[OwnBit, ...] = ()) -> Bit:
        """The lookups over the digits of a sum, from the lowest; bits of `own` must be set as well."""
        self.sums.append(replace(total, opposed=reading.opposed))
        carry: tuple[Bit, ...] = ()
        low = 0
        for width, truth in reading.digits:
            digit = Digit(len(self.sums) - 1, low, width)
            low += width
            if low < total.bits:
                carry = (self.add((digit, *carry), (), truth),)
        for _ in own:
            truth = np.kron(np.array([[False, False], [False, True]]), truth)
        return self.add((digit, *carry), own, truth)

    def _level(self, wire: Shared) -> int:
        """The last level that must be done before a wire can be read; −1 if none."""
        if isinstance(wire, ShareBit):
            return -1
        read = (wire.lookup, *wire.others) if isinstance(wire, Bit) else self.sums[wire.sum].lookups
        return max((self.lookups[number].level for number in read), default=-1)


_TRUE, _FALSE = Formula("all", ()), Formula("any", ())


def _reached(node: Reaches) -> bool | None:
    """The answer of a score that cannot be missed, or cannot be reached."""
    if node.least > node.high:
        return False
    return True if node.least <= node.low else None
