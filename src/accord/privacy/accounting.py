"""Accountants: what a list of releases about one table adds up to.

*Basic*: Σε and Σδ, for any events.

*Exact*: the losses of all events convolved, then δ(ε) as in `losses.py`, rounded up. A replaced record
changes at most k' bins up and k' down in each release, whatever the tables are, so one pair of
distributions dominates all neighbours of an event; for all records of a person it is the pair of [MATHS
§3.9]. Products of such pairs dominate adaptive composition (Zhu, Dong and Wang, AISTATS'22, theorem 10). An
event known only by its (ε, δ) is dominated by randomised response that fails with probability δ (Kairouz, Oh
and Viswanath, ICML'15). Equal events compose on their own lattice, up to `CHUNK` changed bins; chunks and
unlike events meet on a common grid, every loss rounded up. It is assumed that which noise is used next does
not depend on what earlier noise came to; the sums of basic composition hold without that.

What events promise together holds for a person with the least of their records per person.

Both are proofs; whichever is smaller holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from accord.errors import UsageError
from accord.privacy import noise
from accord.privacy.events import (
    NO_COST,
    UNPROMISED,
    Cost,
    Event,
    NoisyAnswer,
    NoisyCounts,
    PluggedEvent,
    Promise,
    is_free,
)
from accord.privacy.losses import Losses, compose, nothing, on_grid, repeat
from accord.privacy.number import above, exp

CHUNK = 64
GRID = 1 << 12
MARGIN = 8
LONGEST = 1 << 14
_STEPS = 24


def basic(events: Sequence[Event]) -> Cost:
    """Σε and Σδ, under the conditions of all of them."""
    none = replace(NO_COST, unless=UNPROMISED)
    return sum((_require_known(event).cost or none for event in events), NO_COST)


def promised(events: Sequence[Event]) -> Cost | None:
    """The same for people to read: None where nothing is promised by any of them."""
    nothing_promised = bool(events) and all(event.cost is None for event in events)
    return None if nothing_promised else basic(events)


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
    groups = Counter(event for event in map(_require_known, events) if not is_free(event.cost))
    if not groups:
        return Total(nothing(), Fraction(0))
    distance = sum((_distance(event) * times for event, times in groups.items()), Fraction(0))
    parts = [part for event, times in groups.items() for part in _chunks(event, times)]
    if len(parts) == 1 and parts[0][1] == 1:
        return Total(parts[0][0], distance)
    spacing, most = _grid(basic(events).epsilon, parts)
    on_one = [repeat(on_grid(part, spacing, most), times, most) for part, times in parts]
    return Total(reduce(lambda a, b: compose(a, b, most), on_one, nothing((spacing,))), distance)


def spent(events: Sequence[Event], delta: Fraction) -> float:
    """The least ε that an accountant proves for the events together at this δ."""
    total = basic(events)
    summed = above(total.epsilon) if total.delta <= delta else math.inf
    return summed if is_free(total) else min(summed, exact(events).epsilon(delta))


def _require_known(event: Event) -> Event:
    if not isinstance(event, Event):
        name = type(event).__name__
        raise UsageError(problem=f"No accountant knows the event '{name}', so its cost cannot be stated.")
    return event


def _grid(epsilon: Fraction, parts: Sequence[tuple[Losses, int]]) -> tuple[Fraction, int]:
    """A spacing for these parts, and the most steps of it that a loss may have.

    A loss beyond the sum of all ε by MARGIN counts all but e^−MARGIN of its mass towards δ there anyway,
    so it may as well be infinite. Where losses go far beyond ε the grid is coarser, to stay short.
    """
    limit = epsilon + MARGIN
    fine = max(epsilon, Fraction(1, GRID)) / GRID
    widest = max(_largest(part) for part, _ in parts)
    spacing = fine if widest <= 4 * epsilon else max(fine, 2 * limit / LONGEST)
    return spacing, int(limit / spacing)


def _largest(part: Losses) -> Fraction:
    """A bound on the losses of a part, of either sign."""
    axes = zip(part.low, part.mass.shape, part.units, strict=True)
    sizes = (max(abs(low), abs(low + size - 1)) * abs(unit) for low, size, unit in axes)
    return sum(sizes, Fraction(0))


def _chunks(event: Event, times: int) -> list[tuple[Losses, int]]:
    """The losses of `times` such events, in chunks short enough to be convolved on their lattice."""
    single = _losses(event)
    most = max(1, CHUNK // (event.bins_per_record if isinstance(event, NoisyCounts) else 1))
    if times <= most:
        return [(repeat(single, times), 1)]
    rest = [(repeat(single, times % most), 1)] if times % most else []
    return [(repeat(single, most), times // most), *rest]


def _losses(event: Event) -> Losses:
    match event:
        case NoisyCounts(drawn, bins, _, people):
            return noise.losses(drawn, bins, people)
        case PluggedEvent():
            return event.losses()
        case Promise(cost):
            return _as_promised(cost)
        case NoisyAnswer():
            return _as_promised(event.cost)
    raise UsageError(problem=f"No accountant knows the losses of '{type(event).__name__}'.")


def _as_promised(cost: Cost) -> Losses:
    """±ε as randomised response has them, and the rest at infinity."""
    kept, factor = 1 - cost.delta, Fraction(exp(cost.epsilon))
    high, low = above(kept * factor / (1 + factor)), above(kept / (1 + factor))
    if not cost.epsilon:
        return Losses((Fraction(1),), (0,), np.array([above(kept)]), above(cost.delta))
    return Losses((cost.epsilon,), (-1,), np.array([low, 0.0, high]), above(cost.delta))


def _distance(event: Event) -> Fraction:
    if isinstance(event, NoisyCounts):
        return noise.table_distance(event.noise, event.bins_per_record, event.records_per_person)
    return Fraction(0)
