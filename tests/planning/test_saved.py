"""What greedy spares: within its bounds, and near a real run."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.planning import costs
from accord.planning.saved import price_schedule, share_made
from accord.planning.spread import Spread, from_table, make_alike
from accord.side import Side
from accord.simulation.pair import load_both, simulate
from tests.protocols.worlds import agreement


def test_from_counts_nothing_is_spared_without_matches() -> None:
    task = agreement(protocol="all-pairs").task
    spread = Spread(np.array([50]), np.array([80]))
    drawn = costs.Drawn((np.array([50]), np.array([80])), 0, 4000)
    none = share_made(task, drawn, spread, (50, 80), 0.0)
    assert none.expected == none.high == 1
    some = share_made(task, drawn, spread, (50, 80), 1.0)
    assert some.low < some.expected < some.high == 1
    assert some.low * 4000 >= 80, "every record is compared with something before it is known"


@pytest.mark.parametrize("protocol", [None, "all-pairs"])
def test_a_run_makes_a_share_within_the_range(protocol: str | None) -> None:
    """Planned from A's table alone, run with both; half of the smaller table matches."""
    made = generate_products(400, 0.5, 3, True)
    agreed = adjust(starter("products"), protocol=protocol, greedy=True)
    a, b = load_both(made.a, made.b, agreed, None, None)
    task, sizes = agreed.task, (a.size, b.size)
    alike = make_alike(len(a), len(b), 0.5)
    spread = from_table(task.blocking, Side.A, a, alike, agreed.blocking_fields)
    drawn = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)[0][0]
    found = share_made(task, drawn, spread, sizes, 0.5)
    price = costs.price_rounds(agreed, task)
    assert price is not None
    each = price_schedule(task, drawn, price)
    run = simulate(made.a, made.b, agreed, seed=1).runs[0]
    assert found.low * drawn.comparisons <= 1.1 * run.comparisons
    assert found.high * drawn.comparisons >= 0.9 * run.comparisons
    assert each is not None
    whole = costs.price_blocks(agreed, task, drawn, None, sizes)
    assert each >= 0.9 * whole.bytes / whole.comparisons, "short rounds cost more, and none less"
