"""Records over bins: as many as there are, ever more crowded, and a partner like oneself."""

from __future__ import annotations

import numpy as np
import pytest

from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.planning import spread as spread_module
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
from accord.side import Side
from tests.protocols.worlds import agreement
from tests.protocols.worlds import records as held


def candidates(kind: str, skew: float, sizes: tuple[int, int]) -> int:
    plan = starter(kind).plan
    spread = from_sizes(plan, sizes, skew)
    a, b = plan.pairs()
    return int(np.dot(spread.a[a], spread.b[b]))


@pytest.mark.parametrize("kind", ["products", "people"])
def test_more_skew_brings_more_pairs_together(kind: str) -> None:
    even, usual, crowded = (candidates(kind, skew, (4000, 3000)) for skew in (EVEN, USUAL, CROWDED))
    assert even < usual < crowded


@pytest.mark.parametrize("sizes", [(1, 1), (900, 40), (40_000, 90_000)])
def test_every_record_has_its_bins(sizes: tuple[int, int]) -> None:
    plan = starter("people").plan
    spread = from_sizes(plan, sizes, USUAL)
    for counts, size in zip(spread.counts, sizes, strict=True):
        # Counts of a part are scaled up and rounded at random: right on average.
        assert counts.sum() == pytest.approx(3 * size, rel=0.02, abs=0.5)


def test_a_replicated_record_is_in_as_many_cells_as_it_touches() -> None:
    plan = agreement(style="replicate").plan
    spread = from_sizes(plan, (5000, 5000), EVEN)
    assert spread.a.sum() == 5000
    # Cells of 4 with a reach of 1: the points of a border, a half of them, also lie beside the next cell.
    assert 1.2 < spread.b.sum() / 5000 < 2.25


def test_an_even_spread_is_even() -> None:
    """Each of ten counts of 10⁵ draws is within 5σ of its mean; a false alarm is below 6·10⁻⁶."""
    counts = np.bincount(draw_ranks(np.random.default_rng(1), 10, 100_000, EVEN), minlength=10)
    assert np.abs(counts - 10_000).max() < 5 * 95


def test_the_own_side_is_counted_and_the_partner_alike() -> None:
    agreed = starter("products")
    made = generate_products(2000, None, 0, False)
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


def test_a_partner_may_be_smaller_than_the_overlap_says() -> None:
    assert make_alike(10, 4, 1.0).matching == 4
    assert len(make_alike(10, 4, 1.0).rows) == 4
    assert isinstance(from_sizes(agreement().plan, (3, 3), CROWDED), Spread)


def test_few_values_fill_few_buckets() -> None:
    agreed = agreement(blocking=[{"kind": "key", "field": "x", "buckets": 100}])
    assert np.count_nonzero(from_sizes(agreed.plan, (2000, 2000), EVEN).a) == 16


@pytest.mark.parametrize(
    ("records", "skew"),
    [(60, USUAL), *(pytest.param(400, skew, marks=pytest.mark.slow) for skew in (USUAL, CROWDED))],
)
def test_a_partner_alike_meets_as_often_as_other_people_would(records: int, skew: float) -> None:
    """Sparse bins, where a copy's meeting with itself would count: Σ n² is nearly twice what is due at 60.

    Of 150 tables from a known distribution, the mean of what is planned and of what two independent tables
    have in common are within 5 standard errors: a false alarm is below 6·10⁻⁷.
    """
    blocking = [{"kind": "key", "field": "x"}, {"kind": "key", "field": "y"}]
    agreed = agreement(blocking=blocking)
    rng, planned, due, copied = np.random.default_rng(7), [], [], []

    def table() -> Records:
        x, y = (draw_ranks(rng, 16, records, skew) for _ in range(2))
        return held(list(zip(x.tolist(), y.tolist(), strict=True)), agreed)

    for _ in range(150):
        mine, other = table(), table()
        alike = Alike(rng.integers(0, records, records), 0)
        spread = from_table(agreed.plan, Side.A, mine, alike, agreed.blocking_fields)
        theirs = agreed.plan.counts(Side.B, other.columns, records)
        planned.append(np.dot(spread.a, spread.b))
        due.append(np.dot(spread.a, theirs))
        copied.append(np.dot(spread.a, spread.a))

    def apart(some: list[int]) -> float:
        return float((np.mean(some) - np.mean(due)) / np.sqrt((np.var(some) + np.var(due)) / 150))

    assert abs(apart(planned)) < 5
    if records == 60:
        assert apart(copied) > 5, "the test would notice"
