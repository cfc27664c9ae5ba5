"""The starters for people find the people of `accord generate people`, in spite of their errors and twins."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.people_errors import Errors
from accord.datasets.starter import starter
from accord.simulation.truth import Scores, score

LEAST = {"people": (0.97, 0.97), "patients": (0.95, 0.98), "customers": (0.88, 0.97)}
"""Recall and precision, against the truth, of what the starters find."""
PAGE = Path(__file__).parents[2] / "docs" / "judge.md"


def link(kind: str, records: int, seed: int, epsilon: str | None = None) -> tuple[Scores, float]:
    made = generate_people(records, None, seed)
    agreed = starter(kind) if epsilon is None else adjust(starter(kind), epsilon=epsilon)
    found = accord.simulate(made.a, made.b, agreed, seed=1)
    pairs = made.truth.select(["id_a", "id_b"])
    names = pa.schema([(name, pa.large_string()) for name in pairs.column_names])
    return score(found.found.ids(), pairs.cast(names)), found.cost_ratio


@pytest.mark.parametrize("kind", LEAST)
def test_it_finds_people(kind: str) -> None:
    # The seed is fixed, so this holds or does not; a large epsilon, so that there are few dummies to compare.
    scores, _ = link(kind, 1_000, 1, "20")
    recall, precision = LEAST[kind]
    assert scores.truth_recall >= recall
    assert scores.truth_precision >= precision


@pytest.mark.parametrize("kind", LEAST)
@pytest.mark.parametrize("records", [1, 30])
def test_generated_people_fit_however_faulty(kind: str, records: int) -> None:
    made = generate_people(records, 1.0, 3, errors=Errors().scaled(4))
    # All of them match, which is more than the starters let be seen.
    agreed = adjust(starter(kind), epsilon="20").model_copy(update={"most_matches": None})
    accord.simulate(made.a, made.b, agreed, seed=1)  # raises if they do not fit


def test_the_page_says_what_is_kept() -> None:
    said = re.findall(r"^\| `(\w+)` \| (0\.\d+) \| (0\.\d+) \|$", PAGE.read_text(), re.M)
    assert {kind: (float(recall), float(precision)) for kind, recall, precision in said} == LEAST


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", LEAST)
def test_it_finds_people_as_it_is(kind: str, seed: int) -> None:
    scores, cost = link(kind, 5_000, seed)
    recall, precision = LEAST[kind]
    assert scores.truth_recall >= recall
    assert scores.truth_precision >= precision
    assert cost < 0.2


def test_people_are_promised_what_the_starters_say() -> None:
    for kind in LEAST:
        text = starter(kind).to_toml()
        assert text.count('delta = "2^-40"') == 2
        assert len(starter(kind).passes) == 3
