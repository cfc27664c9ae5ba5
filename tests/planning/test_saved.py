"""What matches spare: within its bounds, and near a real run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning import costs
from accord.planning.plan import PlanQuestion, price_agreed, route
from accord.planning.saved import cascade, price_schedule, share_made
from accord.planning.spread import Spread, from_table, make_alike
from accord.side import Side
from accord.simulation.pair import load_both, simulate
from tests.protocols.worlds import agreement, passes


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


def test_a_cascade_has_the_sizes_of_what_did_not_match() -> None:
    both = passes("x", "y")
    task = replace(agreement(protocol="routed", blocking=both).task, one_to_one="pairs")
    sizes = (1000, 5000)
    assert task.protocol.cascades(task)
    most, none = (cascade(task, sizes, matches, np.array([0.5, 0.3])) for matches in (5000, 0))
    assert none.share.expected == none.share.high == 1
    assert none.lanes[1] == none.lanes[2] == task.protocol.lanes(task, sizes)
    assert most.share.low < cascade(task, sizes, 400, np.array([0.5, 0.3])).share.expected < 1
    assert [lane.entries[Side.A] for lane in most.lanes[0]] == [1000, 0]
    some = cascade(task, sizes, 400, np.array([0.5, 0.3])).lanes[1]
    assert [lane.entries for lane in some] == [{Side.A: 1000, Side.B: 5000}, {Side.A: 800, Side.B: 4800}]
    assert cascade(task, sizes, 400, None).share.expected == 1, "nothing is expected of what nobody knows"


def test_a_plan_expects_of_a_cascade_what_a_run_makes() -> None:
    asked = PlanQuestion((1_500, 1_500), Network(1000, 0.5), overlap=0.5)
    routed = route(starter("people"), asked)
    assert routed is not None
    cascading = routed.model_copy(update={"one_to_one": "pairs"})
    whole, some = (price_agreed(one, asked).agreed for one in (routed, cascading))
    for figure in ("comparisons", "bytes", "memory", "seconds"):
        every, left = getattr(whole, figure), getattr(some, figure)
        assert left.low <= left.expected <= left.high, figure
        assert left.expected <= every.expected, figure
        assert left.high == pytest.approx(every.high, rel=0.01), figure
    assert some.recall == whole.recall
    made = generate_people(1_500, 0.5, 77)
    run = simulate(made.a, made.b, cascading, seed=1).runs[0]
    assert run.comparisons == pytest.approx(some.comparisons.expected, rel=0.05)
    assert run.comparisons < 0.8 * whole.comparisons.expected
