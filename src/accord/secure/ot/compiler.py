"""How a circuit becomes a program of lookups.

    v ≤ t, narrow    state and index are the shares of v mod 2^ℓ,  T[y][j] = ((y + j) mod 2^ℓ ≤ t)
    v ≤ t, wide      the top bit of v − t − 1 mod 2^ℓ, by adding the two shares digit after digit from the
                     lowest: each lookup reads a digit and the shared carry and gives the next carry
                     (the digit-wise comparison of Rathee et al., CCS'20, as a chain)
    and, or, not     state and index are the shares of up to `GATE` bits; T is the formula itself

so a conjunction costs one lookup, not an AND a part, and a bit that a side knows of its own row (a value is
present, the row is real) joins a formula without being shared.

Dummies cannot match. Where the circuit is one at-most whose value stays in its bounds also for dummies, each
side adds t + 1 to its own share of a dummy's row; otherwise 'both rows are real' is one more conjunct of the
last lookup. A bilinear value may leave its bounds on a dummy, so it takes the second way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.errors import UnsupportedError
from accord.secure.circuit import And, AtMost, Bilinear, Both, Equal, Hamming, Node, Not, Or
from accord.secure.forms import compared, constant
from accord.secure.ot.formula import Formula, Wire, joined, shrink, truth_of, wires
from accord.secure.ot.program import Bit, Digit, Lookup, OwnBit, Program, Share

NARROW = 8
DIGIT = 4
GATE = 6
WIDEST = 62

Comparison = AtMost | Equal


def compile_circuit(node: Node, engine: str) -> Program:
    """The program of a circuit, or an `UnsupportedError` that names the node that has none."""
    build = _Build(engine)
    if isinstance(node, AtMost | Equal) and constant(node) is None and _penalised(node):
        build.compare(node, dummies=True)
    else:
        build.answer(node)
    return Program(tuple(build.shares), tuple(build.lookups))


def _penalised(node: Comparison) -> bool:
    """Whether a dummy can be kept from matching by what its owner adds, within the widest ring."""
    if isinstance(node, AtMost) and isinstance(node.value, Bilinear):
        return False
    form, bound = compared(node)
    return form.high - form.low + 2 * (bound - form.low + 1) < 1 << (WIDEST - 1)


class _Build:
    """A program in the making."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.shares: list[Share] = []
        self.lookups: list[Lookup] = []
        self._known: dict[Comparison, Bit] = {}

    def answer(self, node: Node) -> None:
        """The last lookup: the circuit, and both rows are real."""
        whole = joined("all", [self._formula(node), OwnBit(None)])
        self._gate(shrink(whole, GATE, self._gate))

    def compare(self, node: Comparison, dummies: bool) -> Bit:
        """Lookups that compare a distance with its bound."""
        self._check(node)
        form, bound = compared(node)
        bound -= form.low
        penalty = bound + 1 if dummies else 0
        highest = form.high - form.low + 2 * penalty
        if highest.bit_length() <= NARROW:
            return self._narrow(Share(form, highest.bit_length(), -form.low, penalty), bound)
        bits = 1 + max(bound, highest - bound - 1).bit_length()
        if bits > WIDEST:
            raise UnsupportedError(engine=self.engine, node=f"a distance that needs {bits} bits")
        return self._wide(Share(form, bits, -form.low - bound - 1, penalty))

    def _check(self, node: Comparison) -> None:
        if isinstance(node, AtMost) and isinstance(node.value, Hamming) and node.value.of.high > 1:
            raise UnsupportedError(engine=self.engine, node="a Hamming distance of numbers that are not bits")
        if isinstance(node, AtMost) and isinstance(node.value, Bilinear):
            of = node.value
            numbers = (of.low, of.high, of.weight_a, of.weight_b, *(p.weight for p in of.products))
            if max(map(abs, numbers)) >= 1 << WIDEST:
                raise UnsupportedError(engine=self.engine, node=f"a weight or a bound of over {WIDEST} bits")

    def _narrow(self, share: Share, bound: int) -> Bit:
        size = 1 << share.bits
        y, j = np.arange(size)[:, None], np.arange(size)[None, :]
        self.shares.append(share)
        digit = Digit(len(self.shares) - 1, 0, share.bits)
        return self._add((digit,), (), (y + j) % size <= bound)

    def _wide(self, share: Share) -> Bit:
        self.shares.append(share)
        carry: tuple[Bit, ...] = ()
        low = 0
        while low < share.bits:
            width = min(DIGIT if carry else DIGIT + 1, share.bits - low)
            digit = Digit(len(self.shares) - 1, low, width)
            low += width
            carry = (self._add((digit, *carry), (), _carry(width, bool(carry), low == share.bits)),)
        return carry[0]

    def _add(self, shared: tuple[Digit | Bit, ...], own: tuple[OwnBit, ...], truth: NDArray[np.bool_]) -> Bit:
        level = 1 + max((self.lookups[w.lookup].level for w in shared if isinstance(w, Bit)), default=-1)
        self.lookups.append(Lookup(shared, own, level, truth))
        return Bit(len(self.lookups) - 1)

    def _formula(self, node: Node) -> Formula | Wire:
        """The circuit over bits, after every comparison was made, each once."""
        match node:
            case And(parts):
                return joined("all", [self._formula(part) for part in parts])
            case Or(parts):
                return joined("any", [self._formula(part) for part in parts])
            case Not(part):
                return Formula("not", (self._formula(part),))
            case Both(of):
                return OwnBit(of)
            case AtMost() | Equal():
                return self._compared(node)

    def _compared(self, node: Comparison) -> Formula | Bit:
        known = constant(node)
        if known is not None:
            return Formula("all" if known else "any", ())
        if node not in self._known:
            self._known[node] = self.compare(node, dummies=False)
        return self._known[node]

    def _gate(self, formula: Formula | Wire) -> Bit:
        """One lookup for a formula."""
        read = wires(formula)
        bits = tuple(w for w in read if isinstance(w, Bit))
        own = tuple(w for w in read if isinstance(w, OwnBit))
        return self._add(bits, own, truth_of(formula, (*bits, *own)))


def _carry(width: int, carry: bool, top: bool) -> NDArray[np.bool_]:
    """Digit plus digit plus carry: the carry out, or the top bit of the last digit."""
    values = np.arange(1 << (width + carry))
    digit, bit = values & ((1 << width) - 1), values >> width
    total = digit[:, None] + digit[None, :] + (bit[:, None] ^ bit[None, :])
    return ((total >> (width - 1 if top else width)) & 1).astype(np.bool_)
