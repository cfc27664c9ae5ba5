"""Series that hide people, by enumeration: of whatever history, all runs tell what one release tells."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.side import Side
from accord.simulation.series import SeriesSide
from accord.table.layout import Layout
from tests.simulation.test_series_views import two_bins

NOISE = np.array([0.1, 0.3, 0.4, 0.2])
"""Log-concave, as noise for people must be."""
BINS = 4
"""Two of either batch."""
MOST = 2
Floats = NDArray[np.float64]
Bins = tuple[int | None, ...]
"""The bin of a record in each of two runs; None where it is not there."""


def agreement(most: int) -> Agreement:
    plain = two_bins().model_dump(mode="json")
    for side in "AB":
        plain["protocol"][side]["records_per_person"] = most
    plain["series"]["versions"] = 2
    return Agreement.model_validate(plain)


def table(agreed: Agreement, bins: dict[str, int]) -> Records:
    """Records of one person in these bins, and one of somebody else."""
    rows = {
        "id": [*bins, "other"],
        "who": [*("ann" for _ in bins), "bea"],
        "x": [*bins.values(), 0],
        "y": [12 for _ in (*bins, "other")],
    }
    own = agreed.fields, agreed.salt, ("x", "y"), Layout(person="who")
    return load_records(pa.table(rows), *own, MOST, Loading(keep_people=True))


def counts_of(agreed: Agreement, history: tuple[Bins, Bins]) -> tuple[int, ...]:
    """The true counts of both batches, by the program."""
    side, none = SeriesSide(agreed, Side.A), np.zeros(2, np.int64)
    for run in range(2):
        here = {name: bins[run] for name, bins in zip("st", history, strict=True)}
        there = {name: place for name, place in here.items() if place is not None}
        side.take_part(table(agreed, there), run + 1, Seeded(1), none)
    return tuple(side.counts.tolist())


def all_counts(most: int) -> set[tuple[int, ...]]:
    """Of every history of two records of one person: there or not, in either bin, in either run."""
    agreed, one = agreement(most), list(product((None, 0, 1), repeat=2))
    return {counts_of(agreed, (first, second)) for first, second in product(one, one)}


def distribution(counts: tuple[int, ...]) -> Floats:
    """Of the noisy counts, over all bins."""
    found = np.ones(())
    for count in counts:
        mass = np.zeros(len(NOISE) + 6)
        mass[count : count + len(NOISE)] = NOISE
        found = np.multiply.outer(found, mass)
    return found


def delta(one: Floats, other: Floats, epsilon: float) -> float:
    return float(np.maximum(0.0, one - exp(epsilon) * other).sum())


def worst(found: set[tuple[int, ...]], epsilon: float) -> float:
    every = [distribution(counts) for counts in sorted(found)]
    return max(delta(one, other, epsilon) for one, other in product(every, every))


def one_release(epsilon: float) -> float:
    """All records of a person in one bin, or in another, of a single batch."""
    here, there = distribution((MOST, 0)), distribution((0, MOST))
    return delta(here, there, epsilon)


def test_a_whole_series_tells_of_a_person_what_one_release_tells() -> None:
    found = all_counts(MOST)
    assert max(map(sum, found)) == MOST + 1, "one of them is somebody else's"
    for epsilon in (0.2, 0.5, 1.0, 2.0):
        assert worst(found, epsilon) == pytest.approx(one_release(epsilon), abs=1e-12)


def test_without_the_limit_it_would_tell_more() -> None:
    """The test above can fail: a person whose two records change in the second run has four versions."""
    found = all_counts(2 * MOST)
    assert max(map(sum, found)) == 2 * MOST + 1
    assert worst(found, 1.0) > one_release(1.0) + 0.01
