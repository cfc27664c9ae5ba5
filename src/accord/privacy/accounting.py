"""Accountants: what a list of releases about one table adds up to.

*Basic*: Σε and Σδ, for any events.

*Exact*: the losses of all events convolved, then δ(ε) as in `losses.py`, rounded up. A replaced record
changes at most k' bins up and k' down in each release, whatever the tables are, so one pair of
distributions dominates all neighbours of an event, and products of such pairs dominate adaptive composition
(Zhu, Dong and Wang, AISTATS'22, theorem 10). An event known only by its (ε, δ) is dominated by randomised
response that fails with probability δ (Kairouz, Oh and Viswanath, ICML'15). Equal events compose on their
own lattice, up to `BLOCK` changed bins; blocks and unlike events meet on a common grid, every loss rounded
up.

Both are proofs; whichever is smaller holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from accord.errors import UsageError
from accord.privacy import noise
from accord.privacy.events import NO_COST, AllPairs, Cost, Event, NoisyCounts, Promise
from accord.privacy.losses import Losses, compose, nothing, on_grid, repeated
from accord.privacy.number import above, exp

BLOCK = 64
GRID = 1 << 13
_STEPS = 24


def basic(events: Sequence[Event]) -> Cost:
    """Σε and Σδ."""
    return sum((_known(event).cost for event in events), NO_COST)


@dataclass(frozen=True, eq=False)
class Total:
    """The composed losses of some events, and how far their tables are from ideal."""

    losses: Losses
    distance: Fraction

    def delta(self, epsilon: Fraction) -> float:
        """δ(ε) of all the events together, rounded up."""
        return min(1.0, self.losses.delta(epsilon) + noise.table_delta(self.distance, epsilon))

    def epsilon(self, delta: Fraction) -> float:
        """The least ε at which δ(ε) ≤ δ, rounded up; infinite where no ε will do."""
        high = Fraction(1)
        while Fraction(self.delta(high)) > delta:
            high *= 2
            if high > 1 << 10:
                return math.inf
        low = Fraction(0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if Fraction(self.delta(middle)) <= delta else (middle, high)
        return above(high)


def exact(events: Sequence[Event]) -> Total:
    """All the events together."""
    groups = Counter(_known(event) for event in events if event.cost != NO_COST)
    distance = sum((_distance(event) * times for event, times in groups.items()), Fraction(0))
    spacing = max(basic(events).epsilon, Fraction(1, GRID)) / GRID
    parts = [part for event, times in groups.items() for part in _blocks(event, times)]
    if len(parts) == 1:
        return Total(parts[0], distance)
    return Total(reduce(compose, (on_grid(part, spacing) for part in parts), nothing((spacing,))), distance)


def spent(events: Sequence[Event], delta: Fraction) -> float:
    """The least ε that an accountant proves for the events together at this δ."""
    total = basic(events)
    summed = above(total.epsilon) if total.delta <= delta else math.inf
    return summed if total == NO_COST else min(summed, exact(events).epsilon(delta))


def _known(event: Event) -> Event:
    if not isinstance(event, NoisyCounts | AllPairs | Promise):
        name = type(event).__name__
        raise UsageError(problem=f"No accountant knows the event '{name}', so its cost cannot be stated.")
    return event


def _blocks(event: Event, times: int) -> list[Losses]:
    """The losses of `times` such events, in blocks that are short enough to be convolved on their lattice."""
    single = _losses(event)
    most = max(1, BLOCK // (event.bins_per_record if isinstance(event, NoisyCounts) else 1))
    block = repeated(single, min(most, times))
    rest = [repeated(single, times % most)] if times > most and times % most else []
    return [block] * max(1, times // most) + rest


def _losses(event: Event) -> Losses:
    match event:
        case NoisyCounts(drawn, bins, _):
            return noise.losses(drawn, bins)
        case Promise(cost):
            return _promised(cost)
    raise UsageError(problem=f"No accountant knows the losses of '{type(event).__name__}'.")


def _promised(cost: Cost) -> Losses:
    """±ε as randomised response has them, and the rest at infinity."""
    kept, factor = 1 - cost.delta, Fraction(exp(cost.epsilon))
    high, low = above(kept * factor / (1 + factor)), above(kept / (1 + factor))
    if not cost.epsilon:
        return Losses((Fraction(1),), (0,), np.array([above(kept)]), above(cost.delta))
    return Losses((cost.epsilon,), (-1,), np.array([low, 0.0, high]), above(cost.delta))


def _distance(event: Event) -> Fraction:
    if isinstance(event, NoisyCounts):
        return 2 * event.bins_per_record * event.noise.window.distance
    return Fraction(0)
