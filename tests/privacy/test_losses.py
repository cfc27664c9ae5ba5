"""Losses on a lattice against the definition of δ, by listing every outcome."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.privacy.losses import Losses, compose, nothing, on_grid, repeat
from accord.privacy.noise import Noise, exact_delta, losses
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from tests.privacy.definition import enumerated_delta, moved_delta

EPSILONS = [Fraction(n, 8) for n in range(0, 25, 3)]

SMALL: list[Noise] = [
    Geometric(3, Fraction(1), Fraction(1, 2), 3),
    Geometric(0, Fraction(1), Fraction(1, 2), 3),
    Geometric(2, Fraction(1, 5), Fraction(3, 5), 3),
    Gaussian(3, Fraction(4), 3),
    Gaussian(1, Fraction(7, 3), 2),
]


def fractions(noise: Noise) -> list[Fraction]:
    return [Fraction(weight, 2**256) for weight in noise.window.table]


def assert_just_above(found: float, true: Fraction) -> None:
    assert true <= Fraction(found) <= true * (1 + Fraction(1, 10**10)) + Fraction(1, 2**200)


@pytest.mark.parametrize("noise", SMALL, ids=repr)
def test_one_bin_agrees_with_the_definition(noise: Noise) -> None:
    for epsilon in EPSILONS:
        assert_just_above(exact_delta(noise, 1, epsilon), enumerated_delta(fractions(noise), 1, epsilon))


@pytest.mark.parametrize("noise", [pytest.param(SMALL[0], marks=pytest.mark.slow), SMALL[4]], ids=repr)
def test_two_bins_agree_with_the_definition(noise: Noise) -> None:
    for epsilon in EPSILONS[2::3]:
        assert_just_above(exact_delta(noise, 2, epsilon), enumerated_delta(fractions(noise), 2, epsilon))


@pytest.mark.parametrize("noise", [SMALL[1], SMALL[3]], ids=repr)
def test_three_bins_agree_with_a_count_of_losses(noise: Noise) -> None:
    q = [float(p) for p in noise.window.probabilities]
    ups = [(p, q[x - 1] if x else 0.0) for x, p in enumerate(q)]
    downs = [(p, q[x + 1] if x + 1 < len(q) else 0.0) for x, p in enumerate(q)]
    here, there = np.ones(1), np.ones(1)
    for pairs in [ups] * 3 + [downs] * 3:
        here = np.outer(here, [p for p, _ in pairs]).ravel()
        there = np.outer(there, [p for _, p in pairs]).ravel()
    for epsilon in (0.5, 1.0):
        direct = float(np.maximum(0, here - exp(epsilon) * there).sum())
        assert exact_delta(noise, 3, Fraction(epsilon)) == pytest.approx(direct, rel=1e-9)


def test_the_enumeration_vector_for_counts() -> None:
    noise = [Fraction(n, 100) for n in (5, 20, 40, 25, 10)]
    found = [float(enumerated_delta(noise, 1, Fraction(n, 2))) for n in (1, 2, 3, 4)]
    assert found == pytest.approx([0.397762, 0.297150, 0.206937, 0.158055], abs=5e-7)


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=5),
    st.lists(st.integers(0, 50), min_size=2, max_size=5),
    st.integers(-3, 3),
    st.integers(-3, 3),
)
def test_composition_is_a_sum_over_pairs(one: list[int], two: list[int], low: int, lower: int) -> None:
    unit = (Fraction(1, 3),)
    first = Losses(unit, (low,), np.array(one) / 256, 0.25)
    second = Losses(unit, (lower,), np.array(two) / 256, 0.125)
    both = compose(first, second)
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(1)):
        direct = 0.25 + 0.125 * 0.75
        for (i, p), (j, r) in product(enumerate(one), enumerate(two)):
            loss = float((low + i + lower + j) * unit[0] - epsilon)
            direct += p * r / 65536 * max(0.0, 1 - exp(-loss))
        assert both.delta(epsilon) == pytest.approx(min(1.0, direct), rel=1e-12)


def test_two_axes_convolve_without_running_over() -> None:
    units = (Fraction(1), Fraction(1, 7))
    one = Losses(units, (0, -1), np.array([[0.1, 0.2], [0.3, 0.4]]), 0.0)
    both = compose(one, one)
    assert both.low == (0, -2)
    assert both.mass == pytest.approx(
        np.array([[0.01, 0.04, 0.04], [0.06, 0.20, 0.16], [0.09, 0.24, 0.16]]), rel=1e-12
    )


def test_repetition_is_composition() -> None:
    one = losses(SMALL[0], 1)
    many = compose(compose(one, one), compose(one, compose(one, one)))
    for epsilon in EPSILONS:
        assert repeat(one, 5).delta(epsilon) == pytest.approx(many.delta(epsilon), rel=1e-11)


def test_nothing_has_no_loss() -> None:
    assert nothing().delta(Fraction(0)) < 2.0**-200
    assert repeat(losses(SMALL[0], 1), 0).delta(Fraction(0)) < 2.0**-200


def test_lattices_do_not_mix() -> None:
    with pytest.raises(ValueError, match="grid"):
        compose(losses(SMALL[0], 1), losses(SMALL[2], 1))


@pytest.mark.parametrize("noise", SMALL, ids=repr)
def test_a_grid_only_raises_delta_and_not_by_much(noise: Noise) -> None:
    fine, spacing = losses(noise, 2), Fraction(1, 10_007)
    grid = on_grid(fine, spacing, 10**6)
    for epsilon in EPSILONS:
        assert fine.delta(epsilon) <= grid.delta(epsilon) * (1 + 1e-12)
        assert grid.delta(epsilon + spacing) <= fine.delta(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("limit", [1, 3, 40])
def test_clipping_only_raises_delta_and_nothing_inside(limit: int) -> None:
    fine = Losses((Fraction(1, 2),), (-5,), np.array([0.1, 0.2, 0.05, 0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]), 0.01)
    cut = fine.clip(limit)
    assert cut.low[0] >= -limit
    assert cut.low[0] + len(cut.mass) - 1 <= limit
    assert cut.mass.sum() + cut.infinite == pytest.approx(fine.mass.sum() + 0.01, rel=1e-12)
    beyond = fine.mass[max(0, limit + 6) :].sum()
    for epsilon in (Fraction(0), Fraction(1), Fraction(3)):
        assert fine.delta(epsilon) <= cut.delta(epsilon) * (1 + 1e-12)
        assert cut.delta(epsilon) <= fine.delta(epsilon) + beyond + 1e-12


def test_trimming_folds_tails_upward() -> None:
    mass = np.full(3000, 1e-60)
    mass[1000:2000] = 1e-3
    whole = Losses((Fraction(1, 100),), (-1500,), mass, 0.0)
    cut = whole.trim()
    folded = cut.low[0] + 1500
    assert 900 < folded <= 1000
    assert 1000 <= len(cut.mass) < 1200
    assert cut.mass[0] >= mass[: folded + 1].sum()
    assert cut.infinite >= mass[folded + len(cut.mass) :].sum() > 0
    assert cut.delta(Fraction(1)) == pytest.approx(whole.delta(Fraction(1)), rel=1e-12)


def test_delta_never_grows_with_epsilon() -> None:
    found = [losses(SMALL[2], 2).delta(epsilon) for epsilon in EPSILONS]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


# -- all records of one person ----------------------------------------------------------------------------


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way in which bins gain up to `total` records in all and up to `most` each."""
    yield ()
    for part in range(min(total, most), 0, -1):
        yield from ((part, *rest) for rest in partitions(total - part, part))


@st.composite
def log_concave(draw: st.DrawFn) -> list[Fraction]:
    """Probabilities on 0, 1, …, whose ratios fall."""
    tenths = draw(st.lists(st.integers(1, 60), min_size=1, max_size=4))
    ratios = [Fraction(n, 10) for n in sorted(tenths, reverse=True)]
    weights = list(accumulate(ratios, lambda a, b: a * b, initial=Fraction(1)))
    return [weight / sum(weights) for weight in weights]


@given(log_concave(), st.sampled_from([(2, 1), (3, 1), (2, 2)]), st.integers(-8, 16), st.data())
def test_records_that_share_their_bins_are_the_worst_at_every_epsilon(
    q: list[Fraction], person: tuple[int, int], eighths: int, data: st.DataObject
) -> None:
    """The theorem of [MATHS §3.9], for any log-concave noise and any bins that the records lie in."""
    records, bins = person
    ways = [way for way in partitions(records * bins, records) if len(way) <= 3]
    up, down = (data.draw(st.sampled_from(ways)) for _ in range(2))
    epsilon = Fraction(eighths, 8)
    worst = moved_delta(q, [records] * bins + [-records] * bins, epsilon)
    assert moved_delta(q, [*up, *(-j for j in down)], epsilon) <= worst


@pytest.mark.parametrize("noise", [Geometric(2, Fraction(1), Fraction(1, 2), 1), SMALL[4]], ids=repr)
@pytest.mark.parametrize(
    ("records", "bins", "changed"),
    [
        (2, 1, 4),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((3, 1, 4), (2, 2, 4), (3, 1, 6))),
    ],
)
def test_no_partition_has_more_than_the_exact_delta(
    noise: Noise, records: int, bins: int, changed: int
) -> None:
    """Of those that change up to so many bins; three records of one bin each can change six."""
    q, epsilon = fractions(noise), Fraction(3, 4)
    ways = list(partitions(records * bins, records))
    listed = [
        moved_delta(q, [*up, *(-j for j in down)], epsilon)
        for up, down in product(ways, ways)
        if len(up) + len(down) <= changed
    ]
    assert_just_above(exact_delta(noise, bins, epsilon, records), max(listed))


@pytest.mark.parametrize("noise", SMALL[:5], ids=repr)
@pytest.mark.parametrize("records", [2, 3, 5])
def test_several_records_agree_with_the_definition(noise: Noise, records: int) -> None:
    for epsilon in EPSILONS:
        true = moved_delta(fractions(noise), [records, -records], epsilon)
        assert_just_above(exact_delta(noise, 1, epsilon, records), true)


def test_more_records_than_the_window_is_long_hide_nothing() -> None:
    assert exact_delta(SMALL[1], 1, Fraction(3), SMALL[1].window.cap) < 1
    assert exact_delta(SMALL[1], 1, Fraction(3), SMALL[1].window.cap + 1) == 1


def test_more_records_of_a_person_cost_more() -> None:
    found = [exact_delta(SMALL[0], 2, Fraction(1), records) for records in (1, 2, 3, 4)]
    assert found == sorted(found)
    assert found[0] < found[1]
