"""What the page on mathematics says of other definitions, and of mechanisms that are not built.

f-neighbours by their definition, over all small tables; what local mechanisms can do; windows of ranks.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import exp, hypot, log
from pathlib import Path

import numpy as np
import pytest

from accord.privacy.calibration import calibrate
from accord.privacy.noise import exact_delta
from reproduction.places import HEIGHT, THETA, WIDTH, generate_places

PAGE = (Path(__file__).parents[2] / "docs" / "maths.md").read_text()

# -- f-neighbours [MATHS §1.8, §1.9] -----------------------------------------------------------------------

Table = tuple[int, ...]
Function = Callable[[Table], Hashable]
PARTNER = {0, 1}


def tables(values: int, most: int) -> list[Table]:
    """All multisets."""
    return [t for size in range(most + 1) for t in combinations_with_replacement(range(values), size)]


def copies(table: Table) -> frozenset[tuple[int, int]]:
    """A multiset as a set: the i-th copy of a value is an element, so differences of sets are differences
    of multisets."""
    return frozenset((v, i) for v, often in Counter(table).items() for i in range(often))


def apart(one: Table, other: Table) -> frozenset[tuple[int, int]]:
    return copies(one) ^ copies(other)


def neighbours(f: Function, known: list[Table]) -> dict[Table, list[Table]]:
    """By the definition: equal output, and no third table in between."""
    classes: dict[Hashable, list[Table]] = {}
    for table in known:
        classes.setdefault(f(table), []).append(table)
    found = {}
    for table in known:
        differing = {other: apart(table, other) for other in classes[f(table)] if other != table}
        found[table] = [o for o, here in differing.items() if not any(x < here for x in differing.values())]
    return found


def steps(near: dict[Table, list[Table]], start: Table) -> dict[Table, int]:
    """How far each table is that can be reached."""
    far, edge = {start: 0}, [start]
    while edge:
        edge = [n for t in edge for n in near[t] if n not in far and far.setdefault(n, far[t] + 1)]
    return far


def linkage(table: Table) -> Hashable:
    """Sizes and matching records, under equality."""
    return len(table), tuple(v for v in table if v in PARTNER)


def is_replacement(one: Table, other: Table) -> bool:
    gone, come = (Counter(x) - Counter(y) for x, y in ((one, other), (other, one)))
    alone = gone.total() == come.total() == 1
    return alone and not PARTNER & {*gone, *come}


def test_the_neighbours_of_a_linkage_are_replacements_of_one_record_that_matches_nothing() -> None:
    known = tables(5, 3)
    for table, near in neighbours(linkage, known).items():
        assert set(near) == {other for other in known if is_replacement(table, other)}


def test_tables_with_the_same_linkage_are_as_many_steps_apart_as_records_differ() -> None:
    known = tables(5, 3)
    near = neighbours(linkage, known)
    for table in known:
        alike = [other for other in known if linkage(other) == linkage(table)]
        assert steps(near, table) == {other: len(apart(table, other)) // 2 for other in alike}


@pytest.mark.parametrize("seed", range(8))
def test_for_any_function_tables_with_equal_output_are_joined(seed: int) -> None:
    known = tables(3, 3)
    drawn = random.Random(seed)
    said = {table: drawn.randrange(4) for table in known}
    near = neighbours(said.__getitem__, known)
    assert all(table in near[other] for table in known for other in near[table]), "it is symmetric"
    for table in known:
        reached = steps(near, table)
        assert reached.keys() == {other for other in known if said[other] == said[table]}
        assert all(often <= len(apart(table, other)) for other, often in reached.items())


def test_under_a_sum_nobody_is_replaced_alone() -> None:
    near = neighbours(lambda table: (len(table), sum(table)), tables(4, 3))
    assert near[(0, 2)] == [(1, 1)]
    differing = {len(apart(table, other)) for table, others in near.items() for other in others}
    assert differing == {4, 6}, "two or three records that are replaced together"


def test_the_papers_third_condition_taken_literally_leaves_no_neighbours() -> None:
    """A table is between itself and any other."""
    known = tables(4, 2)
    for table in known:
        for other in (o for o in known if linkage(o) == linkage(table) and o != table):
            assert any(apart(table, third) < apart(table, other) for third in known)


def test_the_advantage_against_noisy_counts_is_not_negligible() -> None:
    said = re.search(r"it is ([\d.]+), ([\d.]+) and ([\d.]+) at ε = 0.1, 0.4 and 1.6", PAGE)
    assert said
    for epsilon, number in zip(("0.1", "0.4", "1.6"), said.groups(), strict=True):
        noise = calibrate("geometric", epsilon, "2^-40").noise
        assert f"{exact_delta(noise, 1, Fraction(0)):#.3g}" == number


# -- local mechanisms [MATHS §5.4] --------------------------------------------------------------------------

RECALL, DELTA = 0.95, 1e-5
EPSILONS = (0.1, 0.4, 1.6)


def gaussian_delta(apart: float, epsilon: float) -> float:
    """Of a Gaussian whose mean moves by so many standard deviations."""
    from scipy.stats import norm

    left, right = norm.cdf([apart / 2 - epsilon / apart, -apart / 2 - epsilon / apart])
    return float(left - exp(epsilon) * right)


@cache
def allowed(epsilon: float) -> float:
    """How many standard deviations two records may lie apart."""
    from scipy.optimize import brentq

    return float(brentq(lambda apart: gaussian_delta(apart, epsilon) - DELTA, 1e-4, 20))


@cache
def distances() -> np.ndarray:
    made = generate_places(400, None, 1, sparse=True)
    a, b = (np.column_stack([t["lat"].to_numpy(), t["lon"].to_numpy()]) for t in (made.a, made.b))
    return np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1))


def compared_by_disc(deviation: float) -> float:
    """The share of all pairs whose noisy point lies in the disc that has the recall."""
    from scipy.stats import ncx2

    return float(ncx2.cdf(-2 * log(1 - RECALL), 2, (distances() / deviation) ** 2).mean())


def test_what_local_mechanisms_compare() -> None:
    from scipy.stats import norm

    rows = re.findall(r"^\| ([\d.]+) \| (0\.\d{4}) \| (0\.\d{4}) \| (0\.\d{4}) \| (0\.\d{4}) \|$", PAGE, re.M)
    assert [float(row[0]) for row in rows] == list(EPSILONS)
    for epsilon, row in zip(EPSILONS, rows, strict=True):
        factor = exp(epsilon)
        least = max(RECALL / factor, 1 - factor * (1 - RECALL))
        response = RECALL / (RECALL + factor * (1 - RECALL))
        gaussian = norm.cdf(norm.ppf(RECALL) - allowed(epsilon))
        places = compared_by_disc(hypot(HEIGHT, WIDTH) / allowed(epsilon))
        assert [f"{share:.4f}" for share in (least, response, gaussian, places)] == list(row[1:])
        assert least <= response <= gaussian <= places


def test_how_much_noise_a_place_gets_and_what_a_near_promise_would_cost() -> None:
    deviation = hypot(HEIGHT, WIDTH) / allowed(1.6)
    assert f"σ is {deviation / WIDTH:.1f} times the width" in PAGE
    assert f"{compared_by_disc(THETA / allowed(1.6)):.3f} of all pairs at ε = 1.6" in PAGE


def test_the_formula_of_the_gaussian_is_the_definition() -> None:
    from scipy.stats import norm

    x = np.linspace(-12, 12, 200_001)
    for moved, epsilon in ((0.4, 0.1), (1.0, 0.5)):
        lost = np.maximum(0, norm.pdf(x, moved) - exp(epsilon) * norm.pdf(x))
        assert float(np.trapezoid(lost, x)) == pytest.approx(gaussian_delta(moved, epsilon), abs=1e-8)


# -- windows of ranks [MATHS §9.8] --------------------------------------------------------------------------


def windows(a: list[int], b: list[int], width: int) -> set[tuple[int, int]]:
    """Keys of A and of B whose ranks in the sorted union differ by less than the width."""
    union = sorted([(key, "A") for key in a] + [(key, "B") for key in b])
    near = (union[i : i + width] for i in range(len(union)))
    pairs = [(some[0], other) for some in near for other in some[1:] if other[1] != some[0][1]]
    return {(one[0], other[0]) if one[1] == "A" else (other[0], one[0]) for one, other in pairs}


@pytest.mark.parametrize("width", [2, 3, 7])
def test_a_stranger_decides_whether_a_match_is_found(width: int) -> None:
    """a = 0 matches b = 100; the others of B match nothing."""
    between = list(range(1, width - 1))
    assert (0, 100) in windows([0], [*between, 100, 200], width)
    assert (0, 100) not in windows([0], [*between, 100, 50], width)


@pytest.mark.parametrize("rounds", [3, 50])
def test_one_record_changes_the_count_of_every_block_of_ranks(rounds: int) -> None:
    union = "BBAA" * rounds
    moved = union[1:] + "B"
    one, other = ([s[i : i + 2].count("B") for i in range(0, len(s), 2)] for s in (union, moved))
    assert one == [2, 0] * rounds
    assert other == [1] * (2 * rounds)


def test_a_sliding_window_changes_in_few_pairs() -> None:
    rng = np.random.default_rng(1)
    most = {2: 0, 3: 0, 5: 0}
    for _ in range(300):
        keys = rng.permutation(400)
        a, b, new = keys[:20].tolist(), keys[20:40].tolist(), int(keys[40])
        for width in most:
            changed = windows(a, b, width) ^ windows(a, [*b[1:], new], width)
            most[width] = max(most[width], len(changed))
    assert all(w - 1 < changed <= 6 * (w - 1) for w, changed in most.items())
