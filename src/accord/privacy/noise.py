"""Noise: how many dummies hide a bin's count, by name.

    auto        of the next two the one with fewer expected dummies          calibration.py
    geometric   mechanism A; the least for records in up to three bins       noise_geometric.py
    gaussian    truncated discrete Gaussian; the least from four             noise_gaussian.py

Plug-ins add others (accord/plugins.py).

A `Noise` is its parameters; its `window` is everything the sampler and the accountant read, so what is
accounted is what is drawn. Noise of different bins is independent and never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import NOISE, Entropy
from accord.errors import UsageError
from accord.privacy.losses import Losses, replacement
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.number import above, exp
from accord.privacy.window import Window, sample

AUTO = "auto"
_BEYOND = 200
"""Above this ε a table's distance from ideal, at least 2^−256, is worth a δ of 1: e^200 > 2^288."""
KINDS: dict[str, Callable[..., Noise]] = {"geometric": Geometric, "gaussian": Gaussian}
"""Their classes, as events are written (events.py)."""
FOR_PEOPLE = ("geometric", "gaussian")
"""The noises that protect several records of one person at once. They are log-concave, which the proof needs
[MATHS §3.9]. Of these `auto` takes one."""
ONLY_FOR_PEOPLE = "records_per_person above 1 needs the noise 'auto', 'geometric' or 'gaussian'"
MOST_PER_PERSON = 20


class Noise(Protocol):
    """The parameters of a distribution on 0, 1, 2, …: a frozen dataclass of numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __hash__(self) -> int: ...

    @property
    def window(self) -> Window:
        """Its probabilities and their steps."""


def draw(noise: Noise, bins: int, entropy: Entropy) -> NDArray[np.int64]:
    """Fresh dummies for each bin, from the entropy's noise stream.

    *Distribution*: independent, each exactly `noise.window.table`. *Learns*: nobody; the owner adds them to
    its counts, and the partner sees only sums.
    """
    return sample(noise.window, bins, entropy.stream(NOISE))


def losses(noise: Noise, bins_per_record: int, records_per_person: int = 1) -> Losses:
    """The losses of the noisy counts when all records of one person are replaced."""
    if records_per_person > 1 and not isinstance(noise, Geometric | Gaussian):
        raise UsageError(problem=f"{ONLY_FOR_PEOPLE}.")
    return replacement(noise.window, bins_per_record, records_per_person)


def exact_delta(noise: Noise, bins_per_record: int, epsilon: Fraction, records_per_person: int = 1) -> float:
    """δ(ε) of the counts that are released, rounded up; the rounding of the table is in it."""
    table = table_delta(table_distance(noise, bins_per_record, records_per_person), epsilon)
    return min(1.0, losses(noise, bins_per_record, records_per_person).delta(epsilon) + table)


def table_distance(noise: Noise, bins_per_record: int, records_per_person: int = 1) -> Fraction:
    """How far the tables of all the bins that can change are from the ideal, together."""
    return 2 * bins_per_record * records_per_person * noise.window.distance


def table_delta(distance: Fraction, epsilon: Fraction) -> float:
    """What tables at this distance from the ideal add to δ; doubled, which covers the rounding of e^ε."""
    if not distance:
        return 0.0
    if epsilon > _BEYOND:
        return 1.0
    return above(min(Fraction(1), 2 * distance * (1 + Fraction(exp(epsilon)))))
