"""The exact δ(ε) curve of a setting, beside what it claims.

A promise (ε, δ) is one point; the curve says what holds at every other ε as well, and whether the point lies
above it. Every δ is rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accord.privacy.calibration import Setting
from accord.privacy.noise import losses, table_delta

POINTS = 60
PROMISED = 40


@dataclass(frozen=True)
class Audit:
    """A setting and its curve: (ε, δ(ε)) from 0 to 1.5 times the claimed ε, which is among them."""

    setting: Setting
    curve: tuple[tuple[Fraction, float], ...]


def audit(setting: Setting) -> Audit:
    """Compute the curve."""
    found = losses(setting.noise, setting.bins_per_record)
    distance = 2 * setting.bins_per_record * setting.noise.window.distance
    # The curve falls off a cliff at ε, so it is also computed close before it.
    shares = {Fraction(i, PROMISED) for i in range(POINTS + 1)} | {1 - Fraction(1, 10**i) for i in (2, 3, 4)}
    grid = sorted(setting.epsilon * share for share in shares)
    return Audit(setting, tuple((e, min(1.0, found.delta(e) + table_delta(distance, e))) for e in grid))
