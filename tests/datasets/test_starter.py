"""The starter for people finds the people of `accord generate people`, in spite of their errors and twins."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.datasets.people import generate_people
from accord.datasets.people_errors import Errors
from accord.datasets.starter import starter
from accord.simulation.truth import Scores, score

RECALL, PRECISION = 0.97, 0.97
"""What it finds at least, against the truth."""
PAGE = Path(__file__).parents[2] / "docs" / "judge.md"


def link(records: int, seed: int, epsilon: str | None = None) -> tuple[Scores, float]:
    made = generate_people(records, None, seed)
    agreed = starter("people") if epsilon is None else adjust(starter("people"), epsilon=epsilon)
    found = accord.simulate(made.a, made.b, agreed, seed=1)
    pairs = made.truth.select(["id_a", "id_b"])
    names = pa.schema([(name, pa.large_string()) for name in pairs.column_names])
    return score(found.found.ids(), pairs.cast(names)), found.cost_ratio


def test_it_finds_people() -> None:
    # The seed is fixed, so this holds or does not; a large epsilon, so that there are few dummies to compare.
    scores, _ = link(1_000, 1, "20")
    assert scores.truth_recall >= RECALL
    assert scores.truth_precision >= PRECISION


@pytest.mark.parametrize("records", [1, 30])
def test_generated_people_fit_however_faulty(records: int) -> None:
    made = generate_people(records, 1.0, 3, errors=Errors().scaled(4))
    # All of them match, which is more than the starter lets be seen.
    agreed = adjust(starter("people"), epsilon="20").model_copy(update={"most_matches": None})
    accord.simulate(made.a, made.b, agreed, seed=1)  # raises if they do not fit


def test_the_page_says_what_is_kept() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"a recall of at least {RECALL} and a precision of at least {PRECISION}" in text


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_people_as_it_is(seed: int) -> None:
    scores, cost = link(5_000, seed)
    assert scores.truth_recall >= RECALL
    assert scores.truth_precision >= PRECISION
    assert cost < 0.2


def test_people_are_promised_what_the_starter_says() -> None:
    assert starter("people").to_toml().count('delta = "2^-40"') == 2
    assert len(starter("people").passes) == 3
