"""Each experiment measures what it says: rows agree with runs of the protocol and with formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest

from accord.simulation.pair import simulate
from reproduction.baseline import BASELINE
from reproduction.catalogue import EXPERIMENTS
from reproduction.lab import FULL, OURS, PAPER, QUICK
from reproduction.local import LOCAL
from reproduction.noise import NOISE, NOISE_COST, published_mass
from reproduction.noise import run as noise_run
from reproduction.noises.laplace import published_shift
from reproduction.replication import REPLICATION, STEPS, best, factors, way
from reproduction.settings import VARIANTS, all_pairs, laplace
from reproduction.size import SIZE, psi_expand_cost
from reproduction.spread import SPREAD
from reproduction.sweep import Experiment, Row, carry_out, number, one, only
from reproduction.tradeoff import TRADEOFF
from reproduction.variants import VARIANT
from tests.reproduction.worlds import TINY, lab


def run(experiment: Experiment, folder: Path, seed: int = 0, **only_with: object) -> list[Row]:
    """The rows of the points with these parameters; Taxi's dummies take seconds at any size."""
    points = [point for point in experiment.points(TINY) if all(point[k] == v for k, v in only_with.items())]
    part = replace(experiment, points=lambda size: points)
    return carry_out(part, lab(seed), folder, lambda *_: None)


@pytest.fixture(scope="module")
def noise_rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return run(NOISE, tmp_path_factory.mktemp("noise"))


@pytest.fixture(scope="module")
def tradeoff_rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return run(TRADEOFF, tmp_path_factory.mktemp("tradeoff"), data="ab")


def test_names_are_those_of_the_results(tmp_path: Path) -> None:
    assert all(name == experiment.name for name, experiment in EXPERIMENTS.items())


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("size", [FULL, QUICK, TINY], ids=["full", "quick", "tiny"])
def test_points_have_the_parameters_and_no_two_are_the_same(name: str, size: object) -> None:
    experiment = EXPERIMENTS[name]
    points = experiment.points(size)  # type: ignore[arg-type]
    assert all(set(point) == set(experiment.parameters) for point in points)
    assert len({tuple(point.items()) for point in points}) == len(points)


@pytest.mark.slow
def test_sizes_and_variants_are_those_of_runs(tmp_path: Path) -> None:
    rows, bars = run(SIZE, tmp_path, data="ab"), run(VARIANT, tmp_path, data="ab")
    made, agreed = lab().tables("ab", 1, TINY.ab_per_day)
    for epsilon in (0.1, 1.6):
        for variant, method, prune in (("basic", "basic", 0), ("basic+GMC+SP", "laplace", 10)):
            settings = laplace(agreed, epsilon, variant=variant)
            ran = simulate(made.a, made.b, settings, noise=PAPER, seed=0, runs=2)
            row = one(rows, data="ab", days=1, method=method, prune=prune, noise=PAPER, epsilon=epsilon)
            bar = one(bars, data="ab", days=1, variant=variant, noise=PAPER, epsilon=epsilon)
            assert number(row, "cost") == number(bar, "cost") == ran.comparisons
            assert number(row, "recall") == pytest.approx(ran.recall)
            assert number(row, "cost_sd") == number(bar, "cost_sd")
            assert number(row, "cost_sd") == pytest.approx(ran.comparisons_sd * 2**0.5)
    (whole,) = run(SIZE, tmp_path, data="taxi", days=2, method="all-pairs")
    assert number(whole, "cost") == (2 * TINY.taxi_per_day) ** 2
    assert {str(row["variant"]) for row in bars} == set(VARIANTS)


def test_psi_with_expansion_is_priced_as_in_the_paper() -> None:
    assert psi_expand_cost(2_369_936, 5_000) == pytest.approx(2.54e10, rel=0.01)
    assert psi_expand_cost(10, 3) == 30 * math.log(math.log(3))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_apart_from_times(tradeoff_rows: list[Row], tmp_path: Path) -> None:
    def bare(rows: list[Row]) -> list[dict[str, object]]:
        return [{k: v for k, v in row.items() if k not in ("seconds", "seed")} for row in rows]

    again, other = (run(TRADEOFF, tmp_path / str(seed), seed, data="ab") for seed in (0, 1))
    assert bare(tradeoff_rows) == bare(again)
    assert bare(tradeoff_rows) != bare(other)


def test_the_trade_off_reaches_recall_1_and_costs_more_for_less_epsilon(tradeoff_rows: list[Row]) -> None:
    rows = tradeoff_rows
    assert {number(row, "recall") for row in only(rows, prune=0)} == {1.0}
    costs = [number(one(rows, epsilon=e, delta=1e-5, prune=0, noise=PAPER), "cost") for e in (0.1, 0.4, 1.6)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.slow
def test_local_dp_finds_what_the_formula_expects(tmp_path: Path) -> None:
    # Components of the match graph share no record, so no randomness: by Hoeffding's inequality a row is
    # further off with a probability of at most α = 1e-6.
    joined = lab().setup("ab", 1, 1_000).counter.joined
    allowed = math.sqrt(math.log(2 / 1e-6) / 2 * float(((joined.sizes / joined.matches) ** 2).sum()))
    assert allowed < 0.35
    for row in run(LOCAL, tmp_path):
        assert abs(number(row, "recall") - number(row, "expected_recall")) < allowed


def test_local_dp_compares_everything_at_the_full_window() -> None:
    (point,) = only(LOCAL.points(FULL), window=16, sides="both", epsilon="0.1")
    found = LOCAL.run(lab(), {**point, "per_day": 200, "runs": 1})
    assert found["bins"] == 16
    assert found["recall"] == found["ratio"] == 1
    assert number(found, "expected_recall") == pytest.approx(1)


@pytest.mark.slow
def test_the_spread_is_that_of_the_same_runs_with_and_without_prune(tmp_path: Path) -> None:
    rows = run(SPREAD, tmp_path)
    made, agreed = lab().tables("ab", TINY.ab_days[-1], TINY.ab_per_day)
    for greedy, whole, pruned in (("no", "basic", "basic+SP"), ("yes", "basic+GMC+S", "basic+GMC+SP")):
        row = one(rows, greedy=greedy)
        costs = [
            [each.comparisons for each in ran.runs]
            for ran in (
                simulate(made.a, made.b, laplace(agreed, "0.1", variant=v), noise=PAPER, seed=0, runs=20)
                for v in (whole, pruned)
            )
        ]
        assert number(row, "cost_sd") == pytest.approx(stdev(costs[0]))
        assert number(row, "pruned_sd") == pytest.approx(stdev(costs[1]))
        assert number(row, "saved_sd") == pytest.approx(stdev(a - b for a, b in zip(*costs, strict=True)))
        assert number(row, "ratio_low") < stdev(costs[1]) / stdev(costs[0]) < number(row, "ratio_high")


def test_exact_delta_of_the_published_noise_is_that_of_the_test_vectors(noise_rows: list[Row]) -> None:
    found = {
        e: number(one(noise_rows, noise=PAPER, epsilon=e, delta=1e-5, bins=1), "delta_exact")
        for e in (0.1, 0.4, 1.6)
    }
    assert found[0.1] == pytest.approx(1.0089e-5, rel=1e-3)
    assert found[0.4] == pytest.approx(8.4150e-6, rel=1e-3)
    assert found[1.6] == pytest.approx(9.4348e-6, rel=1e-3)
    ours = one(noise_rows, noise="geometric", epsilon=1.6, bins=1)
    assert number(ours, "dummies") == pytest.approx(10.2, abs=0.1)


def test_the_published_shift_breaks_its_promise_as_far_as_the_test_vectors_say(
    noise_rows: list[Row],
) -> None:
    rows = only(noise_rows, noise=PAPER, bins=1)
    ratios = {
        (number(row, "epsilon"), number(row, "delta")): number(row, "delta_unrounded") / number(row, "delta")
        for row in rows
    }
    for epsilon, ratio in ((0.1, 1.022), (0.4, 1.020), (1.6, 1.171), (8, 32.7)):
        assert ratios[epsilon, 1e-5] == pytest.approx(ratio, rel=1e-3)
    # Rounding up can only lower δ; the other noises have whole shifts.
    assert all(number(row, "delta_exact") <= number(row, "delta_unrounded") for row in rows)
    whole = only(noise_rows, noise="geometric")
    assert whole
    assert all(row["delta_exact"] == row["delta_unrounded"] for row in whole)


@pytest.mark.parametrize(
    ("epsilon", "mass", "ratio"),
    [(0.4, 0.9992, 1.0205), (1.6, 0.9507, 1.1705), (5, 0.7467, 8.158), (8, 0.8355, 32.67)],
)
def test_the_delta_of_a_real_shift_is_the_sum_over_all_outcomes(
    epsilon: float, mass: float, ratio: float
) -> None:
    """One bin a record: its own bin is an up bin, that of its neighbour a down bin."""
    delta, slope = 1e-5, epsilon / 2
    shift = float(published_shift(Fraction(str(epsilon)), Fraction("1e-5"), 1))
    assert published_mass(slope, shift) == pytest.approx(mass, abs=1e-4)
    reach = int(shift + 60 / slope)
    x = np.arange(-reach, reach + 1)
    drawn = np.exp(-slope * np.abs(x - shift))
    drawn /= drawn.sum()
    noise = np.concatenate([[drawn[x <= 0].sum()], drawn[x >= 1], [0.0]])
    up, down = np.concatenate([[0.0], noise[:-2]]), noise[1:]
    lost = np.outer(noise[:-1], noise[:-1]) - math.exp(epsilon) * np.outer(up, down)
    exact = lost[lost > 0].sum()
    assert exact / delta == pytest.approx(ratio, rel=1e-3)
    row = noise_run(lab(), {"noise": PAPER, "epsilon": str(epsilon), "delta": "1e-5", "bins": 1})
    assert row["delta_unrounded"] == pytest.approx(exact, rel=1e-4)


def test_fewer_dummies_cost_fewer_comparisons_as_in_a_run(tmp_path: Path) -> None:
    rows = run(NOISE_COST, tmp_path, data="ab")
    made, agreed = lab().tables("ab", 1, TINY.ab_per_day)
    for noise in (PAPER, "geometric"):
        ran = simulate(made.a, made.b, laplace(agreed, "0.4"), noise=noise, seed=0)
        row = one(rows, noise=noise, epsilon=0.4, greedy="yes")
        assert number(row, "cost") == ran.comparisons
        assert number(row, "dummies") == ran.runs[0].dummies_a + ran.runs[0].dummies_b
    for name in ("cost", "dummies"):
        ours, paper = (
            number(one(rows, noise=n, epsilon=0.4, greedy="no"), name) for n in ("geometric", PAPER)
        )
        assert ours < paper


@pytest.mark.slow
def test_replication_finds_everything_and_the_changes_multiply_to_the_whole(tmp_path: Path) -> None:
    rows = run(REPLICATION, tmp_path)
    assert {number(row, "recall") for row in rows} == {1.0}
    for epsilon in (0.4, 1.6):
        for greedy in ("no", "yes"):
            here = only(rows, epsilon=epsilon, greedy=greedy)
            walked = way(here)
            assert len(walked) == len(STEPS) + 1
            assert math.prod(factors(here)) == pytest.approx(
                number(walked[0], "cost") / number(walked[-1], "cost")
            )
            # Like with like: the same cells were tried for both, with the same noise.
            tried = [
                {row["cell"] for row in only(here, style=s, noise=OURS)} for s in ("neighbours", "replicate")
            ]
            assert tried[0] == tried[1]
            assert best(here, "neighbours", OURS) in walked


def test_all_pairs_with_greedy_is_that_of_a_run(tmp_path: Path) -> None:
    (row,) = run(SIZE, tmp_path, data="ab", days=2, method="all-pairs-greedy")
    made, agreed = lab().tables("ab", 2, TINY.ab_per_day)
    ran = simulate(made.a, made.b, all_pairs(agreed), seed=0)
    assert number(row, "cost") == ran.comparisons < len(made.a) * len(made.b)
    assert number(row, "recall") == ran.recall == 1
    (beside,) = run(TRADEOFF, tmp_path, data="ab", noise="none")
    (whole,) = run(SIZE, tmp_path, data="ab", days=1, method="all-pairs-greedy")
    assert number(beside, "cost") == number(whole, "cost")
    assert number(beside, "ratio") == number(whole, "cost") / TINY.ab_per_day**2


def test_sparse_tables_leave_most_records_protected(tmp_path: Path) -> None:
    rows = run(BASELINE, tmp_path, per_day=3_000, epsilon="1.6")
    rows += run(BASELINE, tmp_path, per_day=1_000, epsilon="0")
    rows += run(BASELINE, tmp_path, data="products", method="laplace", epsilon="1.6")
    assert {number(row, "recall") for row in rows} == {1.0}
    assert all(number(row, "cost") <= number(row, "all_pairs") for row in only(rows, method="all-pairs"))
    dense = one(rows, data="taxi", per_day=3_000, noise="geometric")
    sparse = one(rows, data="products", noise="geometric")
    assert number(dense, "unmatched_a") + number(dense, "unmatched_b") < 0.5 * 2 * 3_000
    assert number(sparse, "unmatched_a") + number(sparse, "unmatched_b") > 0.9 * 2 * 5_000


def test_the_match_graph_is_that_of_the_matches(tmp_path: Path) -> None:
    (row,) = run(BASELINE, tmp_path, data="ab", per_day=1_000, method="all-pairs")
    made, agreed = lab().tables("ab", 1, 1_000)
    found = simulate(made.a, made.b, laplace(agreed, "1.6", variant="basic"), seed=0).pairs.to_pydict()
    edges = list(zip(found["id_a"], found["id_b"], strict=True))
    group = {name: name for edge in edges for name in edge}
    for _ in edges:
        for a, b in edges:
            group[a] = group[b] = min(group[a], group[b])
    assert number(row, "components") == len(set(group.values()))
    assert number(row, "unmatched_a") == 1_000 - len({a for a, _ in edges})
    assert number(row, "unmatched_b") == 1_000 - len({b for _, b in edges})
    # Each component and each record of A alone is a row of what is left of B: the docstring's arithmetic.
    lines = number(row, "components") + number(row, "unmatched_a")
    assert lines * number(row, "unmatched_b") <= number(row, "cost")
