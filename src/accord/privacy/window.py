"""A distribution on 0, 1, …, cap, as a proof needs it and as a sampler needs it.

Theory. A mechanism adds independent noise X ≥ 0 to every bin. Replacing one record adds 1 to at most k'
bins ('up') and takes 1 from at most k' others ('down'). Seen from the noise, an up bin that showed noise x
must have shown x − 1 under the neighbour, a down bin x + 1; so everything about privacy follows from the
probabilities q(x) and the *steps*

    step(x) = ln q(x) − ln q(x − 1),   x = 1..cap:
    up bin:    loss  step(x)       with probability q(x), x = 1..cap;     infinite with probability q(0)
    down bin:  loss −step(x + 1)   with probability q(x), x = 0..cap − 1; infinite with probability q(cap).

Steps are kept exactly, as integer combinations of a few units: that lattice is what lets the accountant
tell a loss *at* ε from one above it. The cap costs q(cap) per down bin and is in δ like all else. A bin that
gains or loses j records at once *moves* by j: j steps in a row, and j values of x for which there is none.

The table. q is irrational; what is sampled is `table`, integers that sum to 2^256 and differ from 2^256·q by
less than one each (the middle takes the difference). Its statistical distance from q is below
`distance` = (cap + 2)/2^256, and a release over 2k' such bins is (ε, δ + 2k'(1 + e^ε)·distance) when q gives
(ε, δ): replace P and Q by their neighbours in P(S) ≤ e^ε·Q(S) + δ. Accountants add this term; for g records
of one person, which may change 2k'g bins, g times as much.

Sampling is exact: the inverse of an integer cumulative table.
*Distribution.* Let c(x) = Σ_{y ≤ x} table[y], so c(cap) = 2^256, and U uniform on 0..2^256 − 1. The sample is
X = #{x < cap : c(x) ≤ U}. Then Pr[X = x] = (c(x) − c(x − 1))/2^256 = table[x]/2^256, exactly. *Proof.* c does
not decrease, so X = x iff c(x − 1) ≤ U < c(x). ∎

U is compared lazily: its first 64 bits decide unless they equal the first 64 bits of some c(x), which for
all but about cap in 2^64 draws they do not; only those draws read the other 192 bits. All comparisons are
between integers. (Canonne, Kamath and Steinke, NeurIPS'20, sample e^−γ by trials; a table gives the same
exactness with one word a bin, and the accountant can bound what the table's rounding costs.)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy, words
from accord.errors import UsageError
from accord.privacy.number import log, precise

PRECISION = 256
_FIRST = 64
_REST = PRECISION - _FIRST
LONGEST = 1 << 21

Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Window:
    """Probabilities on 0..cap with the steps of their logarithms, in multiples of `units`.

    `steps` has one row for each x = 1..cap and one column for each unit.
    """

    probabilities: tuple[Decimal, ...]
    middle: int
    units: tuple[Fraction, ...]
    steps: Steps

    @property
    def cap(self) -> int:
        return len(self.probabilities) - 1

    def moves(self, by: int) -> tuple[tuple[Fraction, ...], Steps]:
        """ln q(x) − ln q(x − by) for each x = by..cap: units, and the multiples of them. *Requires* by ≤ cap,
        and for more than one step a log-concave q.

        The sums of several steps of such a noise lie on a line of the lattice: one more x takes one vector
        off, or several times that. So they are a constant less multiples of one unit, and what has one axis
        is convolved as such.
        """
        if by == 1:
            return self.units, self.steps
        walked = np.concatenate([np.zeros((1, len(self.units)), np.int64), np.cumsum(self.steps, axis=0)])
        return _on_a_line(self.units, walked[by:] - walked[:-by])

    @property
    def distance(self) -> Fraction:
        """A bound on the statistical distance between `table` and `probabilities`."""
        return Fraction(self.cap + 2, 1 << PRECISION)

    @cached_property
    def table(self) -> tuple[int, ...]:
        """What is sampled: table[x] / 2^256 is the probability of x, exactly."""
        scale = 1 << PRECISION
        with localcontext(precise()):
            floors = [int(value * scale) for value in self.probabilities]
        floors[self.middle] += scale - sum(floors)
        return tuple(floors)

    @cached_property
    def mean(self) -> Fraction:
        """E[X], of the table."""
        return Fraction(sum(x * weight for x, weight in enumerate(self.table)), 1 << PRECISION)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of X, for display."""
        square = Fraction(sum(x * x * weight for x, weight in enumerate(self.table)), 1 << PRECISION)
        return float(square - self.mean**2) ** 0.5

    def quantile(self, share: Fraction) -> int:
        """The least x with Pr[X ≤ x] ≥ share, of the table."""
        missing = share * (1 << PRECISION)
        for x, weight in enumerate(self.table):
            missing -= weight
            if missing <= 0:
                return x
        return self.cap


def window(weights: Sequence[Decimal], middle: int, units: tuple[Fraction, ...], steps: Steps) -> Window:
    """The window whose probabilities are proportional to `weights`."""
    with localcontext(precise()):
        total = sum(weights, Decimal(0))
        probabilities = tuple(weight / total for weight in weights)
    return Window(probabilities, middle, units, steps)


def _on_a_line(units: tuple[Fraction, ...], moves: Steps) -> tuple[tuple[Fraction, ...], Steps]:
    """The same moves as one constant, the first, less so many of one unit, which is not negative."""
    below = moves[0] - moves
    axis = int(np.abs(below[-1]).argmax())
    numbers = below[:, axis] // max(1, int(np.gcd.reduce(below[:, axis])))
    along = below[-1] // max(1, int(numbers[-1]))
    first, unit = (_value(units, place) for place in (moves[0], along))
    if unit < 0 or not np.array_equal(np.outer(numbers, along), below):
        raise ValueError("moves that lie on no line or do not fall along it")
    return (unit, first), np.stack([-numbers, np.ones_like(numbers)], axis=1)


def _value(units: tuple[Fraction, ...], place: NDArray[np.int64]) -> Fraction:
    return sum((int(n) * unit for n, unit in zip(place, units, strict=True)), Fraction(0))


def reach(delta: Fraction, more: Fraction | int = 0) -> int:
    """A distribution is cut where it has fallen e^reach times: nothing beside δ, nor beside δ/e^more."""
    return max(64, math.ceil(-log(delta)) + 20) + math.ceil(more)


def require_cap(cap: int, most: int = LONGEST) -> int:
    """The cap, unless no table of that length should be made."""
    if cap > most:
        raise UsageError(
            problem=f"This setting needs up to {cap:,} dummies in a bin. Take a larger ε or a larger δ."
        )
    return cap


def sample(window: Window, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws from the window's table.

    *Requires* an entropy of its own (a noise stream); *Learns*: nobody, the draws stay with their owner.
    """
    return sample_table(window.table, count, entropy)


def sample_table(table: tuple[int, ...], count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of 0, 1, …, each with its weight in the table, which sums to 2^256."""
    cumulative, first = _accumulate(table)
    drawn = words(entropy, count)
    found = np.searchsorted(first, drawn, side="left").astype(np.int64)
    for row in np.flatnonzero(found != np.searchsorted(first, drawn, side="right")):
        rest = int.from_bytes(entropy.bytes(_REST // 8), "little")
        found[row] = bisect_right(cumulative, (int(drawn[row]) << _REST) | rest)
    return found


@lru_cache(maxsize=16)
def _accumulate(table: tuple[int, ...]) -> tuple[list[int], NDArray[np.uint64]]:
    """c, and its first 64 bits. A plan draws from one table hundreds of times."""
    cumulative = list(accumulate(table))[:-1]
    # A probability may round to nothing, so c(cap − 1) may already be 2^256; no U reaches it.
    return cumulative, np.array([min(c >> _REST, (1 << _FIRST) - 1) for c in cumulative], dtype=np.uint64)
