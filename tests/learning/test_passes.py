"""Passes are chosen on known matches, written into the draft, and bring together what the rule accepts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from accord.agreement.file import parse_agreement
from accord.datasets.people import generate_people
from accord.errors import UsageError
from accord.learning import evidence
from accord.learning.learn import learn
from accord.simulation.pair import simulate
from accord.simulation.truth import score
from tests.learning.worlds import ALL_PAIRS, DRAFT, ROUTED


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_PAIRS", 90_000)
    monkeypatch.setattr(evidence, "_MADE_UP", 300)


@pytest.mark.parametrize("text", [DRAFT, ROUTED, ALL_PAIRS], ids=["bins", "routed", "all pairs"])
def test_they_are_written_in_place_of_the_drafts(text: str) -> None:
    draft, made = parse_agreement(text), generate_people(400, None, 3)
    labels = made.truth.select(["id_a", "id_b"])
    found = learn(draft, made.a, other=made.b, labels=labels, learnt_from="public", passes=True, records=400)
    agreed = found.agreement
    written = found.write_into(text)
    assert agreed.protocol.name == "routed"
    assert parse_agreement(written) == agreed
    assert parse_agreement(found.write_into(written)) == agreed
    assert agreed.fields.items() >= draft.fields.items()
    assert {*agreed.blocking_fields} <= {*agreed.fields}
    assert found.met is not None
    assert found.matches is not None
    assert found.met > 0.98 * found.matches
    other = generate_people(400, None, 77)
    pairs = simulate(other.a, other.b, agreed, seed=1).found.ids()
    scores = score(pairs, other.truth.select(["id_a", "id_b"]).cast(pairs.schema))
    assert scores.truth_f1 > 0.95
    assert abs(scores.truth_f1 - found.expected.f1) < 0.04


def test_without_a_table_and_without_labels() -> None:
    draft, made = parse_agreement(DRAFT), generate_people(400, None, 3)
    for found in (
        learn(draft, passes=True),
        learn(draft, made.a, other=made.b, learnt_from="public", passes=True),
    ):
        assert found.agreement.protocol.name == "routed"
        assert found.expected.f1 > 0.9


def test_there_must_be_a_key() -> None:
    draft = parse_agreement(DRAFT)
    apart = pa.table({"id_a": [f"A{n}" for n in range(30)], "id_b": [f"B{n}" for n in range(30)]})
    made = generate_people(60, 0.01, 3)
    with pytest.raises(UsageError):
        learn(draft, made.a, other=made.b, labels=apart, learnt_from="public", compare=["sex"], passes=True)
