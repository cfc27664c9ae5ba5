"""Two processes come to the result of a simulation; a slowed link changes nothing but time."""

from __future__ import annotations

import pytest

from accord.network import Network
from accord.simulation.pair import simulate
from reproduction.parties import link_once
from reproduction.settings import laplace
from tests.reproduction.worlds import lab

SLOWED = Network(megabits=1_000, milliseconds=2)


@pytest.mark.slow
@pytest.mark.parametrize("again", [(), (SLOWED,)], ids=["as it is", "slowed"])
def test_two_processes_find_what_a_simulation_finds(again: tuple[Network, ...]) -> None:
    made, agreed = lab().tables("ab", 1, 40)
    settings = laplace(agreed, "1.6", noise="geometric")
    expected = simulate(made.a, made.b, settings, seed=1)
    fast, *others = (link_once(made, settings, link, seed=1) for link in (None, *again))
    assert fast.matches == expected.matches
    # The noise is that of the simulation, so a count of comparisons is that of the timed linkage.
    assert 0 < fast.comparisons == expected.comparisons < fast.bytes
    for slow in others:
        # The same seed, the same comparisons and messages.
        assert (slow.matches, slow.comparisons, slow.bytes) == (fast.matches, fast.comparisons, fast.bytes)
