"""A simulation's page: what was found, how good it is, and no value of a record but ids."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.report.pair_cards import PairView
from accord.report.simulation_page import PairCells, describe_simulation
from accord.side import Side
from accord.simulation.known import split
from accord.simulation.pair import Simulation, simulate
from reproduction.places import generate_places, places_agreement
from tests.report.outline import Outline, require_quiet, rows_of


@pytest.fixture(scope="module")
def made() -> tuple[Simulation, pa.Table, pa.Table]:
    people = generate_people(60, None, 1)
    agreed = adjust(starter("people"), protocol="all-pairs", greedy=False)
    return simulate(people.a, people.b, agreed, seed=1), people.a, people.truth


def test_a_simulation_with_its_truth(made: tuple[Simulation, pa.Table, pa.Table]) -> None:
    result, table, truth = made
    quality = result.quality(truth, 3)
    page = describe_simulation(result, quality)
    require_quiet(page)
    assert {"Against the true pairs", "Which fields lose matches", "Over thresholds"} <= set(
        Outline(page).headings
    )
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


def test_a_simulation_without_truth(made: tuple[Simulation, pa.Table, pa.Table]) -> None:
    page = describe_simulation(made[0], None)
    require_quiet(page)
    assert "Against the true pairs" not in Outline(page).headings


def test_missed_pairs_are_shown_with_what_they_hold_to_those_who_may_see_it(
    made: tuple[Simulation, pa.Table, pa.Table],
) -> None:
    result, _, truth = made
    quality = result.quality(truth, 2)
    pair = quality.pairs["below"][0]
    cells = PairCells(["surname"], {pair.id_a: ["<Ann>"]}, {pair.id_b: [None]})
    page = describe_simulation(result, quality, cells)
    require_quiet(page)
    headings = Outline(page).headings
    assert {"Pairs nearest to the threshold", "Missed pairs", "Wrong pairs"} <= set(headings)
    assert headings.index("Against the true pairs") == 1, "before all else"
    assert "&lt;Ann&gt;" in page
    assert "&lt;Ann&gt;" not in describe_simulation(result, quality)
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
    assert "How bins fill up with dummies" in Outline(page).headings
    for side, (real, dummies) in result.filled.items():
        assert int(dummies.sum()) == (result.runs[0].dummies_a, result.runs[0].dummies_b)[side is Side.B]
        assert f"{int(real.sum()):,} slots hold records" in page


def test_pairs_near_the_threshold_are_shown_without_a_truth(
    made: tuple[Simulation, pa.Table, pa.Table],
) -> None:
    """Then nothing is said of which are true."""
    result, *_ = made
    near = result.nearest(2)
    assert {name: len(pairs) for name, pairs in near.items()} == {"below": 2, "above": 2}
    page = describe_simulation(result, None, nearest=near)
    assert "Pairs nearest to the threshold" in Outline(page).headings
    assert "true pair" not in page
    least = split(result.agreement.rule)
    assert least is not None
    assert all((pair.score or 0) < least[0].least for pair in near["below"])
    assert all((pair.score or 0) >= least[0].least for pair in near["above"])
