"""Pages before a run: what it would cost and find; and results in a notebook, as others may see them."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.forecast.plan import plan
from accord.planning.figures import Plan
from accord.report.notebook import frame
from accord.report.pair_cards import PairView
from accord.report.plan_page import describe_plan
from accord.report.receipt_page import share
from accord.report.simulation_page import PairCells, describe_simulation
from accord.rules.rule import Same
from accord.run.remembered import Remembered, remember
from accord.side import Side
from accord.simulation.known import split
from accord.simulation.pair import Simulation, simulate
from accord.wording import lasting
from reproduction.places import generate_places, places_agreement
from tests.protocols.worlds import agreement
from tests.report.outline import Outline, require_quiet, rows_of
from tests.run import faults
from tests.run.worlds import A_ROWS, B_ROWS, table


@pytest.fixture(scope="module")
def found() -> Plan:
    """From counts; the machine is measured for it."""
    return plan(starter("products"), records=(300, 200))


def test_a_plan_shows_the_parts_of_its_time_and_bars_as_long_as_their_labels_say(found: Plan) -> None:
    """Recalls are drawn where they differ, and all pairs beside what was priced at several ε."""
    page = describe_plan(found)
    require_quiet(page)
    assert len(Outline(page).headings) == 7
    work = found.choice.work
    start = found.choice.seconds.expected - max(work.processor, work.network) - work.waiting
    parts = [lasting(each) for each in (start, work.processor, work.network, work.waiting)]
    assert any([*row[1:]] == parts and "(chosen" in row[0] for row in rows_of(page))
    # Options whose times are near each other, and whose expected time is no sum of its parts.
    near = [one for one in found.options if one.seconds.expected < 40 * found.choice.seconds.expected]
    page = describe_plan(replace(found, options=tuple(near)))
    drawn = page.split("<dl")[1].split("</dl>")[0]
    rows = re.findall(r'<rect x="0.000%" y="0.0" width="([\d.]+)%".*?<span>(.*?)</span>', drawn)
    assert len(rows) > 2
    told = {lasting(one.seconds.expected): one.seconds.expected for one in near}
    most = max(told[label] for _, label in rows)
    for width, label in rows:
        assert float(width) == pytest.approx(100 * told[label] / most, rel=0.06), "labels are rounded"
    first, *rest = found.options
    differing = describe_plan(replace(found, options=(replace(first, recall=0.5), *rest)))
    assert len(Outline(differing).headings) == len(Outline(describe_plan(found)).headings) + 1
    priced = next(one for one in found.options if one.largest_epsilon)
    page = describe_plan(replace(found, choice=priced))
    drawn_rows = rows_of(page)
    assert ("chosen", f"{priced.largest_epsilon:,.4g}", f"{priced.seconds.expected:,.4g}") in drawn_rows
    alone = [one for one in found.options if one.all_pairs]
    assert alone
    for one in alone:
        name, seconds = f"all pairs{', greedy' if one.greedy else ''}, at ε = 0", one.seconds.expected
        assert len([row for row in drawn_rows if row[::2] == (name, f"{seconds:,.4g}")]) == 2


@pytest.fixture(scope="module")
def made() -> tuple[Simulation, pa.Table, pa.Table]:
    people = generate_people(60, None, 1)
    agreed = adjust(starter("people"), protocol="all-pairs", greedy=False)
    return simulate(people.a, people.b, agreed, seed=1), people.a, people.truth


def test_a_simulation_with_its_truth_and_without(made: tuple[Simulation, pa.Table, pa.Table]) -> None:
    """Without one nothing is said of which pairs near the threshold are true."""
    result, table, truth = made
    quality = result.quality(truth, 3)
    page = describe_simulation(result, quality)
    require_quiet(page)
    assert len(Outline(page).headings) > len(Outline(describe_simulation(result, None)).headings) + 2
    judged = quality.scores.truth_f1, quality.scores.truth_precision, quality.scores.truth_recall
    top = re.findall(r"<dd>(\d\.\d{4})</dd>", page)
    assert top == [f"{share:.4f}" for share in judged]
    curve = quality.curve
    assert curve is not None
    drawn = [
        (f"{name}, {at}", at, y)
        for name, at in (("agreed", curve.agreed), ("best F1", curve.best))
        for y in (0.0, 1.0)
    ]
    for point in curve.points:
        shares = {"precision": point.precision, "recall": point.recall, "F1": point.f1}
        drawn += [(name, point.threshold, share) for name, share in shares.items()]
    assert {(name, f"{x:,.4g}", f"{y:,.4g}") for name, x, y in drawn} <= rows_of(page)
    values = {cell for name in ("surname", "email", "phone") for cell in table[name].to_pylist() if cell}
    assert values
    assert not [value for value in values if f">{value}<" in page or f" {value} " in page]
    result, *_ = made
    near = result.nearest(2)
    assert {name: len(pairs) for name, pairs in near.items()} == {"below": 2, "above": 2}
    page = describe_simulation(result, None, nearest=near)
    assert len(Outline(page).headings) == len(Outline(describe_simulation(result, None)).headings) + 1
    least = split(result.agreement.rule)
    assert least is not None
    assert all((pair.score or 0) < least[0].least for pair in near["below"])
    assert all((pair.score or 0) >= least[0].least for pair in near["above"])


def test_missed_pairs_are_shown_with_what_they_hold_to_those_who_may_see_it(
    made: tuple[Simulation, pa.Table, pa.Table],
) -> None:
    result, _, truth = made
    quality = result.quality(truth, 2)
    pair = quality.pairs["below"][0]
    cells = PairCells(["surname"], {pair.id_a: ["<Ann>"]}, {pair.id_b: [None]})
    page = describe_simulation(result, quality, cells)
    require_quiet(page)
    assert "&lt;Ann&gt;" in page
    assert "&lt;Ann&gt;" not in describe_simulation(result, quality)
    assert rows_of(PairView(Same("surname")).show(pair)) == set(), "a rule without a score"
    view = PairView(result.agreement.rule)
    for some in (*quality.pairs.values(), quality.missed_pairs, quality.false_pairs):
        for each in some:
            assert view.steps(each)[-1][-1] == f"{each.score:,}"
    for missed in quality.missed_pairs:
        assert not missed.found
        assert missed.true
        assert f"{missed.id_a} and {missed.id_b}" in page


def test_bins_are_drawn_with_their_dummies() -> None:
    places = generate_places(40, None, 1)
    result = simulate(places.a, places.b, adjust(places_agreement(), epsilon="8", delta="1e-3"), seed=1)
    page = describe_simulation(result, None)
    for side, (real, dummies) in result.filled.items():
        assert int(dummies.sum()) == (result.runs[0].dummies_a, result.runs[0].dummies_b)[side is Side.B]
        assert f"{int(real.sum()):,} " in page


def framed(shown: str) -> str:
    """The page within the frame, which is the last thing that is shown."""
    (page,) = re.findall(r'<iframe sandbox srcdoc="([^"]*)" style="[^"]*"></iframe>$', shown)
    return html.unescape(page)


def test_plans_and_simulations_are_drawn_with_their_pages(found: Plan) -> None:
    """A page cannot leave its frame."""
    page = '<p title="x">"</iframe><script>'
    assert framed(frame(page)) == page
    assert "<script>" not in frame(page)
    assert framed(found._repr_html_()) == describe_plan(found)
    result = accord.simulate(table(A_ROWS, "a"), table(B_ROWS, "b"), agreement(), seed=1)
    assert framed(result._repr_html_()) == describe_simulation(result, None)


@pytest.mark.usefixtures("quick")
def test_a_run_is_drawn_as_others_may_see_it(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    linked, state = faults.link(both)[Side.A], both[Side.A].state
    assert isinstance(linked, accord.Linked)
    page = framed(linked._repr_html_())
    known = remember(state, linked.run)
    assert isinstance(known, Remembered)
    assert known.receipt is not None
    assert page == share(known.agreement, known.receipt)
    shutil.rmtree(state.folder)
    assert "<iframe" not in linked._repr_html_()
    assert not state.folder.exists(), "to be shown makes nothing"
