"""A plan's page: the choice, its warnings, and whether it may be shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accord.datasets.starter import starter
from accord.forecast.plan import plan
from accord.planning.figures import Plan
from accord.report.plan_page import describe_plan
from accord.wording import lasting
from tests.report.outline import Outline, require_quiet


@pytest.fixture(scope="module")
def found() -> Plan:
    """From counts; the machine is measured for it."""
    return plan(starter("places"), records=(400, 400))


def test_a_plan_says_what_to_take_and_who_may_see_it(found: Plan) -> None:
    page = describe_plan(found)
    require_quiet(page)
    assert Outline(page).headings == [
        *("What a linkage would cost", "What to take", "Where the time goes"),
        *("Cost against ε", "How bins fill up with dummies", "All options"),
    ]
    assert "it may be shown to the partner" in page
    assert "(chosen" in page
    work = found.choice.work
    assert f">{lasting(work.processor)}<" in page
    assert f">{lasting(work.network + work.waiting)}<" in page
    own = describe_plan(replace(found, from_data=True))
    assert "For your eyes only" in own
    assert "may be shown" not in own


def test_recalls_are_drawn_where_they_differ(found: Plan) -> None:
    first, *rest = found.options
    page = describe_plan(replace(found, options=(replace(first, recall=0.5), *rest)))
    assert "Recall against cost" in Outline(page).headings
