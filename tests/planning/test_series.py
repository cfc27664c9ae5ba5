"""A series is priced as it runs: against the comparisons of whole series in memory, and against sense."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.planning.series import plan_series
from accord.planning.spread import USUAL, from_sizes
from accord.protocols.base import Task
from accord.side import Side

TENTH = Fraction(1, 10), Fraction(1, 10)


def drawn_series(agreed: Agreement, sizes: tuple[int, int], runs: int) -> float:
    """The comparisons of one series, batch by batch, with noise that is drawn."""
    task: Task = agreed.task
    last = [round(size * (1 + (runs - 1) * Fraction(1, 10))) for size in sizes]
    spread = from_sizes(task.blocking, (last[0], last[1]), USUAL)
    rng, batches = np.random.default_rng(5), []
    for side, true in zip(Side, spread.counts, strict=True):
        parts = rng.multinomial(true, np.full(runs, 1 / runs)).T
        setting = agreed.protocol.release(task, side, 100).setting
        assert setting is not None
        mean = setting.expected_dummies
        batches.append([part + rng.poisson(mean, len(part)) for part in parts])
    left, right = task.blocking.pairs()
    return float(sum(np.dot(a[left], b[right]) for a in batches[0] for b in batches[1]))


def test_the_price_is_what_a_series_compares() -> None:
    agreed = starter("products")
    found = plan_series(agreed, (2000, 2000), 6, TENTH)
    # Noise of the same mean over 16 bins and 6 batches: within a twentieth, by far.
    assert found.agreed.comparisons == pytest.approx(drawn_series(agreed, (2000, 2000), 6), rel=0.05)


def test_a_series_costs_one_epsilon_and_linking_anew_one_each_time() -> None:
    found = plan_series(starter("products"), (2000, 2000), 12, (Fraction(1, 50), Fraction(1, 50)))
    assert found.best.epsilon == 1.6
    assert found.anew.epsilon == pytest.approx(12 * 1.6)
    same = [habit for habit in found.habits if habit.kind == "anew, same ε"]
    assert same
    assert min(habit.comparisons for habit in same) > found.best.comparisons
    assert {habit.runs for habit in found.habits if habit.kind == "series"} >= {2, 3, 4, 6, 12}
    told = found.why()
    assert "A series of 12 runs costs ε = 1.6 in all" in told


@pytest.mark.slow
def test_fewer_runs_and_larger_bins_are_cheaper_for_small_batches() -> None:
    found = plan_series(starter("people"), (10_000, 10_000), 12, (Fraction(1, 50), Fraction(1, 50)))
    series = {h.runs: h.comparisons for h in found.habits if h.kind == "series" and h.agreed}
    assert series[2] < series[6] < series[12]
    assert found.best.comparisons <= found.agreed.comparisons
    assert found.best.bins <= found.agreed.bins


def test_what_cannot_be_priced_is_told() -> None:
    with pytest.raises(UsageError, match="2 to 1,000 runs"):
        plan_series(starter("products"), (100, 100), 1, TENTH)
    agreed = starter("products").model_dump(mode="json") | {"blocking": [], "protocol": {"name": "all-pairs"}}
    with pytest.raises(UsageError, match="needs the protocol laplace"):
        plan_series(Agreement.model_validate(agreed), (100, 100), 12, TENTH)
