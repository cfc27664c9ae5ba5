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
    parts = b"".join(source.bytes(n) for n in (0, 1, 700, 400, 9_000, 55_434, 65_536, 3, 68_926))
    assert parts == whole
    assert len(whole) == 200_000


def test_seeds_of_different_kinds_and_values_differ() -> None:
    firsts = [Seeded(seed).bytes(16) for seed in (1, 2, "1", b"1", "2")]
    assert len(set(firsts)) == 5


def test_streams_are_apart_from_each_other_and_from_their_source() -> None:
    source = Seeded(1)
    noise, masks, again = source.stream(NOISE), source.stream(MASKS), source.stream(NOISE)
    assert len({noise.bytes(16), masks.bytes(16), source.bytes(16)}) == 3
    assert again.bytes(16) == Seeded(1).stream(NOISE).bytes(16)
    assert Seeded(1).stream("a").stream("b").bytes(9) != Seeded(1).stream("ab").bytes(9)


def test_drawing_from_one_stream_does_not_move_another() -> None:
    source = Seeded(1)
    source.bytes(1000)
    source.stream(MASKS).bytes(1000)
    assert source.stream(NOISE).bytes(16) == Seeded(1).stream(NOISE).bytes(16)


def test_the_system_gives_fresh_bytes() -> None:
    source = System()
    assert len({source.bytes(16), source.bytes(16), source.stream(NOISE).bytes(16)}) == 3


def test_a_spent_source_raises_from_any_stream() -> None:
    with pytest.raises(SpentError):
        Spent().stream(NOISE).bytes(1)


def test_words_are_little_endian_on_every_machine() -> None:
    assert words(Listed(1, 2**63), 2).tolist() == [1, 2**63]


def test_integers_below_a_bound_reject_what_would_bias_them() -> None:
    last_multiple = 2**64 - 2**64 % 10
    drawn = below(Listed(last_multiple - 1, last_multiple, 2**64 - 1, 2**64 - 1, 13, 5), 10, 3)
    assert drawn.tolist() == [9, 5, 3]


def test_a_bound_that_divides_the_words_rejects_none() -> None:
    assert below(Listed(2**64 - 1), 2**64, 1).tolist() == [2**64 - 1]
    assert below(Listed(2**64 - 1), 2**32, 1).tolist() == [2**32 - 1]
    assert below(Listed(5), 1, 1).tolist() == [0]


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_impossible_bounds_are_refused(bound: int) -> None:
    with pytest.raises(UsageError):
        below(Seeded(1), bound, 1)


def test_integers_below_a_bound_are_uniform() -> None:
    from scipy.stats import chisquare

    counts = np.bincount(below(Seeded(3), 7, 70_000).astype(np.int64), minlength=7)
    assert chisquare(counts).pvalue > ALPHA


def test_every_order_is_equally_likely() -> None:
    from scipy.stats import chisquare

    source = Seeded(4)
    seen = Counter(tuple(permutation(source, 4).tolist()) for _ in range(12_000))
    assert len(seen) == factorial(4)
    assert chisquare(list(seen.values())).pvalue > ALPHA


def test_equal_keys_are_drawn_again_and_never_settled_by_position() -> None:
    assert permutation(Listed(5, 5, 9, 8), 2).tolist() == [1, 0]


def test_an_arrangement_groups_bins_and_shuffles_each_of_them() -> None:
    from scipy.stats import chisquare

    bins = np.array([2, 0, 1, 0, 2, 1, 0], dtype=np.int64)
    source = Seeded(5)
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(2400):
        order = arrangement(source, bins)
        assert bins[order].tolist() == [0, 0, 0, 1, 1, 2, 2]
        assert sorted(order.tolist()) == list(range(7))
        seen[tuple(order.tolist())] += 1
    assert len(seen) == factorial(3) * 2 * 2
    assert chisquare(list(seen.values())).pvalue > ALPHA


def test_equal_keys_in_different_bins_are_no_tie() -> None:
    assert arrangement(Listed(5, 5), np.array([1, 0], dtype=np.int64)).tolist() == [1, 0]


def test_nothing_has_one_order() -> None:
    assert permutation(Seeded(1), 0).tolist() == []


# -- what follows from a key ------------------------------------------------------------------------------


def test_derived_bytes_follow_from_the_key_alone() -> None:
    one, two = Derived(bytes(32)), Derived(bytes(32))
    assert one.bytes(100) == two.bytes(40) + two.bytes(60)
    assert one.bytes(16) != Derived(b"1" * 32).bytes(116)[100:]
    # A known answer, the same on every machine.
    assert Derived(bytes(32)).bytes(8).hex() == "665bcf211fa5c339"
    assert Derived(bytes(32)).stream(MASKS).bytes(8).hex() == "eff5f77ee4464f0f"


def test_no_derived_stream_is_given_twice() -> None:
    """Unlike those of a fixed seed: masks that are asked for twice must not repeat."""
    one, two = Derived(bytes(32)), Derived(bytes(32))
    found = [one.stream(name).bytes(16) for name in (MASKS, MASKS, NOISE, MASKS)]
    assert len({*found, one.bytes(16)}) == 5
    assert found == [two.stream(name).bytes(16) for name in (MASKS, MASKS, NOISE, MASKS)]


def test_a_derived_source_hides_its_key_and_takes_no_short_one() -> None:
    assert repr(Derived(b"secret--" * 4)) == "Derived()"
    with pytest.raises(ValueError, match="32 bytes"):
        Derived(b"short")
