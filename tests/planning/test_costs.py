"""What is planned is what a run takes: records over bins, comparisons, bytes and time."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning import costs
from accord.planning import spread as spread_module
from accord.planning.costs import ALL, Terms
from accord.planning.machine import (
    DUAL_BYTE,
    FEED,
    PairSeconds,
    Speed,
    seconds_to_compare,
    speed_of,
    vole_rounds,
)
from accord.planning.spread import (
    CROWDED,
    EVEN,
    USUAL,
    Alike,
    Spread,
    draw_ranks,
    from_sizes,
    from_table,
    make_alike,
)
from accord.protocols.routed_passes import held_circuit
from accord.secure.blocks import Blocks
from accord.secure.cost import Price, price
from accord.side import Side
from accord.simulation.pair import load_both, simulate
from benchmarks.workload import RULES
from tests.planning.worlds import LAN
from tests.prepared import products
from tests.protocols.worlds import agreement
from tests.protocols.worlds import records as held

NONE = Spread(np.zeros(1, np.int64), np.zeros(1, np.int64))


def bill(agreed: Agreement, spread: Spread, terms: Terms) -> costs.Bill:
    task, sizes = agreed.task, terms.sizes
    foreseen = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)
    return costs.bill(agreed, task, foreseen, ALL, speed_of(task.lowered.node, "ot"), terms, 0.0)


# -- beside runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [None, "all-pairs"])
def test_comparisons_and_bytes_are_within_a_tenth_of_a_run(protocol: str | None) -> None:
    """With a large ε, so that there are few dummies to compare. A slower line takes longer for them."""
    made = products(150, sparse=True)
    epsilon = "8" if protocol is None else None
    agreed = adjust(starter("products"), protocol=protocol, greedy=False, epsilon=epsilon)
    a, b = load_both(made.a, made.b, agreed, None, None)
    plan = agreed.plan
    spread = Spread(plan.counts(Side.A, a.columns, len(a)), plan.counts(Side.B, b.columns, len(b)))
    run = simulate(made.a, made.b, agreed, engine="ot", seed=1).runs[0]
    lines = (LAN, Network(1, 300))
    found, far = (bill(agreed, spread, Terms((a.size, b.size), line, run.matches)) for line in lines)
    assert found.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)
    assert found.bytes.expected == pytest.approx(run.bytes, rel=0.1)
    assert found.dummies.expected == pytest.approx(run.dummies_a + run.dummies_b, rel=0.1, abs=1)
    assert found.bytes == far.bytes
    assert found.seconds.expected < far.seconds.expected
    assert far.work.network > far.work.processor


# -- prices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "seconds", "mebibytes"),
    [(3_000, 0.3, 250), (100_000, 1.3, 565), (1_000_000, 4.5, 610), (4_000_000, 17, 1240)],
)
def test_an_intersection_is_priced_at_every_size(size: int, seconds: float, mebibytes: int) -> None:
    """By the processor's times of both sides on a Neoverse-N1, added up where one waits for the other, beside
    what a plan adds to all; memory as the larger side held it."""
    found = bill(agreement(protocol="psi", rule="same(x)"), NONE, Terms((size, size), LAN, 0))
    assert found.seconds.expected == pytest.approx(seconds + costs._SET_UP, rel=0.25)
    assert found.memory.low <= mebibytes << 20 <= found.memory.high
    assert found.work.network < found.work.processor


def test_workers_share_the_comparisons_and_nothing_else() -> None:
    """On each of n cores 1/n of them, 4 % dearer, after two seconds to start: guesses of the plan."""
    agreed, spread = agreement(protocol="all-pairs", greedy=False), Spread(*[np.array([20_000])] * 2)
    found = {n: bill(agreed, spread, Terms((20_000, 20_000), LAN, 0, n)) for n in (1, 2, 4)}
    table = costs._TABLE * 20_000
    alone = found[1].work.processor - table
    for n in (2, 4):
        assert found[n].work.processor == pytest.approx(alone * 1.04 / n + 2 + table)
        assert (found[n].work.network, found[n].comparisons) == (found[1].work.network, found[1].comparisons)
        assert found[n].seconds.expected < found[1].seconds.expected


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


# -- the machine that is written down -----------------------------------------------------------------------


def test_work_is_linear_in_what_was_counted() -> None:
    speed = Speed(PairSeconds(2.0, 10.0), PairSeconds(1.0, 5.0), 3.0)
    assert speed.processor(Price(7, 0, 50, 4, 0)) == pytest.approx(0.55 * (2 * 50 + 10 * 4 + 3 * 7))
    assert speed.processor(Price(7, 0, 50, 4, 3)) == pytest.approx(0.55 * (50 + 5 * 4 + 3 * FEED + 3 * 7))
    dual = speed_of(starter("products").task.lowered.node, "dual")
    assert dual.processor(Price(1000, 9, 50, 4, 0)) == pytest.approx(0.55 * 1000 * DUAL_BYTE)
    # A VOLE of few cells has no rounds.
    cells = (0, 4096, 4097, 2_000_000, 2_100_000, 130_000_000)
    assert [*map(vole_rounds, cells)] == [0, 0, 1, 1, 2, 63]


@pytest.mark.parametrize(
    ("circuit", "made", "silent"),
    [("hamming50", 4.4, 1.5), ("dice1024", 21.4, 13.6), ("edit", 188, 23.7), ("people", 51.1, 13.1)],
)
def test_times_of_circuits_are_as_measured(circuit: str, made: float, silent: float) -> None:
    """Microseconds a pair on one core of a Neoverse-N1, by `python -m benchmarks.pace`."""
    found = speed_of(RULES[circuit], "ot")
    assert [1e6 * found.made.pair, 1e6 * found.silent.pair] == pytest.approx([made, silent], rel=0.1)


def test_pairs_that_stand_alone_take_longer() -> None:
    task = starter("people").task
    blocks = seconds_to_compare(task.lowered.node, "ot", 10**6)
    alone, other = (seconds_to_compare(held_circuit(task, side), "ot", 10**6) for side in Side)
    assert alone == other > 5 * blocks > 0
    for engine in ("ot", "dual"):
        some, more = (seconds_to_compare(task.lowered.node, engine, pairs) for pairs in (10**8, 10**9))
        assert more == pytest.approx(10 * some, rel=0.01)


# -- records over bins --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["products", "people"])
def test_more_skew_brings_more_pairs_together(kind: str) -> None:
    """Without skew each of ten counts of 10⁵ is within 5σ of its mean: false alarms are below 6·10⁻⁶."""
    plan = starter(kind).plan
    a, b = plan.pairs()
    spreads = [from_sizes(plan, (4000, 3000), skew) for skew in (EVEN, USUAL, CROWDED)]
    even, usual, crowded = (int(np.dot(spread.a[a], spread.b[b])) for spread in spreads)
    assert even < usual < crowded
    counts = np.bincount(draw_ranks(np.random.default_rng(1), 10, 100_000, EVEN), minlength=10)
    assert np.abs(counts - 10_000).max() < 5 * 95


@pytest.mark.parametrize("sizes", [(1, 1), (900, 40), (40_000, 90_000)])
def test_every_record_has_its_bins(sizes: tuple[int, int]) -> None:
    """Counts of a part are scaled up and rounded at random: right on average. Cells of 4 with a reach of 1:
    half of the points of a border also lie beside the next cell."""
    spread = from_sizes(starter("people").plan, sizes, USUAL)
    for counts, size in zip(spread.counts, sizes, strict=True):
        assert counts.sum() == pytest.approx(3 * size, rel=0.02, abs=0.5)
    cells = from_sizes(agreement(style="replicate").plan, (5000, 5000), EVEN)
    assert cells.a.sum() == 5000
    assert 1.2 < cells.b.sum() / 5000 < 2.25
    buckets = agreement(blocking=[{"kind": "key", "field": "x", "buckets": 100}])
    assert np.count_nonzero(from_sizes(buckets.plan, (2000, 2000), EVEN).a) == 16, "there are 16 values"


@pytest.mark.parametrize("style", ["neighbours", "replicate"])
def test_the_own_side_is_counted_and_the_partner_alike(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long table is placed in stretches: the copies that match are those of the table as a whole."""
    agreed, rng = agreement(style=style), np.random.default_rng(3)
    own = held([(int(x), int(y)) for x, y in rng.integers(0, 16, (600, 2)) ** 2 // 16], agreed)
    alike = make_alike(600, 900, 0.5)
    assert (alike.matching, len(np.unique(alike.rows[:300]))) == (300, 300)
    exact = Alike(alike.rows[:300], 300)
    for side in Side:
        spread = from_table(agreed.plan, side, own, alike, agreed.blocking_fields)
        mine, theirs = spread.counts[:: 1 if side is Side.A else -1]
        assert np.array_equal(mine, agreed.plan.counts(side, own.columns, 600))
        assert theirs.sum() >= 900
        assert np.corrcoef(mine, theirs)[0, 1] > 0.9
        whole = from_table(agreed.plan, side, own, exact, agreed.blocking_fields)
        with monkeypatch.context() as patch:
            patch.setattr(spread_module, "_STRETCH", 7)
            parts = from_table(agreed.plan, side, own, exact, agreed.blocking_fields)
        assert all(map(np.array_equal, whole.counts, parts.counts))
    # A partner may be smaller than the overlap says.
    assert (make_alike(10, 4, 1.0).matching, len(make_alike(10, 4, 1.0).rows)) == (4, 4)


@pytest.mark.parametrize(
    ("records", "skew"),
    [(60, USUAL), *(pytest.param(400, skew, marks=pytest.mark.slow) for skew in (USUAL, CROWDED))],
)
def test_a_partner_alike_meets_as_often_as_other_people_would(records: int, skew: float) -> None:
    """Sparse bins, where a copy's meeting with itself would count: Σ n² is nearly twice what is due at 60.

    Of 100 tables from a known distribution, the mean of what is planned and of what two independent tables
    have in common are within 5 standard errors: a false alarm is below 6·10⁻⁷.
    """
    agreed = agreement(blocking=[{"kind": "key", "field": "x"}, {"kind": "key", "field": "y"}])
    rng, met = np.random.default_rng(7), []
    for _ in range(100):
        mine, other = (
            held([*zip(*(draw_ranks(rng, 16, records, skew).tolist() for _ in "xy"), strict=True)], agreed)
            for _ in Side
        )
        alike = Alike(rng.integers(0, records, records), 0)
        spread = from_table(agreed.plan, Side.A, mine, alike, agreed.blocking_fields)
        due = agreed.plan.counts(Side.B, other.columns, records)
        met.append([np.dot(spread.a, counts) for counts in (spread.b, due, spread.a)])
    means, errors = np.mean(met, axis=0), np.var(met, axis=0) / len(met)
    planned, _, copied = (means - means[1]) / np.sqrt(errors + errors[1])
    assert abs(planned) < 5
    if records == 60:
        assert copied > 5, "the test would notice"
