"""Covered records of routed: every view of a partner, enumerated, over one run and over two [MATHS §10.4].

In a pass the asker learns which records of the lister it matched, with their ranks. The lister learns no
ranks. So the view is a function of the places, and `places` enumerates them: the program's own `placing`
under every outcome of its coins, for every order of priorities. An order holds for all runs of an
installation. Passes have orders and ranks of their own, so it is enough that views of one pass are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from accord.entropy import Entropy, Seeded
from accord.protocols import routing
from accord.protocols.routed_pairs import PairPasses
from accord.secure.ideal import IdealEngine
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.test_routing import keys_of
from tests.protocols.worlds import Points, holds, one_to_one, routed

Keys = tuple[int | None, ...]
"""Of one table in one pass; the last record is the one that may be another, and matches nothing."""
Placed = frozenset[tuple[int, int]]
"""(record, rank)"""
Chances = dict[Any, Fraction]
Strategy = Callable[[Placed], set[int]]
"""Which records a partner matches in its second run, by what it saw in the first."""

OTHERS = 3
ALL = set(range(OTHERS))
CAPS = (1, 2)


@cache
def places(keys: Keys, cap: int, order: tuple[int, ...]) -> dict[Placed, Fraction]:
    """All that a run's coins can come to, with its probability, for priorities in this order."""
    found: dict[Placed, Fraction] = defaultdict(Fraction)
    tape, bounds, ranked = list[int](), list[int](), np.array(order, np.uint64)

    def below(entropy: Entropy, bound: int, count: int) -> NDArray[np.uint64]:
        bounds.extend([bound] * count)
        tape.extend([0] * (len(bounds) - len(tape)))
        return np.array(tape[len(bounds) - count : len(bounds)], np.uint64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "below", below)
        while True:
            bounds.clear()
            made = routing.placing(keys_of(*keys), cap, Seeded(1), ranked)
            place = frozenset(zip(made.record.tolist(), made.rank.tolist(), strict=True))
            found[place] += Fraction(1, prod(bounds))
            while tape and tape[-1] == bounds[len(tape) - 1] - 1:
                tape.pop()
            if not tape:
                return dict(found)
            tape[-1] += 1


def seen(placed: Placed, matched: set[int]) -> Placed:
    """What a partner sees of these places if it matches these records."""
    return frozenset(one for one in placed if one[0] in matched)


def one_run(keys: Keys, cap: int, matched: set[int]) -> Chances:
    """Of each view its probability."""
    return two_runs(keys, keys, cap, matched, lambda first: set())


def two_runs(first: Keys, second: Keys, cap: int, matched: set[int], strategy: Strategy) -> Chances:
    """The same for both views of two runs, with a table each; one order of priorities serves both."""
    found: Chances = defaultdict(Fraction)
    orders = list(permutations(range(len(first))))
    for order in orders:
        for before, p in places(first, cap, order).items():
            view = seen(before, matched)
            for after, q in places(second, cap, order).items():
                found[view, seen(after, strategy(view))] += p * q / len(orders)
    return dict(found)


def apart(p: Chances, q: Chances) -> Fraction:
    """The δ between two distributions, at ε = 0."""
    return sum((max(Fraction(0), mass - q.get(view, Fraction(0))) for view, mass in p.items()), Fraction(0))


def is_covered(keys: Keys, cap: int) -> bool:
    """The last record."""
    return keys[-1] is None or keys.count(keys[-1]) <= cap


def tables(cap: int, covered: bool) -> Iterator[tuple[Keys, Keys]]:
    """Every table, but for the names of its two keys, and with an inert row in place of its last record."""
    for *others, last in product((0, 1, None), repeat=OTHERS + 1):
        keys = (*others, last)
        renamed = next(key for key in (*keys, 0) if key is not None)
        if last is not None and renamed == 0 and is_covered(keys, cap) == covered:
            yield keys, (*others, None)


STRATEGIES: dict[str, Strategy] = {
    "all": lambda first: ALL,
    "what was missing": lambda first: ALL - {record for record, _ in first},
    "what was seen": lambda first: {record for record, _ in first},
    "one, by a rank": lambda first: {rank for _, rank in first} & ALL,
}


@pytest.mark.parametrize("cap", CAPS)
def test_every_view_of_covered_records_is_as_likely_without_them(cap: int) -> None:
    count = 0
    for keys, inert in tables(cap, covered=True):
        assert one_run(keys, cap, ALL) == one_run(inert, cap, ALL)
        count += 1
    assert count


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("cap", CAPS)
def test_so_are_the_views_of_two_runs_with_a_partner_that_adapts(cap: int, name: str) -> None:
    """The record may be another in the second run, or be gone."""
    for keys, inert in tables(cap, covered=True):
        plain = two_runs(inert, inert, cap, ALL, STRATEGIES[name])
        for moved in ((*keys[:-1], last) for last in (0, 1, None)):
            if is_covered(moved, cap):
                assert two_runs(keys, moved, cap, ALL, STRATEGIES[name]) == plain


@pytest.mark.parametrize("cap", [*CAPS, OTHERS])
def test_a_record_that_is_not_covered_is_seen_by_what_it_displaces(cap: int) -> None:
    """As soon as another record has its key and matches; by exactly as much as [MATHS §10.4] says."""
    for keys, inert in tables(cap, covered=False):
        assert apart(one_run(inert, cap, ALL), one_run(keys, cap, ALL)) > 0
    full: Keys = (*[0] * cap, *[None] * (OTHERS - cap), 0)
    inert = (*full[:-1], None)
    for matched in range(1, cap + 1):
        told = apart(one_run(inert, cap, set(range(matched))), one_run(full, cap, set(range(matched))))
        assert told == Fraction(matched, cap + 1)


@pytest.mark.parametrize("cap", [*CAPS, OTHERS])
def test_a_second_run_tells_no_more_of_who_is_left_out(cap: int) -> None:
    """With draws of its own it would."""
    full: Keys = (*[0] * cap, *[None] * (OTHERS - cap), 0)
    inert, matched = (*full[:-1], None), {0}
    fixed = apart(
        two_runs(inert, inert, cap, matched, lambda first: matched),
        two_runs(full, full, cap, matched, lambda first: matched),
    )
    assert fixed == Fraction(1, cap + 1)
    once = [one_run(keys, cap, matched) for keys in (inert, full)]
    anew = [{(v, w): p * q for v, p in chances.items() for w, q in chances.items()} for chances in once]
    assert apart(anew[0], anew[1]) > fixed


def cascade(passes: tuple[Keys, ...], cap: int) -> Chances:
    """Of each view of a cascade its probability, with the same order of priorities in all passes: records
    that match are seen once, and take no part later."""
    found: Chances = defaultdict(Fraction)
    orders = list(permutations(range(len(passes[0]))))
    for order in orders:
        ways: Chances = {(): Fraction(1, len(orders))}
        for keys in passes:
            further: Chances = defaultdict(Fraction)
            for view, p in ways.items():
                gone = {record for some in view for record, _ in some}
                for place, q in places(keys, cap, order).items():
                    further[*view, seen(place, ALL - gone)] += p * q
            ways = further
        for view, p in ways.items():
            found[view] += p
    return dict(found)


@pytest.mark.parametrize("cap", CAPS)
def test_every_view_of_a_cascade_is_as_likely_without_covered_records(cap: int) -> None:
    """Over two passes, in both of which the last record is covered."""
    single = [keys for keys, _ in tables(cap, covered=True)]
    for some in np.random.default_rng(cap).choice(len(single), (20, 2)).tolist():
        keys = tuple(single[n] for n in some)
        assert cascade(keys, cap) == cascade(tuple((*one[:-1], None) for one in keys), cap)


def test_orders_of_priorities_are_all_enumerated() -> None:
    """Every set of `cap` records is placed as often as any other, and every rank."""
    keys: Keys = (0, 0, 0, 0)
    for cap in (*CAPS, OTHERS):
        chances = one_run(keys, cap, {*ALL, OTHERS})
        ways = factorial(4) // factorial(4 - cap)
        assert len(chances) == ways
        assert set(chances.values()) == {Fraction(1, ways)}


@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("asker", Side)
@pytest.mark.parametrize("seed", range(4))
def test_the_program_shows_the_asker_what_the_places_say(
    seed: int, asker: Side, cascade: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each pass those that both have a place for: nothing of what a full key left out, and in a cascade
    nothing of records that matched before."""
    rng = np.random.default_rng(seed)
    a, b = ([tuple(p) for p in rng.integers(4, 7, (8, 2)).tolist()] for _ in range(2))
    sides: dict[bool, PairPasses] = {}
    make = PairPasses.__init__

    def noted(self: PairPasses, *given: Any) -> None:
        make(self, *given)
        sides[self.asks] = self

    monkeypatch.setattr(PairPasses, "__init__", noted)
    agreed = routed("x", "y", caps=[1, 2], asks=asker.value)
    agreed = one_to_one(agreed) if cascade else agreed
    worlds.link(agreed, a, b, seed, engine=IdealEngine())
    asks, lists = sides[True], sides[False]
    names = {token.tobytes(): record for record, token in enumerate(lists.tokens)}
    rows: dict[bool, Points] = {True: a if asker is Side.A else b, False: b if asker is Side.A else a}
    assert asks.dummies + lists.dummies > 0, "some key is full"
    gone: dict[bool, set[int]] = {True: set(), False: set()}
    for number, taken in enumerate(asks._taken):
        own, other = asks.placings[number], lists.placings[number]
        assert not gone[True] & set(own.record.tolist())
        assert not gone[False] & set(other.record.tolist())
        told = [names[token.tobytes()] for token in taken.token]
        expected = {
            (i, j)
            for i, key in zip(own.record.tolist(), own.key.tolist(), strict=True)
            for j, with_key in zip(other.record.tolist(), other.key.tolist(), strict=True)
            if key == with_key and holds(rows[True][i], rows[False][j])
        }
        assert set(zip(taken.record.tolist(), told, strict=True)) == expected
        if cascade:
            gone = {True: gone[True] | set(taken.record.tolist()), False: gone[False] | set(told)}
