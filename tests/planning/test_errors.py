"""Made-up errors: every row is still itself, some cells have changed, and the file is left alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accord.datasets.people import generate_people
from accord.datasets.places import generate_places
from accord.datasets.starter import starter
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.planning.errors import with_errors
from accord.rules.evaluate import Tables, holds


def sample(kind: str, table: pa.Table) -> tuple[Records, Records]:
    agreed = starter(kind)
    where = {name: name for spec in agreed.fields.items() for name in spec[1].columns(spec[0])}

    def load(some: pa.Table) -> Records:
        return load_records(some, agreed.fields, agreed.salt)

    return with_errors(agreed, table, where, load)


def test_people_err_and_most_are_still_found() -> None:
    agreed = starter("people")
    a, b = sample("people", generate_people(600, None, 0).a)
    assert a.ids.equals(b.ids)
    rows = np.arange(len(a))
    accepted = holds(agreed.rule, Tables(agreed.fields, a.columns, b.columns), rows, rows)
    assert 0.7 < accepted.mean() <= 1
    changed = [
        bool((column.words != other.words).any())  # type: ignore[union-attr]
        for name in ("given", "surname", "phone")
        for column, other in [(a.columns[name], b.columns[name])]
    ]
    assert all(changed)


def test_numbers_move_no_farther_than_the_rule_accepts_alone() -> None:
    agreed = starter("places")
    a, b = sample("places", generate_places(500, None, 0, True).a)
    for name in ("lat", "lon"):
        moved = np.abs(a.columns[name].values - b.columns[name].values)  # type: ignore[union-attr]
        assert 0 < moved.max() <= 1000
    rows = np.arange(len(a))
    accepted = holds(agreed.rule, Tables(agreed.fields, a.columns, b.columns), rows, rows)
    assert 0.5 < accepted.mean() < 1, "a disc in its square"
