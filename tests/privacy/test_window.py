"""Windows: moves are sums of steps, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.noise_laplace import Laplace
from accord.privacy.window import Steps, Window, reach

WINDOWS = [
    Geometric(5, Fraction(1, 3), Fraction(1, 7), 3).window,
    Geometric(0, Fraction(1), Fraction(1, 2), 4).window,
    Gaussian(6, Fraction(7, 3), 9).window,
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


def test_a_window_that_is_not_log_concave_has_no_such_line() -> None:
    with pytest.raises(ValueError, match="no line"):
        Laplace(3, Fraction(1, 3), 4).window.moves(2)


def test_reach() -> None:
    assert reach(Fraction(1, 2)) == 64
    assert reach(Fraction(1, 2**128)) == 109
    assert reach(Fraction(1, 2), Fraction(5, 2)) == 67
