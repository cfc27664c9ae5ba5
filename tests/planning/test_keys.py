"""The search for keys and caps: what it must earn, and how many records it may leave uncovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord.planning.keys import CAPS, MOST_PASSES, ChosenKey, Key, choose_keys
from accord.planning.wrong_fields import WrongField
from accord.protocols.sharing import Sharers
from accord.side import Side

PAIRS, RECORDS, MANY = 1000, 4096, 10**6


def key(name: str, met: Sequence[int] | range, crowded: int = 0, sharers: int = 2) -> Key:
    """A key that these pairs share, and which this many records share with others."""
    shared = np.isin(np.arange(PAIRS), met)
    counts = np.ones(RECORDS, np.int64)
    counts[:crowded] = sharers
    of = Sharers(counts, None, 1.0)
    return Key((name,), (), shared, dict.fromkeys(Side, of))


def chosen(*keys: Key, covered: float = 0.995, least: float = 0.001) -> dict[str, int]:
    found = choose_keys(keys, MANY, tuple(Side), covered, least)
    return {one.key.fields[0]: one.cap for one in found}


def test_the_least_cap_that_covers_enough_is_taken() -> None:
    assert chosen(key("alone", range(900))) == {"alone": 1}
    assert chosen(key("few", range(900), crowded=10), least=0.01) == {"few": 1}
    assert chosen(key("some", range(900), crowded=40), least=0.01) == {"some": 2}
    assert chosen(key("crowd", range(900), crowded=40, sharers=9)) == {}
    crowd = key("crowd", range(900), crowded=40, sharers=9)
    assert chosen(crowd, covered=0.9, least=0.02) == {"crowd": 1}


def test_coverage_is_that_of_all_passes_together() -> None:
    """Each alone may leave a few uncovered; together they would leave too many, and the other pays for it."""
    both = key("first", range(500), crowded=12), key("second", range(500, 1000), crowded=12)
    assert chosen(*both, least=0.01) == {"first": 1, "second": 1}
    other = np.ones(RECORDS, np.int64)
    other[100:112] = 2
    apart = Key(("second",), (), both[1].met, dict.fromkeys(Side, Sharers(other, None, 1.0)))
    assert sorted(chosen(both[0], apart, least=0.01).values()) == [1, 2]


def test_a_pass_earns_its_least_gain_times_its_cap() -> None:
    first = key("first", range(990))
    assert set(chosen(first, key("more", range(990, 993)), least=0.002)) == {"first", "more"}
    assert set(chosen(first, key("more", range(990, 991)), least=0.002)) == {"first"}
    dear = key("more", range(990, 993), crowded=400, sharers=2)
    assert set(chosen(first, dear, least=0.002)) == {"first"}


def test_of_small_tables_sessions_cost_more_than_caps() -> None:
    coarse = key("coarse", range(1000), crowded=400, sharers=8)
    fine = [key(f"fine {n}", range(250 * n, 250 * n + 250)) for n in range(4)]
    assert set(chosen(coarse, *fine)) == {"coarse"} or len(chosen(coarse, *fine)) == 4
    few = choose_keys([coarse, *fine], 500, tuple(Side), 0.995, 0.001)
    assert [one.key.fields for one in few] == [("coarse",)]


def test_sides_without_a_promise_ask_for_no_coverage_but_lose_what_finds_no_place() -> None:
    crowd = key("crowd", range(900), crowded=RECORDS, sharers=16)
    assert choose_keys([crowd], MANY, (), 0.995, 0.001) == [ChosenKey(crowd, CAPS[-1])]


def test_the_set_survives_a_wrong_column() -> None:
    """One key finds all pairs. A second one is taken only for those with a wrong name."""
    by_name, by_birth = key("name", range(1000)), key("birth", range(990))
    reads = {"name": frozenset({"name"}), "birth": frozenset({"birth"})}
    both = [replace(one, reads=reads[one.fields[0]]) for one in (by_name, by_birth)]
    wrong = WrongField("name", frozenset({"name"}), np.ones(PAIRS, np.bool_))
    alone = choose_keys(both, MANY, tuple(Side), 0.995, 0.001)
    assert [one.key.fields for one in alone] == [("name",)]
    found = choose_keys(both, MANY, tuple(Side), 0.995, 0.001, wrong=[wrong])
    assert {one.key.fields for one in found} >= {("birth",)}


def test_nothing_serves_where_nothing_is_shared() -> None:
    assert chosen(key("none", range(0))) == {}
    assert choose_keys([], MANY, tuple(Side), 0.995) == []


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 400), st.integers(0, 60)), min_size=1, max_size=12)
)
def test_every_set_keeps_its_promises(drawn: list[tuple[int, int, int]]) -> None:
    keys = [key(str(n), range(at, at + long), crowded) for n, (at, long, crowded) in enumerate(drawn)]
    found = choose_keys(keys, MANY, tuple(Side), 0.995, 0.001)
    assert found == choose_keys(keys, MANY, tuple(Side), 0.995, 0.001)
    assert 0 < len(found) <= MOST_PASSES
    assert len({one.key.fields for one in found}) == len(found)
    assert all(one.cap in CAPS for one in found)
    seen = np.zeros(RECORDS, np.bool_)
    for one in found:
        seen |= one.key.sharers[Side.A].over(one.cap)
    assert seen.mean() <= 0.005
