"""The door for randomness: streams that are apart, integers and orders that are exactly uniform."""

from __future__ import annotations

from collections import Counter
from math import factorial

import numpy as np
import pytest

from accord.entropy import (
    MASKS,
    NOISE,
    Derived,
    Entropy,
    Seeded,
    System,
    arrangement,
    below,
    permutation,
    words,
)
from accord.errors import UsageError
from tests.spent import Spent, SpentError

ALPHA = 1e-6
"""The rate of false alarms of each statistical test."""


class Listed:
    """Gives the words it was given, in order, and nothing else."""

    def __init__(self, *listed: int) -> None:
        self._left = b"".join(word.to_bytes(8, "little") for word in listed)

    def bytes(self, count: int) -> bytes:
        assert len(self._left) >= count, "more was drawn than expected"
        given, self._left = self._left[:count], self._left[count:]
        return given

    def stream(self, name: str) -> Entropy:
        return self


def test_a_seed_gives_the_same_bytes_however_they_are_read() -> None:
    whole = Seeded(7).bytes(200_000)
    source = Seeded(7)
    parts = [source.bytes(n) for n in (0, 1, 700, 400, 9_000, 55_434, 65_536, 3, 68_926)]
    assert b"".join(parts) == whole
    assert len(whole) == 200_000
    assert len({Seeded(seed).bytes(16) for seed in (1, 2, "1", b"1", "2")}) == 5


def test_streams_are_apart_from_each_other_and_from_their_source() -> None:
    source = Seeded(1)
    noise, masks = source.stream(NOISE), source.stream(MASKS)
    first = noise.bytes(16)
    assert len({first, masks.bytes(1000)[:16], source.bytes(1000)[:16]}) == 3
    assert source.stream(NOISE).bytes(16) == Seeded(1).stream(NOISE).bytes(16) == first, (
        "no draw moves another"
    )
    assert Seeded(1).stream("a").stream("b").bytes(9) != Seeded(1).stream("ab").bytes(9)
    system = System()
    assert len({system.bytes(16), system.bytes(16), system.stream(NOISE).bytes(16)}) == 3
    with pytest.raises(SpentError):
        Spent().stream(NOISE).bytes(1)


def test_integers_below_a_bound_reject_what_would_bias_them() -> None:
    assert words(Listed(1, 2**63), 2).tolist() == [1, 2**63], "little-endian on every machine"
    last_multiple = 2**64 - 2**64 % 10
    drawn = below(Listed(last_multiple - 1, last_multiple, 2**64 - 1, 2**64 - 1, 13, 5), 10, 3)
    assert drawn.tolist() == [9, 5, 3]
    for word, bound, found in ((2**64 - 1, 2**64, 2**64 - 1), (2**64 - 1, 2**32, 2**32 - 1), (5, 1, 0)):
        assert below(Listed(word), bound, 1).tolist() == [found], "a bound that divides rejects none"
    for bound in (0, -1, 2**64 + 1):
        with pytest.raises(UsageError):
            below(Seeded(1), bound, 1)


def test_integers_and_orders_are_uniform() -> None:
    """Those of an arrangement within each bin, and bins in their order."""
    from scipy.stats import chisquare

    counts = np.bincount(below(Seeded(3), 7, 70_000).astype(np.int64), minlength=7)
    assert chisquare(counts).pvalue > ALPHA
    source = Seeded(4)
    orders = Counter(tuple(permutation(source, 4).tolist()) for _ in range(6_000))
    bins = np.array([2, 0, 1, 0, 2, 1, 0], dtype=np.int64)
    grouped = Counter(tuple(arrangement(source, bins).tolist()) for _ in range(2_400))
    for seen, most in ((orders, factorial(4)), (grouped, factorial(3) * 2 * 2)):
        assert len(seen) == most
        assert chisquare(list(seen.values())).pvalue > ALPHA
    for order in grouped:
        assert bins[list(order)].tolist() == [0, 0, 0, 1, 1, 2, 2]
        assert sorted(order) == list(range(7))


def test_equal_keys_are_drawn_again_and_never_settled_by_position() -> None:
    assert permutation(Listed(5, 5, 9, 8), 2).tolist() == [1, 0]
    assert arrangement(Listed(5, 5), np.array([1, 0], dtype=np.int64)).tolist() == [1, 0], (
        "no tie of two bins"
    )
    assert permutation(Seeded(1), 0).tolist() == []


def test_derived_bytes_follow_from_the_key_alone_and_no_stream_is_given_twice() -> None:
    """Unlike those of a fixed seed: masks that are asked for twice must not repeat."""
    one, two = Derived(bytes(32)), Derived(bytes(32))
    assert one.bytes(100) == two.bytes(40) + two.bytes(60)
    assert one.bytes(16) != Derived(b"1" * 32).bytes(116)[100:]
    # A known answer, the same on every machine.
    assert Derived(bytes(32)).bytes(8).hex() == "665bcf211fa5c339"
    assert Derived(bytes(32)).stream(MASKS).bytes(8).hex() == "eff5f77ee4464f0f"
    found = [one.stream(name).bytes(16) for name in (MASKS, MASKS, NOISE, MASKS)]
    assert len({*found, one.bytes(16)}) == 5
    assert found == [two.stream(name).bytes(16) for name in (MASKS, MASKS, NOISE, MASKS)]
    assert repr(Derived(b"secret--" * 4)) == "Derived()"
    with pytest.raises(ValueError):
        Derived(b"short")
