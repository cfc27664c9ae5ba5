"""Calibration: the least expected noise that truly is (ε, δ).

Each noise proposes settings in order of their expected dummies, from float estimates; the first whose exact
δ(ε), rounded up, is at most δ is taken. So a wrong estimate can cost dummies and never privacy. Expected cost
depends on the noise only through its mean, since the two parties draw independently: the mean is the right
thing to minimise, and `auto` takes the mechanism with the lesser one. The two sides calibrate apart, each
with its own ε, δ, bins per record and records per person.
Every δ is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from accord.errors import UsageError
from accord.exact import Number, text
from accord.privacy import noise_gaussian, noise_geometric
from accord.privacy.noise import (
    AUTO,
    FOR_PEOPLE,
    MOST_PER_PERSON,
    NAMES,
    ONLY_FOR_PEOPLE,
    exact_delta,
)
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.noise_laplace import Laplace, negligible, published, shift_bounds
from accord.privacy.number import exact
from accord.privacy.window import reach

AnyNoise = Geometric | Gaussian | Laplace

LEAST_DELTA = Fraction(1, 1 << 128)
MOST_EPSILON = 64
WORRYING_EPSILON = 10
_TRIES = 600


@dataclass(frozen=True)
class Setting:
    """A noise with the promise (ε, δ) it was chosen for and the δ it really has at that ε."""

    name: str
    noise: AnyNoise
    epsilon: Fraction
    delta: Fraction
    bins_per_record: int
    delta_exact: float
    warnings: tuple[str, ...]
    records_per_person: int = 1
    """Replaced at once: the promise is for a person with up to so many records."""

    @property
    def kept(self) -> bool:
        """Whether the promise is true."""
        return Fraction(self.delta_exact) <= self.delta

    @property
    def expected_dummies(self) -> float:
        """E[dummies] in each bin."""
        return float(self.noise.window.mean)


def calibrate(
    name: str,
    epsilon: Number,
    delta: Number,
    bins_per_record: int = 1,
    records: int | None = None,
    records_per_person: int = 1,
) -> Setting:
    """The setting to release with; refuses whatever does not keep its promise."""
    found = as_claimed(name, epsilon, delta, bins_per_record, records, records_per_person)
    if name == "paper-2017":
        raise UsageError(
            problem="The noise 'paper-2017' is for audit and reproduction only. Use 'paper': the same noise "
            "with a shift that keeps the promised δ."
        )
    if not found.kept:
        raise UsageError(
            problem=f"The noise '{name}' has δ = {found.delta_exact:.3g} at ε = {text(found.epsilon)}, more "
            f"than the {text(found.delta)} asked for. Take another noise, a larger ε or a larger δ."
        )
    return found


@lru_cache(maxsize=64)
def as_claimed(
    name: str,
    epsilon: Number,
    delta: Number,
    bins_per_record: int = 1,
    records: int | None = None,
    records_per_person: int = 1,
) -> Setting:
    """What goes by that name, with its exact δ beside the claimed one, whether or not that is kept."""
    if name == AUTO:
        return _least(epsilon, delta, bins_per_record, records, records_per_person)
    e, d = promise(epsilon, delta)
    if bins_per_record < 1:
        raise UsageError(problem="A record falls into at least one bin.")
    _require_people(name, records_per_person)
    changed = bins_per_record, records_per_person
    measure = cache(lambda noise: exact_delta(noise, bins_per_record, e, records_per_person))
    noise = _choose(name, e, d, changed, records, lambda noise: Fraction(measure(noise)) <= d)
    told = warnings(e, d, records)
    return Setting(name, noise, e, d, bins_per_record, measure(noise), told, records_per_person)


def _least(*promised: Any) -> Setting:
    """Of the noises that protect people, the one with fewer expected dummies: a function of what is public,
    so that both sides come to the same. The setting bears the name of what it is."""
    found, refused = [], []
    for name in FOR_PEOPLE:
        try:
            found.append(as_claimed(name, *promised))
        except UsageError as error:
            # One of the two may be too wide to be sampled.
            refused.append(error)
    if not found:
        raise refused[0]
    return min(found, key=lambda setting: setting.noise.window.mean)


def _require_people(name: str, records_per_person: int) -> None:
    if not 1 <= records_per_person <= MOST_PER_PERSON:
        raise UsageError(problem=f"A person has 1 to {MOST_PER_PERSON} records here: that many are hidden.")
    if records_per_person > 1 and name in NAMES and name not in FOR_PEOPLE:
        raise UsageError(problem=f"{ONLY_FOR_PEOPLE}, not '{name}'.")


def promise(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """ε and δ as exact numbers, unless no noise can promise them."""
    e, d = exact(epsilon, "ε"), exact(delta, "δ")
    if e <= 0:
        raise UsageError(problem="ε must be above 0. For ε = 0 compare all pairs, without blocking.")
    if e > MOST_EPSILON:
        raise UsageError(problem=f"ε above {MOST_EPSILON} promises nothing. Choose a smaller one.")
    if not 0 < d < 1:
        raise UsageError(problem="δ must lie between 0 and 1, for example 2^-40.")
    if d < LEAST_DELTA:
        raise UsageError(problem="δ below 2^-128 cannot be verified. Choose 2^-128 or more.")
    return e, d


def warnings(epsilon: Fraction, delta: Fraction, records: int | None) -> tuple[str, ...]:
    """What a careful person would say about the choice of ε and δ."""
    found = []
    if epsilon > WORRYING_EPSILON:
        found.append(
            f"ε = {text(epsilon)} is more than {WORRYING_EPSILON}: what the partner sees may be over "
            f"{math.exp(WORRYING_EPSILON):,.0f} times as likely with a record as without it, which protects "
            "little. Take 1 to 3, at most 10."
        )
    if records and delta * records > 1:
        found.append(
            f"δ = {text(delta)} is more than 1/n = 1/{records:,}: a mechanism that publishes a random record "
            f"would also keep this promise. Take 2^-40, or at most 1/(100·n)."
        )
    return tuple(found)


def _choose(
    name: str, e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None,
    verify: Callable[[AnyNoise], bool],
) -> AnyNoise:  # fmt: skip
    bins = changed[0]
    match name:
        case "geometric":
            return _first(name, noise_geometric.candidates(e, d, *changed), verify)
        case "gaussian":
            return _first(name, noise_gaussian.candidates(e, d, *changed), verify)
        case "paper":
            return _least_shift(e, d, bins, verify)
        case "paper-2017":
            return published(e, d, bins)
        case "negligible" if records:
            return negligible(e, records, bins)
        case "negligible":
            raise UsageError(problem="The noise 'negligible' depends on the number of records. Name it.")
    raise UsageError(problem=f"There is no noise '{name}'. Choose one of {', '.join(NAMES)}.")


def _first(name: str, candidates: Iterable[AnyNoise], verify: Callable[[AnyNoise], bool]) -> AnyNoise:
    for tried, noise in enumerate(candidates):
        if verify(noise):
            return noise
        if tried == _TRIES:
            break
    raise UsageError(problem=f"No setting of the noise '{name}' keeps this promise. Try another noise.")


def _least_shift(e: Fraction, d: Fraction, bins: int, verify: Callable[[AnyNoise], bool]) -> Laplace:
    """A shift that verifies, or the proven one; the least, if the exact δ falls as the shift grows.

    That it does is computed and not proved [MATHS §3.2]. Only minimality rests on it: whatever the halving
    ends at was verified, or is measured like every other setting before it is used.
    """
    cut, slope = reach(d), e / (2 * bins)
    low, high = shift_bounds(e, d, bins)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if verify(Laplace(middle, slope, cut)) else (middle + 1, high)
    return Laplace(high, slope, cut)
