"""A plan's page: the choice and its warnings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from accord.forecast.plan import plan
from accord.planning.figures import Plan
from accord.report.plan_page import describe_plan
from accord.wording import lasting
from reproduction.places import places_agreement
from tests.report.outline import Outline, require_quiet, rows_of


@pytest.fixture(scope="module")
def found() -> Plan:
    """From counts; the machine is measured for it."""
    return plan(places_agreement(), records=(400, 400))


def test_a_plan_says_what_to_take_and_who_may_see_it(found: Plan) -> None:
    page = describe_plan(found)
    require_quiet(page)
    assert Outline(page).headings == [
        *("What a linkage would cost", "What to take", "How long it takes"),
        *("Cost against ε", "How bins fill up with dummies", "All options", "What a match is"),
    ]
    assert "it may be shown to the partner" in page
    assert "(chosen" in page
    work = found.choice.work
    start = found.choice.seconds.expected - max(work.processor, work.network) - work.waiting
    parts = [lasting(each) for each in (start, work.processor, work.network, work.waiting)]
    assert any([*row[1:]] == parts and "(chosen" in row[0] for row in rows_of(page))


def test_bars_of_time_are_as_long_as_their_labels_say(found: Plan) -> None:
    """Of options whose times are near each other, and whose expected time is no sum of its parts."""
    near = [one for one in found.options if one.seconds.expected < 40 * found.choice.seconds.expected]
    page = describe_plan(replace(found, options=tuple(near)))
    drawn = page.split("How long it takes")[1].split("</dl>")[0]
    rows = re.findall(r'<rect x="0.000%" y="0.0" width="([\d.]+)%".*?<span>(.*?)</span>', drawn)
    assert len(rows) > 2
    told = {lasting(one.seconds.expected): one.seconds.expected for one in near}
    most = max(told[label] for _, label in rows)
    for width, label in rows:
        assert float(width) == pytest.approx(100 * told[label] / most, rel=0.06), "labels are rounded"


def test_recalls_are_drawn_where_they_differ(found: Plan) -> None:
    first, *rest = found.options
    page = describe_plan(replace(found, options=(replace(first, recall=0.5), *rest)))
    assert "Recall against cost" in Outline(page).headings
    some = tuple(replace(first, recall=recall) for recall in (1.0, 0.5, None))
    assert "For 1 option it is not known." in describe_plan(replace(found, options=some))


def test_all_pairs_and_the_choice_stand_beside_what_was_priced_at_several_epsilon(found: Plan) -> None:
    priced = next(one for one in found.options if one.largest_epsilon)
    page = describe_plan(replace(found, choice=priced))
    rows = rows_of(page)
    assert ("chosen", f"{priced.largest_epsilon:,.4g}", f"{priced.seconds.expected:,.4g}") in rows
    alone = [one for one in found.options if one.all_pairs]
    assert alone
    for one in alone:
        name, seconds = f"all pairs{', greedy' if one.greedy else ''}, at ε = 0", one.seconds.expected
        assert len([row for row in rows if row[::2] == (name, f"{seconds:,.4g}")]) == 2
