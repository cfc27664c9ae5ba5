"""Recall is exact where the agreement tells it, seen where data does, unknown otherwise; made-up errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.planning.recall import err, jitter, recall_of, shares_met
from accord.rules.evaluate import Tables, holds
from reproduction.places import generate_places, places_agreement
from tests.protocols.worlds import agreement, passes, records


def sample(agreed: Agreement, table: pa.Table) -> tuple[Records, Records]:
    where = {name: name for spec in agreed.fields.items() for name in spec[1].columns(spec[0])}

    def load(some: pa.Table) -> Records:
        return load_records(some, agreed.fields, agreed.salt)

    rng = np.random.default_rng(0)
    return load(table), jitter(rng, agreed, load(err(rng, agreed, table, where)))


def test_people_err_and_most_are_still_found() -> None:
    agreed = starter("people")
    a, b = sample(agreed, generate_people(600, None, 0).a)
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
    agreed = places_agreement()
    a, b = sample(agreed, generate_places(500, None, 0, True).a)
    for name in ("lat", "lon"):
        moved = np.abs(a.columns[name].values - b.columns[name].values)  # type: ignore[union-attr]
        assert 0 < moved.max() <= 1000
    rows = np.arange(len(a))
    accepted = holds(agreed.rule, Tables(agreed.fields, a.columns, b.columns), rows, rows)
    assert 0.5 < accepted.mean() < 1, "a disc in its square"


def test_what_is_complete_finds_all() -> None:
    for agreed in (starter("products"), places_agreement(), agreement(protocol="all-pairs")):
        assert recall_of(agreed.task, 1.0) == 1.0


def test_what_may_miss_some_is_what_meets_of_what_is_found() -> None:
    people = starter("people")
    assert recall_of(people.task, None) is None
    assert recall_of(people.task, 0.5) == 0.5
    pruned = adjust(starter("products"), prune=10)
    assert recall_of(pruned.task, 1.0) is None


def test_pairs_that_the_rule_accepts_are_looked_for_in_the_bins() -> None:
    agreed = agreement(blocking=passes("x"), rule="euclidean(x, y) <= 1")
    a, b = records([(1, 1), (4, 4), (9, 9)], agreed), records([(1, 2), (5, 4), (0, 0)], agreed)
    # The third pair is no match; the second is one and has another x.
    met = shares_met(agreed.task, a, b, {})
    assert met is not None
    assert met.sum() == 0.5
    assert shares_met(agreed.task, a, records([(9, 9), (9, 9), (0, 0)], agreed), {}) is None
