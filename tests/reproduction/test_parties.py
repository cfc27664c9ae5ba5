"""Two processes come to the result of a simulation; a slowed link changes nothing but time."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.party import Buffer
from accord.simulation import simulate
from reproduction.parties import Link, Slowed, link_once
from reproduction.settings import laplace
from tests.reproduction.worlds import lab

SLOWED = Link(megabits=1_000, milliseconds=1)


@pytest.mark.parametrize(
    "again", [(), pytest.param((SLOWED,), marks=pytest.mark.slow)], ids=["as it is", "slowed"]
)
def test_two_processes_find_what_a_simulation_finds(again: tuple[Link, ...]) -> None:
    made, agreed = lab().tables("ab", 1, 40)
    settings = laplace(agreed, "1.6", noise="geometric")
    expected = simulate(made.a, made.b, settings, seed=1)
    fast, *others = (link_once(made, settings, link, seed=1) for link in (Link(), *again))
    assert fast.matches == expected.matches
    # The noise is that of the simulation, so a count of comparisons is that of the timed linkage.
    assert 0 < fast.comparisons == expected.comparisons < fast.bytes
    for slow in others:
        # The same seed, the same comparisons and messages.
        assert (slow.matches, slow.comparisons, slow.bytes) == (fast.matches, fast.comparisons, fast.bytes)


class Kept:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, buffer: Buffer) -> None:
        self.sent.append(bytes(buffer))

    def receive(self, size: int, look: object = None) -> Buffer:
        return memoryview(bytes(size))


def test_a_slowed_channel_keeps_the_order_and_sends_all_before_it_closes() -> None:
    kept = Kept()
    channel = Slowed(kept, Link(megabits=100, milliseconds=2))
    messages = [np.full(size, size % 251, np.uint8).data for size in (1, 1_000, 0, 7)]
    for message in messages:
        channel.send(message)
    channel.close()
    assert kept.sent == [bytes(m) for m in messages]
    assert len(channel.receive(5)) == 5
