"""How a comparison becomes a shared number and lookups of its digits.

    v ≤ t, narrow    state and index are the shares of v mod 2^ℓ,  T[y][j] = ((y + j) mod 2^ℓ ≤ t)
    v ≤ t, wide      the top bit of v − t − 1 mod 2^ℓ, by adding the two shares digit after digit from the
                     lowest: each lookup reads a digit and the shared carry and gives the next carry
                     (the digit-wise comparison of Rathee et al., CCS'20, as a chain)
    v = the least    where v ≤ t means no more: A negates its share of v − t, and digit after digit of the two
                     must be equal; a ring that holds all values will do, with no bit for a sign

A comparison may be divided (`forms.py`), looked up whole or digit by digit: of the ways that say the same,
the lightest is taken, by weights that are constants of the code. Comparisons of multiples of one overlap
⟨a, b⟩, such as the levels of a similarity, share it: each adds its own rest. Where one level implies another,
such as Dice ≥ 1 and Dice ≥ 0.8, its value has a smaller range in pairs for which the other holds, and needs a
smaller ring: what is then read is right for those pairs alone, and both together say the level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import AtMost, Bilinear, Equal, Hamming, Input, Product
from accord.secure.forms import (
    Form,
    Linear,
    Rest,
    alternatives,
    families,
    form_of,
    of_zeros,
    overlap_of,
    twos,
    with_dummies,
)
from accord.secure.ot.program import NumberShare, lookup_weight

NARROW = 8
DIGIT = 3
WIDEST = 62

Comparison = AtMost | Equal
Truth = NDArray[np.bool_]
Digits = list[tuple[int, Truth]]
"""For each digit, from the lowest, its width and what the lookup of it says."""


@dataclass(frozen=True, eq=False)
class SumReading:
    """How a sum says if it is at most a bound: its ring, what is added to it, the lookups of its digits."""

    bits: int
    shift: int
    digits: Digits
    opposed: bool = False

    @property
    def weight(self) -> float:
        return sum(lookup_weight(len(truth).bit_length() - 1) for _, truth in self.digits)

    @property
    def widest(self) -> int:
        """Bits of the largest lookup."""
        return max(len(truth).bit_length() - 1 for _, truth in self.digits)


def readings(low: int, high: int, bound: int) -> Iterator[SumReading]:
    """Narrow, equal and wide, where they fit."""
    bits = (high - low).bit_length()
    if bits <= NARROW:
        yield SumReading(bits, -low, [(bits, _sum_at_most(bits, bound - low))])
    if bound == low and DIGIT + 1 < bits <= WIDEST:
        yield SumReading(bits, -low, [(n, _equal(n, at > 0)) for at, n in _cut(bits)], opposed=True)
    bits = 1 + max(bound - low, high - bound - 1).bit_length()
    if bits <= WIDEST:
        yield SumReading(bits, -bound - 1, list(_signs(bits)))


@dataclass(frozen=True, eq=False)
class ComparisonPlan:
    """One way to compare: a share, to which `factor` overlaps are added, and the lookups over its digits."""

    share: NumberShare
    reading: SumReading
    factor: int = 0
    given: int | None = None
    """The number of another comparison; for pairs for which that does not hold this says anything."""

    @property
    def weight(self) -> float:
        return self.share.weight + self.reading.weight

    @property
    def overlap_bits(self) -> int:
        """Bits of the overlap that it needs."""
        return max(0, self.share.bits - twos(self.factor))


def plans(node: Comparison, dummies: bool, where: Input | None) -> list[ComparisonPlan]:
    """All ways to compare.

    With `dummies` each side adds so much to its share of a dummy's row that the bound is exceeded, and with
    `where` to its share of a row without that bit.
    """
    found = [(form, *_range(form, bound, dummies, where), bound) for form, bound in alternatives(node)]
    return [
        ComparisonPlan(NumberShare(form, reading.bits, reading.shift, penalty, where), reading)
        for form, low, high, penalty, bound in found
        for reading in readings(low, high, bound)
    ]


def _range(form: Form, bound: int, dummies: bool, where: Input | None) -> tuple[int, int, int]:
    """The least and the largest number that is compared, and the penalty of a dummy that is in it."""
    if where is not None:
        low, high = of_zeros(form)
        penalty = max(0, bound - low + 1)
        return min(form.low, low), max(form.high, high + 2 * penalty), penalty
    if dummies:
        low, high = with_dummies(form)
        penalty = bound - low + 1
        return low, high + 2 * penalty, penalty
    return form.low, form.high, 0


@dataclass(frozen=True, eq=False)
class Together:
    """An overlap, and a plan for each of some comparisons that adds multiples of it."""

    overlap: NumberShare
    plans: list[ComparisonPlan]

    @property
    def weight(self) -> float:
        return self.overlap.weight + sum(plan.weight for plan in self.plans)


def relatives(nodes: Sequence[Comparison]) -> list[list[Comparison]]:
    """Comparisons that one overlap can serve, where there are at least two."""
    found: dict[Product, list[Comparison]] = {}
    for node in dict.fromkeys(nodes):
        overlap = overlap_of(node)
        if overlap is not None:
            found.setdefault(overlap, []).append(node)
    return [some for some in found.values() if len(some) > 1]


def together(nodes: Sequence[Comparison], where: Input | None) -> Together | None:
    """The lightest way to compare all of them with one overlap; none if numbers are too large for it."""
    overlap = overlap_of(nodes[0])
    assert overlap is not None
    every = [_rests(nodes, number, where) for number in range(len(nodes))]
    form = form_of(Bilinear((overlap,), None, 0, 0, 0, overlap.left.length))
    found: list[Together] = []
    for bits in {plan.overlap_bits for some in every for plan in some}:
        fitting = [[plan for plan in some if plan.overlap_bits <= bits] for some in every]
        if bits and all(fitting):
            lightest = [min(some, key=lambda plan: plan.weight) for some in fitting]
            found.append(Together(NumberShare(form, bits, 0, 0, where), lightest))
    return min(found, key=lambda way: way.weight, default=None)


def _rests(nodes: Sequence[Comparison], number: int, where: Input | None) -> list[ComparisonPlan]:
    """The ways to compare where the overlap is there already."""
    found = []
    for family in families(nodes[number]):
        low, high, penalty = _range(family.rest, 0, False, where)
        tops: dict[int | None, int] = {None: high}
        for later in range(number + 1, len(nodes)):
            most = _most_given(family.rest, nodes[later])
            if most is not None and low <= most < high and _implies(nodes[number], nodes[later]):
                tops[later] = most
        for given, top in tops.items():
            for reading in readings(low, top, 0):
                share = NumberShare(family.rest, reading.bits, reading.shift, penalty, where)
                found.append(ComparisonPlan(share, reading, family.factor, given))
    return found


def _implies(node: Comparison, other: Comparison) -> bool:
    """Whether another comparison is known to hold where one does."""
    most = next((_most_given(family.rest, node) for family in families(other)), None)
    return most is not None and most <= 0


def _most_given(rest: Form, other: Comparison) -> int | None:
    """The largest value of a rest and its overlaps in pairs for which another comparison holds, if that says
    anything.

    With p, x and y for the overlap and the two offsets, all of them at least 0: u·x + v·y − w·p ≤ t says that
    p ≥ (u·x + v·y − t)/w, which bounds U·x + V·y − W·p for the largest x and y.
    """
    assert isinstance(rest.of, Rest)
    known = next((family.rest.of for family in families(other)), None)
    if not isinstance(known, Rest):
        return None
    (key, ua, ub, w), (key_2, va, vb, w_2) = _linear(rest.of.of.of), _linear(known.of.of)
    if key != key_2 or w <= 0 or w_2 <= 0:
        return None
    high = 0 if key is None else key[1]
    more = high * (max(0, ua * w_2 - va * w) + max(0, ub * w_2 - vb * w))
    most = (more + w * known.of.bound) // w_2
    return -((rest.of.of.bound - most) // rest.of.of.divisor)


def _linear(of: Linear) -> tuple[tuple[Input, int] | None, int, int, int]:
    """An offset and its largest value, its weights on both sides, and how often the overlap is subtracted."""
    match of:
        case Hamming(source) | Equal(source):
            return (source, source.length), 1, 1, 2
        case Bilinear((product,), offset, weight_a, weight_b):
            key = None if offset is None else (offset, offset.high)
            return key, weight_a, weight_b, -product.weight
    raise TypeError(of)


def sign_bits(form: Form, bound: int) -> int:
    """Bits of a ring in which the sign of value − bound − 1 can be seen."""
    return 1 + max(bound - form.low, form.high - bound - 1).bit_length()


def _sum_at_most(bits: int, bound: int) -> Truth:
    size = 1 << bits
    return (np.arange(size)[:, None] + np.arange(size)[None, :]) % size <= bound


def _signs(bits: int) -> Iterator[tuple[int, Truth]]:
    """The digits of a sum of two numbers, from the lowest, and what the lookup of each says."""
    for low, width in _cut(bits):
        yield width, _carry(width, low > 0, low + width == bits)


def _cut(bits: int) -> Iterator[tuple[int, int]]:
    """Where each digit begins, and its width."""
    low = 0
    while low < bits:
        width = min(DIGIT if low else DIGIT + 1, bits - low)
        yield low, width
        low += width


def _carry(width: int, carry: bool, top: bool) -> Truth:
    """Digit plus digit plus carry: the carry out, or the top bit of the last digit."""
    values = np.arange(1 << (width + carry))
    digit, bit = values & ((1 << width) - 1), values >> width
    total = digit[:, None] + digit[None, :] + (bit[:, None] ^ bit[None, :])
    return ((total >> (width - 1 if top else width)) & 1).astype(np.bool_)


def _equal(width: int, before: bool) -> Truth:
    """Both digits are equal, and so were those before."""
    values = np.arange(1 << (width + before))
    digit, bit = values & ((1 << width) - 1), values >> width
    same = digit[:, None] == digit[None, :]
    return same & ((bit[:, None] ^ bit[None, :]) == 1) if before else same
