"""A simulation's page: what was found, how good it is, and no value of a record but ids."""

from __future__ import annotations

import pyarrow as pa
import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.report.simulated import describe_simulation
from accord.simulation import Simulation, simulate
from tests.report.outline import Outline, require_quiet


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
    assert f"{quality.scores.truth_f1:.4f}" in page
    values = {cell for name in ("surname", "email", "phone") for cell in table[name].to_pylist() if cell}
    assert values
    assert not [value for value in values if f">{value}<" in page or f" {value} " in page]


def test_a_simulation_without_truth(made: tuple[Simulation, pa.Table, pa.Table]) -> None:
    page = describe_simulation(made[0], None)
    require_quiet(page)
    assert "Against the true pairs" not in Outline(page).headings
