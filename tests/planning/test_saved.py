"""What greedy spares: within its bounds from counts, and near a real run with a table."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.places import generate_places
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.planning import costs, saved
from accord.planning.spread import Spread, from_table, make_alike
from accord.side import Side
from accord.simulation import load_both, simulate


def test_from_counts_nothing_is_spared_without_matches() -> None:
    spread = Spread(np.array([50]), np.array([80]))
    drawn = costs.Drawn((np.array([50]), np.array([80])), 0, 4000)
    none = saved.from_counts(drawn, spread, (50, 80), 0.0)
    assert none.expected == none.high == 1
    some = saved.from_counts(drawn, spread, (50, 80), 1.0)
    assert some.low < some.expected < some.high == 1
    assert some.low * 4000 >= 80, "every record is compared with something before it is known"


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [("products", None), ("products", "all-pairs"), ("places", None)],
)
def test_a_table_tells_what_a_run_makes(kind: str, protocol: str | None) -> None:
    """Planned from A's table alone, run with both; half of the smaller table matches."""
    make = generate_places if kind == "places" else generate_products
    made = make(400, 0.5, 3, True)
    agreed = adjust(starter(kind), protocol=protocol, greedy=True)
    a, b = load_both(made.a, made.b, agreed, None, None)
    task, sizes = agreed.task, (a.size, b.size)
    alike = make_alike(len(a), len(b), 0.5)
    spread = from_table(task.blocking, Side.A, a, alike, agreed.blocking_fields)
    assert spread.placed is not None
    drawn = costs.foresee(task, costs.releases_of(agreed, task, sizes), [spread], sizes)[0][0]
    groups = saved.find_groups(task, Side.A, a, alike, guess=False)
    found = saved.from_table(task, drawn, spread.placed, groups)
    assert found is not None
    run = simulate(made.a, made.b, agreed, seed=1).runs[0]
    assert found.low * drawn.comparisons <= 1.1 * run.comparisons
    assert found.high * drawn.comparisons >= 0.9 * run.comparisons
    assert found.high <= 4 * found.low


def test_records_that_hang_together_are_one_group() -> None:
    agreed = starter("places")
    made = generate_places(300, 0.5, 0, False)
    a, _ = load_both(made.a, made.b, agreed, None, None)
    alike = make_alike(len(a), 300, 0.5)
    mine, theirs = saved.find_groups(agreed.task, Side.A, a, alike, guess=True)
    assert (theirs[: alike.matching] >= 0).all()
    assert np.array_equal(mine[alike.rows[: alike.matching]], theirs[: alike.matching])
    swapped = saved.find_groups(agreed.task, Side.B, a, alike, guess=True)
    assert np.array_equal(swapped[1], mine)
    _, fewer = saved.find_groups(agreed.task, Side.A, a, alike, guess=False)
    assert (fewer >= 0).sum() == alike.matching


def test_components_are_those_of_a_search() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 60, 45), rng.integers(0, 60, 45)
    label = saved._components(60, left, right)
    near: dict[int, set[int]] = {node: set() for node in range(60)}
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        near[one].add(other)
        near[other].add(one)
    for node in range(60):
        seen, due = {node}, [node]
        while due:
            fresh = near[due.pop()] - seen
            seen |= fresh
            due += fresh
        assert label[node] == min(seen)


def test_reports_may_stand_in_any_bin() -> None:
    agreed = adjust(starter("products"), protocol="local-dp", greedy=True)
    made = generate_products(300, 0.5, 3, True)
    a, _ = load_both(made.a, made.b, agreed, None, None)
    alike = make_alike(len(a), 200, 0.5)
    spread = from_table(agreed.plan, Side.A, a, alike, agreed.blocking_fields)
    assert spread.placed is not None
    sizes = (300, 200)
    told = costs.releases_of(agreed, agreed.task, sizes)
    drawn = costs.foresee(agreed.task, told, [spread], sizes)[0][0]
    groups = saved.find_groups(agreed.task, Side.A, a, alike, guess=False)
    found = saved.from_table(agreed.task, drawn, spread.placed, groups)
    assert found is not None
    assert 0 < found.low <= found.high <= 1
