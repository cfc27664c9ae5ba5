"""Privacy losses on a lattice: an upper bound of δ(ε) that is tight to the last few digits.

For outputs o with probability P(o) under D and Q(o) under D', the loss is L(o) = ln P(o)/Q(o) and

    δ(ε) = Σ_o max(0, P(o) − e^ε·Q(o)) = P[L = ∞] + Σ_{L > ε} P(L)·(1 − e^{ε − L}).

Losses of independent releases add, so their distributions convolve. All our losses are integer combinations
of a few rational units (`window.py`), so a distribution is an array of masses over integer coordinates, and
'L > ε' is decided in exact integers. That matters: accountants that put losses on a fixed grid round a loss
that lies *on* ε up, past it, and report a δ many orders too large.

Rounding. Masses are floats that never understate: every sum of n non-negative products has a relative error
below n·2^−53, so it is multiplied by 1 + n·2^−52. Direct convolution, not Fourier transforms, whose absolute
error would drown a δ of 2^−40. Where an array grows long, its far upper tail is moved to infinity and its far
lower tail up to the first kept loss; both raise δ, by at most
`TRIMMED` each. `SLACK` covers products that underflow and units that are irrational and had to be rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from accord.privacy.number import ULP, all_above
from accord.privacy.window import Window

TRIMMED = 2.0**-170
SLACK = 2.0**-300
_SHORT = 1 << 10

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Losses:
    """mass[i] bounds Pr[L = Σ_j (low_j + i_j)·units_j] from above; `infinite` bounds Pr[L = ∞]."""

    units: tuple[Fraction, ...]
    low: tuple[int, ...]
    mass: Array
    infinite: float

    def delta(self, epsilon: Fraction) -> float:
        """An upper bound of δ(ε)."""
        mass, excess = self._over(epsilon)
        return self._bound(mass * -np.expm1(-excess))

    def beyond(self, epsilon: Fraction) -> float:
        """An upper bound of Pr[L > ε], which is more than δ(ε) where losses lie a little above ε."""
        return self._bound(self._over(epsilon)[0])

    def _over(self, epsilon: Fraction) -> tuple[Array, Array]:
        """The masses of losses above ε, and by how much those are above it."""
        rows = np.nonzero(self.mass)
        scale = lcm(epsilon.denominator, *(unit.denominator for unit in self.units))
        excess: NDArray[np.object_] = np.full(len(rows[0]), -int(epsilon * scale), dtype=object)
        for axis, unit in enumerate(self.units):
            excess = excess + (rows[axis] + self.low[axis]).astype(object) * int(unit * scale)
        over = excess > 0
        return self.mass[rows][over], (excess[over] / scale).astype(np.float64)

    def _bound(self, parts: Array) -> float:
        """What the parts and the mass at infinity add up to, never understated."""
        finite = float(parts.sum()) * (1 + (len(parts) + 8) * ULP)
        return min(1.0, float((self.infinite + finite) * (1 + 2 * ULP) + SLACK))

    def trim(self) -> Losses:
        """The same with negligible tails of a long array folded upward."""
        length = self.mass.shape[0]
        if length <= _SHORT or self.mass.size != length:
            return self
        flat = self.mass.reshape(-1)
        first = int(np.searchsorted(np.cumsum(flat), TRIMMED / 2))
        last = length - int(np.searchsorted(np.cumsum(flat[::-1]), TRIMMED / 2))
        if last - first < 2:
            return self
        kept = flat[first:last].copy()
        kept[0] += TRIMMED
        low = (self.low[0] + first, *self.low[1:])
        mass = kept.reshape(-1, *self.mass.shape[1:])
        return replace(self, low=low, mass=mass, infinite=self.infinite + TRIMMED)

    def clip(self, limit: int) -> Losses:
        """The same on one axis, with losses beyond ±limit folded upward: to infinity, and to −limit."""
        above = limit + 1 - self.low[0]
        below = -limit - self.low[0]
        if len(self.mass) <= above and below <= 0:
            return self
        rounding = 1 + len(self.mass) * ULP
        infinite = (self.infinite + float(self.mass[max(above, 0) :].sum())) * rounding
        kept = self.mass[: max(above, 0)]
        if below > 0:
            kept = np.concatenate([[float(kept[: below + 1].sum()) * rounding], kept[below + 1 :]])
        return Losses(self.units, (max(self.low[0], -limit),), kept, infinite)


def nothing(units: tuple[Fraction, ...] = (Fraction(1),)) -> Losses:
    """The losses of a release that tells nothing: L = 0."""
    return Losses(units, (0,) * len(units), np.ones((1,) * len(units)), 0.0)


def compose(one: Losses, two: Losses, limit: int | None = None) -> Losses:
    """The losses of two independent releases on the same lattice, clipped if a limit is given."""
    if one.units != two.units:
        raise ValueError("losses on different lattices; put both on one grid first")
    low = tuple(a + b for a, b in zip(one.low, two.low, strict=True))
    infinite = (one.infinite + two.infinite * max(0.0, 1 - one.infinite)) * (1 + 4 * ULP)
    both = Losses(one.units, low, _convolve(one.mass, two.mass), infinite).trim()
    return both if limit is None else both.clip(limit)


def repeat(losses: Losses, times: int, limit: int | None = None) -> Losses:
    """The losses of `times` independent releases of the same kind."""
    result, square = nothing(losses.units), losses
    while times:
        if times & 1:
            result = compose(result, square, limit)
        times >>= 1
        square = compose(square, square, limit) if times else square
    return result


def up(window: Window, by: int = 1) -> Losses:
    """One bin that gained so many records under the neighbour."""
    if by > window.cap:
        return _impossible()
    masses = all_above(window.probabilities, window.cap + 1)
    units, moves = window.moves(by)
    return _collect(units, moves, masses[by:], _sum(masses[:by]))


def down(window: Window, by: int = 1) -> Losses:
    """One bin that lost so many records under the neighbour."""
    if by > window.cap:
        return _impossible()
    masses = all_above(window.probabilities, window.cap + 1)
    units, moves = window.moves(by)
    return _collect(units, -moves, masses[:-by], _sum(masses[-by:]))


def replacement(window: Window, bins_per_record: int, records: int = 1) -> Losses:
    """So many records of one person replaced by others, all in the same bins: `bins_per_record` bins up by so
    many records, as many down.

    Fewer changed bins leak no more: they are a projection of this pair of distributions. Swapping D and D'
    swaps the up and the down bins, which leaves the losses as they are. *Requires*, for several records, a
    log-concave window: then records that lie in different bins leak no more either [MATHS §3.9].
    """
    gained, lost = up(window, records), down(window, records)
    return compose(repeat(gained, bins_per_record), repeat(lost, bins_per_record))


def on_grid(losses: Losses, spacing: Fraction, limit: int) -> Losses:
    """The same with every loss rounded up to a multiple of `spacing`, and clipped; δ can only rise."""
    rows = np.nonzero(losses.mass)
    scale = lcm(spacing.denominator, *(unit.denominator for unit in losses.units))
    total: NDArray[np.object_] = np.zeros(len(rows[0]), dtype=object)
    for axis, unit in enumerate(losses.units):
        total = total + (rows[axis] + losses.low[axis]).astype(object) * int(unit * scale)
    ceiling = np.clip(-(-total // int(spacing * scale)), -limit, limit + 1)
    places = ceiling.astype(np.int64)[:, None]
    return _collect((spacing,), places, losses.mass[rows], losses.infinite).clip(limit)


def _impossible() -> Losses:
    """Of what the neighbour never shows."""
    return Losses((Fraction(1),), (0,), np.zeros(1), 1.0)


def _sum(masses: Array) -> float:
    """The sum, never understated; of one mass that mass."""
    return float(masses.sum()) * (1 + (len(masses) - 1) * ULP)


def _collect(
    units: tuple[Fraction, ...], coordinates: NDArray[np.int64], masses: Array, infinite: float
) -> Losses:
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    shape = tuple(int(size) for size in high - low + 1)
    places = np.ravel_multi_index(tuple((coordinates - low).T), shape)
    sums = np.zeros(prod(shape))
    np.add.at(sums, places, masses)
    sums *= 1 + len(masses) * ULP
    return Losses(units, tuple(int(i) for i in low), sums.reshape(shape), infinite)


def _convolve(one: Array, two: Array) -> Array:
    """Convolution in all axes, as one in a single axis: rows are padded so that they cannot run over."""
    shape = tuple(a + b - 1 for a, b in zip(one.shape, two.shape, strict=True))
    left, right = _pad(one, shape), _pad(two, shape)
    product = np.convolve(left, right)[: prod(shape)]
    return (product * (1 + (min(len(left), len(right)) + 2) * ULP)).reshape(shape)


def _pad(mass: Array, shape: tuple[int, ...]) -> Array:
    whole = np.zeros((mass.shape[0], *shape[1:]))
    whole[tuple(slice(size) for size in mass.shape)] = mass
    return whole.reshape(-1)
