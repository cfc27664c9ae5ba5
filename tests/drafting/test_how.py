"""How records are compared: settled by the policy, and written so that a plan finds nothing better."""

from __future__ import annotations

import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.drafting.how import fit_template, settle_draft, write_expected
from accord.planning.plan import PlanQuestion, agreed_network, make_plan, price_agreed
from accord.simulation.pair import simulate
from tests.drafting.test_draft import draft

SIZES = [100, 3000]
LARGE = [30_000, 300_000, 1_000_000, 10_000_000]
SLOW = pytest.mark.slow
MIXES = ("given surname birth sex postcode", "text category price", "text latitude longitude")


@pytest.mark.parametrize("size", [*SIZES, *(pytest.param(size, marks=SLOW) for size in LARGE)])
@pytest.mark.parametrize("kind", ["people", pytest.param("products", marks=SLOW)])
def test_a_template_is_what_a_plan_chooses(kind: str, size: int) -> None:
    agreed = parse_agreement(fit_template(kind, "00000000", (size, size)), kind)
    found = make_plan(agreed, PlanQuestion((size, size), agreed_network(agreed)))
    assert found.choice.agreed, found.why
    assert agreed.expected is not None
    assert (size, size) == (agreed.expected.A, agreed.expected.B)
    assert bool(agreed.passes) == (size > (1_000 if kind == "people" else 10_000))


@pytest.mark.parametrize("size", [1_000, 6_000])
def test_what_a_plan_expects_of_products_comes_true(size: int) -> None:
    """The template has the days of the tables that are generated for it; with the whole month the range of
    the plan holds what a table of few days makes."""
    plain = starter("products")
    fitted = parse_agreement(fit_template("products", "00000000", (size, size)), "products")
    made = generate_products(size, None, 1)
    for agreed, exactly in ((plain.model_copy(update={"fields": fitted.fields}), True), (plain, False)):
        asked = PlanQuestion((size, size), agreed_network(agreed))
        expected = price_agreed(agreed, asked).agreed.comparisons
        run = simulate(made.a, made.b, agreed, engine="ideal", seed=1)
        assert expected.low <= run.comparisons <= expected.high
        if exactly:
            assert 0.5 < run.comparisons / expected.expected < 2


@pytest.mark.parametrize("size", [100, *(pytest.param(size, marks=SLOW) for size in (*SIZES[1:], *LARGE))])
@pytest.mark.parametrize("mix", MIXES)
def test_a_draft_is_what_a_plan_chooses(mix: str, size: int) -> None:
    agreed = draft(mix, (size, size)).agreement
    found = make_plan(agreed, PlanQuestion((size, size), agreed_network(agreed)))
    assert found.choice.agreed, found.why


@pytest.mark.slow
def test_who_has_more_time_spends_no_epsilon() -> None:
    agreed = parse_agreement(fit_template("products", "00000000", (30_000, 30_000)), "products")
    assert agreed.passes
    assert not settle_draft(agreed, None, 24 * 3600.0)[0].choice.agreement.passes
    assert settle_draft(agreed, None, 600.0)[0].choice.agreement.passes


@SLOW
def test_a_time_that_nothing_meets_is_told_and_costs_no_epsilon() -> None:
    starter = starter_text("products", "00000000")
    small = parse_agreement(starter.replace("[fields.", write_expected((2000, 2000)) + "[fields.", 1))
    assert settle_draft(small, None, 30.0)[1] is False
    settled, too_slow = settle_draft(small, None, 0.5)
    assert too_slow
    assert not settled.choice.agreement.passes, "as if no time had been said"
