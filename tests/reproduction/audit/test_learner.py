"""Learning: what differs between two worlds is found, alone or in combination, with noise around it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from reproduction.audit.learner import Event, learn

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int], Floats]


def noise(rng: np.random.Generator, count: int, width: int = 30) -> Floats:
    return rng.integers(0, 256, (count, width)).astype(np.float64)


def shifted(by: float) -> World:
    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = noise(rng, count)
        rows[:, 7] = rng.normal(by, 1, count)
        return rows

    return world


def combined(agree: bool) -> World:
    """Two numbers that are uniform each, and equal in one world only."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = noise(rng, count)
        rows[:, 3] = rng.integers(0, 2, count)
        rows[:, 11] = rows[:, 3] if agree else 1 - rows[:, 3]
        return rows

    return world


def spread(by: float) -> World:
    """Eight numbers that each tell a little."""

    def world(rng: np.random.Generator, count: int) -> Floats:
        rows = noise(rng, count)
        rows[:, :8] = rng.normal(by, 1, (count, 8))
        return rows

    return world


def learnt(p: World, q: World, count: int = 200) -> tuple[Event, float, float]:
    rng = np.random.default_rng(1)
    parts = [(p(rng, count), q(rng, count)) for _ in range(3)]
    event = learn(parts[0], parts[1], 0.0, 3.0)
    shares = [float(event.holds(world).mean()) for world in parts[2]]
    return event, *(reversed(shares) if event.turned else shares)


def test_a_shift_is_found() -> None:
    event, p, q = learnt(shifted(0), shifted(3))
    assert event.columns[0] == 7
    assert p > 0.5 > 0.1 > q


def test_what_shows_only_in_combination_is_found() -> None:
    event, p, q = learnt(combined(True), combined(False))
    assert {3, 11} <= set(event.columns)
    assert (p, q) == (1.0, 0.0)


def test_many_small_differences_are_added_up() -> None:
    _, p, q = learnt(spread(0), spread(0.6), 400)
    assert p > 4 * q


@pytest.mark.parametrize("constant", [True, False])
def test_nothing_is_made_of_nothing(constant: bool) -> None:
    def world(rng: np.random.Generator, count: int) -> Floats:
        return np.ones((count, 4)) if constant else noise(rng, count)

    _, p, q = learnt(world, world)
    assert p == pytest.approx(q, abs=0.2)
