"""Made-up pairs: they fit every kind of field, row by row, and err as records do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.planning.made_up import make_up_pairs, make_up_samples
from accord.planning.recall import shares_met
from accord.rules.evaluate import Tables, holds
from accord.side import Side
from tests.protocols.worlds import agreement


@pytest.mark.parametrize("kind", ["people", "products"])
def test_templates_are_met_by_most_of_their_pairs(kind: str) -> None:
    agreed = starter(kind)
    found = make_up_pairs(agreed)
    assert found is not None
    tables, rows = Tables(agreed.fields, *(side.columns for side in found)), np.arange(len(found[0]))
    accepted = holds(agreed.rule, tables, rows, rows).mean()
    assert accepted > 0.6
    shares = shares_met(agreed.task, *found, {})
    assert shares is not None
    met = shares.sum()
    assert (met == 1.0) == (not agreed.plan.losses(agreed.rule))
    assert met > 0.97


def test_they_are_the_same_every_time() -> None:
    first, again = (make_up_pairs(starter("people")) for _ in range(2))
    assert first is not None
    assert again is not None
    for name, column in first[1].columns.items():
        assert np.array_equal(column.present, again[1].columns[name].present)
    # Errors make the sides differ.
    a, b = (side.columns["given"].words for side in first)  # type: ignore[union-attr]
    assert 0 < (a != b).any(axis=1).mean() < 0.5


KINDS: dict[str, dict[str, Any]] = {
    "hash": {"type": "text", "encoder": "hash"},
    "bloom": {"type": "text", "encoder": "paper"},
    "letters": {"type": "text", "encoder": {"kind": "letters", "length": 5, "alphabet": "0123456789"}},
    "short": {"type": "text", "encoder": {"kind": "letters", "length": 1, "alphabet": "a"}},
    "number": {"type": "number", "min": "-3", "max": "4", "step": "0.25"},
    "date": {"type": "date", "min": "2026-03-01", "max": "2026-03-01"},
    "year": {"type": "number", "from": "day", "derive": "year", "min": 1900, "max": 2030, "step": 1},
    "category": {"type": "category", "values": ["one"], "other": "bin"},
    "place": {"type": "latitude"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_field_can_be_made_up(kind: str) -> None:
    plain = agreement(protocol="all-pairs").model_dump(mode="json")
    agreed = Agreement.model_validate(
        plain | {"fields": plain["fields"] | {"z": KINDS[kind]}, "rule": "same(z)"}
    )
    found = make_up_pairs(agreed)
    assert found is not None
    assert found[0].columns["z"].present.mean() > 0.9
    samples = make_up_samples(agreed, (300, 40), 200)
    assert samples is not None
    assert [(one.rows, one.size, one.half is None) for one in samples.values()] == [
        (200, 300, False),
        (40, 40, True),
    ]
    if kind not in ("bloom", "letters", "short"):
        assert samples[Side.A].tables[0]["z"].present.mean() > 0.9


@pytest.mark.parametrize(
    "change",
    [
        {"sex": {"type": "category", "values": ["F", "M"]}},
        {"sex": {"type": "category", "values": ["1", "2"], "missing": "skip"}},
        {"birth": {"type": "date", "min": "1960-01-01", "max": "1999-12-31"}},
        {"birth": {"type": "date", "min": "1955-01-01", "max": "2029-12-31", "other": "skip"}},
    ],
)
def test_what_is_agreed_leaves_no_row_out(change: dict[str, Any]) -> None:
    """People who do not fit what is agreed have no value there; their pairs stay side by side."""
    plain = starter("people").model_dump(mode="json")
    for name, spec in change.items():
        plain["fields"][name] = {"missing": "differs"} | spec
    agreed = Agreement.model_validate(plain)
    found = make_up_pairs(agreed)
    assert found is not None
    assert len(found[0]) == len(found[1]) == 2000
    shares = shares_met(agreed.task, *found, {})
    assert shares is not None
    met = shares.sum()
    assert met > 0.8
    if "sex" in change:
        assert min(side.columns["sex"].present.mean() for side in found) > 0.9
