"""What is planned is what a run takes: records over bins, comparisons, bytes and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.fields.columns import Records
from accord.fields.load import load_records
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
from accord.planning.saved import cascade, price_schedule, share_made
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
from tests.protocols.worlds import agreement, passes
from tests.protocols.worlds import records as held

NONE = Spread(np.zeros(1, np.int64), np.zeros(1, np.int64))


def bill(agreed: Agreement, spread: Spread, terms: Terms) -> costs.Bill:
    task, sizes = agreed.task, terms.sizes
    foreseen = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)
    return costs.bill(agreed, task, foreseen, ALL, speed_of(task.lowered.node, "ot"), terms, 0.0)


# -- beside runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [None, "all-pairs"])
def test_comparisons_and_bytes_are_within_a_tenth_of_a_run(protocol: str | None) -> None:
    made = products(150, sparse=True)
    # A large ε, so that there are few dummies to compare.
    epsilon = "8" if protocol is None else None
    agreed = adjust(starter("products"), protocol=protocol, greedy=False, epsilon=epsilon)
    a, b = load_both(made.a, made.b, agreed, None, None)
    plan = agreed.plan
    spread = Spread(plan.counts(Side.A, a.columns, len(a)), plan.counts(Side.B, b.columns, len(b)))
    run = simulate(made.a, made.b, agreed, engine="ot", seed=1).runs[0]
    found = bill(agreed, spread, Terms((a.size, b.size), LAN, run.matches))
    assert found.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)
    assert found.bytes.expected == pytest.approx(run.bytes, rel=0.1)
    assert found.dummies.expected == pytest.approx(run.dummies_a + run.dummies_b, rel=0.1, abs=1)


@pytest.mark.parametrize("protocol", [None, "all-pairs"])
def test_a_greedy_run_makes_a_share_within_the_range(protocol: str | None) -> None:
    """Planned from A's table alone, run with both. Half of the smaller table matches."""
    made = products(400, 0.5, 3, True)
    agreed = adjust(starter("products"), protocol=protocol, greedy=True)
    a, b = load_both(made.a, made.b, agreed, None, None)
    task, sizes = agreed.task, (a.size, b.size)
    spread = from_table(task.blocking, Side.A, a, make_alike(len(a), len(b), 0.5), agreed.blocking_fields)
    drawn = costs.foresee(task, costs.releases_of(task, sizes), [spread], sizes)[0][0]
    found = share_made(task, drawn, spread, sizes, 0.5)
    round_ = costs.price_rounds(agreed, task)
    assert round_ is not None
    each = price_schedule(task, drawn, round_)
    run = simulate(made.a, made.b, agreed, seed=1).runs[0]
    assert found.low * drawn.comparisons <= 1.1 * run.comparisons
    assert found.high * drawn.comparisons >= 0.9 * run.comparisons
    assert each is not None
    whole = costs.price_blocks(agreed, task, drawn, None, sizes)
    assert each >= 0.9 * whole.bytes / whole.comparisons, "short rounds cost more, and none less"


def test_from_counts_nothing_is_spared_without_matches() -> None:
    task = agreement(protocol="all-pairs").task
    spread = Spread(np.array([50]), np.array([80]))
    drawn = costs.Drawn((np.array([50]), np.array([80])), 0, 4000)
    none = share_made(task, drawn, spread, (50, 80), 0.0)
    assert none.expected == none.high == 1
    some = share_made(task, drawn, spread, (50, 80), 1.0)
    assert some.low < some.expected < some.high == 1
    assert some.low * 4000 >= 80, "every record is compared with something before it is known"


def test_a_cascade_has_the_sizes_of_what_did_not_match() -> None:
    task = replace(agreement(protocol="routed", blocking=passes("x", "y")).task, one_to_one="pairs")
    sizes = (1000, 5000)
    assert task.protocol.cascades(task)
    most, some, none = (cascade(task, sizes, matches, np.array([0.5, 0.3])) for matches in (5000, 400, 0))
    assert none.share.expected == none.share.high == 1
    assert none.lanes[1] == none.lanes[2] == task.protocol.lanes(task, sizes)
    assert most.share.low < some.share.expected < 1
    assert [lane.entries[Side.A] for lane in most.lanes[0]] == [1000, 0]
    assert [lane.entries for lane in some.lanes[1]] == [
        {Side.A: 1000, Side.B: 5000},
        {Side.A: 800, Side.B: 4800},
    ]
    assert cascade(task, sizes, 400, None).share.expected == 1, "nothing is expected of unknown shares"


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
    for slab in (None, 64):
        sample = costs._sample(np.array([1_000_000] * 2), np.array([2_000_000] * 2), slab)
        assert 0 < sample.a_counts.sum() <= 2_000_000 == sample.b_counts.max(), "of any shape in no time"


def test_a_slower_line_takes_longer_and_the_same_bytes() -> None:
    agreed = starter("products")
    spread = from_sizes(agreed.plan, (500, 500), 0.0)
    near, far = (bill(agreed, spread, Terms((500, 500), line, 0)) for line in (LAN, Network(1, 300)))
    assert near.bytes == far.bytes
    assert near.seconds.expected < far.seconds.expected
    assert far.work.network > far.work.processor


# -- the machine that is written down -----------------------------------------------------------------------


def test_work_is_linear_in_what_was_counted() -> None:
    speed = Speed(PairSeconds(2.0, 10.0), PairSeconds(1.0, 5.0), 3.0)
    assert speed.processor(Price(7, 0, 50, 4, 0)) == pytest.approx(0.55 * (2 * 50 + 10 * 4 + 3 * 7))
    assert speed.processor(Price(7, 0, 50, 4, 3)) == pytest.approx(0.55 * (50 + 5 * 4 + 3 * FEED + 3 * 7))
    dual = speed_of(starter("products").task.lowered.node, "dual")
    assert dual.processor(Price(1000, 9, 50, 4, 0)) == pytest.approx(0.55 * 1000 * DUAL_BYTE)


@pytest.mark.parametrize(
    ("circuit", "made", "silent"),
    [("hamming50", 4.4, 1.5), ("dice1024", 21.4, 13.6), ("edit", 188, 23.7), ("people", 51.1, 13.1)],
)
def test_times_of_circuits_are_as_measured(circuit: str, made: float, silent: float) -> None:
    """Microseconds a pair on one core of a Neoverse-N1, by `python -m benchmarks.pace`."""
    found = speed_of(RULES[circuit], "ot")
    assert 1e6 * found.made.pair == pytest.approx(made, rel=0.1)
    assert 1e6 * found.silent.pair == pytest.approx(silent, rel=0.1)


def test_pairs_that_stand_alone_take_longer() -> None:
    task = starter("people").task
    blocks = seconds_to_compare(task.lowered.node, "ot", 10**6)
    alone = seconds_to_compare(held_circuit(task, Side.A), "ot", 10**6)
    assert alone == seconds_to_compare(held_circuit(task, Side.B), "ot", 10**6)
    assert alone > 5 * blocks > 0
    for engine in ("ot", "dual"):
        some, more = (seconds_to_compare(task.lowered.node, engine, pairs) for pairs in (10**8, 10**9))
        assert more == pytest.approx(10 * some, rel=0.01)


@pytest.mark.parametrize(
    ("cells", "rounds"), [(0, 0), (4096, 0), (4097, 1), (2_000_000, 1), (2_100_000, 2), (130_000_000, 63)]
)
def test_a_vole_of_few_cells_has_no_rounds(cells: int, rounds: int) -> None:
    assert vole_rounds(cells) == rounds


# -- records over bins --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["products", "people"])
def test_more_skew_brings_more_pairs_together(kind: str) -> None:
    plan = starter(kind).plan
    a, b = plan.pairs()
    spreads = [from_sizes(plan, (4000, 3000), skew) for skew in (EVEN, USUAL, CROWDED)]
    even, usual, crowded = (int(np.dot(spread.a[a], spread.b[b])) for spread in spreads)
    assert even < usual < crowded


@pytest.mark.parametrize("sizes", [(1, 1), (900, 40), (40_000, 90_000)])
def test_every_record_has_its_bins(sizes: tuple[int, int]) -> None:
    spread = from_sizes(starter("people").plan, sizes, USUAL)
    for counts, size in zip(spread.counts, sizes, strict=True):
        # Counts of a part are scaled up and rounded at random: right on average.
        assert counts.sum() == pytest.approx(3 * size, rel=0.02, abs=0.5)


def test_records_are_in_as_many_cells_and_buckets_as_there_are() -> None:
    """Cells of 4 with a reach of 1: half of the points of a border also lie beside the next cell."""
    spread = from_sizes(agreement(style="replicate").plan, (5000, 5000), EVEN)
    assert spread.a.sum() == 5000
    assert 1.2 < spread.b.sum() / 5000 < 2.25
    buckets = agreement(blocking=[{"kind": "key", "field": "x", "buckets": 100}])
    assert np.count_nonzero(from_sizes(buckets.plan, (2000, 2000), EVEN).a) == 16


def test_an_even_spread_is_even() -> None:
    """Each of ten counts of 10⁵ draws is within 5σ of its mean; a false alarm is below 6·10⁻⁶."""
    counts = np.bincount(draw_ranks(np.random.default_rng(1), 10, 100_000, EVEN), minlength=10)
    assert np.abs(counts - 10_000).max() < 5 * 95


def test_the_own_side_is_counted_and_the_partner_alike() -> None:
    agreed, made = starter("products"), products(2000, None, 0)
    records = load_records(made.a, agreed.fields, agreed.salt)
    alike = make_alike(len(records), 3000, 0.5)
    assert alike.matching == 1000
    assert len(np.unique(alike.rows[:1000])) == 1000
    for side in Side:
        spread = from_table(agreed.plan, side, records, alike, agreed.blocking_fields)
        own, theirs = (spread.a, spread.b) if side is Side.A else (spread.b, spread.a)
        assert np.array_equal(own, agreed.plan.counts(side, records.columns, len(records)))
        assert theirs.sum() == 3000
        assert np.corrcoef(own, theirs)[0, 1] > 0.95
    # A partner may be smaller than the overlap says.
    assert (make_alike(10, 4, 1.0).matching, len(make_alike(10, 4, 1.0).rows)) == (4, 4)


@pytest.mark.parametrize("style", ["neighbours", "replicate"])
def test_a_long_table_is_placed_in_stretches(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The own counts, and the copies that match, are those of the table as a whole."""
    agreed = agreement(style=style)
    rng = np.random.default_rng(3)
    own = held([(int(x), int(y)) for x, y in rng.integers(0, 16, (50, 2))], agreed)
    alike = Alike(rng.permutation(50)[:40], 40)
    whole = from_table(agreed.plan, Side.A, own, alike, agreed.blocking_fields)
    monkeypatch.setattr(spread_module, "_STRETCH", 7)
    parts = from_table(agreed.plan, Side.A, own, alike, agreed.blocking_fields)
    for side in (0, 1):
        assert np.array_equal(whole.counts[side], parts.counts[side])


@pytest.mark.parametrize(
    ("records", "skew"),
    [(60, USUAL), *(pytest.param(400, skew, marks=pytest.mark.slow) for skew in (USUAL, CROWDED))],
)
def test_a_partner_alike_meets_as_often_as_other_people_would(records: int, skew: float) -> None:
    """Sparse bins, where a copy's meeting with itself would count: Σ n² is nearly twice what is due at 60.

    Of 150 tables from a known distribution, the mean of what is planned and of what two independent tables
    have in common are within 5 standard errors: a false alarm is below 6·10⁻⁷.
    """
    agreed = agreement(blocking=[{"kind": "key", "field": "x"}, {"kind": "key", "field": "y"}])
    rng, planned, due, copied = np.random.default_rng(7), [], [], []

    def table() -> Records:
        x, y = (draw_ranks(rng, 16, records, skew) for _ in range(2))
        return held(list(zip(x.tolist(), y.tolist(), strict=True)), agreed)

    for _ in range(150):
        mine, other = table(), table()
        alike = Alike(rng.integers(0, records, records), 0)
        spread = from_table(agreed.plan, Side.A, mine, alike, agreed.blocking_fields)
        planned.append(np.dot(spread.a, spread.b))
        due.append(np.dot(spread.a, agreed.plan.counts(Side.B, other.columns, records)))
        copied.append(np.dot(spread.a, spread.a))

    def apart(some: list[int]) -> float:
        return float((np.mean(some) - np.mean(due)) / np.sqrt((np.var(some) + np.var(due)) / 150))

    assert abs(apart(planned)) < 5
    if records == 60:
        assert apart(copied) > 5, "the test would notice"
