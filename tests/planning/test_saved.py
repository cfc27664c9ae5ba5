"""What greedy spares: within its bounds from counts, and near a real run with a table."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.places import generate_places
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.planning import costs, saved
from accord.planning.groups import find_groups, hang_together
from accord.planning.spread import Spread, from_table, make_alike
from accord.side import Side
from accord.simulation.pair import load_both, simulate


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
    together = hang_together(task, a)
    alike = make_alike(len(a), len(b), 0.5, together)
    spread = from_table(task.blocking, Side.A, a, alike, agreed.blocking_fields, placed=True)
    assert spread.placed is not None
    drawn = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)[0][0]
    matches = [alike.matching, 2 * alike.matching, alike.matching // 2]
    groups = [find_groups(Side.A, together, alike, some, guess=False) for some in matches]
    spared = saved.from_table(task, drawn, spread.placed, groups, costs.price_rounds(agreed, task))
    assert spared is not None
    found = spared.share
    run = simulate(made.a, made.b, agreed, seed=1).runs[0]
    assert found.low * drawn.comparisons <= 1.1 * run.comparisons
    assert found.high * drawn.comparisons >= 0.9 * run.comparisons
    assert found.high <= 4 * found.low


def test_reports_may_stand_in_any_bin() -> None:
    agreed = adjust(starter("products"), protocol="local-dp", greedy=True)
    made = generate_products(300, 0.5, 3, True)
    a, _ = load_both(made.a, made.b, agreed, None, None)
    alike = make_alike(len(a), 200, 0.5)
    spread = from_table(agreed.plan, Side.A, a, alike, agreed.blocking_fields, placed=True)
    assert spread.placed is not None
    sizes = (300, 200)
    told = costs.releases_of(agreed.task, sizes)
    drawn = costs.foresee(agreed.task, told, [spread], sizes)[0][0]
    groups = find_groups(Side.A, hang_together(agreed.task, a), alike, alike.matching, guess=False)
    found = saved.from_table(agreed.task, drawn, spread.placed, [groups], None)
    assert found is not None
    assert 0 < found.share.low <= found.share.high <= 1
