"""What is said of an agreement without a run."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text
from accord.forecast.promises import AGAIN, afterwards, composed, side_facts
from accord.privacy.budget import Budget
from accord.privacy.calibration import calibrate
from accord.privacy.events import AllPairs, Cost, Promise, released
from accord.side import Side
from tests.protocols import worlds

HALF = Promise(Cost(Fraction(1, 2), Fraction("1e-9")))


def test_a_side_of_laplace() -> None:
    agreed = worlds.agreement(style="replicate")
    setting = calibrate("geometric", "1", "1e-3", 4)
    facts = side_facts(agreed, Side.B, 5_000)
    assert facts.cost == Cost(Fraction(1), Fraction(1, 1000))
    assert facts.noise is not None
    assert (facts.noise.delta_exact, facts.noise.bins_per_record) == (setting.delta_exact, 4)
    assert facts.dummies == pytest.approx(16 * setting.expected_dummies)
    assert facts.again == composed([released(setting)] * AGAIN)
    assert facts.again.sums == Cost(Fraction(10), Fraction(1, 100))
    assert 3 < facts.again.epsilon < 10
    assert "1/n" in facts.warnings[0]
    assert side_facts(agreed, Side.B, None).warnings == ()


def test_all_pairs_costs_nothing_however_often() -> None:
    facts = side_facts(worlds.agreement(protocol="all-pairs"), Side.A, None)
    assert (facts.cost, facts.noise, facts.dummies) == (AllPairs().cost, None, 0)
    assert facts.again is not None
    assert (facts.again.sums, facts.again.epsilon) == (AllPairs().cost, 0)


def test_a_run_is_added_to_what_was_spent() -> None:
    agreed = worlds.agreement()
    found = afterwards(agreed, Side.A, None, "patients", [HALF, HALF], 3, Budget())
    assert found is not None
    assert (found.before.releases, found.after.releases, found.limited, found.refusal) == (2, 3, False, "")
    assert found.before.sums == Cost(Fraction(1), 2 * HALF.cost.delta)
    assert found.after.sums == Cost(Fraction(2), 2 * HALF.cost.delta + Fraction(1, 1000))


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(Cost(Fraction(3), Fraction(1, 100))), True),
        (Budget(Cost(Fraction(1, 2), Fraction(1, 10_000))), False),
        (Budget(None, 4), True),
        (Budget(None, 3), False),
    ],
)
def test_the_budget_is_asked(budget: Budget, allowed: bool) -> None:
    found = afterwards(worlds.agreement(), Side.A, None, "patients", [HALF], 3, budget)
    assert found is not None
    assert found.limited
    assert (found.refusal == "") == allowed
    if not allowed:
        assert found.refusal.startswith("no new release: ")


def test_a_side_that_promises_to_people() -> None:
    text = starter_text("products", "00000000")
    agreed = parse_agreement(text.replace("epsilon = 1.6", "epsilon = 1.6\nrecords_per_person = 2", 1))
    people, records = (side_facts(agreed, side, None) for side in Side)
    assert (people.records_per_person, records.records_per_person) == (2, 1)
    assert people.cost == records.cost
    assert people.noise is not None
    assert people.beyond <= people.noise.delta_exact * (1 + 1e-9)
    assert people.dummies > 1.9 * records.dummies
