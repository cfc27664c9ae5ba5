"""Calibration: the least expected noise that truly is (ε, δ).

Each noise proposes settings in order of their expected dummies, from float estimates; the first whose exact
δ(ε), rounded up, is at most δ is taken. So a wrong estimate can cost dummies and never privacy. Expected cost
depends on the noise only through its mean, since the two parties draw independently: the mean is the right
thing to minimise, and `auto` takes the mechanism with the lesser one. The two sides calibrate apart, each
with its own ε, δ, bins per record and records per person. Every δ is rounded up.
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
    ONLY_FOR_PEOPLE,
    Noise,
    exact_delta,
)
from accord.privacy.number import exact

Verify = Callable[[Noise], bool]
"""Whether the exact δ of a noise is at most the one asked for."""

LEAST_DELTA = Fraction(1, 1 << 128)
MOST_EPSILON = 64
WORRYING_EPSILON = 10
_TRIES = 600


@dataclass(frozen=True)
class Setting:
    """A noise with the promise (ε, δ) it was chosen for and the δ it really has at that ε."""

    name: str
    noise: Noise
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
    if name != AUTO and NOISES[name].refusal:
        raise UsageError(problem=NOISES[name].refusal)
    if not found.kept:
        raise UsageError(
            problem=f"The noise '{name}' has δ = {found.delta_exact:.3g} at ε = {text(found.epsilon)}, more "
            f"than the {text(found.delta)} asked for. Take another noise, a larger ε or a larger δ."
        )
    return found


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
    noise, delta_exact = _search(name, e, d, changed, None if name in FOR_PEOPLE else records)
    told = warnings(e, d, records)
    return Setting(name, noise, e, d, bins_per_record, delta_exact, told, records_per_person)


@lru_cache(maxsize=256)
def _search(
    name: str, e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None
) -> tuple[Noise, float]:
    """The noise and its exact δ. Those that protect people do not depend on the number of records."""
    measure = cache(lambda noise: exact_delta(noise, changed[0], e, changed[1]))
    noise = _choose(name, e, d, changed, records, lambda noise: Fraction(measure(noise)) <= d)
    return noise, measure(noise)


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
    if records_per_person > 1 and name in NOISES and name not in FOR_PEOPLE:
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


Choose = Callable[[Fraction, Fraction, tuple[int, int], int | None, Verify], Noise]
"""The parameters for ε and δ, where so many (bins of a record, records of a person) change, in a table of so
many records. `calibrate` refuses what does not keep the promise."""


@dataclass(frozen=True)
class NoiseKind:
    """A noise by its name."""

    choose: Choose
    refusal: str = ""
    """Why nothing may be released with it; empty if it may."""


def _choose(
    name: str, e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Noise:
    if name not in NOISES:
        raise UsageError(problem=f"There is no noise '{name}'. Choose one of {', '.join((AUTO, *NOISES))}.")
    return NOISES[name].choose(e, d, changed, records, verify)


def _geometric(
    e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Noise:
    return _first("geometric", noise_geometric.candidates(e, d, *changed), verify)


def _gaussian(
    e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Noise:
    return _first("gaussian", noise_gaussian.candidates(e, d, *changed), verify)


NOISES: dict[str, NoiseKind] = {"geometric": NoiseKind(_geometric), "gaussian": NoiseKind(_gaussian)}


def register_noise(name: str, kind: NoiseKind) -> None:
    """Let agreements name this noise, in this process. *Requires* that its class is in `noise.KINDS`."""
    NOISES[name] = kind


def agreed_noises() -> list[str]:
    """The names that an agreement may give."""
    return [AUTO, *(name for name, kind in NOISES.items() if not kind.refusal)]


def _first(name: str, candidates: Iterable[Noise], verify: Callable[[Noise], bool]) -> Noise:
    for tried, noise in enumerate(candidates):
        if verify(noise):
            return noise
        if tried == _TRIES:
            break
    raise UsageError(problem=f"No setting of the noise '{name}' keeps this promise. Try another noise.")


def curve(setting: Setting) -> dict[Fraction, float]:
    """The exact δ of the noise at twelve shares of ε, up to one and a half of it."""
    changed = setting.bins_per_record, setting.records_per_person
    points = [setting.epsilon * Fraction(i, 8) for i in range(13)]
    return {e: exact_delta(setting.noise, changed[0], e, changed[1]) for e in points}
