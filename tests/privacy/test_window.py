"""Windows: moves are sums of steps, exactly; the sampler is right at every boundary (χ², α = 1e-6 each)."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from accord.entropy import NOISE, Entropy, Seeded
from accord.privacy.calibration import as_claimed
from accord.privacy.noise import Noise, draw
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.window import Steps, Window, reach, sample
from tests.spent import Spent, SpentError

WINDOWS = [
    Geometric(5, Fraction(1, 3), Fraction(1, 7), 3).window,
    Geometric(0, Fraction(1), Fraction(1, 2), 4).window,
    Gaussian(6, Fraction(7, 3), 9).window,
]
ALPHA = 1e-6
DRAWS = 100_000

SMALL = Geometric(3, Fraction(1), Fraction(1, 2), 64)
NOISES: list[Noise] = [
    SMALL,
    Geometric(0, Fraction(1), Fraction(1, 2), 64),
    Gaussian(10, Fraction(25, 2), 64),
    *(as_claimed(name, "0.4", "1e-5", 1, 1000).noise for name in ("geometric", "gaussian")),
    as_claimed("gaussian", "1.6", "1e-5", 4, 1000).noise,
]


@pytest.mark.parametrize("window", WINDOWS, ids=["geometric", "one slope", "gaussian"])
@pytest.mark.parametrize("by", [1, 2, 3, 7])
def test_a_move_is_the_sum_of_its_steps(window: Window, by: int) -> None:
    def values(units: tuple[Fraction, ...], places: Steps) -> list[Fraction]:
        rows = [zip(place, units, strict=True) for place in places]
        return [sum((int(n) * unit for n, unit in row), Fraction(0)) for row in rows]

    single = values(window.units, window.steps)
    units, places = window.moves(by)
    assert values(units, places) == [sum(single[x : x + by]) for x in range(window.cap - by + 1)]
    assert units[0] >= 0


def test_several_steps_lie_on_as_short_a_line_as_can_be() -> None:
    for window in WINDOWS[::2]:
        numbers = np.unique(window.moves(4)[1][:, 0])
        assert np.array_equal(np.diff(numbers), np.ones(len(numbers) - 1))


def test_one_step_is_left_as_it_is() -> None:
    window = WINDOWS[0]
    units, places = window.moves(1)
    assert units is window.units
    assert places is window.steps


def test_reach() -> None:
    assert reach(Fraction(1, 2)) == 64
    assert reach(Fraction(1, 2**128)) == 109
    assert reach(Fraction(1, 2), Fraction(5, 2)) == 67


class Fixed:
    """One number of 256 bits, most significant word first, the rest as little-endian bytes."""

    def __init__(self, number: int) -> None:
        self._parts = [
            (number >> 192).to_bytes(8, "little"),
            (number & (1 << 192) - 1).to_bytes(24, "little"),
        ]

    def bytes(self, count: int) -> bytes:
        part = self._parts.pop(0)
        assert len(part) == count
        return part

    def stream(self, name: str) -> Entropy:
        return self


@pytest.mark.parametrize("noise", [SMALL, Gaussian(6, Fraction(4), 64)], ids=repr)
def test_every_boundary_of_the_table_falls_on_its_right_side(noise: Noise) -> None:
    cumulative = list(accumulate(noise.window.table))
    assert cumulative[-1] == 2**256
    numbers = {n for c in cumulative for n in (c - 1, c, c + 1) if 0 <= n < 2**256}
    for number in numbers | {0, 2**256 - 1, (cumulative[2] >> 192) << 192}:
        assert sample(noise.window, 1, Fixed(number))[0] == bisect_right(cumulative, number)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_table_is_the_ideal_distribution_within_its_stated_distance(noise: Noise) -> None:
    window = noise.window
    gaps = [
        abs(Fraction(t, 2**256) - Fraction(p))
        for t, p in zip(window.table, window.probabilities, strict=True)
    ]
    assert sum(gaps) / 2 <= window.distance < Fraction(1, 2**230)
    assert min(window.table) >= 0
    # Away from the middle every entry is rounded down, so no unlikely outcome is made likelier.
    others = [x for x in range(window.cap + 1) if x != window.middle]
    assert all(window.table[x] <= Fraction(window.probabilities[x]) * 2**256 for x in others)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_draws_follow_the_table(noise: Noise) -> None:
    from scipy.stats import chisquare

    drawn = draw(noise, DRAWS, Seeded(11))
    expected = np.array([float(Fraction(t, 2**256)) for t in noise.window.table]) * DRAWS
    seen = np.bincount(drawn, minlength=len(expected)).astype(np.float64)
    kept = expected >= 10
    observed, target = (
        np.append(seen[kept], seen[~kept].sum()),
        np.append(expected[kept], expected[~kept].sum()),
    )
    if target[-1] < 10:
        observed[-2:-1] += observed[-1]
        target[-2:-1] += target[-1]
        observed, target = observed[:-1], target[:-1]
    assert chisquare(observed, target * observed.sum() / target.sum()).pvalue > ALPHA


def test_a_wrong_table_would_be_noticed() -> None:
    from scipy.stats import chisquare

    drawn = draw(SMALL, DRAWS, Seeded(11))
    other = Geometric(3, Fraction(1), Fraction(52, 100), 64).window
    expected = np.array([float(Fraction(t, 2**256)) for t in other.table[:15]]) * DRAWS
    seen = np.bincount(drawn, minlength=15)[:15].astype(np.float64)
    assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue < ALPHA


def test_noise_comes_from_the_noise_stream_alone() -> None:
    assert draw(SMALL, 50, Seeded(1)).tolist() == sample(SMALL.window, 50, Seeded(1).stream(NOISE)).tolist()
    with pytest.raises(SpentError):
        draw(SMALL, 1, Spent())


def test_a_hundred_thousand_bins_of_a_wide_noise_are_drawn() -> None:
    wide = as_claimed("geometric", "0.1", "2^-40").noise
    drawn = draw(wide, 100_000, Seeded(2))
    assert len(drawn) == 100_000
    assert drawn.min() >= 0
    assert abs(drawn.mean() - float(wide.window.mean)) < 6 * wide.window.deviation / 100_000**0.5
