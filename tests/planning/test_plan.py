"""A whole plan: from counts, and from one's own table."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.fields.load import load_records
from accord.planning import plan as plan_module
from accord.planning import saved
from accord.planning.choose import Wanted
from accord.planning.plan import Own, make_plan, price_agreed
from accord.side import Side
from accord.simulation.pair import simulate
from tests.planning.worlds import birth_key, question, speeds
from tests.protocols.worlds import agreement


@pytest.mark.slow
def test_the_example_of_a_newcomer_is_told_that_all_pairs_is_cheaper() -> None:
    """A key on the date of birth, 199 and 220 records: 59 million comparisons against 43,780."""
    found = make_plan(birth_key(), question(199, 220), speeds)
    assert found.agreed.comparisons.expected > 2e7
    assert found.choice.all_pairs
    assert found.choice.comparisons.high == 43_780
    assert "all-pairs-is-cheaper" in [one.code for one in found.warnings]


def test_the_default_wish_is_the_agreed_promise_and_every_match() -> None:
    agreed = starter("products")
    found = make_plan(agreed, question(3000, 3000), speeds)
    assert found.choice.recall == 1.0
    assert (found.choice.largest_epsilon or 0) <= 1.6
    assert len(found.options) > 20
    assert {"laplace", "all-pairs", "local-dp"} <= {one.protocol for one in found.options}
    assert {0.1, 1.6, 10.0} <= {one.largest_epsilon for one in found.options}
    assert len({one.agreement.digest for one in found.options}) == len(found.options)
    best = min(
        one.seconds.expected
        for one in found.options
        if one.recall == 1.0 and (one.largest_epsilon or 0) <= 1.6
    )
    assert found.choice.seconds.expected == best


def test_a_delta_is_what_it_exactly_is() -> None:
    found = price_agreed(starter("products"), question(100, 100), speeds)
    for value in found.agreed.delta.values():
        assert value is not None
        assert 0 < value <= 2.0**-40
    every = next(one for one in found.options if one.all_pairs)
    assert set(every.delta.values()) == set(every.epsilon.values()) == {0.0}


@pytest.mark.parametrize(("wish", "meets"), [(Wanted(max_epsilon=0), True), (Wanted(max_time=1e-9), False)])
def test_wishes_are_met_or_it_is_said_that_they_are_not(wish: Wanted, meets: bool) -> None:
    found = price_agreed(agreement(), question(50, 50, wish=wish), speeds)
    assert ("No option meets" not in found.why) == meets


@pytest.mark.parametrize("bad", [(0, 5), (5, 0), (-1, 5)])
def test_counts_of_zero_are_refused(bad: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="at least 1 each"):
        question(*bad)


@pytest.mark.parametrize("overlap", [-0.1, 1.1])
def test_an_overlap_is_a_share(overlap: float) -> None:
    with pytest.raises(UsageError, match="0 to 1"):
        question(5, 5, overlap=overlap)


def test_counts_alone_give_a_range_that_holds_a_run() -> None:
    for kind in ("products",):
        made = generate_products(600, None, 2, True)
        agreed = adjust(starter(kind), greedy=False)
        found = price_agreed(agreed, question(600, 600), speeds).agreed
        run = simulate(made.a, made.b, agreed, seed=4).runs[0]
        assert found.comparisons.low <= run.comparisons <= found.comparisons.high


def test_with_a_table_the_plan_is_near_a_run_and_marked_as_made_from_it() -> None:
    made = generate_products(600, 0.5, 2, True)
    agreed = starter("products")
    own = Own(Side.A, load_records(made.a, agreed.fields, agreed.salt))
    found = price_agreed(agreed, question(600, 600, overlap=0.5), speeds, own)
    assert found.from_data
    for greedy in (True, False):
        planned = next(one for one in found.options if one.greedy == greedy and one.bins)
        run = simulate(made.a, made.b, adjust(agreed, greedy=greedy), seed=4).runs[0]
        assert planned.comparisons.low <= run.comparisons <= planned.comparisons.high
        assert planned.comparisons.high <= 4 * planned.comparisons.low
        if not greedy:
            assert planned.comparisons.expected == pytest.approx(run.comparisons, rel=0.1)


def test_of_a_long_table_no_schedule_is_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate_products(600, 0.5, 2, True)
    agreed = starter("products")
    own = Own(Side.A, load_records(made.a, agreed.fields, agreed.salt))
    asked = question(600, 600, overlap=0.5)
    walked = price_agreed(agreed, asked, speeds, own).agreed.comparisons
    monkeypatch.setattr(plan_module, "_MOST_PLACED", 599)
    monkeypatch.setattr(saved, "walk", None)
    counted = make_plan(agreed, asked, speeds, own).agreed.comparisons
    assert counted.low <= walked.expected <= counted.high
    assert counted.high - counted.low > walked.high - walked.low


def test_recall_of_a_lossy_blocking_is_seen_on_made_up_errors() -> None:
    agreed = starter("people")
    records = load_records(generate_people(300, None, 0).a, agreed.fields, agreed.salt)
    half = load_records(generate_people(300, None, 0).a, agreed.fields, agreed.salt)
    own = Own(Side.A, records, (records, half))
    found = price_agreed(agreed, question(300, 300), speeds, own)
    assert found.agreed.recall == 1.0, "nothing differs"
    assert "recall-unknown" not in [one.code for one in found.warnings]
    assert np.isfinite(found.agreed.seconds.high)
