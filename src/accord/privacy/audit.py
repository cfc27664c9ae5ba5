"""The exact δ(ε) curve of a setting, beside what it claims.

A promise (ε, δ) is one point; the curve says what holds at every other ε as well, and whether the point lies
above it. Every δ is rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accord.errors import UsageError
from accord.privacy.calibration import Setting, as_claimed
from accord.privacy.noise import losses, table_delta, table_distance
from accord.privacy.number import exp

POINTS = 60
PROMISED = 40


@dataclass(frozen=True)
class Audit:
    """A setting and its curve: (ε, δ(ε)) from 0 to 1.5 times the claimed ε, which is among them."""

    setting: Setting
    curve: tuple[tuple[Fraction, float], ...]


def audit(setting: Setting) -> Audit:
    """Compute the curve."""
    changed = setting.bins_per_record, setting.records_per_person
    found = losses(setting.noise, *changed)
    distance = table_distance(setting.noise, *changed)
    # The curve falls off a cliff at ε, so it is also computed close before it.
    shares = {Fraction(i, PROMISED) for i in range(POINTS + 1)} | {1 - Fraction(1, 10**i) for i in (2, 3, 4)}
    grid = sorted(setting.epsilon * share for share in shares)
    return Audit(setting, tuple((e, min(1.0, found.delta(e) + table_delta(distance, e))) for e in grid))


def one_by_one(setting: Setting) -> Setting | None:
    """What the bound for groups asks for the same promise to people: noise for single records at ε/g, with
    δ/(1 + e^(ε/g) + … + e^((g−1)ε/g)) [MATHS §1.4]. None for one record a person, or if there is no such
    noise."""
    records = setting.records_per_person
    if records == 1:
        return None
    share = setting.epsilon / records
    delta = setting.delta / sum(Fraction(exp(i * share)) for i in range(records))
    try:
        return as_claimed(setting.name, share, delta, setting.bins_per_record)
    except UsageError:
        return None
