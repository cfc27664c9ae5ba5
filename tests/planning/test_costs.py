"""What is planned is what a run takes: comparisons and bytes within a tenth, without greedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning import costs
from accord.planning.costs import ALL, Terms
from accord.planning.machine import speed_of
from accord.planning.spread import Spread, from_sizes
from accord.secure.blocks import Blocks
from accord.secure.cost import price
from accord.side import Side
from accord.simulation.pair import load_both, simulate
from tests.planning.worlds import LAN
from tests.protocols.worlds import agreement
from tests.run import faults


def bill(agreed: Agreement, spread: Spread, sizes: tuple[int, int], matches: int = 0) -> costs.Bill:
    task = agreed.task
    told = costs.releases_of(task, sizes)
    foreseen = costs.foresee(task, told, [spread], sizes)
    return costs.bill(
        agreed, task, foreseen, ALL, speed_of(task.lowered.node, "ot"), Terms(sizes, LAN, matches), 0.0
    )


def planned(agreed: Agreement, made: Any, matches: int) -> costs.Bill:
    a, b = load_both(made.a, made.b, agreed, None, None)
    plan = agreed.plan
    spread = Spread(plan.counts(Side.A, a.columns, len(a)), plan.counts(Side.B, b.columns, len(b)))
    return bill(agreed, spread, (a.size, b.size), matches)


def test_workers_share_the_comparisons_and_nothing_else() -> None:
    """On each of n cores 1/n of them, 4 % dearer, after two seconds to start: guesses of the plan."""
    agreed, sizes = agreement(protocol="all-pairs", greedy=False), (20_000, 20_000)
    task = agreed.task
    spread = Spread(np.array([20_000]), np.array([20_000]))
    foreseen = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)
    found = {
        n: costs.bill(
            agreed, task, foreseen, ALL, speed_of(task.lowered.node, "ot"), Terms(sizes, LAN, 0, n), 0.0
        )
        for n in (1, 2, 4)
    }
    table = costs._TABLE * 20_000
    alone = found[1].work.processor - table
    for n in (2, 4):
        assert found[n].work.processor == pytest.approx(alone * 1.04 / n + 2 + table)
        assert (found[n].work.network, found[n].comparisons) == (found[1].work.network, found[1].comparisons)
        assert found[n].seconds.expected < found[1].seconds.expected


CASES = {"products": None, "all pairs": "all-pairs"}
"""The protocol, if not the agreed one."""


@pytest.mark.parametrize("case", CASES)
def test_comparisons_and_bytes_are_within_a_tenth_of_a_run(case: str) -> None:
    made = generate_products(150, None, 1, True)
    agreed = adjust(starter("products"), protocol=CASES[case], greedy=False)
    run = simulate(made.a, made.b, agreed, engine="ot", seed=1).runs[0]
    found = planned(agreed, made, run.matches)
    assert found.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)
    assert found.bytes.expected == pytest.approx(run.bytes, rel=0.1)
    assert found.dummies.expected == pytest.approx(run.dummies_a + run.dummies_b, rel=0.1, abs=1)


def test_an_intersection_costs_what_it_looks_up_and_sends() -> None:
    agreed = agreement(protocol="psi", rule="same(x) and same(y)")
    rows = [{"id": f"r{i}", "x": i % 16, "y": i % 7} for i in range(60)]
    table = pa.Table.from_pylist(rows)
    run = simulate(table, table, agreed, engine="ot", seed=1).runs[0]
    none = Spread(np.zeros(1, np.int64), np.zeros(1, np.int64))
    found = bill(agreed, none, (60, 60))
    assert found.comparisons.expected == run.comparisons
    # Besides what is disclosed of the matches, and which they are.
    assert found.bytes.expected <= run.bytes
    assert 0 < found.work.processor < 1


@pytest.mark.parametrize("size", [20, 60])
def test_a_small_routed_run_costs_what_its_passes_send(size: int) -> None:
    """Each pass is an evaluation of its own: what is few has no silent OTs."""
    agreed = faults.agreement("routed")
    rows = [{"id": f"r{i}", "x": i % 16, "y": i % 7} for i in range(size)]
    a, b = pa.Table.from_pylist(rows), pa.Table.from_pylist(rows[: size // 2])
    run = simulate(a, b, agreed, engine="ot", seed=1).runs[0]
    none = Spread(np.zeros(1, np.int64), np.zeros(1, np.int64))
    found = bill(agreed, none, (size, size // 2))
    assert found.comparisons.expected == run.comparisons
    # Besides what is disclosed of the matches, and which they are.
    assert 0.97 * run.bytes <= found.bytes.expected <= run.bytes


@pytest.mark.parametrize(
    ("size", "seconds", "mebibytes"),
    [(3_000, 0.3, 250), (100_000, 1.3, 565), (1_000_000, 4.5, 610), (4_000_000, 17, 1240)],
)
def test_an_intersection_is_priced_at_every_size(size: int, seconds: float, mebibytes: int) -> None:
    """By the processor's times of both sides on a Neoverse-N1, added up where one waits for the other, beside
    what a plan adds to all; memory as the larger side held it."""
    none = Spread(np.zeros(1, np.int64), np.zeros(1, np.int64))
    found = bill(agreement(protocol="psi", rule="same(x)"), none, (size, size))
    assert found.seconds.expected == pytest.approx(seconds + costs._SET_UP, rel=0.25)
    assert found.memory.low <= mebibytes << 20 <= found.memory.high
    assert found.work.network < found.work.processor


def test_of_many_blocks_a_part_is_priced_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """All units: the price of one evaluation. An eighth of the rows: its bytes to a hundredth."""
    agreed, sizes = adjust(starter("products"), greedy=False), (60_000, 60_000)
    task = agreed.task
    told = costs.releases_of(task, sizes)
    drawn = costs.foresee(task, told, [from_sizes(task.blocking, sizes, 0.5)], sizes)[0][0]
    compared = task.protocol.compared(task, drawn.counts)
    assert compared is not None
    whole = price(task.lowered.node, Blocks.of_sizes(*compared))
    monkeypatch.setattr(costs, "_STRIPS", 2 * whole.strips)
    every = costs.price_blocks(agreed, task, drawn, None, sizes)
    assert (every.comparisons, every.strips, every.feeds) == (whole.comparisons, whole.strips, whole.feeds)
    assert every.bytes == pytest.approx(whole.bytes, rel=0.001)
    monkeypatch.setattr(costs, "_STRIPS", whole.strips // 8)
    part = costs.price_blocks(agreed, task, drawn, None, sizes)
    assert part.comparisons == whole.comparisons == drawn.comparisons
    assert part.bytes == pytest.approx(whole.bytes, rel=0.01)
    assert part.strips == pytest.approx(whole.strips, rel=0.02)


def test_a_slower_line_takes_longer_and_the_same_bytes() -> None:
    agreed = starter("products")
    spread = from_sizes(agreed.plan, (500, 500), 0.0)
    task = agreed.task
    foreseen = costs.foresee(task, costs.releases_of(task, (500, 500)), [spread], (500, 500))
    near, far = (
        costs.bill(
            agreed, task, foreseen, ALL, speed_of(task.lowered.node, "ot"), Terms((500, 500), network, 0), 0.0
        )
        for network in (LAN, Network(1, 300))
    )
    assert near.bytes == far.bytes
    assert near.seconds.expected < far.seconds.expected
    assert far.work.network > far.work.processor


@pytest.mark.parametrize("slab", [None, 64])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 2_000_000), (1_000_000, 1_000_000), (2_000_000, 1)])
def test_blocks_of_any_shape_have_a_price_in_no_time(a: int, b: int, slab: int | None) -> None:
    sample = costs._sample(np.array([a, a]), np.array([b, b]), slab)
    assert 0 < sample.a_counts.sum() <= 2_000_000
    assert sample.b_counts.max() == b
